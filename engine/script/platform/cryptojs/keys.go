package cryptojs

import (
	"reflect"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform/webcrypto"
)

// keyHandle is the Go value of a KeyObject. It has no exported fields, so scripts see no properties of it.
type keyHandle struct{ key *webcrypto.Material }

var keyHandleType = reflect.TypeFor[*keyHandle]()

func (b *binding) newHandle(m *webcrypto.Material) goja.Value {
	return b.JS().ToValue(&keyHandle{m})
}

// findHandle returns the key of a handle, or nil for any other value.
func findHandle(v goja.Value) *webcrypto.Material {
	if o, ok := v.(*goja.Object); ok && o.ExportType() == keyHandleType {
		if h, ok := o.Export().(*keyHandle); ok {
			return h.key
		}
	}
	return nil
}

// secretBytes returns the bytes of a secret key, which is bytes or a handle.
func (b *binding) secretBytes(v goja.Value, what string) []byte {
	if m := findHandle(v); m != nil && m.Type() == "secret" {
		return m.Secret()
	}
	return b.needBytes(v, what)
}
