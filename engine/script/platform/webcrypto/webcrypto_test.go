package webcrypto

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// fake implements Value for Go values: nil is undefined, a map is an object.
type fake struct{ v any }

type object = map[string]any

func (f fake) IsUndefined() bool { return f.v == nil }
func (f fake) IsObject() bool {
	switch f.v.(type) {
	case object, []byte, *Key, []string:
		return true
	}
	return false
}
func (f fake) Get(name string) Value {
	o, _ := f.v.(object)
	return fake{o[name]}
}
func (f fake) String() string { return fmt.Sprint(f.v) }
func (f fake) Number() float64 {
	n, ok := f.v.(int)
	if !ok {
		return math.NaN()
	}
	return float64(n)
}
func (f fake) Bool() bool            { return f.v == true }
func (f fake) Bytes() ([]byte, bool) { b, ok := f.v.([]byte); return b, ok }
func (f fake) Key() *Key             { k, _ := f.v.(*Key); return k }
func (f fake) List() ([]Value, bool) {
	list, ok := f.v.([]string)
	var all []Value
	for _, s := range list {
		all = append(all, fake{s})
	}
	return all, ok
}

// call runs a method of SubtleCrypto.
func call(method string, args ...any) (any, error) {
	list := make([]Value, len(args))
	for i, a := range args {
		list[i] = fake{a}
	}
	job, err := Prepare(method, list)
	if err != nil {
		return nil, err
	}
	return job.Run(&Meter{})
}

