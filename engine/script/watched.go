package script

import (
	"context"
	_ "embed" // for probe.js
	"fmt"
	"log/slog"

	"github.com/dop251/goja"

	"restsrv/engine/script/js"
	"restsrv/engine/script/module"
	"restsrv/engine/script/vm"
)

//go:embed probe.js
var probeSource string

// newWatcher returns the JavaScript object that compares the variables of modules; see probe.js.
func (h *host) newWatcher() *goja.Object {
	make, _ := goja.AssertFunction(h.RunPrelude(probeSource))
	watcher, err := make(goja.Undefined(), h.NewFunction("changed", func(call goja.FunctionCall) goja.Value {
		src := h.probed[call.Argument(0).ToInteger()]
		moduleChanged(h.Service, h.watching, src, src.Declared[call.Argument(1).ToInteger()])
		return goja.Undefined()
	}))
	js.Must(err)
	return watcher.(*goja.Object)
}

// compareModules compares the variables of modules with their values before the turn. It is called after each turn. It
// reports a change only if the turn belongs to a request, because a module may change its own variables while it loads
// and in timers.
func (h *host) compareModules(c *vm.Call) error {
	h.watching = c
	compare, _ := goja.AssertFunction(h.watched.Get("compare"))
	_, err := compare(goja.Undefined(), h.JS.ToValue(c != nil && h.Load == nil))
	if err != nil && !vm.IsUncatchable(err) {
		return nil // a getter threw an error, so there is no result
	}
	return err
}

// moduleChanged logs that a request has changed the variable d of a module. Each variable is logged once per load.
func moduleChanged(g *vm.Service, c *vm.Call, src *module.Source, d module.Declared) {
	text := fmt.Sprintf("module variable %s of %s:%d was changed during a request: each VM has its own copy, and a reload loses it; what all requests share belongs in shared", d.Name, src.File, d.Line)
	if _, given := g.WarnOnce.LoadOrStore(text, true); given {
		return
	}
	log := g.Log
	if c != nil {
		log = log.With("request", c.Req.ID)
	}
	var args []any
	if d.Column > 0 {
		args = append(args, vm.ExcerptKey, module.Excerpt(string(src.Text), d.Line, d.Column))
	}
	log.Log(context.Background(), slog.LevelWarn, text, args...)
}

// newProbe returns the function that a module calls to pass its variables (see package module, probe.go). The
// function has no effect if each VM takes only one call at a time, because such a service may use module variables,
// or if the file contains tests.
func (h *host) newProbe(src *module.Source) goja.Value {
	if src.Declared == nil || h.tests != nil || h.Service.Options["isolation"] == exclusive {
		return h.NewFunction("probe", func(goja.FunctionCall) goja.Value { return goja.Undefined() })
	}
	return h.NewFunction("probe", func(call goja.FunctionCall) goja.Value {
		if h.watched == nil {
			h.watched, h.AfterTurn = h.newWatcher(), h.compareModules
		}
		index := h.JS.ToValue(len(h.probed))
		h.probed = append(h.probed, src)
		add, _ := goja.AssertFunction(h.watched.Get("add"))
		_, err := add(goja.Undefined(), index, call.Argument(0))
		js.Must(err)
		return goja.Undefined()
	})
}
