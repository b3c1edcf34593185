// Package cryptojs connects package webcrypto with JavaScript. It has the Go functions that the files subtle.js and
// crypto.js of package platform use: the methods of SubtleCrypto, and keys, signatures, ciphers and derivations of the
// module crypto of Node.js.
//
// Operations that take less than a millisecond run in the turn of the script. Longer ones run outside of turns if a
// request waits for them (Host.Compute), so that other requests of the service continue. Both are limited by the CPU
// time of the request.
//
// Scripts hold keys as opaque objects. The objects have no properties with the value of the key, so it appears
// neither in logs nor in JSON.
package cryptojs

import (
	"github.com/dop251/goja"
)

// Host is the platform of a VM. The methods must be called inside a turn.
type Host interface {
	// JS returns the JavaScript runtime.
	JS() *goja.Runtime
	// Bytes returns the bytes of an ArrayBuffer, a typed array or a DataView. They share memory with the script. ok
	// is false for any other value.
	Bytes(v goja.Value) (b []byte, ok bool)
	// ArrayBuffer returns a JavaScript ArrayBuffer with b as its memory.
	ArrayBuffer(b []byte) goja.Value
	// NewError returns an error of a built-in class or a DOMException. If code is not "", it is the property code.
	NewError(class, code, message string) *goja.Object
	// Allocate throws if n bytes are more than one call of the function may take.
	Allocate(n int64, function string)
	// InRequest reports whether a request waits for the script, so that Compute can be called.
	InRequest() bool
	// Expired returns the reason why the current turn must end, or nil.
	Expired() error
	// EndTurn ends the current turn if its time is over.
	EndTurn()
	// Compute runs work outside of turns and returns a promise of the result of settle, which runs in a turn. It
	// charges the time of work to the request. While work runs, the function expired returns an error if the time
	// of the request is over. The parameter size is the memory that work holds in bytes.
	Compute(function string, size int, work func(expired func() error) (settle func() goja.Value)) goja.Value
}

// Natives are Go functions by their names in JavaScript.
type Natives = map[string]func(goja.FunctionCall) goja.Value

// binding implements the functions for one VM.
type binding struct {
	Host
	keyPrototype *goja.Object // of CryptoKey
}
