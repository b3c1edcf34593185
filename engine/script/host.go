package script

import (
	_ "embed"
	"reflect"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/platform"
)

// host is what one VM offers its scripts: prototypes and functions made once
// and shared by all calls.
type host struct {
	v       *vm
	js      *goja.Runtime
	modules map[string]*goja.Object // by absolute path

	legacyBase *goja.Object // the ancestor's Service, nil while not required
	routers    map[*goja.Object]bool

	secret   *goja.Symbol // names what Go hides in objects
	errorNew goja.Constructor
	dateNew  goja.Constructor
	thenFn   goja.Callable // Promise.prototype.then
	resolve  goja.Callable // Promise.resolve
	promise  goja.Value

	fulfilled, rejected goja.Value // callbacks of await

	requestProto  *goja.Object
	itemProto     *goja.Object
	propertyProto *goja.Object
	classes       map[*engine.Class]*goja.Object
	views         int // of classes, so many made
	presented     map[presentedKey]*goja.Object
	repositories  map[engine.Repository]*goja.Object
	indexes       []string // of arrays, as text
	provided      needs
	patterns      patterns
	own           map[string]func() goja.Value // globals that are restsrv's, made when first read
	platform      *platform.Platform           // nil until a script needs something of it
	consoleLoad   consoleState                 // outside of requests
	testing       *goja.Object                 // of a file of tests
	watched       *goja.Object                 // compares the variables of modules, while developing
	probed        []*source                    // the modules that it looks at
}

func newHost(v *vm) *host {
	return &host{
		v: v, js: v.js, modules: map[string]*goja.Object{}, routers: map[*goja.Object]bool{},
		secret: goja.NewSymbol("restsrv"), classes: map[*engine.Class]*goja.Object{},
		repositories: map[engine.Repository]*goja.Object{},
	}
}

// install puts the globals in place. It belongs into the first turn.
func (h *host) install() {
	h.errorNew, _ = goja.AssertConstructor(h.js.Get("Error"))
	h.dateNew, _ = goja.AssertConstructor(h.js.Get("Date"))
	h.promise = h.js.Get("Promise")
	promise := h.promise.(*goja.Object)
	h.resolve, _ = goja.AssertFunction(promise.Get("resolve"))
	h.thenFn, _ = goja.AssertFunction(promise.Get("prototype").(*goja.Object).Get("then"))
	h.own = map[string]func() goja.Value{
		"shared":  h.shared,
		"console": h.console, "log": h.console, "options": h.options,
		"dataRepo": func() goja.Value { return h.repository(h.v.gen.data()) },
		"metaRepo": func() goja.Value { return h.metaRepository(h.v.gen.metadata()) },
	}
	if h.v.gen.env.Settings != nil {
		h.own["settings"] = func() goja.Value { return h.settings(h.v.gen.env.Settings) }
	}
	if h.v.gen.storage != nil {
		h.own["fileStorage"] = func() goja.Value { return h.fileStorage(h.v.gen.storage) }
	}
	for name, build := range h.syntaxGuards() {
		h.own[name] = build
	}
	h.installTesting()
	h.installGlobals()
	h.installGuards()
}

