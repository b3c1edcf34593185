package cryptojs

import (
	"errors"
	"slices"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform/webcrypto"
)

// Derivations returns the functions for the key derivations of the file crypto.js. If the last argument
// wait is true, the derivation runs outside of the turn, and the result is a promise.
func Derivations(h Host) Natives {
	b := &binding{Host: h}
	return Natives{"pbkdf2": b.derivePBKDF2, "hkdf": b.deriveHKDF, "scrypt": b.deriveScrypt}
}

// derive runs a derivation. If wait is true and a request waits for the script, it runs outside of the turn. If a
// parameter is too large, it throws a RangeError with the code.
func (b *binding) derive(what, code string, wait bool, run func(*webcrypto.Meter) ([]byte, error)) goja.Value {
	return b.runJob(what, &webcrypto.Job{Heavy: wait, Run: func(m *webcrypto.Meter) (any, error) {
		key, err := run(m)
		var e *webcrypto.Error
		if errors.As(err, &e) && e.Code == "" {
			err = &webcrypto.Error{Name: "RangeError", Code: code, Message: e.Message}
		}
		return key, err
	}})
}

// derivePBKDF2 implements pbkdf2(password, salt, iterations, length, hash, wait).
func (b *binding) derivePBKDF2(call goja.FunctionCall) goja.Value {
	password, salt := slices.Clone(b.needBytes(call.Argument(0), "pbkdf2")), slices.Clone(b.needBytes(call.Argument(1), "pbkdf2"))
	iterations, length := call.Argument(2).ToInteger(), call.Argument(3).ToInteger()
	newHash := b.findHash(call.Argument(4), "TypeError")
	return b.derive("crypto.pbkdf2", "ERR_OUT_OF_RANGE", call.Argument(5).ToBoolean(), func(m *webcrypto.Meter) ([]byte, error) {
		return webcrypto.DerivePBKDF2(m, newHash, password, salt, int(iterations), int(length))
	})
}

// deriveHKDF implements hkdf(hash, key, salt, info, length, wait).
func (b *binding) deriveHKDF(call goja.FunctionCall) goja.Value {
	newHash := b.findHash(call.Argument(0), "TypeError")
	secret := slices.Clone(b.secretBytes(call.Argument(1), "hkdf"))
	salt, info := slices.Clone(b.needBytes(call.Argument(2), "hkdf")), slices.Clone(b.needBytes(call.Argument(3), "hkdf"))
	length := call.Argument(4).ToInteger()
	return b.derive("crypto.hkdf", "ERR_CRYPTO_INVALID_KEYLEN", call.Argument(5).ToBoolean(), func(m *webcrypto.Meter) ([]byte, error) {
		return webcrypto.DeriveHKDF(m, newHash, secret, salt, info, int(length))
	})
}

// deriveScrypt implements scrypt(password, salt, length, cost, blockSize, parallelization, maxmem, wait).
func (b *binding) deriveScrypt(call goja.FunctionCall) goja.Value {
	password, salt := slices.Clone(b.needBytes(call.Argument(0), "scrypt")), slices.Clone(b.needBytes(call.Argument(1), "scrypt"))
	length := call.Argument(2).ToInteger()
	s := webcrypto.Scrypt{Cost: call.Argument(3).ToInteger(), BlockSize: call.Argument(4).ToInteger(), Parallel: call.Argument(5).ToInteger(),
		MaxMemory: call.Argument(6).ToInteger()}
	memory, ok := s.Memory()
	if ok && memory <= s.MaxMemory {
		b.Allocate(memory, "scrypt")
	}
	return b.derive("crypto.scrypt", "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", call.Argument(7).ToBoolean(), func(m *webcrypto.Meter) ([]byte, error) {
		return s.Derive(m, password, salt, int(length))
	})
}
