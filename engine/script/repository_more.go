package script

import (
	"context"
	"slices"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// Options of the operations. ignoredOptions are options of IONDV that have no
// effect here, because operations always use the account of the request, and
// values are always computed.
var (
	ignoredOptions = []string{"user", "uid", "lang", "tz", "log", "needed", "skipCalculations", "skipEnrich", "skipEnrichment", "skipAutoAssign", "reload",
		"autoAssign", "ignoreIntegrityCheck", "adjustAutoInc", "skipCacheRefresh", "silent", "checkAcl"}
	loadOptions  = []string{"forceEnrichment", "nestingDepth"}
	countOptions = []string{"filter", "skipSubClasses"}
	listOptions  = slices.Concat(countOptions, loadOptions, []string{"sort", "offset", "count", "countTotal", "distinct"})
	writeOptions = slices.Concat(loadOptions, []string{"skipResult"})
	bulkOptions  = slices.Concat(countOptions, []string{"skipResult"})
)

// readOptions returns an argument with options. It logs unknown options once,
// so that a misspelt name can be found.
func (r *jsRepository) readOptions(method string, v goja.Value, known []string) *goja.Object {
	o, _ := v.(*goja.Object)
	if o == nil {
		return nil
	}
	for _, name := range o.Keys() {
		if !slices.Contains(known, name) && !slices.Contains(ignoredOptions, name) {
			r.logIgnoredOption(method, name)
		}
	}
	return o
}

// logIgnoredOption logs, once, an option that is ignored.
func (r *jsRepository) logIgnoredOption(method, option string) {
	r.h.service.warnOf(method+" "+option, "dataRepo."+method+" was given an option that it does not know; it is ignored", "option", option, "where", r.h.currentLine())
}

// currentLine returns the current position of the script.
func (h *dataBinding) currentLine() string {
	f := &Failure{}
	f.addFrames(h.vm, h.callStack())
	return f.place()
}

// addFurtherMembers adds further members of IONDV's repositories.
func (r *jsRepository) addFurtherMembers(o *goja.Object, methods *methods) {
	h := r.h
	methods.add("on", r.on)
	methods.add("setValidators", func(goja.FunctionCall) goja.Value { return goja.Undefined() }) // no effect, as in IONDV
	refuse := func(name, why string) {
		methods.add(name, func(goja.FunctionCall) goja.Value {
			panic(h.newError("dataRepo."+name+" is not supported: "+why, "not-supported"))
		})
	}
	refuse("rawData", "rows of the database itself have no permissions; use getList or aggregate")
	refuse("trigger", "events are told of by writes")
	getter := h.newFunction("ds", func(goja.FunctionCall) goja.Value {
		panic(h.newError("dataRepo.ds is not supported: there is no driver of a database to reach; use getList, aggregate or transaction", "not-supported"))
	})
	_ = o.DefineAccessorProperty("ds", getter, nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// recache computes the cached attributes of an item again and returns the
// updated item.
func (r *jsRepository) recache(call goja.FunctionCall) (operation, error) {
	it := itemOf(call.Argument(0))
	if it == nil {
		return operation{}, engine.Errorf(engine.Invalid, "argument", "recache takes an item, found %s", describeValue(call.Argument(0)))
	}
	c, err := r.viewOf(it.item.Class)
	if err != nil {
		return operation{}, err
	}
	again, ok := r.repo.(engine.Recacher)
	if !ok {
		return operation{}, engine.Errorf(engine.Invalid, "recache", "this repository keeps nothing of formulas")
	}
	id := it.item.ID
	return operation{writes: true, do: func(ctx context.Context) (func() goja.Value, error) {
		if err := again.Recache(ctx, c, id); err != nil {
			return nil, err
		}
		return r.itemResult(r.repo.Get(ctx, c, id))
	}}, nil
}

// on implements dataRepo.on(types, handler). The first argument is a type or an array of types.
func (r *jsRepository) on(call goja.FunctionCall) goja.Value {
	return r.h.events.register("dataRepo.on", call, r.repo, func(name string) (string, error) { return eventType(name, r.h.findClass) })
}
