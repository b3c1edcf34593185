package main

import (
	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/deploy"
	"restsrv/engine/jsonfile"
)

// openGate puts the gate before the store.
func (s *server) openGate() error {
	c := s.config
	var faults engine.Faults
	roles := access.ParseRoleMap(s.meta, jsonfile.Object{File: c.File, Path: c.RoleMapPath, Fields: c.RoleMap, Faults: &faults})
	errs, warnings := deploy.Locate(c.Dir, faults).Split()
	for _, w := range warnings {
		s.log.Warn(w.String())
	}
	if len(errs) > 0 {
		return errs
	}
	cfg := access.Config{Inner: s.db.store, Policy: s.db.policy, Meta: s.meta, RoleMap: roles, Log: s.log}
	s.gate, s.checker = access.New(cfg), access.NewChecker(cfg)
	return nil
}
