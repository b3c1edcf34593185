package script

import (
	"context"
	"log/slog"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform"
)

// platformHost is a VM as its platform sees it.
type platformHost struct{ h *host }

var _ platform.Host = platformHost{}

// JS is the engine.
func (p platformHost) JS() *goja.Runtime { return p.h.js }

// Program compiles source text of ours.
func (p platformHost) Program(text string) *goja.Program {
	program, err := p.h.v.gen.rt.cache.prelude(text)
	must(err)
	return program
}

// Context is that of the call.
func (p platformHost) Context() (context.Context, bool) {
	c := p.h.v.cur
	if c == nil || c.over.Load() {
		return nil, false
	}
	return c.context(), true
}

// Promise is an operation that the platform does.
func (p platformHost) Promise(what string, work func(ctx context.Context) func() goja.Value) goja.Value {
	run := p.h.async(what, func(goja.FunctionCall) (operation, error) {
		return operation{do: func(ctx context.Context) (func() goja.Value, error) { return work(ctx), nil }}, nil
	})
	return run(goja.FunctionCall{})
}

// Later is a timer of the platform.
func (p platformHost) Later(d time.Duration, f func()) (cancel func()) {
	t := &p.h.v.timers
	run := func(goja.Value, ...goja.Value) (goja.Value, error) {
		if ex := p.h.js.Try(f); ex != nil {
			return nil, ex
		}
		return goja.Undefined(), nil
	}
	id := t.start(&timer{f: run, call: p.h.v.cur, delay: max(d, minDelay)})
	if id == 0 {
		panic(p.h.newError("the service has too many timers", "too-many-timers"))
	}
	return func() { t.stop(id) }
}

// Describe is the text of a failure.
func (p platformHost) Describe(err *goja.Object) string {
	return p.h.v.describeThrown(err, nil).Error()
}

// Log writes a line as console does.
func (p platformHost) Log(level slog.Level, text string) { p.h.logLine(level, text) }

// Provide is for the text of our own modules.
func (p platformHost) Provide(text string) { p.h.provide(p.h.v.gen.rt.cache.needsOf(text)) }

// Settings are those of the Runtime.
func (p platformHost) Settings() *platform.Settings { return &p.h.v.gen.rt.settings }

// Own makes the exports of restsrv, or the base of the ancestor's services.
func (p platformHost) Own(name string) goja.Value {
	class := p.h.service()
	if name == "Service" {
		p.h.legacyBase = class
		return class
	}
	exports := p.h.js.NewObject()
	_ = exports.Set("Service", class)
	return exports
}

// globals are the globals that nobody has asked for yet. They stand in the
// prototype chain of the global object, so that a VM does not pay for what its
// scripts never name. One that is made becomes an ordinary global.
type globals struct{ h *host }

func (g *globals) find(name string) func() goja.Value {
	if build := g.h.own[name]; build != nil {
		return build
	}
	if platform.HasGlobal(name) {
		return func() goja.Value { return g.h.world().Global(name) }
	}
	return nil
}

// Get makes a global.
func (g *globals) Get(name string) goja.Value {
	build := g.find(name)
	if build == nil {
		return nil
	}
	v := build()
	_ = g.h.js.GlobalObject().DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return v
}

// Set is never reached: assignments make a property of the global object.
func (g *globals) Set(string, goja.Value) bool { return false }

// Has reports whether there is such a global.
func (g *globals) Has(name string) bool { return g.find(name) != nil }

// Delete is never reached.
func (g *globals) Delete(string) bool { return true }

// Keys lists nothing: loops do not see these globals.
func (g *globals) Keys() []string { return nil }

// installGlobals puts the table before the prototype of the global object.
func (h *host) installGlobals() {
	global := h.js.GlobalObject()
	o := h.js.NewDynamicObject(&globals{h})
	_ = o.SetPrototype(global.Prototype())
	_ = global.SetPrototype(o)
}

// world is the platform of the VM.
func (h *host) world() *platform.Platform {
	if h.platform == nil {
		h.platform = platform.New(platformHost{h})
	}
	return h.platform
}