// native makes a function with a name of its own instead of Go's.
func (h *host) native(name string, f func(goja.FunctionCall) goja.Value) *goja.Object {
	o := h.js.ToValue(f).(*goja.Object)
	_ = o.DefineDataProperty("name", h.js.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return o
}

// method adds a function that loops over properties do not see.
func (h *host) method(o *goja.Object, name string, f func(goja.FunctionCall) goja.Value) {
	_ = o.DefineDataProperty(name, h.native(name, f), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// handle lets an object carry a Go value without showing it.
type handle struct{ value any }

// Get finds nothing: a handle has no properties. So for the other methods.
func (handle) Get(string) goja.Value       { return nil }
func (handle) Set(string, goja.Value) bool { return false }
func (handle) Has(string) bool             { return false }
func (handle) Delete(string) bool          { return true }
func (handle) Keys() []string              { return nil }

// hide puts a Go error into an object.
func (h *host) hide(o *goja.Object, err error) {
	carrier := h.js.NewDynamicObject(&handle{err})
	_ = o.DefineDataPropertySymbol(h.secret, carrier, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
}

// hidden returns the Go error in an object, nil for none.
func (h *host) hidden(o *goja.Object) error {
	carrier, ok := o.GetSymbol(h.secret).(*goja.Object)
	if !ok {
		return nil
	}
	if c, ok := carrier.Export().(*handle); ok {
		err, _ := c.value.(error)
		return err
	}
	return nil
}

// newError makes a JavaScript Error with a code.
func (h *host) newError(message string, code any) *goja.Object {
	o, err := h.errorNew(nil, h.js.ToValue(message))
	if err != nil {
		return h.js.NewTypeError(message)
	}
	if code != nil {
		_ = o.Set("code", code)
	}
	return o
}

var promiseType = reflect.TypeFor[*goja.Promise]()

// promiseOf returns the promise that a value is.
func promiseOf(v goja.Value) (*goja.Promise, bool) {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != promiseType {
		return nil, false
	}
	p, ok := o.Export().(*goja.Promise)
	return p, ok
}

// adoptThenable turns an object with a method then into a promise.
func (h *host) adoptThenable(v goja.Value) (*goja.Promise, bool, error) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false, nil
	}
	then, err := h.get(o, "then")
	if err != nil {
		return nil, false, err
	}
	if _, callable := goja.AssertFunction(then); !callable {
		return nil, false, nil
	}
	ret, err := h.resolve(h.promise, o)
	if err != nil {
		return nil, false, err
	}
	p, ok := promiseOf(ret)
	return p, ok, nil
}

// then calls one of the functions when p settles. The error is one that no
// script can catch.
func (h *host) then(p *goja.Promise, fulfilled, rejected func(goja.Value)) error {
	callback := func(f func(goja.Value)) goja.Value {
		return h.js.ToValue(func(call goja.FunctionCall) goja.Value {
			f(call.Argument(0))
			return goja.Undefined()
		})
	}
	_, err := h.thenFn(h.js.ToValue(p), callback(fulfilled), callback(rejected))
	return err
}

// await answers c when p settles. The callbacks are shared by all calls: which
// one they are for, the asynchronous context tells.
func (h *host) await(c *call, p *goja.Promise) error {
	if h.fulfilled == nil {
		h.fulfilled = h.js.ToValue(func(fc goja.FunctionCall) goja.Value {
			if c := h.v.cur; c != nil && !c.over.Load() {
				must(h.v.answer(c, fc.Argument(0)))
			}
			return goja.Undefined()
		})
		h.rejected = h.js.ToValue(func(fc goja.FunctionCall) goja.Value {
			if c := h.v.cur; c != nil {
				c.fail(h.v.describeThrown(fc.Argument(0), nil))
			}
			return goja.Undefined()
		})
	}
	h.v.cur = c
	_, err := h.thenFn(h.js.ToValue(p), h.fulfilled, h.rejected)
	return err
}

//go:embed service.js
var serviceSource string

// service makes a Service class of its own.
func (h *host) service() *goja.Object {
	program, err := h.v.gen.rt.cache.prelude(serviceSource)
	must(err)
	factory, err := h.js.RunProgram(program)
	must(err)
	make, _ := goja.AssertFunction(factory)
	class, err := make(goja.Undefined(), h.native("addHandler", h.addHandler))
	must(err)
	return class.(*goja.Object)
}

// addHandler is Service.prototype.addHandler(router, path, method, handler).
func (h *host) addHandler(call goja.FunctionCall) goja.Value {
	if err := h.addRoute(textArgument(call, 2), textArgument(call, 1), call.Argument(3), call.This); err != nil {
		panic(h.newError("addHandler: "+err.Error(), nil))
	}
	p, resolve, _ := h.js.NewPromise()
	must(resolve(goja.Undefined()))
	return h.js.ToValue(p)
}

func textArgument(call goja.FunctionCall, i int) string {
	s, _ := call.Argument(i).Export().(string)
	return s
}

// addRoute records a route while the module loads.
func (h *host) addRoute(method, path string, handler, this goja.Value) error {
	l := h.v.load
	if l == nil {
		return errLate
	}
	r, err := newRoute(method, path)
	if err != nil {
		return err
	}
	f, ok := goja.AssertFunction(handler)
	if !ok {
		return &routeError{method + " " + path}
	}
	if n := handler.(*goja.Object).Get("length"); n != nil && n.ToInteger() > 1 {
		h.v.gen.warn("a handler takes more than the request, and gets nothing more: there is no res and no next; return the answer, or throw an error with a status", "route", r.method+" "+r.path)
	}
	r.handler, r.this = f, this
	l.routes = append(l.routes, r)
	return nil
}

type routeError struct{ route string }

func (e *routeError) Error() string { return "the handler of " + e.route + " is no function" }

type lateError struct{}

func (lateError) Error() string { return "routes are registered while the service loads, not later" }

var errLate = lateError{}

// router makes the object that _route gets. Handlers are registered through
// addHandler; Express's own methods say so.
func (h *host) router() *goja.Object {
	o := h.js.NewObject()
	methods := h.methodsOf(o)
	for _, name := range []string{"get", "post", "put", "patch", "delete", "all", "use"} {
		methods.add(name, func(goja.FunctionCall) goja.Value {
			panic(h.newError("router."+name+" is not supported: write this.addHandler(router, path, method, handler)", nil))
		})
	}
	return o
}

// options makes the object that the constructor gets.
func (h *host) options() goja.Value {
	o := h.js.NewObject()
	for _, name := range sortedNames(h.v.gen.options) {
		h.put(o, name, h.option(name, h.v.gen.options[name]))
	}
	return o
}
