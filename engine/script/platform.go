package script

import (
	"context"
	"log/slog"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform"
	"restsrv/engine/script/vm"
)

// platformHost implements platform.Host: it gives the platform access to the VM.
type platformHost struct{ h *host }

var _ platform.Host = platformHost{}

// JS implements platform.Host.
func (p platformHost) JS() *goja.Runtime { return p.h.JS }

// Program implements platform.Host. It compiles JavaScript source text that is part of restsrv.
func (p platformHost) Program(text string) *goja.Program {
	return p.h.Program(text)
}

// Context implements platform.Host. It returns the context of the current call, or false if there is none.
func (p platformHost) Context() (context.Context, bool) {
	c := p.h.Call
	if c == nil || c.Over.Load() {
		return nil, false
	}
	return c.Context(), true
}

// Lifetime implements platform.Host.
func (p platformHost) Lifetime() (context.Context, bool) {
	c := p.h.Call
	if c == nil || c.Over.Load() {
		return nil, false
	}
	return c.Lifetime(), true
}

// Promise implements platform.Host. It runs work as a vm.Operation.
func (p platformHost) Promise(what string, work func(ctx context.Context) func() goja.Value) goja.Value {
	run := p.h.AsyncFunction(what, func(goja.FunctionCall) (vm.Operation, error) {
		return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) { return work(ctx), nil }}, nil
	})
	return run(goja.FunctionCall{})
}

// Compute implements platform.Host.
func (p platformHost) Compute(what string, size int, work func(expired func() error) func() goja.Value) goja.Value {
	return p.h.Compute(what, size, work)
}

// Expired implements platform.Host.
func (p platformHost) Expired() error { return p.h.Expired() }

// EndTurn implements platform.Host.
func (p platformHost) EndTurn() { p.h.InTime() }

// Later implements platform.Host. It starts a timer that calls f.
func (p platformHost) Later(d time.Duration, f func()) (cancel func()) {
	t := &p.h.Timers
	run := func(goja.Value, ...goja.Value) (goja.Value, error) {
		if ex := p.h.JS.Try(f); ex != nil {
			return nil, ex
		}
		return goja.Undefined(), nil
	}
	id := t.Start(&vm.Timer{F: run, Call: p.h.Call, Delay: max(d, vm.MinDelay)})
	if id == 0 {
		panic(p.h.NewError("the service has too many timers", "too-many-timers"))
	}
	return func() { t.Stop(id) }
}

// AsyncStore implements platform.Host.
func (p platformHost) AsyncStore() goja.Value {
	v, _ := p.h.Store.(goja.Value)
	return v
}

// SetAsyncStore implements platform.Host.
func (p platformHost) SetAsyncStore(v goja.Value) {
	if v == nil {
		p.h.Store = nil // not an interface that holds nil
		return
	}
	p.h.Store = v
}

// Warn implements platform.Host.
func (p platformHost) Warn(text string, args ...any) { p.h.Service.Warn(text, args...) }

// Describe implements platform.Host. It returns the message and the stack of an Error.
func (p platformHost) Describe(err *goja.Object) string {
	return p.h.DescribeThrown(err, nil).Error()
}

// Log implements platform.Host. It logs a line as console does.
func (p platformHost) Log(level slog.Level, text string) { p.h.console.logLine(level, text) }

// Provide implements platform.Host. The parameter text is JavaScript that is part of restsrv. Provide installs the
// built-ins and guards that this code needs.
func (p platformHost) Provide(text string) {
	p.h.guards.ProvideBuiltins(p.h.Service.Compile.NeedsOf(text))
}

// Settings implements platform.Host. It returns the settings of the Runtime.
func (p platformHost) Settings() *platform.Settings { return &p.h.gen.rt.settings }

// Own implements platform.Host.
func (p platformHost) Own(name string) goja.Value {
	if name == "createRequire" {
		return p.h.NewFunction(name, p.h.createRequire)
	}
	class := p.h.serviceClass()
	if name == "Service" {
		p.h.legacyBase = class
		return class
	}
	exports := p.h.JS.NewObject()
	_ = exports.Set("Service", class)
	_ = exports.Set("eventStream", p.h.NewFunction("eventStream", func(call goja.FunctionCall) goja.Value {
		return p.h.CallModule("#sse", "eventStream", call.Arguments...)
	}))
	return exports
}

// globals is the Go value that creates globals when a script first reads them. It is in the prototype chain of the
// global object. A created global becomes an ordinary property of the global object. This saves memory, because most
// scripts use few of the globals.
type globals struct{ h *host }

func (g *globals) findGlobal(name string) func() goja.Value {
	if build := g.h.own[name]; build != nil {
		return build
	}
	if platform.HasGlobal(name) {
		return func() goja.Value { return g.h.EnsurePlatform().Global(name) }
	}
	return nil
}

// Get implements goja.DynamicObject. It creates the global and defines it as a property of the global object.
func (g *globals) Get(name string) goja.Value {
	build := g.findGlobal(name)
	if build == nil {
		return nil
	}
	v := build()
	_ = g.h.JS.GlobalObject().DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return v
}

// Set implements goja.DynamicObject. It is never called: globals is only the prototype of the global object, and an
// assignment to a global variable creates a property of the global object itself.
func (g *globals) Set(string, goja.Value) bool { return false }

// Has implements goja.DynamicObject.
func (g *globals) Has(name string) bool { return g.findGlobal(name) != nil }

// Delete implements goja.DynamicObject. It is never called, because deleting a global variable does not affect the
// prototype of the global object.
func (g *globals) Delete(string) bool { return true }

// Keys implements goja.DynamicObject. It returns no names, so that these
// globals are not enumerable.
func (g *globals) Keys() []string { return nil }

// installGlobals inserts globals between the global object and its prototype.
func (h *host) installGlobals() {
	global := h.JS.GlobalObject()
	o := h.JS.NewDynamicObject(&globals{h})
	_ = o.SetPrototype(global.Prototype())
	_ = global.SetPrototype(o)
}
