package script

import (
	"github.com/dop251/goja"
)

// callInitialization calls the method _initialization(scope) of an IONDV
// service, if it has one, and then registers the routes. The returned value may
// be a promise.
func (h *host) callInitialization(instance *goja.Object, register func() (goja.Value, error)) (goja.Value, error) {
	if !h.service.legacy {
		return register()
	}
	method, err := h.getProperty(instance, "_initialization")
	if err != nil {
		return nil, err
	}
	initialize, ok := goja.AssertFunction(method)
	if !ok {
		return register()
	}
	ret, err := initialize(instance, h.js.NewDynamicObject(&serviceScope{h: h, made: map[string]goja.Value{}}))
	if err != nil {
		return nil, err
	}
	pending, ok := promiseOf(ret)
	if !ok {
		return register()
	}
	done, resolve, reject := h.js.NewPromise()
	err = h.then(pending, func(goja.Value) {
		registered, err := register()
		if isUncatchable(err) {
			panic(err)
		}
		if err != nil {
			must(reject(h.thrownValue(err)))
			return
		}
		must(resolve(registered))
	}, func(reason goja.Value) { must(reject(reason)) })
	return h.js.ToValue(done), err
}

// serviceScope is the argument of _initialization. It contains the components by name,
// and creates each when it is read.
type serviceScope struct {
	h    *host
	made map[string]goja.Value
}

// Get implements goja.DynamicObject. It creates the component if it does not
// exist yet.
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

// Set implements goja.DynamicObject. It replaces or adds a member.
func (s *serviceScope) Set(name string, v goja.Value) bool {
	s.made[name] = v
	return true
}

// Has implements goja.DynamicObject.
func (s *serviceScope) Has(name string) bool {
	_, ok := s.h.gen.scope[name]
	return ok || s.made[name] != nil
}

// Delete implements goja.DynamicObject. It has no effect, because components
// stay.
func (s *serviceScope) Delete(string) bool { return true }

// Keys implements goja.DynamicObject.
func (s *serviceScope) Keys() []string { return sortedNames(s.h.gen.scope) }
