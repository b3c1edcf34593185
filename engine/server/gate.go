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

// openGate creates the repositories of the services in three layers. The innermost is the store. Around it is events,
// which reports writes to scripts. The outermost is gate, which checks permissions.
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

// logEmptyList logs that an account got an empty list of items of class c because of its
// permissions. It also logs the command that explains these permissions. all is true if the
// account may not read any item of the class, and false if it may read some items.
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
