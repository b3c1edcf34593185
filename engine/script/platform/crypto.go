package platform

import (
	"github.com/dop251/goja"

	"restsrv/engine/script/platform/cryptojs"
)

// cryptoModules returns the module crypto and its parts, which are loaded when a script first uses them.
func cryptoModules() map[string]module {
	return map[string]module{
		"crypto":  {file: "crypto", native: cryptoNative(cryptojs.Basic)},
		"#crypto": {file: "crypto-shared"},
		"#subtle": {file: "subtle", native: cryptoNative(cryptojs.Subtle)},
		"#derive": {file: "derive", native: cryptoNative(cryptojs.Derivations)},
		"#keys":   {file: "keys", native: cryptoNative(cryptojs.Keys)},
		"#cipher": {file: "cipher", native: cryptoNative(cryptojs.Ciphers)},
	}
}

// cryptoHost implements cryptojs.Host.
type cryptoHost struct {
	Turns
	p *Platform
}

var _ cryptojs.Host = cryptoHost{}

// cryptoNative returns the builder of the Go functions for a file of the module crypto.
func cryptoNative(functions func(cryptojs.Host) cryptojs.Natives) builder {
	return func(p *Platform) goja.Value { return p.newNatives(functions(cryptoHost{p.host, p})) }
}

// JS implements cryptojs.Host.
func (h cryptoHost) JS() *goja.Runtime { return h.p.js }

// Bytes implements cryptojs.Host.
func (h cryptoHost) Bytes(v goja.Value) ([]byte, bool) { return h.p.bytesOf(v) }

// ArrayBuffer implements cryptojs.Host.
func (h cryptoHost) ArrayBuffer(b []byte) goja.Value { return h.p.arrayBuffer(b) }

// Allocate implements cryptojs.Host.
func (h cryptoHost) Allocate(n int64, what string) { h.p.checkSize(n, what) }

// InRequest implements cryptojs.Host.
func (h cryptoHost) InRequest() bool {
	_, ok := h.p.host.Context()
	return ok
}

// NewError implements cryptojs.Host.
func (h cryptoHost) NewError(class, code, message string) *goja.Object {
	switch class {
	case "Error", "TypeError", "RangeError":
		return h.p.newError(class, code, "%s", message)
	}
	return h.p.domException(class, message).(*goja.Object)
}
