package script

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// optionValue returns the JavaScript value of an option of a service: plain data, or a component such as a
// repository. name is the name of the option.
func (h *host) optionValue(name string, value any) goja.Value {
	switch value := value.(type) {
	case engine.Repository:
		return h.data.RepositoryObject(value)
	case engine.MetaRepository:
		return h.data.MetaRepository(value)
	case engine.ImageStorage: // before FileStorage, which an ImageStorage also implements
		return h.data.ImageStorage(value)
	case engine.FileStorage:
		return h.data.FileStorage(value)
	case service.Auth:
		return h.access.NewAuth(value)
	case service.ServiceAuth:
		return h.access.ServiceAuth(value)
	case engine.Access:
		return h.access.AclProvider(value)
	case engine.Workflows:
		return h.data.WorkflowsObject(value)
	case service.Counters:
		return h.newSequences(value)
	case service.Settings:
		return h.newSettings(value)
	case service.SysLog:
		return h.console.object()
	case service.KeyProvider:
		return h.keyProvider()
	case service.Cache:
		return h.shared.CacheObject()
	case service.Lacking:
		h.Service.Warn("an option names ion://"+string(value)+", which restsrv does not have: each use of it throws", "option", name)
		return h.JS.NewDynamicObject(&lacking{h, string(value)})
	case []any:
		list := make([]any, len(value))
		for i, e := range value {
			list[i] = h.optionValue(name, e)
		}
		return h.JS.NewArray(list...)
	case engine.Fields:
		o := h.JS.NewObject()
		for _, f := range value {
			h.Put(o, f.Name, h.optionValue(name, f.Value))
		}
		return o
	case nil, bool, string, int64, float64, js.Number:
		return h.FromDecoded(value)
	}
	h.Service.Warn("an option names a component that scripts cannot use; its value is undefined", "option", name)
	return goja.Undefined()
}

// lacking is the Go value behind a component that restsrv does not have. An error is thrown if a script uses the
// component.
type lacking struct {
	h    *host
	name string
}

// Get throws an error. It returns nothing for names that JavaScript itself looks up, for example when the value is
// returned from an async function or logged.
func (l *lacking) Get(name string) goja.Value {
	switch name {
	case "then", "toJSON", "constructor":
		return nil
	}
	panic(l.h.NewError("there is no ion://"+l.name+" in restsrv: "+l.name+"."+name+" cannot be used", "not-supported"))
}

// Set throws.
func (l *lacking) Set(name string, _ goja.Value) bool {
	l.Get(name)
	return false
}

// Has returns false.
func (l *lacking) Has(string) bool { return false }

// Delete has no effect.
func (l *lacking) Delete(string) bool { return true }

// Keys returns nil.
func (l *lacking) Keys() []string { return nil }

// newSettings returns the JavaScript object settings, which is read-only.
func (h *host) newSettings(s service.Settings) goja.Value {
	o := h.JS.NewObject()
	h.Method(o, "get", func(call goja.FunctionCall) goja.Value {
		value, ok := s.Get(call.Argument(0).String())
		if !ok {
			return goja.Null() // as in IONDV
		}
		return h.FromDecoded(value)
	})
	h.Refuse(h.MethodsOf(o), "settings", "they are what deploy.json says", "set", "apply", "reset")
	return o
}

// newSequences returns the JavaScript object sequenceProvider, with the methods next, reset and snapshot. Each method
// takes the name of a counter.
func (h *host) newSequences(s service.Sequences) goja.Value {
	o := h.JS.NewObject()
	add := func(name string, writes bool, do func(ctx context.Context, counter string, n int64) (any, error)) {
		h.Method(o, name, h.AsyncFunction("sequenceProvider."+name, func(call goja.FunctionCall) (vm.Operation, error) {
			counter, err := sequenceName(name, call.Argument(0))
			n, isWhole := wholeNumber(call.Argument(1))
			if err == nil && !isWhole {
				err = engine.Errorf(engine.Invalid, "argument", "sequenceProvider.%s takes a whole number that JavaScript has exactly, found %s", name, js.DescribeValue(call.Argument(1)))
			}
			return vm.Operation{Writes: writes, Do: func(ctx context.Context) (func() goja.Value, error) {
				result, err := do(ctx, counter, n)
				return func() goja.Value {
					if result == nil {
						return goja.Undefined()
					}
					return h.FromDecoded(result)
				}, err
			}}, err
		}))
	}
	add("next", true, func(ctx context.Context, counter string, _ int64) (any, error) { return s.NextNumber(ctx, counter) })
	add("reset", true, func(ctx context.Context, counter string, n int64) (any, error) {
		return nil, s.SetNumber(ctx, counter, n)
	})
	add("snapshot", false, func(ctx context.Context, counter string, _ int64) (any, error) {
		all, err := s.LastNumbers(ctx, counter)
		fields := engine.Fields{}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			fields = append(fields, engine.Field{Name: name, Value: all[name]})
		}
		return fields, err
	})
	return o
}

// sequenceName reads the name of a counter from an argument. For snapshot, the argument may be undefined or null; the
// result "" means all counters. Names with "#" are reserved for counters that generate keys of items.
func sequenceName(method string, v goja.Value) (string, error) {
	if method == "snapshot" && (goja.IsUndefined(v) || goja.IsNull(v)) {
		return "", nil
	}
	counter, ok := v.Export().(string)
	if !ok || counter == "" || len(counter) > maxSequenceName || strings.ContainsAny(counter, "#\x00") {
		return "", engine.Errorf(engine.Invalid, "argument", `sequenceProvider.%s takes the name of a sequence, at most %d bytes without "#", found %s`, method, maxSequenceName, js.DescribeValue(v))
	}
	return counter, nil
}

// maxSequenceName is the maximum length of a counter's name in bytes. It is needed because databases have an index on
// the name.
const maxSequenceName = 1000

// wholeNumber converts an argument to an integer from -2^53 to 2^53. undefined counts as 0. ok is false for other
// values.
func wholeNumber(v goja.Value) (n int64, ok bool) {
	if goja.IsUndefined(v) {
		return 0, true
	}
	f := v.ToFloat()
	return int64(f), f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

// keyProvider returns the JavaScript object keyProvider.
func (h *host) keyProvider() goja.Value {
	o, err := h.JS.New(h.EnsurePlatform().Module("core/impl/meta/keyProvider"))
	js.Must(err)
	return o
}
