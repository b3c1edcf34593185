package script

import (
	"context"
	"errors"
	"net/http"
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
	o, done, err := c.call(ctx, r, b, &job{
		function: parseFunction, data: true,
		argument: func(call *call) goja.Value { return call.vm.host.bodyValue(b) },
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
		read, err := g.readBody(ctx, r)
		defer read.close()
		if err == nil { // an error was already reported by Parse
			b = read
		}
	}
	o, done, err := c.call(ctx, r, b, &job{
		function: respondFunction,
		argument: func(call *call) goja.Value { return call.vm.host.listArray(items, -1) },
	})
	if err != nil || !done || o.none {
		return nil, err
	}
	return o.response, nil
}

// job is a call of a function that is not a route.
type job struct {
	function string
	argument func(*call) goja.Value // returns the argument before req
	data     bool                   // the result is data, not a response
	event    *eventRun              // the handler to call; nil if the job is not an event
}

// call runs an exported function of the script. The result done is false if the script does not export it.
func (c *converter) call(ctx context.Context, r *engine.Request, b body, j *job) (o outcome, done bool, err error) {
	g := c.live.Load()
	if g == nil {
		return outcome{}, false, engine.Errorf(engine.Unavailable, "script", "converter %s is not available: its script could not be loaded", c.name)
	}
	for i, route := range g.routes {
		if route.Method == j.function {
			o, err := g.runCall(ctx, r, i, b, j)
			return o, true, err
		}
	}
	return outcome{}, false, nil
}

// jobOutcome converts the result of a call. It must be called inside Try.
func (v *vm) jobOutcome(c *call, result goja.Value) outcome {
	none := result == nil || goja.IsUndefined(result)
	switch {
	case c.job == nil:
		return outcome{response: v.buildResponse(result)}
	case c.job.event != nil:
		return c.job.event.readOutcome(c, result)
	case !c.job.data:
		return outcome{response: v.buildResponse(result), none: none}
	}
	data, err := v.host.toDecoded(result)
	return outcome{data: data, err: err}
}

// failedJob returns the error of a job. In development mode, it also logs the position of the failure.
func (c *call) failedJob(f *Failure) error {
	if c.gen.tests != nil {
		return f
	}
	err := jobError(f)
	if engine.CodeOf(err) == engine.Internal && c.gen.rt.dev {
		c.gen.log.Error("a converter failed", c.gen.failureArgs(f, "request", c.req.ID, "function", c.job.function)...)
	}
	return err
}

func jobError(f *Failure) error {
	var e *engine.Error
	switch {
	case f.status == http.StatusForbidden:
		return &engine.Error{Code: engine.Forbidden, Reason: "converter", Message: f.text, Err: f}
	case f.status != 0:
		return &engine.Error{Code: engine.Invalid, Reason: "converter", Message: f.text, Err: f}
	case errors.As(f.cause, &e):
		return e
	}
	return &engine.Error{Code: engine.Internal, Reason: "script", Message: internalText, Err: f}
}

// registerConverter finds the functions of a converter in the exports of the module, or in the object that the
// exported class constructs.
func (l *loading) registerConverter(exports goja.Value) error {
	h := l.vm.host
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
			l.routes = append(l.routes, jsRoute{method: name, key: name, handler: f, this: o})
		}
	}
	if len(l.routes) == 0 {
		return errors.New("a converter exports parse(data, req) or respond(items, req)")
	}
	return nil
}