// must runs a method that should not fail.
func must(t *testing.T, method string, args ...any) any {
	t.Helper()
	got, err := call(method, args...)
	if err != nil {
		t.Fatalf("%s%v: %v", method, args, err)
	}
	return got
}

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func from64(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func expectHex(t *testing.T, what string, got any, want string) {
	t.Helper()
	want = strings.ReplaceAll(want, " ", "")
	if b, _ := got.([]byte); hex.EncodeToString(b) != want {
		t.Errorf("%s: got %x, want %s", what, got, want)
	}
}

// TestPBKDF2 uses the vectors of RFC 6070 and RFC 7914.
func TestPBKDF2(t *testing.T) {
	for _, c := range []struct {
		hash, password, salt string
		iterations, length   int
		want                 string
	}{
		{"SHA-1", "password", "salt", 1, 20, "0c60c80f961f0e71f3a9b524af6012062fe037a6"},
		{"SHA-1", "password", "salt", 2, 20, "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"},
		{"SHA-1", "password", "salt", 4096, 20, "4b007901b765489abead49d926f721d065a429c1"},
		{"SHA-1", "passwordPASSWORDpassword", "saltSALTsaltSALTsaltSALTsaltSALTsalt", 4096, 25, "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038"},
		{"SHA-1", "pass\x00word", "sa\x00lt", 4096, 16, "56fa6aa75548099dcc37d7f03425e0c3"},
		{"SHA-256", "passwd", "salt", 1, 64, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783"},
	} {
		key := must(t, "importKey", "raw", []byte(c.password), "PBKDF2", false, []string{"deriveBits"})
		got := must(t, "deriveBits", object{"name": "PBKDF2", "hash": c.hash, "salt": []byte(c.salt), "iterations": c.iterations}, key, 8*c.length)
		expectHex(t, fmt.Sprint(c.password, c.iterations), got, c.want)
	}
}

// TestHKDF uses the vectors of RFC 5869.
func TestHKDF(t *testing.T) {
	secret := bytes.Repeat([]byte{11}, 22)
	for _, c := range []struct{ salt, info, want string }{
		{"000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9", "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
		{"", "", "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"},
	} {
		key := must(t, "importKey", "raw", secret, "HKDF", false, []string{"deriveBits"})
		got := must(t, "deriveBits", object{"name": "HKDF", "hash": "SHA-256", "salt": fromHex(t, c.salt), "info": fromHex(t, c.info)}, key, 8*42)
		expectHex(t, "HKDF", got, c.want)
	}
}

// TestScrypt uses the vectors of RFC 7914.
func TestScrypt(t *testing.T) {
	for _, c := range []struct {
		password, salt string
		scrypt         Scrypt
		want           string
	}{
		{"", "", Scrypt{16, 1, 1, 1 << 20}, "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"},
		{"password", "NaCl", Scrypt{1024, 8, 16, 4 << 20}, "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"},
	} {
		got, err := c.scrypt.Derive(&Meter{}, []byte(c.password), []byte(c.salt), 64)
		if err != nil {
			t.Fatal(err)
		}
		expectHex(t, "scrypt", got, c.want)
	}
	for _, bad := range []Scrypt{{1 << 30, 8, 1, 1 << 40}, {16, 1 << 40, 1 << 40, math.MaxInt64}, {3, 8, 1, 1 << 40}, {1, 8, 1, 1 << 40}, {16, 8, 1, 100}, {1 << 10, 8, 1 << 20, 1 << 40}, {16, 0, 1, 1 << 40}} {
		start := time.Now()
		if key, err := bad.Derive(&Meter{}, nil, nil, 64); err == nil {
			t.Errorf("%+v: got %x, want an error", bad, key)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("%+v: failed after %v, want at once", bad, took)
		}
	}
}

// TestAES uses the vectors of NIST SP 800-38A and of the specification of GCM (test cases 4, 5 and 16).
func TestAES(t *testing.T) {
	plain := fromHex(t, "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51")
	key := fromHex(t, "2b7e151628aed2a6abf7158809cf4f3c")
	usages := []string{"encrypt", "decrypt"}
	ctr := must(t, "importKey", "raw", key, "AES-CTR", false, usages)
	for length := 8; length <= 128; length += 8 { // the low 8 bits do not return to 0 within two blocks only if they count alone
		if length == 8 {
			continue
		}
		got := must(t, "encrypt", object{"name": "AES-CTR", "counter": fromHex(t, "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"), "length": length}, ctr, plain)
		expectHex(t, fmt.Sprint("CTR ", length), got, "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff")
	}
	cbc := must(t, "importKey", "raw", key, "AES-CBC", false, usages)
	got := must(t, "encrypt", object{"name": "AES-CBC", "iv": fromHex(t, "000102030405060708090a0b0c0d0e0f")}, cbc, plain)
	expectHex(t, "CBC", got.([]byte)[:32], "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2")

	text := "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
	more := fromHex(t, "feedfacedeadbeeffeedfacedeadbeefabaddad2")
	for _, c := range []struct{ key, iv, cipher, tag string }{
		{"feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
			"42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091", "5bc94fbc3221a5db94fae95ae7121a47"},
		{"feffe9928665731c6d6a8f9467308308", "cafebabefacedbad",
			"61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c742373806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598", "3612d2e79e3b0785561be14aaca2fccb"},
		{"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
			"522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662", "76fc6ece0f4e1768cddf8853bb2d551b"},
	} {
		k := must(t, "importKey", "raw", fromHex(t, c.key), "AES-GCM", false, usages)
		for tag := range []int{32, 64, 96, 104, 112, 120, 128} {
			bits := []int{32, 64, 96, 104, 112, 120, 128}[tag]
			p := object{"name": "AES-GCM", "iv": fromHex(t, c.iv), "additionalData": more, "tagLength": bits}
			sealed := must(t, "encrypt", p, k, fromHex(t, text))
			expectHex(t, "GCM", sealed, c.cipher+c.tag[:bits/4])
			expectHex(t, "GCM", must(t, "decrypt", p, k, sealed), text)
			for _, at := range []int{0, len(sealed.([]byte)) - 1} {
				changed := bytes.Clone(sealed.([]byte))
				changed[at] ^= 1
				if got, err := call("decrypt", p, k, changed); err == nil {
					t.Errorf("GCM with a tag of %d bits: got %x for changed data, want an error", bits, got)
				}
			}
		}
	}
}

// TestKeyWrap uses the vectors of RFC 3394 and RFC 7516, appendix A.3.
func TestKeyWrap(t *testing.T) {
	for _, c := range []struct{ kek, key, want string }{
		{"000102030405060708090A0B0C0D0E0F", "00112233445566778899AABBCCDDEEFF", "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5"},
		{hex.EncodeToString(from64(t, "GawgguFyGrWKav7AX4VKUg")), "04d31fc5549dfcfe0b649dfa3faa6ace6b7cd42d6f6b09dbc8b100f08f9c2ccf",
			hex.EncodeToString(from64(t, "6KB707dM9YTIgHtLvtgWQ8mKwboJW3of9locizkDTHzBC2IlrT1oOQ"))},
	} {
		kek := must(t, "importKey", "raw", fromHex(t, c.kek), "AES-KW", false, []string{"wrapKey", "unwrapKey"})
		key := must(t, "importKey", "raw", fromHex(t, c.key), object{"name": "HMAC", "hash": "SHA-256"}, true, []string{"sign"})
		wrapped := must(t, "wrapKey", "raw", key, kek, "AES-KW")
		expectHex(t, "wrapKey", wrapped, c.want)
		opened := must(t, "unwrapKey", "raw", wrapped, kek, "AES-KW", object{"name": "HMAC", "hash": "SHA-256"}, true, []string{"sign"})
		expectHex(t, "unwrapKey", must(t, "exportKey", "raw", opened), strings.ToLower(c.key))
	}
}

// jwkOf returns the members of a JWK as an object.
func jwkOf(t *testing.T, text string) object {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestJWS uses the examples of RFC 7515, appendices A.1 and A.3, and of RFC 8037, appendix A.4.
func TestJWS(t *testing.T) {
	for _, c := range []struct {
		key         string
		algorithm   object
		parameters  any
		signed      string
		signature   string
		predictable bool
	}{
		{`{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}`, object{"name": "HMAC", "hash": "SHA-256"}, "HMAC",
			"eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
			"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", true},
		{`{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}`,
			object{"name": "ECDSA", "namedCurve": "P-256"}, object{"name": "ECDSA", "hash": "SHA-256"},
			"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
			"DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q", false},
		{`{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`, object{"name": "Ed25519"}, "Ed25519",
			"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
			"hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg", true},
	} {
		jwk := jwkOf(t, c.key)
		private := must(t, "importKey", "jwk", jwk, c.algorithm, false, []string{"sign"})
		delete(jwk, "d")
		public := must(t, "importKey", "jwk", jwk, c.algorithm, false, []string{"verify"})
		signature := must(t, "sign", c.parameters, private, []byte(c.signed)).([]byte)
		if got := base64.RawURLEncoding.EncodeToString(signature); c.predictable && got != c.signature {
			t.Errorf("%v: got the signature %s, want %s", c.algorithm, got, c.signature)
		}
		for _, s := range [][]byte{signature, from64(t, c.signature)} {
			if must(t, "verify", c.parameters, public, s, []byte(c.signed)) != true {
				t.Errorf("%v: the signature %x is not valid", c.algorithm, s)
			}
			if must(t, "verify", c.parameters, public, s, []byte(c.signed+"x")) != false {
				t.Errorf("%v: the signature %x is valid for other data", c.algorithm, s)
			}
		}
	}
}

// TestAgreement uses the examples of RFC 7518, appendix C, and of RFC 8037, appendix A.6.
func TestAgreement(t *testing.T) {
	for _, c := range []struct {
		algorithm       object
		private, public string
		want            string
	}{
		{object{"name": "ECDH", "namedCurve": "P-256"},
			`{"kty":"EC","crv":"P-256","x":"gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0","y":"SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps","d":"0_NxaRPUMQoAJt50Gz8YiTr8gRTwyEaCumd-MToTmIo"}`,
			`{"kty":"EC","crv":"P-256","x":"weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ","y":"e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck"}`,
			"9e56d91d817135d372834283bf84269cfb316ea3da806a48f6daa7798cfe90c4"},
		{object{"name": "X25519"},
			`{"kty":"OKP","crv":"X25519","d":"dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo","x":"hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo"}`,
			`{"kty":"OKP","crv":"X25519","x":"3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"}`,
			"4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"},
	} {
		private := must(t, "importKey", "jwk", jwkOf(t, c.private), c.algorithm, false, []string{"deriveBits"})
		public := must(t, "importKey", "jwk", jwkOf(t, c.public), c.algorithm, true, []string{})
		got := must(t, "deriveBits", object{"name": c.algorithm["name"], "public": public}, private, 256)
		expectHex(t, fmt.Sprint(c.algorithm), got, c.want)
	}
}

// TestMeter checks that a derivation ends soon after its time is over.
func TestMeter(t *testing.T) {
	errOver := errors.New("the time is over")
	start := time.Now()
	m := &Meter{Expired: func() error {
		if time.Since(start) > 20*time.Millisecond {
			return errOver
		}
		return nil
	}}
	_, err := DerivePBKDF2(m, NewHash("sha512"), []byte("p"), []byte("s"), maxIterations, 64)
	if took := time.Since(start); err != errOver || took > 2*time.Second {
		t.Errorf("got the error %v after %v, want %v after 20 ms", err, took, errOver)
	}
}

// TestTexts checks that the text of a key does not contain its value.
func TestTexts(t *testing.T) {
	key := must(t, "importKey", "raw", []byte("very secret bytes"), object{"name": "HMAC", "hash": "SHA-256"}, true, []string{"sign"}).(*Key)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{key, key.Material()} {
			if text := fmt.Sprintf(format, v); strings.Contains(text, "very") || strings.Contains(text, "118") || strings.Contains(text, "0x76") {
				t.Errorf("%s: got %s, which contains the key", format, text)
			}
		}
	}
}

// FuzzImport checks that no bytes and no JWK make the import of a key panic, and that an imported key can be exported
// and imported again.
func FuzzImport(f *testing.F) {
	f.Add("pkcs8", "RSA-PSS", []byte{0x30, 0x82})
	f.Add("jwk", "ECDSA", []byte(`{"kty":"EC","crv":"P-256","x":"gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0","y":"SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFpps"}`))
	f.Add("jwk", "RSA-PSS", []byte(`{"kty":"RSA","n":"AQAB","e":"AQAB","d":"AQ","p":"AQ","q":"AQ","dp":"AQ","dq":"AQ","qi":"AQ"}`))
	f.Add("raw", "ECDH", append([]byte{4}, make([]byte, 64)...))
	f.Add("spki", "Ed25519", []byte{0x30, 0x2a})
	f.Fuzz(func(t *testing.T, format, name string, data []byte) {
		for _, usages := range [][]string{{}, {"sign"}, {"verify"}, {"deriveBits"}, {"encrypt"}, {"decrypt"}} {
			alg := object{"name": name, "hash": "SHA-256", "namedCurve": "P-256"}
			var keyData any = data
			if format == "jwk" {
				var o object
				if json.Unmarshal(data, &o) != nil {
					return
				}
				keyData = o
			}
			start := time.Now()
			key, err := call("importKey", format, keyData, alg, true, usages)
			if took := time.Since(start); took > 2*time.Second {
				t.Fatalf("%s %s: the import took %v", format, name, took)
			}
			var e *Error
			if err != nil {
				if !errors.As(err, &e) {
					t.Fatalf("%s %s: got the error %v, want an *Error", format, name, err)
				}
				continue
			}
			out := must(t, "exportKey", format, key)
			if format == "jwk" {
				o := object{}
				for _, m := range out.([]Member) {
					o[m.Name] = m.Value
				}
				out = o
			}
			must(t, "importKey", format, out, alg, true, usages)
		}
	})
}
