package script

import (
	_ "embed" // for service.js

	"github.com/dop251/goja"

	"restsrv/engine/script/access"
	"restsrv/engine/script/data"
	"restsrv/engine/script/event"
	"restsrv/engine/script/exchange"
	"restsrv/engine/script/js"
	"restsrv/engine/script/module"
	"restsrv/engine/script/platform"
	"restsrv/engine/script/sandbox"
	"restsrv/engine/script/shared"
	"restsrv/engine/script/suite"
	"restsrv/engine/script/vm"
)

// host is a VM together with its bindings, the globals that the bindings provide, and the modules that have run in
// the VM.
type host struct {
	*vm.VM
	gen      *Generation
	guards   *sandbox.Guards
	data     *data.Binding
	access   *access.Binding
	exchange *exchange.Binding
	shared   *shared.Binding
	events   *event.Binding
	tests    *suite.Binding // nil if the main file contains no tests
	console  *console

	modules     map[string]*goja.Object      // JavaScript objects "module", by absolute path of the file
	evaluations map[string]*goja.Promise     // promises of the modules that wait outside of functions, by absolute path
	unready     *goja.Promise                // a module that must be ready before modules run again; see evaluation.go
	legacyBase  *goja.Object                 // IONDV's Service class; nil until a script requires it
	own         map[string]func() goja.Value // functions that create the globals of restsrv at the first use
	watched     *goja.Object                 // result of newWatcher; nil if not in development mode
	probed      []*module.Source             // modules whose variables are compared after each turn; see compareModules
	watching    *vm.Call                     // the call to which the compared turn belongs
}

// newHost creates a VM for a generation, together with its bindings.
func newHost(g *Generation) *host {
	v := vm.New(g.Service)
	h := &host{VM: v, gen: g, modules: map[string]*goja.Object{}, evaluations: map[string]*goja.Promise{}}
	h.guards = sandbox.New(v.Realm, v)
	v.NewPlatform = func() *platform.Platform { return platform.New(platformHost{h}) }
	h.exchange = exchange.New(v)
	h.access = access.New(v)
	h.events = event.New(v)
	h.data = data.New(v, h.events, h.guards)
	h.shared = shared.New(v, g.lasting.store)
	h.console = &console{VM: v}
	v.Bindings = []any{h.exchange, h.events}
	if g.tests != nil {
		h.tests = suite.NewBinding(v, g.tests)
	}
	return h
}

// install defines the globals of the VM. It must be called in the first turn.
func (h *host) install() {
	h.FindBuiltins()
	h.own = map[string]func() goja.Value{
		"shared":  h.shared.Object,
		"console": h.console.object, "log": h.console.object, "options": h.options,
		"dataRepo": func() goja.Value { return h.data.RepositoryObject(h.Service.Data()) },
		"metaRepo": func() goja.Value { return h.data.MetaRepository(h.Service.Metadata()) },
	}
	if settings := h.Service.Env.Settings; settings != nil {
		h.own["settings"] = func() goja.Value { return h.newSettings(settings) }
	}
	if storage := h.data.Storage; storage != nil {
		h.own["fileStorage"] = func() goja.Value { return h.data.FileStorage(storage) }
	}
	for name, build := range h.guards.SyntaxGuards() {
		h.own[name] = build
	}
	h.own[sandbox.AwaitMark] = h.AwaitMark
	if h.tests != nil {
		h.tests.AddGlobals(h.own)
	}
	h.installGlobals()
	h.guards.Install()
}

//go:embed service.js
var serviceSource string

// serviceClass returns the class Service, from which services can be derived. It creates a new class at each call.
func (h *host) serviceClass() *goja.Object {
	make, _ := goja.AssertFunction(h.RunPrelude(serviceSource))
	class, err := make(goja.Undefined(), h.NewFunction("addHandler", h.addHandler))
	js.Must(err)
	return class.(*goja.Object)
}

// addHandler implements Service.prototype.addHandler(router, path, method, handler).
func (h *host) addHandler(call goja.FunctionCall) goja.Value {
	if err := h.addRoute(js.TextArgument(call, 2), js.TextArgument(call, 1), call.Argument(3), call.This); err != nil {
		panic(h.NewError("addHandler: "+err.Error(), nil))
	}
	return h.Settled(goja.Undefined())
}

// addRoute registers a route. It returns an error if the module has been loaded already.
func (h *host) addRoute(method, path string, handler, this goja.Value) error {
	if h.Load == nil {
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
		h.Service.Warn("a handler has more than one parameter but receives only the request: there is no res and no next; return the answer, or throw an error with a status", "route", r.Method+" "+r.Path)
	}
	r.Handler, r.This = f, this
	r.Streams = h.Service.Options["bodyParser"] == false
	if parser := handler.(*goja.Object).Get("bodyParser"); parser != nil && !goja.IsUndefined(parser) {
		r.Streams = !parser.ToBoolean()
	}
	_ = h.JS.Try(func() { r.Source, _ = handler.ToString().(goja.String) }) // it throws for a Proxy
	h.Routes = append(h.Routes, r)
	return nil
}

type routeError struct{ route string }

func (e *routeError) Error() string { return "the handler of " + e.route + " is no function" }

type lateError struct{}

func (lateError) Error() string { return "routes are registered while the service loads, not later" }

var errLate = lateError{}

// newRouter returns the router argument of _route. It has the methods of an Express router, but each throws an error
// that explains addHandler, with which routes are registered.
func (h *host) newRouter() *goja.Object {
	o := h.JS.NewObject()
	methods := h.MethodsOf(o)
	for _, name := range []string{"get", "post", "put", "patch", "delete", "all", "use"} {
		methods.Add(name, func(goja.FunctionCall) goja.Value {
			panic(h.NewError("router."+name+" is not supported: write this.addHandler(router, path, method, handler)", nil))
		})
	}
	return o
}

// options returns the object that the constructor of a service receives.
func (h *host) options() goja.Value {
	o := h.JS.NewObject()
	for _, name := range js.SortedNames(h.Service.Options) {
		h.Put(o, name, h.optionValue(name, h.Service.Options[name]))
	}
	return o
}
