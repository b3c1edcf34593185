package script

import (
	"github.com/dop251/goja"

	"restsrv/engine/script/module"
	"restsrv/engine/script/vm"
)

// A module with await outside of functions is an async function. A module that imports it must wait, too. Imports are
// at the beginning of an ES module, so no code of that module has run when it needs a module that is not ready: loading
// stops with an exception, waits for the promise, and runs the importing modules again.

// checkEvaluation throws if the module src, which from needs, is not ready or has failed. p is its promise.
func (h *host) checkEvaluation(src, from *module.Source, p *goja.Promise) {
	switch {
	case p.State() == goja.PromiseStateFulfilled:
		return
	case p.State() == goja.PromiseStateRejected && h.unready == nil:
		delete(h.Rejected, p)
		panic(p.Result())
	case p.State() == goja.PromiseStateRejected:
		h.forgetModule(src)
	case h.Load == nil || !from.ES:
		panic(h.NewError(src.File+" waits outside of functions and is not ready: import it in an ES module, at the beginning of the file", "ERR_REQUIRE_ASYNC_MODULE"))
	default:
		h.unready = p
	}
	panic(h.NewError(src.File+" is not ready", "ERR_REQUIRE_ASYNC_MODULE"))
}

// forgetModule removes a module that must run again.
func (h *host) forgetModule(src *module.Source) {
	delete(h.Rejected, h.evaluations[src.Path])
	delete(h.evaluations, src.Path)
	delete(h.modules, src.Path)
}

// loadMain runs the main file and registers what it exports, after all modules that it needs are ready.
func (h *host) loadMain(l *vm.Loading, src *module.Source) error {
	h.unready = nil
	exports, err := h.runModule(src)
	pending := h.unready
	if pending != nil {
		h.forgetModule(src)
	} else if p := h.evaluations[src.Path]; err == nil && p != nil && p.State() != goja.PromiseStateFulfilled {
		pending = p
	}
	if pending != nil {
		return h.Then(pending, func(goja.Value) {
			if err := h.loadMain(l, src); err != nil {
				panic(err)
			}
		}, func(reason goja.Value) { l.Finish(h.LoadError(h.DescribeThrown(reason, nil))) })
	}
	if err == nil {
		var registered goja.Value
		if registered, err = h.registerExports(exports); err == nil {
			return h.settleLoad(l, registered)
		}
	}
	if vm.IsUncatchable(err) {
		return err
	}
	l.Finish(h.LoadError(h.DescribeError(err)))
	return nil
}
