package script

import (
	"time"

	"github.com/dop251/goja"
)

// cacheKeys is the prefix of the keys of components such as innerCache in the shared store. Scripts cannot use such
// keys directly.
const cacheKeys = "\x00cache\x00"

// cacheObject returns a component such as innerCache, with get(key) and set(key, value, seconds). Both return
// promises; get resolves to null if the key does not exist. The values are in the shared store of the service, so
// that each service has its own. If the store is full, the values that were not used for the longest time are
// removed.
func (h *sharedBinding) cacheObject() goja.Value {
	o := h.js.NewObject()
	s := h.store
	h.method(o, "get", func(call goja.FunctionCall) goja.Value {
		v, ok := s.get(cacheKeys + h.sharedKey(call))
		if !ok {
			return h.settled(goja.Null())
		}
		return h.settled(h.unshareValue(v))
	})
	h.method(o, "set", func(call goja.FunctionCall) goja.Value {
		key := cacheKeys + h.sharedKey(call)
		value, size := h.shareValue(call.Argument(1))
		var lives time.Duration
		if seconds := call.Argument(2).ToFloat(); seconds > 0 && seconds < 1e9 {
			lives = time.Duration(seconds * float64(time.Second))
		}
		h.checkStored(s.put(key, value, size, lives, false))
		return h.settled(goja.Undefined())
	})
	return o
}
