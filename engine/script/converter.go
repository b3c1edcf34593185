package script

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// The functions that the script of a converter may export.
const (
	parseFunction   = "parse"
	respondFunction = "respond"
)

// converter is an engine.Converter written in JavaScript. The function parse(data, req) returns the records of a
// request, and respond(items, req) returns the response. Both are optional and may be async.
type converter struct {
	name string
	live atomic.Pointer[Generation] // nil until a version could be loaded
}

var _ engine.Converter = (*converter)(nil)

// AddConverter loads the script of a converter. The Manager reloads it when the script changes, as it does for
// services. If the script cannot be loaded, AddConverter returns a *LoadError together with a converter that returns
// errors until a valid version is loaded.
func (m *Manager) AddConverter(s Service) (engine.Converter, error) {
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

// Parse implements engine.Converter.
func (c *converter) Parse(ctx context.Context, r *engine.Request, data any) (any, error) {
	b := body{kind: decodedBody, decoded: data}
	switch data := data.(type) {
	case string:
		b = body{kind: textBody, raw: []byte(data)}
	case []byte:
		b = body{kind: rawBody, raw: data}
	}
	o, done, err := c.call(ctx, r, &job{
		function: parseFunction, body: b,
		argument: func(call *call) goja.Value { return bindingOf[*exchangeBinding](call.vm).bodyValue(b) },
		result: func(call *call, result goja.Value) outcome {
			data, err := call.vm.toDecoded(result)
			return outcome{data: data, err: err}
		},
	})
	if err == nil && !done {
		return data, nil
	}
	return o.data, err
}

// Respond implements engine.Converter.
func (c *converter) Respond(ctx context.Context, r *engine.Request, items []*engine.Item) (*engine.Response, error) {
	var b body
	if g := c.live.Load(); g != nil {
		read, err := readBody(ctx, r, &g.limits, g.rt.intake)
		defer read.close()
		if err == nil { // an error was already reported by Parse
			b = read
		}
	}
	o, done, err := c.call(ctx, r, &job{
		function: respondFunction, body: b,
		argument: func(call *call) goja.Value { return call.vm.listObject(items) },
		result: func(call *call, result goja.Value) outcome {
			none := result == nil || goja.IsUndefined(result)
			return outcome{response: bindingOf[*exchangeBinding](call.vm).buildResponse(result), none: none}
		},
	})
	if err != nil || !done || o.none {
		return nil, err
	}
	return o.response, nil
}

// call runs an exported function of the script. The result done is false if the script does not export it.
func (c *converter) call(ctx context.Context, r *engine.Request, j *job) (o outcome, done bool, err error) {
	g := c.live.Load()
	if g == nil {
		return outcome{}, false, engine.Errorf(engine.Unavailable, "script", "converter %s is not available: its script could not be loaded", c.name)
	}
	for i, route := range g.routes {
		if route.Method == j.function {
			j.handler = handlerOf(i)
			o, err := g.run(ctx, r, j)
			return o, true, err
		}
	}
	return outcome{}, false, nil
}

// registerConverter finds the functions of a converter in the exports of the module, or in the object that the
// exported class constructs.
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
		v, err := h.getProperty(o, name)
		if err != nil {
			return err
		}
		if f, ok := goja.AssertFunction(v); ok {
			h.routes = append(h.routes, jsRoute{method: name, key: name, handler: f, this: o})
		}
	}
	if len(h.routes) == 0 {
		return errors.New("a converter exports parse(data, req) or respond(items, req)")
	}
	return nil
}
