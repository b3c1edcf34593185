package shared

import (
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// maxSharedKey is the maximum length of a key in the shared store, in UTF-16 units.
const maxSharedKey = 512

// Binding provides the global shared, and the cache components such as innerCache, in one VM.
type Binding struct {
	*vm.VM
	store *Store
}

// New returns the binding of a VM. s is the store of its service.
func New(v *vm.VM, s *Store) *Binding { return &Binding{VM: v, store: s} }

// Object returns the global shared. Its methods use the store of the service.
func (h *Binding) Object() goja.Value {
	o := h.JS.NewObject()
	s := h.store
	methods := h.MethodsOf(o)
	method := func(name string, f func(goja.FunctionCall) goja.Value) {
		methods.Add(name, func(call goja.FunctionCall) goja.Value {
			h.InTime()
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
		return h.JS.ToValue(ok)
	})
	method("set", func(call goja.FunctionCall) goja.Value {
		key := h.sharedKey(call)
		value, size := h.shareValue(call.Argument(1))
		h.checkStored(s.put(key, value, size, h.readTTL(call.Argument(2)), false))
		return goja.Undefined()
	})
	method("delete", func(call goja.FunctionCall) goja.Value { return h.JS.ToValue(s.remove(h.sharedKey(call))) })
	method("incr", func(call goja.FunctionCall) goja.Value { return h.sharedIncr(s, call) })
	method("cas", func(call goja.FunctionCall) goja.Value {
		key := h.sharedKey(call)
		expected, _ := h.shareValue(call.Argument(1))
		value, size := h.shareValue(call.Argument(2))
		done, failed := s.swap(key, expected, value, size, h.readTTL(call.Argument(3)))
		h.checkStored(failed)
		return h.JS.ToValue(done)
	})
	method("keys", func(goja.FunctionCall) goja.Value { return h.JS.ToValue(h.JS.NewArray(engine.Texts(s.keys())...)) })
	method("size", func(goja.FunctionCall) goja.Value { return h.JS.ToValue(len(s.keys())) })
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

// onceKeys is the prefix of the keys under which the results of shared.once are stored. Scripts cannot use keys with
// this prefix.
const onceKeys = "\x00once\x00"

func (h *Binding) sharedKey(call goja.FunctionCall) string {
	v := call.Argument(0)
	if !goja.IsString(v) {
		panic(h.JS.NewTypeError("shared: the key is text, found " + js.DescribeValue(v)))
	}
	key := v.String()
	if n := js.TextLength(v); n == 0 || n > maxSharedKey || key[0] == 0 {
		panic(h.JS.NewTypeError("shared: the key is a text of 1 to 512 characters, found " + engine.Quote(engine.Cut(key, 40))))
	}
	return key
}

// checkStored throws a RangeError if failed is not nil, because a value was not stored.
func (h *Binding) checkStored(failed *errTooLarge) {
	switch {
	case failed == nil:
	case failed.limit == 0:
		panic(h.RangeError("shared: what once keeps fills the store: raise limits.sharedBytes"))
	default:
		panic(h.RangeError("shared: an entry of %d bytes is too large, at most %d are kept (a quarter of limits.sharedBytes)", failed.bytes, failed.limit))
	}
}

func (h *Binding) sharedIncr(s *Store, call goja.FunctionCall) goja.Value {
	key, by := h.sharedKey(call), 1.0
	if v := call.Argument(1); !goja.IsUndefined(v) {
		if by = v.ToFloat(); !goja.IsNumber(v) || by != by {
			panic(h.JS.NewTypeError("shared.incr adds a number, found " + js.DescribeValue(v)))
		}
	}
	sum, ok, failed := s.add(key, by, h.readTTL(call.Argument(2)))
	h.checkStored(failed)
	if !ok {
		panic(h.JS.NewTypeError("shared.incr: the value of " + engine.Quote(key) + " is no number"))
	}
	return h.JS.ToValue(sum)
}

// computation contains the arguments of shared.getOrCompute or shared.once.
type computation struct {
	what, key string // name of the method; key in the store
	ttl       time.Duration
	pinned    bool // never evict the result
}

// computeShared returns a promise of the value under a key. If the store has no such value, one call computes it with
// the function f while other calls wait. If the first call ends without a result, the next one calls its own f. If f
// fails, the promises of all waiting calls are rejected. The error is not stored.
func (h *Binding) computeShared(s *Store, what computation, f goja.Value) goja.Value {
	call := h.ActiveCall(what.what)
	run, ok := goja.AssertFunction(f)
	if !ok {
		panic(h.JS.NewTypeError(what.what + " takes a key and a function"))
	}
	h.Tally.Awaits++
	p, resolve, reject := h.JS.NewPromise()
	if v, there := s.get(what.key); there {
		js.Must(resolve(h.unshareValue(v)))
		return h.JS.ToValue(p)
	}
	gate := "compute " + what.key
	c := &contender{call: call, vm: h.VM}
	c.settle = func(result any) error {
		if failed, ok := result.(*sharedFailure); ok {
			return reject(failed.toError(h))
		}
		return resolve(h.unshareValue(result))
	}
	c.begin = func() error {
		if v, there := s.get(what.key); there { // another call has stored the value meanwhile
			s.settleAll(gate, c, v)
			return resolve(h.unshareValue(v))
		}
		return h.runFor(call, run, func(v goja.Value) error {
			var value any
			if ex := h.JS.Try(func() {
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
	return h.JS.ToValue(p)
}

// runFor calls f on behalf of the call c. When the promise that f returns settles, runFor calls fulfilled or
// rejected; a plain result counts as fulfilled. runFor returns only errors that scripts cannot catch.
func (h *Binding) runFor(c *vm.Call, f goja.Callable, fulfilled, rejected func(goja.Value) error) error {
	h.Call = c
	ret, err := f(goja.Undefined())
	if err != nil {
		if vm.IsUncatchable(err) {
			return err
		}
		return rejected(h.ThrownValue(err))
	}
	settled, err := h.Resolve(h.Promise, ret)
	if err != nil {
		if vm.IsUncatchable(err) {
			return err
		}
		return rejected(h.ThrownValue(err))
	}
	p, _ := js.PromiseOf(settled)
	h.Call = c
	return h.Then(p, func(v goja.Value) { js.Must(fulfilled(v)) }, func(v goja.Value) { js.Must(rejected(v)) })
}

// sharedFailure contains the parts of a JavaScript Error that can be passed to other VMs.
type sharedFailure struct {
	message string
	code    any
	cause   error
}

// sharedFailure returns the parts of reason, a thrown value, that can be passed to other VMs.
func (h *Binding) sharedFailure(reason goja.Value) *sharedFailure {
	f := &sharedFailure{message: "the computation failed"}
	_ = h.JS.Try(func() {
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
		f.cause = h.AttachedError(o)
	})
	return f
}

func (f *sharedFailure) toError(h *Binding) goja.Value {
	o := h.NewError(f.message, f.code)
	if f.cause != nil {
		h.AttachError(o, f.cause)
	}
	return o
}

// lockShared implements shared.lock. It runs f while the call holds the lock of the key. Two calls never run f for the
// same key at the same time. It returns a promise of the result of f. If the call does not get the lock within the time
// patience, the promise is rejected; 0 means no limit. The lock is released when f has ended or when the call ends.
func (h *Binding) lockShared(s *Store, key string, f goja.Value, patience time.Duration) goja.Value {
	call := h.ActiveCall("shared.lock")
	run, ok := goja.AssertFunction(f)
	if !ok {
		panic(h.JS.NewTypeError("shared.lock takes a key and a function"))
	}
	h.Tally.Awaits++
	p, resolve, reject := h.JS.NewPromise()
	gate := "lock " + key
	c := &contender{call: call, vm: h.VM}
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
					return reject(h.NewError("shared.lock: "+engine.Quote(key)+" was not free within "+patience.String(), "lock-timeout"))
				})
			}
		})
		call.AtEnd(func() { late.Stop() })
	}
	return h.JS.ToValue(p)
}

// cacheKeys is the prefix of the keys under which cache components store values. Scripts cannot use keys with this
// prefix in shared.
const cacheKeys = "\x00cache\x00"

// CacheObject returns a cache component such as innerCache, with get(key) and set(key, value, seconds). Both methods
// return promises; get resolves to null if the key does not exist. The values are in the shared store of the service,
// so each service has its own cache. If the store is full, the values that have not been used for the longest time
// are removed.
func (h *Binding) CacheObject() goja.Value {
	o := h.JS.NewObject()
	s := h.store
	h.Method(o, "get", func(call goja.FunctionCall) goja.Value {
		v, ok := s.get(cacheKeys + h.sharedKey(call))
		if !ok {
			return h.Settled(goja.Null())
		}
		return h.Settled(h.unshareValue(v))
	})
	h.Method(o, "set", func(call goja.FunctionCall) goja.Value {
		key := cacheKeys + h.sharedKey(call)
		value, size := h.shareValue(call.Argument(1))
		var lives time.Duration
		if seconds := call.Argument(2).ToFloat(); seconds > 0 && seconds < 1e9 {
			lives = time.Duration(seconds * float64(time.Second))
		}
		h.checkStored(s.put(key, value, size, lives, false))
		return h.Settled(goja.Undefined())
	})
	return o
}
