package main

import (
	"restsrv/engine"
	"restsrv/engine/access"
)

// rights are what scripts ask as aclProvider.
type rights struct {
	*access.Checker
	engine.Policy
}

// openGate puts the gate before the store. From then on accounts are what the
// data say of them, too.
func (s *server) openGate() {
	r, _ := readRules(s.config, s.meta, s.db, s.log) // its faults were told with those of the file
	s.db.rules = &r
	c := access.Config{Inner: s.db.store, Policy: s.db.policy, Meta: s.meta, RoleMap: r.roles, Log: s.log}
	s.gate, s.checker = access.New(c), access.NewChecker(c)
}
