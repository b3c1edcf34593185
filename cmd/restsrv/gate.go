package main

import (
	"restsrv/engine"
	"restsrv/engine/access"
)

// rights are what services ask about resources of their own, and scripts as
// aclProvider.
type rights struct {
	*access.Checker
	engine.Policy
}

// openGate puts the gate before the store, for all services alike: it remembers
// what accounts may do.
func (s *server) openGate() {
	c := access.Config{Inner: s.db.store, Policy: s.db.policy, Meta: s.meta, Log: s.log}
	s.gate, s.rights = access.New(c), rights{access.NewChecker(c), s.db.policy}
}
