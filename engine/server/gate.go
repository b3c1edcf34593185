package server

import (
	"context"

	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/rest"
	"restsrv/engine/script/event"
	"restsrv/engine/server/appdata"
	"restsrv/engine/workflow"
)

// rights is the component aclProvider for scripts.
type rights struct {
	*access.Checker
	engine.Policy
}

// openGate creates the repositories of the services: the store, in front of it events that report
// writes to scripts, and in front of these the permission checks.
func (e *edition) openGate(context.Context, *edition) error {
	e.rules, _ = appdata.ReadRules(e.config, e.meta, appdata.RuleData{Data: e.store, RolesOf: e.accounts.RolesOf, Log: e.log}) // its faults are reported when the application is read
	e.events = event.NewEvents(e.store, e.log)
	e.workflows = workflow.New(workflow.Config{
		Definitions: e.defined, Store: e.store, Data: e.events, Sequences: e.store, Entering: e.events.Entering, Stages: e.db.System.Stages, Log: e.log})
	c := access.Config{Inner: e.events, Policy: e.db.Policy, Meta: e.meta, RoleMap: e.rules.Roles, Log: e.log}
	if e.options.Watch {
		c.Empty = e.logEmptyList
	}
	if e.defined.Any() {
		c.Stages = e.defined
	}
	e.gate, e.checker = access.New(c), access.NewChecker(c)
	return nil
}

// logEmptyList logs that a list may be empty because of permissions, and the command that
// explains them.
func (e *edition) logEmptyList(ctx context.Context, c *engine.Class, all bool) {
	a := engine.AccountFrom(ctx)
	if a == nil {
		return
	}
	message := "a list is empty: the account may not read objects of the class"
	if !all {
		message = "a list is empty: the account may read only some objects of the class"
	}
	e.log.Info(message, "account", a.ID, "class", c.FullName, "to see why", rest.ExplainCommand(a.ID, "c:::"+c.FullName))
}
