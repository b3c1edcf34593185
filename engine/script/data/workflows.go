package data

import (
	"context"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/event"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// WorkflowsObject returns the JavaScript object workflows, which reads and changes the workflow states of items. It
// acts for the account of the request, uses the repository of the option dataRepo, and takes part in an open
// transaction.
func (h *Binding) WorkflowsObject(w engine.Workflows) goja.Value {
	o := h.JS.NewObject()
	f := &jsWorkflows{h: h, flows: w, data: h.Service.Data()}
	h.Method(o, "getStatus", h.AsyncFunction("workflows.getStatus", f.getStatus))
	h.Method(o, "performTransition", h.AsyncFunction("workflows.performTransition", f.moveFunction("performTransition", "a transition", func(m *engine.Move, name string) { m.Transition = name })))
	h.Method(o, "pushToState", h.AsyncFunction("workflows.pushToState", f.moveFunction("pushToState", "a state", func(m *engine.Move, name string) { m.State = name })))
	h.Method(o, "on", func(call goja.FunctionCall) goja.Value {
		return h.events.Register("workflows.on", call, f.data, f.eventType)
	})
	return o
}

// eventType checks an event name of workflows.on, such as "workflow@namespace.state", and returns the internal type
// of the event.
func (f *jsWorkflows) eventType(name string) (string, error) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 || !f.flows.Has(name[:at], name[at+1:]) {
		return "", engine.Errorf(engine.Invalid, "event", "workflows.on(%s): there is no such state: the type of an event is <workflow>@<namespace>.<state>", engine.Quote(name))
	}
	return event.EnterEvent(name[:at], name[at+1:]), nil
}

// jsWorkflows implements the methods of the object workflows.
type jsWorkflows struct {
	h     *Binding
	flows engine.Workflows
	data  engine.Repository
}

// itemArgument returns the item that v holds. name is the name of the method, for the error if v is not an item.
func (f *jsWorkflows) itemArgument(name string, v goja.Value) (*engine.Item, error) {
	if it := itemOf(v); it != nil {
		return it.item, nil
	}
	return nil, engine.Errorf(engine.Invalid, "argument", "workflows.%s takes an item of a repository, found %s", name, js.DescribeValue(v))
}

// getStatus implements getStatus(item). It returns the workflow states of the item and the possible transitions.
func (f *jsWorkflows) getStatus(call goja.FunctionCall) (vm.Operation, error) {
	it, err := f.itemArgument("getStatus", call.Argument(0))
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		status, err := f.flows.Status(ctx, f.data, it.Class.Base(), it.ID)
		return func() goja.Value { return f.h.FromDecoded(status) }, err
	}}, err
}

// moveFunction returns the code of a method (item, workflow, name) that moves the item to another state. set stores
// the third argument, a transition or a state, in the move. The method returns the moved item, or null if the account
// may no longer read it.
func (f *jsWorkflows) moveFunction(name, what string, set func(*engine.Move, string)) func(goja.FunctionCall) (vm.Operation, error) {
	return func(call goja.FunctionCall) (vm.Operation, error) {
		it, err := f.itemArgument(name, call.Argument(0))
		if err != nil {
			return vm.Operation{}, err
		}
		workflow, ok := call.Argument(1).Export().(string)
		to, also := call.Argument(2).Export().(string)
		if !ok || !also || to == "" {
			return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "workflows.%s takes an item, a workflow such as sale@shop and %s", name, what)
		}
		m := engine.Move{Class: it.Class.Base(), ID: it.ID, Workflow: workflow}
		set(&m, to)
		return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
			id, err := f.flows.Move(ctx, f.data, m)
			if err != nil {
				return nil, err
			}
			moved, err := f.data.Get(ctx, m.Class, id)
			if code := engine.CodeOf(err); err != nil && (code == engine.Forbidden || code == engine.NotFound) {
				return goja.Null, nil
			}
			return func() goja.Value { return f.h.ItemObject(moved) }, err
		}}, nil
	}
}
