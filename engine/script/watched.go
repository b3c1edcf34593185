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
	program, err := h.v.gen.rt.cache.preludeProgram(probeSource)
	must(err)
	factory, err := h.js.RunProgram(program)
	must(err)
	make, _ := goja.AssertFunction(factory)
	watcher, err := make(goja.Undefined(), h.newFunction("changed", func(call goja.FunctionCall) goja.Value {
		src := h.probed[call.Argument(0).ToInteger()]
		h.v.gen.moduleChanged(h.v.watching, src, src.declared[call.Argument(1).ToInteger()])
		return goja.Undefined()
	}))
	must(err)
	return watcher.(*goja.Object)
}

// compareModules compares the variables of modules at the end of a turn. It
// reports changes only for turns of a request, because a module may change its
// own variables while it loads and in timers.
func (v *vm) compareModules(c *call) error {
	v.watching = c
	compare, _ := goja.AssertFunction(v.host.watched.Get("compare"))
	_, err := compare(goja.Undefined(), v.js.ToValue(c != nil && v.load == nil))
	if err != nil && !isUncatchable(err) {
		return nil // a getter threw an error, so there is no result
	}
	return err
}

// moduleChanged logs the change of a variable, once for each load.
func (g *Generation) moduleChanged(c *call, src *source, d declared) {
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
