package script

import (
	"context"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// workflowsObject returns the object workflows, which reads and changes the
// workflow states of objects. It acts for the account of the request on the
// repository of the option dataRepo, and takes part in an open transaction.
func (h *dataBinding) workflowsObject(w engine.Workflows) goja.Value {
	o := h.js.NewObject()
	f := &jsWorkflows{h: h, flows: w, data: h.service.data()}
	h.method(o, "getStatus", h.asyncFunction("workflows.getStatus", f.getStatus))
	h.method(o, "performTransition", h.asyncFunction("workflows.performTransition", f.moveFunction("performTransition", "a transition", func(m *engine.Move, name string) { m.Transition = name })))
	h.method(o, "pushToState", h.asyncFunction("workflows.pushToState", f.moveFunction("pushToState", "a state", func(m *engine.Move, name string) { m.State = name })))
	h.method(o, "on", func(call goja.FunctionCall) goja.Value {
		return h.events.register("workflows.on", call, f.data, f.eventType)
	})
	return o
}

// eventType checks the name of an event, workflow@namespace.state, and returns
// its type.
func (f *jsWorkflows) eventType(name string) (string, error) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 || !f.flows.Has(name[:at], name[at+1:]) {
		return "", engine.Errorf(engine.Invalid, "event", "workflows.on(%s): there is no such state: the type of an event is <workflow>@<namespace>.<state>", engine.Quote(name))
	}
	return enterEvent(name[:at], name[at+1:]), nil
}

// jsWorkflows implements engine.Workflows for scripts.
type jsWorkflows struct {
	h     *dataBinding
	flows engine.Workflows
	data  engine.Repository
}

// itemArgument returns the item of an argument.
func (f *jsWorkflows) itemArgument(name string, v goja.Value) (*engine.Item, error) {
	if it := itemOf(v); it != nil {
		return it.item, nil
	}
	return nil, engine.Errorf(engine.Invalid, "argument", "workflows.%s takes an item of a repository, found %s", name, describeValue(v))
}

// getStatus(item) returns the states of the item and the possible transitions.
func (f *jsWorkflows) getStatus(call goja.FunctionCall) (operation, error) {
	it, err := f.itemArgument("getStatus", call.Argument(0))
	return operation{do: func(ctx context.Context) (func() goja.Value, error) {
		status, err := f.flows.Status(ctx, f.data, it.Class.Base(), it.ID)
		return func() goja.Value { return f.h.fromDecoded(status) }, err
	}}, err
}

// moveFunction returns a function (item, workflow, name) that moves the item
// and returns it afterwards. It returns null if the account may no longer read
// the item.
func (f *jsWorkflows) moveFunction(name, what string, set func(*engine.Move, string)) func(goja.FunctionCall) (operation, error) {
	return func(call goja.FunctionCall) (operation, error) {
		it, err := f.itemArgument(name, call.Argument(0))
		if err != nil {
			return operation{}, err
		}
		workflow, ok := call.Argument(1).Export().(string)
		to, also := call.Argument(2).Export().(string)
		if !ok || !also || to == "" {
			return operation{}, engine.Errorf(engine.Invalid, "argument", "workflows.%s takes an item, a workflow such as sale@shop and %s", name, what)
		}
		m := engine.Move{Class: it.Class.Base(), ID: it.ID, Workflow: workflow}
		set(&m, to)
		return operation{writes: true, do: func(ctx context.Context) (func() goja.Value, error) {
			id, err := f.flows.Move(ctx, f.data, m)
			if err != nil {
				return nil, err
			}
			moved, err := f.data.Get(ctx, m.Class, id)
			if code := engine.CodeOf(err); err != nil && (code == engine.Forbidden || code == engine.NotFound) {
				return goja.Null, nil
			}
			return func() goja.Value { return f.h.itemObject(moved) }, err
		}}, nil
	}
}
