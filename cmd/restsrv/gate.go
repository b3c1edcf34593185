package main

import (
	"context"

	"restsrv/engine"
	"restsrv/engine/access"
)

// rights are what scripts ask as aclProvider.
type rights struct {
	*access.Checker
	engine.Policy
}

// openGate puts the gate before the store.
func (e *edition) openGate(context.Context, *edition) error {
	e.rules, _ = readRules(e.config, e.meta, ruleData{e.store, e.accounts.RolesOf, e.log}) // its faults were told with those of the file
	c := access.Config{Inner: e.store, Policy: e.db.policy, Meta: e.meta, RoleMap: e.rules.roles, Log: e.log}
	e.gate, e.checker = access.New(c), access.NewChecker(c)
	return nil
}
