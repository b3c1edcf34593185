package cryptojs

import (
	"errors"
	"reflect"
	"slices"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform/webcrypto"
)

// Keys returns the functions for the file keys.js: KeyObject, signatures, and encryption with RSA.
func Keys(h Host) Natives {
	b := &binding{Host: h}
	return Natives{
		"hash": func(call goja.FunctionCall) goja.Value {
			return b.newHasher(b.findHash(call.Argument(0), "TypeError")())
		},
		"secret":   b.newSecret,
		"parse":    b.parseKey,
		"describe": b.describeKey,
		"public": b.withKey(func(m *webcrypto.Material, _ goja.FunctionCall) goja.Value {
			return b.newHandle(m.Public())
		}),
		"equal": b.withKey(func(m *webcrypto.Material, call goja.FunctionCall) goja.Value {
			other := findHandle(call.Argument(1))
			return b.JS().ToValue(other != nil && m.Equal(other))
		}),
		"bytes": b.withKey(func(m *webcrypto.Material, _ goja.FunctionCall) goja.Value {
			return b.ArrayBuffer(slices.Clone(m.Secret()))
		}),
		"export":   b.withKey(b.exportKey),
		"jwk":      b.withKey(b.exportJWK),
		"generate": b.generateKey,
		"sign":     b.withKey(b.sign),
		"verify":   b.withKey(b.verify),
		"encrypt":  b.withKey(b.encryptRSA),
		"decrypt":  b.withKey(b.decryptRSA),
		"agree":    b.withKey(b.agree),
		"curves":   func(goja.FunctionCall) goja.Value { return b.convert(webcrypto.CurveNames()) },
	}
}

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

// withKey returns a function with a key handle as the first argument.
func (b *binding) withKey(f func(*webcrypto.Material, goja.FunctionCall) goja.Value) func(goja.FunctionCall) goja.Value {
	return func(call goja.FunctionCall) goja.Value {
		m := findHandle(call.Argument(0))
		if m == nil {
			panic(b.NewError("TypeError", "ERR_INVALID_ARG_TYPE", "The \"key\" argument must be an instance of KeyObject"))
		}
		return f(m, call)
	}
}

// newSecret implements secret(bytes).
func (b *binding) newSecret(call goja.FunctionCall) goja.Value {
	return b.newHandle(webcrypto.NewSecret(slices.Clone(b.needBytes(call.Argument(0), "createSecretKey"))))
}

// parseKey implements parse(format, type, data). The format is pem, der or jwk. The type is the encoding of der: pkcs1,
// pkcs1-private, pkcs8, sec1 or spki.
func (b *binding) parseKey(call goja.FunctionCall) goja.Value {
	var m *webcrypto.Material
	var err error
	switch format, kind := call.Argument(0).String(), call.Argument(1).String(); {
	case format == "jwk":
		var jwk *webcrypto.JWK
		if jwk, err = webcrypto.ReadJWK(b.newValue(call.Argument(2))); err == nil {
			m, err = jwk.Material()
		}
		var e *webcrypto.Error
		if errors.As(err, &e) {
			err = &webcrypto.Error{Name: "TypeError", Code: "ERR_CRYPTO_INVALID_JWK", Message: e.Message}
		}
	default:
		m, err = b.parseBytes(format, kind, b.needBytes(call.Argument(2), "createPublicKey"))
		if err != nil {
			err = &webcrypto.Error{Name: "Error", Code: "ERR_OSSL_UNSUPPORTED", Message: "the key cannot be read: " + err.Error()}
		}
	}
	if err != nil {
		b.throw(err)
	}
	return b.newHandle(m)
}

func (b *binding) parseBytes(format, kind string, data []byte) (*webcrypto.Material, error) {
	if format == "pem" {
		return webcrypto.ParsePEM(data)
	}
	switch kind {
	case "pkcs8":
		return webcrypto.ParsePKCS8(data)
	case "spki":
		return webcrypto.ParseSPKI(data)
	case "sec1":
		return webcrypto.ParseSEC1(data)
	}
	return webcrypto.ParsePKCS1(data, kind == "pkcs1-private")
}

// describeKey implements describe(handle). It returns undefined if the value is not a handle.
func (b *binding) describeKey(call goja.FunctionCall) goja.Value {
	m := findHandle(call.Argument(0))
	if m == nil {
		return goja.Undefined()
	}
	d := m.Details()
	list := []webcrypto.Member{{Name: "type", Value: m.Type()}, {Name: "family", Value: m.Family()}, {Name: "size", Value: len(m.Secret())}}
	switch {
	case d.Modulus > 0:
		exponent := int64(0)
		for _, one := range d.Exponent {
			exponent = exponent<<8 | int64(one)
		}
		list = append(list, webcrypto.Member{Name: "modulusLength", Value: d.Modulus}, webcrypto.Member{Name: "exponent", Value: exponent})
	case d.Curve != "":
		list = append(list, webcrypto.Member{Name: "namedCurve", Value: webcrypto.NodeCurve(d.Curve)})
	}
	return b.convert(list)
}

// exportKey implements export(handle, type, pem). It returns bytes, or a text if pem is true, or undefined if the key
// does not have the format.
func (b *binding) exportKey(m *webcrypto.Material, call goja.FunctionCall) goja.Value {
	der, label, ok := m.Encode(call.Argument(1).String())
	if !ok {
		return goja.Undefined()
	}
	if call.Argument(2).ToBoolean() {
		return b.JS().ToValue(webcrypto.EncodePEM(label, der))
	}
	return b.ArrayBuffer(der)
}

