package script

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// loadModule is the turn that loads the module and registers its routes.
func (h *host) loadModule(l *loading) error {
	h.install()
	resume := h.clock.pause()
	src, err := h.service.files.openFile(h.gen.entry, h.service.asked, filepath.ToSlash(h.service.asked))
	resume()
	if err != nil {
		l.finish(err)
		return nil
	}
	exports, err := h.runModule(src)
	if err == nil {
		var pending goja.Value
		if pending, err = h.registerExports(exports); err == nil {
			return h.settleLoad(l, pending)
		}
	}
	if isUncatchable(err) {
		return err
	}
	l.finish(h.loadError(h.describeError(err)))
	return nil
}

// registerExports registers the routes that the module exports. The returned
// value may be the promise of an async _route.
func (h *host) registerExports(exports goja.Value) (goja.Value, error) {
	if h.tests != nil {
		return goja.Undefined(), h.tests.registerTests()
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

// registerService calls the method route or _route of a service object.
func (h *host) registerService(instance *goja.Object) (goja.Value, error) {
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
	if g := h.service; !g.legacy && h.legacyBase != nil && h.js.InstanceOf(instance, h.legacyBase) {
		g.legacy = true // no lock is needed while the first VM loads
	}
	return h.callInitialization(instance, func() (goja.Value, error) { return f(instance, h.newRouter()) })
}

// registerTable registers the routes of an object that maps routes to handlers.
func (h *host) registerTable(table *goja.Object) error {
	var failed error
	ex := h.js.Try(func() {
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

// settleLoad finishes the loading when the promise of an async _route is settled.
func (h *host) settleLoad(l *loading, pending goja.Value) error {
	v := h.vm
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
	return v.then(p, func(goja.Value) { l.finish(nil) }, reject)
}
