package script

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/exchange"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// The names of the functions that the script of a converter may export.
const (
	parseFunction   = "parse"
	respondFunction = "respond"
)

// converter is a service.Converter written in JavaScript. The function parse(data, req) returns the records of a
// request, and respond(items, req) returns the response. The script may leave out either, and both may be async.
type converter struct {
	name string
	live atomic.Pointer[Generation] // nil until a version of the script could be loaded
}

var _ service.Converter = (*converter)(nil)

// AddConverter loads the script of a converter. The Manager loads it again when the script changes, as it does for
// services. If the script cannot be loaded, AddConverter returns a *LoadError together with a converter. The
// converter returns errors until a valid version is loaded.
func (m *Manager) AddConverter(s Service) (service.Converter, error) {
	s.Converter = true
	one := &managed{Service: s, converter: &converter{name: s.Name}}
	m.addServices(one)
	m.mu.Lock()
	defer m.mu.Unlock()
	if one.err != nil {
		return one.converter, one.err
	}
	return one.converter, nil
}

// Parse implements service.Converter. If the script has no function parse, it returns data.
func (c *converter) Parse(ctx context.Context, r *service.Request, data any) (any, error) {
	b := exchange.Body{Kind: exchange.DecodedBody, Decoded: data}
	switch data := data.(type) {
	case string:
		b = exchange.Body{Kind: exchange.TextBody, Raw: []byte(data)}
	case []byte:
		b = exchange.Body{Kind: exchange.RawBody, Raw: data}
	}
	o, done, err := c.call(ctx, r, &exchange.Job{
		Function: parseFunction, Body: b,
		Argument: func(call *vm.Call) goja.Value { return vm.BindingOf[*exchange.Binding](call.VM).BodyValue(b) },
		Result: func(call *vm.Call, result goja.Value) vm.Outcome {
			data, err := call.VM.ToDecoded(result)
			return vm.Outcome{Data: data, Err: err}
		},
	})
	if err == nil && !done {
		return data, nil
	}
	return o.Data, err
}

// Respond implements service.Converter.
func (c *converter) Respond(ctx context.Context, r *service.Request, items []*engine.Item) (*service.Response, error) {
	var b exchange.Body
	if g := c.live.Load(); g != nil {
		read, err := exchange.ReadBody(ctx, r, &g.Limits, g.rt.intake)
		if err != nil { // the error was already reported by Parse
			read.Close()
		} else {
			defer read.Close()
			b = read
		}
	}
	o, done, err := c.call(ctx, r, &exchange.Job{
		Function: respondFunction, Body: b,
		Argument: func(call *vm.Call) goja.Value { return call.VM.Items.ListObject(items) },
		Result: func(call *vm.Call, result goja.Value) vm.Outcome {
			none := result == nil || goja.IsUndefined(result)
			return vm.Outcome{Response: vm.BindingOf[*exchange.Binding](call.VM).BuildResponse(result), None: none}
		},
	})
	if err != nil || !done || o.None {
		return nil, err
	}
	return o.Response, nil
}

// call runs the function j.Function that the script exports. done is false if the script does not export it.
func (c *converter) call(ctx context.Context, r *service.Request, j *exchange.Job) (o vm.Outcome, done bool, err error) {
	g := c.live.Load()
	if g == nil {
		return vm.Outcome{}, false, engine.Errorf(engine.Unavailable, "script", "converter %s is not available: its script could not be loaded", c.name)
	}
	for i, route := range g.routes {
		if route.Method == j.Function {
			j.Handler = exchange.HandlerOf(i)
			o, err := g.Run(ctx, r, j)
			return o, true, err
		}
	}
	return vm.Outcome{}, false, nil
}

// registerConverter registers the functions parse and respond from the exports of the module. If the module exports a
// class, registerConverter creates an instance, and the functions are its methods.
func (h *host) registerConverter(exports goja.Value) error {
	if construct, ok := goja.AssertConstructor(exports); ok {
		instance, err := construct(nil, h.options())
		if err != nil {
			return err
		}
		exports = instance
	}
	o, _ := exports.(*goja.Object)
	for _, name := range []string{parseFunction, respondFunction} {
		if o == nil {
			break
		}
		v, err := h.GetProperty(o, name)
		if err != nil {
			return err
		}
		if f, ok := goja.AssertFunction(v); ok {
			h.Routes = append(h.Routes, vm.Route{Method: name, Key: name, Handler: f, This: o})
		}
	}
	if len(h.Routes) == 0 {
		return errors.New("a converter exports parse(data, req) or respond(items, req)")
	}
	return nil
}
