package script

import (
	_ "embed"
	"reflect"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/platform"
)

// host provides the objects and functions of one VM to its scripts. All calls on the VM share them.
type host struct {
	v       *vm
	js      *goja.Runtime
	modules map[string]*goja.Object // by absolute path

	legacyBase *goja.Object // the Service class of IONDV; nil until required
	routers    map[*goja.Object]bool

	secret   *goja.Symbol // key of the Go values that are attached to objects
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
	views         int // number of cached views of classes
	presented     map[presentedKey]*goja.Object
	repositories  map[engine.Repository]*goja.Object
	indexes       []string // array indexes as strings
	provided      needs
	patterns      patterns
	own           map[string]func() goja.Value // globals of restsrv, made when first read
	platform      *platform.Platform           // nil until a script uses a part of it
	consoleLoad   consoleState                 // used outside of requests
	testing       *goja.Object                 // only in a test file
	watched       *goja.Object                 // compares the variables of modules; only in development mode
	probed        []*source                    // the modules that it compares
}

func newHost(v *vm) *host {
	return &host{
		v: v, js: v.js, modules: map[string]*goja.Object{}, routers: map[*goja.Object]bool{},
		secret: goja.NewSymbol("restsrv"), classes: map[*engine.Class]*goja.Object{},
		repositories: map[engine.Repository]*goja.Object{},
	}
}

// install defines the globals. It must be called in the first turn.
func (h *host) install() {
	h.errorNew, _ = goja.AssertConstructor(h.js.Get("Error"))
	h.dateNew, _ = goja.AssertConstructor(h.js.Get("Date"))
	h.promise = h.js.Get("Promise")
	promise := h.promise.(*goja.Object)
	h.resolve, _ = goja.AssertFunction(promise.Get("resolve"))
	h.thenFn, _ = goja.AssertFunction(promise.Get("prototype").(*goja.Object).Get("then"))
	h.own = map[string]func() goja.Value{
		"shared":  h.sharedObject,
		"console": h.newConsole, "log": h.newConsole, "options": h.options,
		"dataRepo": func() goja.Value { return h.repositoryObject(h.v.gen.data()) },
		"metaRepo": func() goja.Value { return h.metaRepository(h.v.gen.metadataRepository()) },
	}
	if h.v.gen.env.Settings != nil {
		h.own["settings"] = func() goja.Value { return h.newSettings(h.v.gen.env.Settings) }
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

// newFunction returns a JavaScript function with the given name.
func (h *host) newFunction(name string, f func(goja.FunctionCall) goja.Value) *goja.Object {
	o := h.js.ToValue(f).(*goja.Object)
	_ = o.DefineDataProperty("name", h.js.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return o
}

// method adds a function as a property that is not enumerable.
func (h *host) method(o *goja.Object, name string, f func(goja.FunctionCall) goja.Value) {
	_ = o.DefineDataProperty(name, h.newFunction(name, f), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// handle attaches a Go value to an object. Scripts cannot read the value.
type handle struct{ value any }

// Get returns nil, because a handle has no properties. The other methods behave accordingly.
func (handle) Get(string) goja.Value       { return nil }
func (handle) Set(string, goja.Value) bool { return false }
func (handle) Has(string) bool             { return false }
func (handle) Delete(string) bool          { return true }
func (handle) Keys() []string              { return nil }

// attachError attaches a Go error to an object.
func (h *host) attachError(o *goja.Object, err error) {
	carrier := h.js.NewDynamicObject(&handle{err})
	_ = o.DefineDataPropertySymbol(h.secret, carrier, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
}

// attachedError returns the Go error that is attached to an object, or nil.
func (h *host) attachedError(o *goja.Object) error {
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

// newError returns a JavaScript Error. If code is not nil, it is set as the property code.
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

// promiseOf returns v as a promise. It returns false if v is not a promise.
func promiseOf(v goja.Value) (*goja.Promise, bool) {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != promiseType {
		return nil, false
	}
	p, ok := o.Export().(*goja.Promise)
	return p, ok
}

// adoptThenable converts an object with a method named then to a promise. It returns false if v is not such an
// object.
func (h *host) adoptThenable(v goja.Value) (*goja.Promise, bool, error) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false, nil
	}
	then, err := h.getProperty(o, "then")
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

// then calls one of the functions when p settles. It returns only errors that scripts cannot catch.
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

// await answers c when p settles. All calls share the callbacks, which find the call in the asynchronous context.
func (h *host) await(c *call, p *goja.Promise) error {
	if h.fulfilled == nil {
		h.fulfilled = h.js.ToValue(func(fc goja.FunctionCall) goja.Value {
			if c := h.v.cur; c != nil && !c.over.Load() {
				must(h.v.answerCall(c, fc.Argument(0)))
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

// service returns a new Service class.
func (h *host) service() *goja.Object {
	program, err := h.v.gen.rt.cache.preludeProgram(serviceSource)
	must(err)
	factory, err := h.js.RunProgram(program)
	must(err)
	make, _ := goja.AssertFunction(factory)
	class, err := make(goja.Undefined(), h.newFunction("addHandler", h.addHandler))
	must(err)
	return class.(*goja.Object)
}

// addHandler implements Service.prototype.addHandler(router, path, method, handler).
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

// addRoute registers a route. It returns an error if the module is loaded already.
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
		h.v.gen.warn("a handler has more than one parameter but receives only the request: there is no res and no next; return the answer, or throw an error with a status", "route", r.method+" "+r.path)
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

// newRouter returns the router that _route receives. Routes are registered with addHandler; the methods of Express
// routers throw an error that explains this.
func (h *host) newRouter() *goja.Object {
	o := h.js.NewObject()
	methods := h.methodsOf(o)
	for _, name := range []string{"get", "post", "put", "patch", "delete", "all", "use"} {
		methods.add(name, func(goja.FunctionCall) goja.Value {
			panic(h.newError("router."+name+" is not supported: write this.addHandler(router, path, method, handler)", nil))
		})
	}
	return o
}

// options returns the object that the constructor of a service receives.
func (h *host) options() goja.Value {
	o := h.js.NewObject()
	for _, name := range sortedNames(h.v.gen.options) {
		h.put(o, name, h.optionValue(name, h.v.gen.options[name]))
	}
	return o
}
