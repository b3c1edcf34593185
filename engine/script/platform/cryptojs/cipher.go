package cryptojs

import (
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform/webcrypto"
)

// maxGCM is the maximum length of a text of GCM in bytes.
const maxGCM = 32 << 20

// Ciphers returns the functions for the file cipher.js.
func Ciphers(h Host) Natives {
	b := &binding{Host: h}
	return Natives{
		"names": func(goja.FunctionCall) goja.Value { return b.convert(webcrypto.CipherNames()) },
		"info": func(call goja.FunctionCall) goja.Value {
			info, ok := webcrypto.FindCipher(strings.ToLower(call.Argument(0).String()))
			if !ok {
				return goja.Undefined()
			}
			return b.convert([]webcrypto.Member{{Name: "name", Value: info.Name}, {Name: "mode", Value: info.Mode},
				{Name: "keyLength", Value: info.KeyLength}, {Name: "ivLength", Value: info.IVLength}})
		},
		"new": b.newCipher,
	}
}

// newCipher implements new(name, encrypts, key, iv, tagLength). It returns an object with the methods of a cipher.
func (b *binding) newCipher(call goja.FunctionCall) goja.Value {
	info, ok := webcrypto.FindCipher(strings.ToLower(call.Argument(0).String()))
	if !ok {
		panic(b.NewError("Error", "ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher; known are "+strings.Join(webcrypto.CipherNames(), ", ")))
	}
	key, iv := b.secretBytes(call.Argument(2), "key"), b.needBytes(call.Argument(3), "iv")
	c, err := webcrypto.NewCipher(info, call.Argument(1).ToBoolean(), key, iv, int(call.Argument(4).ToInteger()), maxGCM)
	if err != nil {
		b.throw(err)
	}
	return b.newObject(Natives{
		"update": b.returnBytes(func(call goja.FunctionCall) ([]byte, error) { return c.Update(b.needBytes(call.Argument(0), "data")) }),
		"final":  b.returnBytes(func(goja.FunctionCall) ([]byte, error) { return c.Final() }),
		"tag":    b.returnBytes(func(goja.FunctionCall) ([]byte, error) { return c.Tag() }),
		"setTag": b.returnBytes(func(call goja.FunctionCall) ([]byte, error) {
			return nil, c.SetTag(b.needBytes(call.Argument(0), "tag"))
		}),
		"setAdditional": b.returnBytes(func(call goja.FunctionCall) ([]byte, error) {
			return nil, c.SetAdditional(b.needBytes(call.Argument(0), "data"))
		}),
		"setPadding": b.returnBytes(func(call goja.FunctionCall) ([]byte, error) {
			return nil, c.SetPadding(call.Argument(0).ToBoolean())
		}),
	})
}

// returnBytes returns a function that returns the bytes of f, or throws its error.
func (b *binding) returnBytes(f func(goja.FunctionCall) ([]byte, error)) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		out, err := f(call)
		if err != nil {
			b.throw(err)
		}
		return b.ArrayBuffer(out)
	}
}
