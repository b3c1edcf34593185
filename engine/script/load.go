package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// loadModule is the turn in which a new VM runs the main file and registers its routes.
func (h *host) loadModule(l *vm.Loading) error {
	h.install()
	resume := h.Clock.Pause()
	src, err := h.Service.Files.OpenFile(h.gen.entry, h.Service.Asked, filepath.ToSlash(h.Service.Asked))
	resume()
	if err != nil {
		l.Finish(err)
		return nil
	}
	return h.loadMain(l, src)
}

// registerExports registers the routes, the functions of a converter, or the tests that the main file exports. If the
// service has an async _route, the result is the promise of that method. Otherwise the result has no meaning.
func (h *host) registerExports(exports goja.Value) (goja.Value, error) {
	if h.tests != nil {
		return goja.Undefined(), h.tests.RegisterTests()
	}
	exports, err := h.defaultExport(exports)
	if err != nil {
		return nil, err
	}
	if h.gen.converter {
		return goja.Undefined(), h.registerConverter(exports)
	}
	if construct, ok := goja.AssertConstructor(exports); ok {
		instance, err := construct(nil, h.options())
		if err != nil {
			return nil, err
		}
		return h.registerService(instance)
	}
	if o, ok := exports.(*goja.Object); ok && o.ClassName() == "Object" {
		if _, callable := goja.AssertFunction(exports); !callable {
			return goja.Undefined(), h.registerTable(o)
		}
	}
	return nil, errors.New("module.exports must be a Service class, or an object such as {'GET /': async (req) => ...}")
}

// registerService registers the routes of a service object by calling its method route or _route.
func (h *host) registerService(instance *goja.Object) (goja.Value, error) {
	var route, plain goja.Value
	if ex := h.JS.Try(func() { route, plain = instance.Get("route"), instance.Get("_route") }); ex != nil {
		return nil, ex
	}
	f, ok := goja.AssertFunction(route)
	if !ok {
		if f, ok = goja.AssertFunction(plain); !ok {
			return nil, errors.New("the service has neither a method _route(router) nor route(router)")
		}
	}
	if g := h.Service; !g.Legacy && h.legacyBase != nil && h.JS.InstanceOf(instance, h.legacyBase) {
		g.Legacy = true // the first VM is loading, so no other goroutine reads it
	}
	return h.callInitialization(instance, func() (goja.Value, error) { return f(instance, h.newRouter()) })
}

// registerTable registers the routes of an object such as {'GET /path': handler}.
func (h *host) registerTable(table *goja.Object) error {
	var failed error
	ex := h.JS.Try(func() {
		for _, key := range table.Keys() {
			handler := table.Get(key)
			method, path, ok := strings.Cut(strings.TrimSpace(key), " ")
			if !ok {
				failed = errors.New("key " + strconv.Quote(key) + " of module.exports is no route: write 'GET /path'")
				return
			}
			if failed = h.addRoute(method, strings.TrimSpace(path), handler, table); failed != nil {
				return
			}
		}
	})
	if ex != nil {
		return ex
	}
	return failed
}

// settleLoad finishes the loading. If pending is the promise of an async _route, it waits until the promise settles.
func (h *host) settleLoad(l *vm.Loading, pending goja.Value) error {
	v := h.VM
	p, ok := js.PromiseOf(pending)
	if !ok {
		l.Finish(nil)
		return nil
	}
	reject := func(reason goja.Value) { l.Finish(v.LoadError(v.DescribeThrown(reason, nil))) }
	switch p.State() {
	case goja.PromiseStateFulfilled:
		l.Finish(nil)
		return nil
	case goja.PromiseStateRejected:
		delete(v.Rejected, p)
		reject(p.Result())
		return nil
	}
	return v.Then(p, func(goja.Value) { l.Finish(nil) }, reject)
}

// callInitialization calls the method _initialization(scope) of a service that is based on IONDV's Service class, if it
// has this method. After that it calls register and returns its result. If _initialization is async, it returns a
// promise of that result.
func (h *host) callInitialization(instance *goja.Object, register func() (goja.Value, error)) (goja.Value, error) {
	if !h.Service.Legacy {
		return register()
	}
	method, err := h.GetProperty(instance, "_initialization")
	if err != nil {
		return nil, err
	}
	initialize, ok := goja.AssertFunction(method)
	if !ok {
		return register()
	}
	ret, err := initialize(instance, h.JS.NewDynamicObject(&serviceScope{h: h, made: map[string]goja.Value{}}))
	if err != nil {
		return nil, err
	}
	pending, ok := js.PromiseOf(ret)
	if !ok {
		return register()
	}
	done, resolve, reject := h.JS.NewPromise()
	err = h.Then(pending, func(goja.Value) {
		registered, err := register()
		if vm.IsUncatchable(err) {
			panic(err)
		}
		if err != nil {
			js.Must(reject(h.ThrownValue(err)))
			return
		}
		js.Must(resolve(registered))
	}, func(reason goja.Value) { js.Must(reject(reason)) })
	return h.JS.ToValue(done), err
}

// serviceScope is the Go value behind the argument of _initialization: an object with the components of the service
// by name. A component is created when a script first reads it.
type serviceScope struct {
	h    *host
	made map[string]goja.Value
}

// Get implements goja.DynamicObject. It creates the component at the first call.
func (s *serviceScope) Get(name string) goja.Value {
	if v := s.made[name]; v != nil {
		return v
	}
	component, ok := s.h.gen.scope[name]
	if !ok {
		return nil
	}
	s.made[name] = s.h.optionValue(name, component)
	return s.made[name]
}

// Set implements goja.DynamicObject. It replaces a component or adds a member.
func (s *serviceScope) Set(name string, v goja.Value) bool {
	s.made[name] = v
	return true
}

// Has implements goja.DynamicObject.
func (s *serviceScope) Has(name string) bool {
	_, ok := s.h.gen.scope[name]
	return ok || s.made[name] != nil
}

// Delete implements goja.DynamicObject. It has no effect, because the components of a service stay.
func (s *serviceScope) Delete(string) bool { return true }

// Keys implements goja.DynamicObject.
func (s *serviceScope) Keys() []string { return js.SortedNames(s.h.gen.scope) }

// newRoute checks the method and the path of a route and returns the route.
func newRoute(method, path string) (vm.Route, error) {
	r := vm.Route{Method: strings.ToUpper(method), Path: path}
	if !service.IsMethod(r.Method) {
		return r, fmt.Errorf("%s is no HTTP method that a service can answer", strconv.Quote(method))
	}
	pattern, err := service.ParsePattern(path)
	if err != nil {
		return r, fmt.Errorf("route %s %s: %w", r.Method, path, err)
	}
	r.Key = pattern.Key()
	return r, nil
}

// checkRoutes returns an error if there are no routes, or if two routes match the same requests.
func checkRoutes(routes []vm.Route) error {
	if len(routes) == 0 {
		return fmt.Errorf("the service registers no route")
	}
	seen := map[string]string{}
	for _, r := range routes {
		key := r.Method + " " + r.Key
		if other, ok := seen[key]; ok {
			return fmt.Errorf("route %s %s is registered twice (%s): only the first would ever answer", r.Method, r.Path, other)
		}
		seen[key] = r.Method + " " + r.Path
	}
	return nil
}
