package script

import (
	"context"
	_ "embed" // for probe.js
	"fmt"
	"log/slog"

	"github.com/dop251/goja"
)

//go:embed probe.js
var probeSource string

// newWatcher returns the object that compares the variables of modules.
func (h *host) newWatcher() *goja.Object {
	make, _ := goja.AssertFunction(h.runPrelude(probeSource))
	watcher, err := make(goja.Undefined(), h.newFunction("changed", func(call goja.FunctionCall) goja.Value {
		src := h.probed[call.Argument(0).ToInteger()]
		moduleChanged(h.service, h.watching, src, src.declared[call.Argument(1).ToInteger()])
		return goja.Undefined()
	}))
	must(err)
	return watcher.(*goja.Object)
}

// compareModules compares the variables of modules at the end of a turn. It
// reports changes only for turns of a request, because a module may change its
// own variables while it loads and in timers.
func (h *host) compareModules(c *call) error {
	h.watching = c
	compare, _ := goja.AssertFunction(h.watched.Get("compare"))
	_, err := compare(goja.Undefined(), h.js.ToValue(c != nil && h.load == nil))
	if err != nil && !isUncatchable(err) {
		return nil // a getter threw an error, so there is no result
	}
	return err
}

// moduleChanged logs the change of a variable, once for each load.
func moduleChanged(g *vmService, c *call, src *source, d declared) {
	text := fmt.Sprintf("module variable %s of %s:%d was changed during a request: each VM has its own copy, and a reload loses it; what all requests share belongs in shared", d.name, src.file, d.line)
	if _, given := g.warnOnce.LoadOrStore(text, true); given {
		return
	}
	log := g.log
	if c != nil {
		log = log.With("request", c.req.ID)
	}
	var args []any
	if d.column > 0 {
		args = append(args, ExcerptKey, excerpt(string(src.text), d.line, d.column))
	}
	log.Log(context.Background(), slog.LevelWarn, text, args...)
}

// newProbe returns the function that receives the variables of a module. It has
// no effect if the module is not watched or if the file contains tests.
func (h *host) newProbe(src *source) goja.Value {
	if src.declared == nil || h.tests != nil || h.service.options["isolation"] == exclusive {
		return h.newFunction("probe", func(goja.FunctionCall) goja.Value { return goja.Undefined() })
	}
	return h.newFunction("probe", func(call goja.FunctionCall) goja.Value {
		if h.watched == nil {
			h.watched, h.afterTurn = h.newWatcher(), h.compareModules
		}
		index := h.js.ToValue(len(h.probed))
		h.probed = append(h.probed, src)
		add, _ := goja.AssertFunction(h.watched.Get("add"))
		_, err := add(goja.Undefined(), index, call.Argument(0))
		must(err)
		return goja.Undefined()
	})
}