// exportJWK implements jwk(handle).
func (b *binding) exportJWK(m *webcrypto.Material, _ goja.FunctionCall) goja.Value {
	list, err := m.JWK()
	if err != nil {
		b.throw(err)
	}
	return b.convert(list)
}

// generateKey implements generate(family, parameter, wait). The parameter is the length of the modulus or the name of
// the curve. The result is the handle of a private key, or a promise of it.
func (b *binding) generateKey(call goja.FunctionCall) goja.Value {
	family, parameter := call.Argument(0).String(), call.Argument(1)
	curve, bits := parameter.String(), parameter.ToInteger()
	return b.runJob("crypto.generateKeyPair", &webcrypto.Job{Heavy: call.Argument(2).ToBoolean(), Run: func(*webcrypto.Meter) (any, error) {
		var m *webcrypto.Material
		var err error
		switch family {
		case "rsa":
			m, err = webcrypto.GenerateRSA(int(bits))
		case "ec":
			m, err = webcrypto.GenerateEC(curve)
		default:
			m, err = webcrypto.GenerateOKP(family)
		}
		if err != nil {
			return nil, &webcrypto.Error{Name: "RangeError", Code: "ERR_OUT_OF_RANGE", Message: err.Error()}
		}
		return &keyHandle{m}, nil
	}})
}

// readSigning reads the arguments digest, pss, saltLength and p1363, of which digest has the index i.
func readSigning(call goja.FunctionCall, i int) webcrypto.Signing {
	return webcrypto.Signing{Digest: call.Argument(i).String(), PSS: call.Argument(i + 1).ToBoolean(),
		SaltLength: int(call.Argument(i + 2).ToInteger()), P1363: call.Argument(i + 3).ToBoolean()}
}

// hashFor returns the data that a key signs: a hash, or data itself if the key is pure. If hashed is true, the data is
// a hash already.
func (b *binding) hashFor(m *webcrypto.Material, s webcrypto.Signing, data []byte, hashed bool) []byte {
	if hashed || m.IsPure() {
		return data
	}
	name := s.Digest
	if name == "" {
		name = "sha256"
	}
	h := b.findHash(b.JS().ToValue(name), "TypeError")()
	meter := &webcrypto.Meter{Expired: b.Expired}
	if err := meter.Write(h, data); err != nil {
		b.EndTurn()
		b.throw(err)
	}
	return h.Sum(nil)
}

// throwNode throws an error of a signature or an encryption.
func (b *binding) throwNode(err error) {
	var e *webcrypto.Error
	switch {
	case errors.Is(err, webcrypto.ErrDigest):
		panic(b.NewError("TypeError", "ERR_CRYPTO_INVALID_DIGEST", err.Error()))
	case errors.As(err, &e):
		panic(b.NewError("Error", "ERR_CRYPTO_OPERATION_FAILED", e.Message))
	}
	panic(b.NewError("Error", "ERR_CRYPTO_OPERATION_FAILED", err.Error()))
}

// sign implements sign(handle, data, hashed, digest, pss, saltLength, p1363).
func (b *binding) sign(m *webcrypto.Material, call goja.FunctionCall) goja.Value {
	s := readSigning(call, 3)
	signature, err := s.Sign(m, b.hashFor(m, s, b.needBytes(call.Argument(1), "sign"), call.Argument(2).ToBoolean()))
	if err != nil {
		b.throwNode(err)
	}
	return b.ArrayBuffer(signature)
}

// verify implements verify(handle, data, hashed, digest, pss, saltLength, p1363, signature).
func (b *binding) verify(m *webcrypto.Material, call goja.FunctionCall) goja.Value {
	s := readSigning(call, 3)
	data := b.hashFor(m, s, b.needBytes(call.Argument(1), "verify"), call.Argument(2).ToBoolean())
	valid, err := s.Verify(m, data, b.needBytes(call.Argument(7), "verify"))
	if err != nil {
		b.throwNode(err)
	}
	return b.JS().ToValue(valid)
}

// encryptRSA implements encrypt(handle, data, hash, label).
func (b *binding) encryptRSA(m *webcrypto.Material, call goja.FunctionCall) goja.Value {
	return b.cryptRSA(m, call, m.EncryptRSA)
}

// decryptRSA implements decrypt(handle, data, hash, label).
func (b *binding) decryptRSA(m *webcrypto.Material, call goja.FunctionCall) goja.Value {
	return b.cryptRSA(m, call, m.DecryptRSA)
}

func (b *binding) cryptRSA(m *webcrypto.Material, call goja.FunctionCall, crypt func(name string, data, label []byte) ([]byte, error)) goja.Value {
	if m.Family() != "rsa" {
		panic(b.NewError("Error", "ERR_CRYPTO_OPERATION_FAILED", "operation not supported for this keytype"))
	}
	var label []byte
	if v := call.Argument(3); !goja.IsUndefined(v) {
		label = b.needBytes(v, "oaepLabel")
	}
	out, err := crypt(call.Argument(2).String(), b.needBytes(call.Argument(1), "buffer"), label)
	if err != nil {
		b.throwNode(err)
	}
	return b.ArrayBuffer(out)
}

// agree implements agree(private, public).
func (b *binding) agree(m *webcrypto.Material, call goja.FunctionCall) goja.Value {
	other := findHandle(call.Argument(1))
	if other == nil || m.Type() != "private" {
		panic(b.NewError("TypeError", "ERR_INVALID_ARG_TYPE", "diffieHellman: expected a private and a public key"))
	}
	secret, err := m.Agree(other)
	if err != nil {
		panic(b.NewError("Error", "ERR_CRYPTO_INCOMPATIBLE_KEY", "Incompatible key: "+err.Error()))
	}
	return b.ArrayBuffer(secret)
}
