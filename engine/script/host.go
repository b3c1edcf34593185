package script

import (
	_ "embed" // for service.js

	"github.com/dop251/goja"

	"restsrv/engine/script/platform"
)

// host is the contents of one VM: its bindings, the globals that they provide, and the modules that it has run.
type host struct {
	*vm
	gen      *Generation
	guards   *guards
	data     *dataBinding
	access   *accessBinding
	exchange *exchangeBinding
	shared   *sharedBinding
	events   *eventBinding
	tests    *testBinding // nil if the file contains no tests
	console  *console

	modules    map[string]*goja.Object      // by absolute path
	legacyBase *goja.Object                 // the Service class of IONDV; nil until required
	own        map[string]func() goja.Value // globals of restsrv, made when first read
	watched    *goja.Object                 // compares the variables of modules; only in development mode
	probed     []*source                    // the modules that it compares
	watching   *call                        // call of the turn after which they are compared
}

// newHost creates a VM for a generation, with its bindings.
func newHost(g *Generation) *host {
	v := newVM(g.vmService)
	h := &host{vm: v, gen: g, modules: map[string]*goja.Object{}}
	h.guards = newGuards(v.realm, guardHooks{
		mayMatch:      v.clock.mayMatch,
		installTimers: v.installTimers,
		platform:      v.ensurePlatform,
	})
	v.newPlatform = func() *platform.Platform { return platform.New(platformHost{h}) }
	h.exchange = newExchange(v)
	h.access = newAccess(v)
	h.events = newEvents(v)
	h.data = newData(v, h.events, h.guards.usesBase)
	h.shared = newShared(v, g.lasting.store)
	h.console = &console{vm: v}
	v.bindings = []any{h.exchange, h.events}
	if g.tests != nil {
		h.tests = newTests(v, g.tests)
	}
	return h
}

// install defines the globals. It must be called in the first turn.
func (h *host) install() {
	h.findBuiltins()
	h.own = map[string]func() goja.Value{
		"shared":  h.shared.object,
		"console": h.console.object, "log": h.console.object, "options": h.options,
		"dataRepo": func() goja.Value { return h.data.repositoryObject(h.service.data()) },
		"metaRepo": func() goja.Value { return h.data.metaRepository(h.service.metadata()) },
	}
	if settings := h.service.env.Settings; settings != nil {
		h.own["settings"] = func() goja.Value { return h.newSettings(settings) }
	}
	if storage := h.data.storage; storage != nil {
		h.own["fileStorage"] = func() goja.Value { return h.data.fileStorage(storage) }
	}
	for name, build := range h.guards.syntaxGuards() {
		h.own[name] = build
	}
	if h.tests != nil {
		h.tests.addGlobals(h.own)
	}
	h.installGlobals()
	h.guards.install()
}

//go:embed service.js
var serviceSource string

// serviceClass returns a new Service class.
func (h *host) serviceClass() *goja.Object {
	make, _ := goja.AssertFunction(h.runPrelude(serviceSource))
	class, err := make(goja.Undefined(), h.newFunction("addHandler", h.addHandler))
	must(err)
	return class.(*goja.Object)
}

// addHandler implements Service.prototype.addHandler(router, path, method, handler).
func (h *host) addHandler(call goja.FunctionCall) goja.Value {
	if err := h.addRoute(textArgument(call, 2), textArgument(call, 1), call.Argument(3), call.This); err != nil {
		panic(h.newError("addHandler: "+err.Error(), nil))
	}
	return h.settled(goja.Undefined())
}

// addRoute registers a route. It returns an error if the module is loaded already.
func (h *host) addRoute(method, path string, handler, this goja.Value) error {
	if h.load == nil {
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
		h.service.warn("a handler has more than one parameter but receives only the request: there is no res and no next; return the answer, or throw an error with a status", "route", r.method+" "+r.path)
	}
	r.handler, r.this = f, this
	h.routes = append(h.routes, r)
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
	for _, name := range sortedNames(h.service.options) {
		h.put(o, name, h.optionValue(name, h.service.options[name]))
	}
	return o
}
