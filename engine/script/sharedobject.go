package script

import (
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// maxSharedKey is the maximum length of a key of the shared store, in
// characters.
const maxSharedKey = 512

// sharedBinding provides the global shared, and the caches among the components, in one VM.
type sharedBinding struct {
	*vm
	store *store
}

func newShared(v *vm, s *store) *sharedBinding { return &sharedBinding{vm: v, store: s} }

// object returns the global "shared", the store of the service for all
// its VMs. Values are copied in both directions.
func (h *sharedBinding) object() goja.Value {
	o := h.js.NewObject()
	s := h.store
	methods := h.methodsOf(o)
	method := func(name string, f func(goja.FunctionCall) goja.Value) {
		methods.add(name, func(call goja.FunctionCall) goja.Value {
			h.inTime()
			return f(call)
		})
	}
	method("get", func(call goja.FunctionCall) goja.Value {
		v, ok := s.get(h.sharedKey(call))
		if !ok {
			return goja.Undefined()
		}
		return h.unshareValue(v)
	})
	method("has", func(call goja.FunctionCall) goja.Value {
		_, ok := s.get(h.sharedKey(call))
		return h.js.ToValue(ok)
	})
	method("set", func(call goja.FunctionCall) goja.Value {
		key := h.sharedKey(call)
		value, size := h.shareValue(call.Argument(1))
		h.checkStored(s.put(key, value, size, h.readTTL(call.Argument(2)), false))
		return goja.Undefined()
	})
	method("delete", func(call goja.FunctionCall) goja.Value { return h.js.ToValue(s.remove(h.sharedKey(call))) })
	method("incr", func(call goja.FunctionCall) goja.Value { return h.sharedIncr(s, call) })
	method("cas", func(call goja.FunctionCall) goja.Value {
		key := h.sharedKey(call)
		expected, _ := h.shareValue(call.Argument(1))
		value, size := h.shareValue(call.Argument(2))
		done, failed := s.swap(key, expected, value, size, h.readTTL(call.Argument(3)))
		h.checkStored(failed)
		return h.js.ToValue(done)
	})
	method("keys", func(goja.FunctionCall) goja.Value { return h.js.ToValue(h.js.NewArray(engine.Texts(s.keys())...)) })
	method("size", func(goja.FunctionCall) goja.Value { return h.js.ToValue(len(s.keys())) })
	method("clear", func(goja.FunctionCall) goja.Value {
		s.clear()
		return goja.Undefined()
	})
	method("getOrCompute", func(call goja.FunctionCall) goja.Value {
		return h.computeShared(s, computation{what: "shared.getOrCompute", key: h.sharedKey(call), ttl: h.readTTL(call.Argument(2))}, call.Argument(1))
	})
	method("once", func(call goja.FunctionCall) goja.Value {
		return h.computeShared(s, computation{what: "shared.once", key: onceKeys + h.sharedKey(call), pinned: true}, call.Argument(1))
	})
	method("lock", func(call goja.FunctionCall) goja.Value {
		return h.lockShared(s, h.sharedKey(call), call.Argument(1), h.readMilliseconds(call.Argument(2), "timeout"))
	})
	return o
}

// onceKeys is the prefix of the keys for results of once. Scripts cannot use
// such keys.
const onceKeys = "\x00once\x00"

func (h *sharedBinding) sharedKey(call goja.FunctionCall) string {
	v := call.Argument(0)
	if !goja.IsString(v) {
		panic(h.js.NewTypeError("shared: the key is text, found " + describeValue(v)))
	}
	key := v.String()
	if n := textLength(v); n == 0 || n > maxSharedKey || key[0] == 0 {
		panic(h.js.NewTypeError("shared: the key is a text of 1 to 512 characters, found " + engine.Quote(engine.Cut(key, 40))))
	}
	return key
}

// checkStored throws if a value was not stored.
func (h *sharedBinding) checkStored(failed *errTooLarge) {
	switch {
	case failed == nil:
	case failed.limit == 0:
		panic(h.rangeError("shared: what once keeps fills the store: raise limits.sharedBytes"))
	default:
		panic(h.rangeError("shared: an entry of %d bytes is too large, at most %d are kept (a quarter of limits.sharedBytes)", failed.bytes, failed.limit))
	}
}

func (h *sharedBinding) sharedIncr(s *store, call goja.FunctionCall) goja.Value {
	key, by := h.sharedKey(call), 1.0
	if v := call.Argument(1); !goja.IsUndefined(v) {
		if by = v.ToFloat(); !goja.IsNumber(v) || by != by {
			panic(h.js.NewTypeError("shared.incr adds a number, found " + describeValue(v)))
		}
	}
	sum, ok, failed := s.add(key, by, h.readTTL(call.Argument(2)))
	h.checkStored(failed)
	if !ok {
		panic(h.js.NewTypeError("shared.incr: the value of " + engine.Quote(key) + " is no number"))
	}
	return h.js.ToValue(sum)
}

// computation contains the arguments of getOrCompute and once.
type computation struct {
	what, key string
	ttl       time.Duration
	pinned    bool
}

// computeShared returns a promise of a value in the store. If there is no
// value, one call of the service computes it with f and the others wait. If
// that call ends without a value, the next one computes it. An error rejects
// the promises of all waiting calls and is not stored.
func (h *sharedBinding) computeShared(s *store, what computation, f goja.Value) goja.Value {
	call := h.activeCall(what.what)
	run, ok := goja.AssertFunction(f)
	if !ok {
		panic(h.js.NewTypeError(what.what + " takes a key and a function"))
	}
	h.tally.awaits++
	p, resolve, reject := h.js.NewPromise()
	if v, there := s.get(what.key); there {
		must(resolve(h.unshareValue(v)))
		return h.js.ToValue(p)
	}
	gate := "compute " + what.key
	c := &contender{call: call, vm: h.vm}
	c.settle = func(result any) error {
		if failed, ok := result.(*sharedFailure); ok {
			return reject(failed.toError(h))
		}
		return resolve(h.unshareValue(result))
	}
	c.begin = func() error {
		if v, there := s.get(what.key); there { // another call has just stored it
			s.settleAll(gate, c, v)
			return resolve(h.unshareValue(v))
		}
		return h.runFor(call, run, func(v goja.Value) error {
			var value any
			if ex := h.js.Try(func() {
				var size int
				value, size = h.shareValue(v)
				h.checkStored(s.put(what.key, value, size, what.ttl, what.pinned))
			}); ex != nil {
				s.settleAll(gate, c, h.sharedFailure(ex.Value()))
				return reject(ex.Value())
			}
			s.settleAll(gate, c, value)
			return resolve(h.unshareValue(value))
		}, func(reason goja.Value) error {
			s.settleAll(gate, c, h.sharedFailure(reason))
			return reject(reason)
		})
	}
	s.join(gate, c)
	return h.js.ToValue(p)
}

// runFor calls f and passes its result, or the result of its promise, to
// fulfilled or rejected. It returns an error that scripts cannot catch.
func (h *sharedBinding) runFor(c *call, f goja.Callable, fulfilled, rejected func(goja.Value) error) error {
	h.cur = c
	ret, err := f(goja.Undefined())
	if err != nil {
		if isUncatchable(err) {
			return err
		}
		return rejected(h.thrownValue(err))
	}
	settled, err := h.resolve(h.promise, ret)
	if err != nil {
		if isUncatchable(err) {
			return err
		}
		return rejected(h.thrownValue(err))
	}
	p, _ := promiseOf(settled)
	h.cur = c
	return h.then(p, func(v goja.Value) { must(fulfilled(v)) }, func(v goja.Value) { must(rejected(v)) })
}

// sharedFailure is an Error in a form that can be passed to other VMs.
type sharedFailure struct {
	message string
	code    any
	cause   error
}

// sharedFailure returns the parts of a thrown value that can be passed to other
// VMs.
func (h *sharedBinding) sharedFailure(reason goja.Value) *sharedFailure {
	f := &sharedFailure{message: "the computation failed"}
	_ = h.js.Try(func() {
		o, ok := reason.(*goja.Object)
		if !ok {
			f.message = reason.String()
			return
		}
		f.message = o.String()
		if m := o.Get("message"); m != nil && goja.IsString(m) {
			f.message = m.String()
		}
		for _, name := range []string{"code", "status"} {
			if v := o.Get(name); v != nil && f.code == nil && (goja.IsNumber(v) || goja.IsString(v)) {
				f.code = v.Export()
			}
		}
		f.cause = h.attachedError(o)
	})
	return f
}

func (f *sharedFailure) toError(h *sharedBinding) goja.Value {
	o := h.newError(f.message, f.code)
	if f.cause != nil {
		h.attachError(o, f.cause)
	}
	return o
}

// lockShared returns a promise of the result of f. Calls for the same key do
// not run f at the same time. A call that ends releases its locks.
func (h *sharedBinding) lockShared(s *store, key string, f goja.Value, patience time.Duration) goja.Value {
	call := h.activeCall("shared.lock")
	run, ok := goja.AssertFunction(f)
	if !ok {
		panic(h.js.NewTypeError("shared.lock takes a key and a function"))
	}
	h.tally.awaits++
	p, resolve, reject := h.js.NewPromise()
	gate := "lock " + key
	c := &contender{call: call, vm: h.vm}
	c.begin = func() error {
		return h.runFor(call, run, func(v goja.Value) error {
			s.leave(gate, c)
			return resolve(v)
		}, func(reason goja.Value) error {
			s.leave(gate, c)
			return reject(reason)
		})
	}
	s.join(gate, c)
	if patience > 0 {
		late := time.AfterFunc(patience, func() {
			if s.giveUp(gate, c) {
				c.postTurn(func() error {
					return reject(h.newError("shared.lock: "+engine.Quote(key)+" was not free within "+patience.String(), "lock-timeout"))
				})
			}
		})
		call.atEnd(func() { late.Stop() })
	}
	return h.js.ToValue(p)
}
