package script

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/dop251/goja"
)

// loading contains the results of the first turns of a VM, which run the module
// and register its routes.
type loading struct {
	vm     *vm
	routes []jsRoute
	tests  []*TestCase // test cases in order of routes, if the file contains tests
	events []jsEvent
	done   chan error // buffered
}

// finish ends the loading. It must be called inside a turn, and only the first
// call has an effect. If the turn has exceeded its time limit, the loading
// fails even if err is nil.
func (l *loading) finish(err error) {
	v := l.vm
	if v.load != l {
		return
	}
	if why := v.clock.expired(); err == nil && why != nil {
		err = v.loadError(v.describeAbort(nil, why))
	}
	v.load = nil
	v.limit = v.gen.limits.CPU
	v.routes, v.events = l.routes, l.events
	l.done <- err
}

// run is the turn that loads the module.
func (l *loading) run() error {
	v := l.vm
	v.load = l
	v.host.install()
	resume := v.clock.pause()
	src, err := v.gen.files.openFile(v.gen.entry, v.gen.asked, filepath.ToSlash(v.gen.asked))
	resume()
	if err != nil {
		l.finish(err)
		return nil
	}
	exports, err := v.host.runModule(src)
	if err == nil {
		var pending goja.Value
		if pending, err = l.registerExports(exports); err == nil {
			return l.settle(pending)
		}
	}
	if isUncatchable(err) {
		return err
	}
	l.finish(v.loadError(v.describeError(err)))
	return nil
}

// registerExports registers the routes that the module exports. The returned
// value may be the promise of an async _route.
func (l *loading) registerExports(exports goja.Value) (goja.Value, error) {
	h := l.vm.host
	if l.vm.gen.tests != nil {
		return goja.Undefined(), l.registerTests()
	}
	exports, err := h.defaultExport(exports)
	if err != nil {
		return nil, err
	}
	if l.vm.gen.converter {
		return goja.Undefined(), l.registerConverter(exports)
	}
	if construct, ok := goja.AssertConstructor(exports); ok {
		instance, err := construct(nil, h.options())
		if err != nil {
			return nil, err
		}
		return l.registerService(instance)
	}
	if o, ok := exports.(*goja.Object); ok && o.ClassName() == "Object" {
		if _, callable := goja.AssertFunction(exports); !callable {
			return goja.Undefined(), l.registerTable(o)
		}
	}
	return nil, errors.New("module.exports must be a Service class, or an object such as {'GET /': async (req) => ...}")
}

// registerService calls the method route or _route of a service object.
func (l *loading) registerService(instance *goja.Object) (goja.Value, error) {
	h := l.vm.host
	var route, plain goja.Value
	if ex := h.js.Try(func() { route, plain = instance.Get("route"), instance.Get("_route") }); ex != nil {
		return nil, ex
	}
	f, ok := goja.AssertFunction(route)
	if !ok {
		if f, ok = goja.AssertFunction(plain); !ok {
			return nil, errors.New("the service has neither a method _route(router) nor route(router)")
		}
	}
	if g := l.vm.gen; !g.legacy && h.legacyBase != nil && h.js.InstanceOf(instance, h.legacyBase) {
		g.legacy = true // no lock is needed while the first VM loads
	}
	return l.callInitialization(instance, func() (goja.Value, error) { return f(instance, h.newRouter()) })
}

// registerTable registers the routes of an object that maps routes to handlers.
func (l *loading) registerTable(table *goja.Object) error {
	h := l.vm.host
	var failed error
	ex := h.js.Try(func() {
		for _, key := range table.Keys() {
			handler := table.Get(key)
			method, path, ok := strings.Cut(strings.TrimSpace(key), " ")
			if !ok {
				failed = errors.New("key " + quoted(key) + " of module.exports is no route: write 'GET /path'")
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

// settle finishes the loading when the promise of an async _route is settled.
func (l *loading) settle(pending goja.Value) error {
	v := l.vm
	p, ok := promiseOf(pending)
	if !ok {
		l.finish(nil)
		return nil
	}
	reject := func(reason goja.Value) { l.finish(v.loadError(v.describeThrown(reason, nil))) }
	switch p.State() {
	case goja.PromiseStateFulfilled:
		l.finish(nil)
		return nil
	case goja.PromiseStateRejected:
		delete(v.rejected, p)
		reject(p.Result())
		return nil
	}
	return v.host.then(p, func(goja.Value) { l.finish(nil) }, reject)
}

// loadError converts a failure to a LoadError.
func (v *vm) loadError(f *Failure) error {
	var e *LoadError
	if errors.As(f.cause, &e) {
		return e
	}
	e = &LoadError{File: f.File, Line: f.Line, Column: f.Column, Message: f.Message}
	if e.File == "" {
		e.File = filepath.ToSlash(v.gen.asked)
		return e
	}
	if s := v.gen.files.byName(e.File); s != nil {
		e.Source, e.Excerpt = s.lineText(e.Line), v.gen.excerptOf(f)
	}
	return e
}
