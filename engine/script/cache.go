package script

import (
	"time"

	"github.com/dop251/goja"
)

// cacheKeys is the prefix of the keys of components such as innerCache in the shared store. Scripts cannot use such
// keys directly.
const cacheKeys = "\x00cache\x00"

// newCacheComponent returns a component such as innerCache, with get(key) and set(key, value, seconds). Both return
// promises; get resolves to null if the key does not exist. The values are in the shared store of the service, so
// that each service has its own. If the store is full, the values that were not used for the longest time are
// removed.
func (h *host) newCacheComponent() goja.Value {
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
		return settled(h.unshareValue(v))
	})
	h.method(o, "set", func(call goja.FunctionCall) goja.Value {
		key := cacheKeys + h.sharedKey(call)
		value, size := h.shareValue(call.Argument(1))
		var lives time.Duration
		if seconds := call.Argument(2).ToFloat(); seconds > 0 && seconds < 1e9 {
			lives = time.Duration(seconds * float64(time.Second))
		}
		h.checkStored(s.put(key, value, size, lives, false))
		return settled(goja.Undefined())
	})
	return o
}
