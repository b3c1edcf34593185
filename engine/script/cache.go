package script

import (
	"time"

	"github.com/dop251/goja"
)

// cacheKeys begins the keys that components such as innerCache have in the shared
// store; no script can write such a key there.
const cacheKeys = "\x00cache\x00"

// cache makes a component such as innerCache: get(key), which gives null for
// what is not there, and set(key, value, seconds), both by promises. It is the
// shared store of the service: other services have their own, and what was not
// used for long makes room.
func (h *host) cache() goja.Value {
	o := h.js.NewObject()
	s := h.v.gen.lasting.store
	settled := func(v goja.Value) goja.Value {
		p, resolve, _ := h.js.NewPromise()
		must(resolve(v))
		return h.js.ToValue(p)
	}
	h.method(o, "get", func(call goja.FunctionCall) goja.Value {
		v, ok := s.get(cacheKeys + h.sharedKey(call))
		if !ok {
			return settled(goja.Null())
		}
		return settled(h.unshare(v))
	})
	h.method(o, "set", func(call goja.FunctionCall) goja.Value {
		key := cacheKeys + h.sharedKey(call)
		value, size := h.share(call.Argument(1))
		var lives time.Duration
		if seconds := call.Argument(2).ToFloat(); seconds > 0 && seconds < 1e9 {
			lives = time.Duration(seconds * float64(time.Second))
		}
		h.fits(s.put(key, value, size, lives, false))
		return settled(goja.Undefined())
	})
	return o
}
