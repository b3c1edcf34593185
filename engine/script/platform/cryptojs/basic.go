package cryptojs

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"hash"
	"math/big"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform/webcrypto"
)

// Basic returns the functions for the file crypto.js: random values, hashes, and comparisons. Their arguments are
// ArrayBuffers or typed arrays, and they return ArrayBuffers.
func Basic(h Host) Natives {
	b := &binding{Host: h}
	return Natives{
		"uuid": func(goja.FunctionCall) goja.Value { return b.JS().ToValue(newUUID()) },
		"fill": func(call goja.FunctionCall) goja.Value {
			_, _ = rand.Read(b.needBytes(call.Argument(0), "getRandomValues"))
			return goja.Undefined()
		},
		"random": func(call goja.FunctionCall) goja.Value {
			n := call.Argument(0).ToInteger()
			b.Allocate(n, "randomBytes")
			bytes := make([]byte, n)
			_, _ = rand.Read(bytes)
			return b.ArrayBuffer(bytes)
		},
		"int": func(call goja.FunctionCall) goja.Value {
			n, err := rand.Int(rand.Reader, big.NewInt(max(1, call.Argument(0).ToInteger())))
			if err != nil {
				b.throw(err)
			}
			return b.JS().ToValue(n.Int64())
		},
		"hashes": func(goja.FunctionCall) goja.Value { return b.convert(webcrypto.HashNames()) },
		"hash": func(call goja.FunctionCall) goja.Value {
			return b.newHasher(b.findHash(call.Argument(0), "Error")())
		},
		"hmac": func(call goja.FunctionCall) goja.Value {
			return b.newHasher(hmac.New(b.findHash(call.Argument(0), "Error"), b.secretBytes(call.Argument(1), "createHmac")))
		},
		"equal": func(call goja.FunctionCall) goja.Value {
			x, y := b.needBytes(call.Argument(0), "timingSafeEqual"), b.needBytes(call.Argument(1), "timingSafeEqual")
			if len(x) != len(y) {
				panic(b.NewError("RangeError", "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length"))
			}
			return b.JS().ToValue(subtle.ConstantTimeCompare(x, y) == 1)
		},
	}
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// findHash returns the hash algorithm with a name of Node.js in any of its spellings: SHA-256, sha256 or RSA-SHA256.
// It throws an error of the class if there is no such algorithm.
func (b *binding) findHash(name goja.Value, class string) func() hash.Hash {
	f := webcrypto.NewHash(name.String())
	if f == nil {
		panic(b.NewError(class, "ERR_CRYPTO_INVALID_DIGEST", "Invalid digest: "+name.String()+"; known are "+strings.Join(webcrypto.HashNames(), ", ")))
	}
	return f
}

// needBytes returns the bytes of v. They share memory with the script. It throws if v has no bytes. The message
// begins with the name of the function.
func (b *binding) needBytes(v goja.Value, function string) []byte {
	bytes, ok := b.Bytes(v)
	if !ok {
		panic(b.NewError("TypeError", "ERR_INVALID_ARG_TYPE", function+": expected bytes (a Buffer, a typed array, a DataView or an ArrayBuffer)"))
	}
	return bytes
}

// newHasher returns a JavaScript object {update(bytes), digest(), copy()} for the hash h.
func (b *binding) newHasher(h hash.Hash) goja.Value {
	return b.newObject(Natives{
		"update": func(call goja.FunctionCall) goja.Value {
			meter := &webcrypto.Meter{Expired: b.Expired}
			if err := meter.Write(h, b.needBytes(call.Argument(0), "update")); err != nil {
				b.EndTurn()
				b.throw(err)
			}
			return goja.Undefined()
		},
		"digest": func(goja.FunctionCall) goja.Value { return b.ArrayBuffer(h.Sum(nil)) },
		"copy": func(goja.FunctionCall) goja.Value {
			cloner, ok := h.(hash.Cloner)
			if !ok {
				panic(b.NewError("Error", "ERR_CRYPTO_HASH_UPDATE_FAILED", "this hash cannot be copied"))
			}
			c, err := cloner.Clone()
			if err != nil {
				b.throw(err)
			}
			return b.newHasher(c)
		},
	})
}

// newObject returns a JavaScript object with the functions.
func (b *binding) newObject(all Natives) *goja.Object {
	o := b.JS().NewObject()
	for name, f := range all {
		_ = o.Set(name, f)
	}
	return o
}
