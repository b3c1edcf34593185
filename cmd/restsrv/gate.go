package main

import "restsrv/engine/access"

// openGate puts the gate before the store.
func (s *server) openGate() error {
	roles, faults := roleMap(s.config, s.meta)
	if errs, _ := faults.Split(); len(errs) > 0 { // told when the application was loaded
		return errs
	}
	cfg := access.Config{Inner: s.db.store, Policy: s.db.policy, Meta: s.meta, RoleMap: roles, Log: s.log}
	s.gate, s.checker = access.New(cfg), access.NewChecker(cfg)
	return nil
}
