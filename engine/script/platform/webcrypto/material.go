package webcrypto

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/subtle"
	"math/big"
)

// Material is the value of a key: a secret, a private key or a public key. It is immutable, and goroutines may share
// it.
type Material struct {
	secret  []byte
	bits    int // length of the secret
	private any // *rsa.PrivateKey, *ecdsa.PrivateKey, ed25519.PrivateKey, *ecdh.PrivateKey (X25519), or nil
	public  any // *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey, *ecdh.PublicKey (X25519), or nil
}

// NewSecret returns a secret key. It keeps b.
func NewSecret(b []byte) *Material { return &Material{secret: b, bits: 8 * len(b)} }

// String returns a text without the value of the key, for logs.
func (m *Material) String() string { return m.Type() + " key" }

// GoString returns the same text as String.
func (m *Material) GoString() string { return m.String() }

// Type returns secret, private or public.
func (m *Material) Type() string {
	switch {
	case m.private != nil:
		return "private"
	case m.public != nil:
		return "public"
	}
	return "secret"
}

// Family returns the kind of an asymmetric key as asymmetricKeyType of Node.js: rsa, ec, ed25519 or x25519. It
// returns "" for secrets.
func (m *Material) Family() string {
	switch m.public.(type) {
	case *rsa.PublicKey:
		return "rsa"
	case *ecdsa.PublicKey:
		return "ec"
	case ed25519.PublicKey:
		return "ed25519"
	case *ecdh.PublicKey:
		return "x25519"
	}
	return ""
}

// Details are the properties of a key that are not secret.
type Details struct {
	Secret   bool
	Bits     int    // length of a secret
	Curve    string // name of the curve: P-256, P-384 or P-521
	Modulus  int    // length of the modulus of an RSA key in bits
	Exponent []byte // public exponent of an RSA key
}

// Details returns the properties of the key.
func (m *Material) Details() Details {
	switch public := m.public.(type) {
	case *rsa.PublicKey:
		return Details{Modulus: public.N.BitLen(), Exponent: big.NewInt(int64(public.E)).Bytes()}
	case *ecdsa.PublicKey:
		return Details{Curve: public.Curve.Params().Name}
	case nil:
		return Details{Secret: true, Bits: m.bits}
	}
	return Details{}
}

// Secret returns the bytes of a secret key, or nil if the key is not secret. The caller must not change them.
func (m *Material) Secret() []byte { return m.secret }

// Public returns the public key that belongs to a private key. For a public key, it returns the key itself.
func (m *Material) Public() *Material { return &Material{public: m.public} }

// Equal reports whether both keys have the same type and value. It takes the same time for all secrets of a length.
func (m *Material) Equal(other *Material) bool {
	if m.Type() != other.Type() || m.Family() != other.Family() {
		return false
	}
	switch private := m.private.(type) {
	case *rsa.PrivateKey:
		return private.Equal(other.private)
	case *ecdsa.PrivateKey:
		return private.Equal(other.private)
	case ed25519.PrivateKey:
		return private.Equal(other.private)
	case *ecdh.PrivateKey:
		return private.Equal(other.private)
	}
	switch public := m.public.(type) {
	case *rsa.PublicKey:
		return public.Equal(other.public)
	case *ecdsa.PublicKey:
		return public.Equal(other.public)
	case ed25519.PublicKey:
		return public.Equal(other.public)
	case *ecdh.PublicKey:
		return public.Equal(other.public)
	}
	return subtle.ConstantTimeCompare(m.secret, other.secret) == 1
}

// newPrivate returns the material of a private key of one of the four kinds. It returns nil for any other value.
func newPrivate(key any) *Material {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return &Material{private: key, public: &key.PublicKey}
	case *ecdsa.PrivateKey:
		if curveOf(key.Curve) != nil {
			return &Material{private: key, public: &key.PublicKey}
		}
	case ed25519.PrivateKey:
		return &Material{private: key, public: key.Public()}
	case *ecdh.PrivateKey:
		if key.Curve() == ecdh.X25519() {
			return &Material{private: key, public: key.PublicKey()}
		}
	}
	return nil
}

// newPublic returns the material of a public key of one of the four kinds. It returns nil for any other value.
func newPublic(key any) *Material {
	switch key := key.(type) {
	case *rsa.PublicKey, ed25519.PublicKey:
		return &Material{public: key}
	case *ecdsa.PublicKey:
		if curveOf(key.Curve) != nil {
			return &Material{public: key}
		}
	case *ecdh.PublicKey:
		if key.Curve() == ecdh.X25519() {
			return &Material{public: key}
		}
	}
	return nil
}

// curve is an elliptic curve for ECDSA and ECDH.
type curve struct {
	name   string // in the Web Cryptography API
	node   string // in Node.js
	es     string // name of ECDSA with the curve in JWK
	size   int    // bytes of a coordinate
	params elliptic.Curve
}

var curves = []*curve{
	{"P-256", "prime256v1", "ES256", 32, elliptic.P256()},
	{"P-384", "secp384r1", "ES384", 48, elliptic.P384()},
	{"P-521", "secp521r1", "ES512", 66, elliptic.P521()},
}

// findCurve returns the curve with a name of either kind, or nil.
func findCurve(name string) *curve {
	for _, c := range curves {
		if c.name == name || c.node == name {
			return c
		}
	}
	return nil
}

func curveOf(params elliptic.Curve) *curve { return findCurve(params.Params().Name) }

// CurveNames returns the names of the curves in Node.js.
func CurveNames() []string {
	var names []string
	for _, c := range curves {
		names = append(names, c.node)
	}
	return names
}

// NodeCurve returns the name of a curve in Node.js. The parameter is a name of either kind.
func NodeCurve(name string) string {
	if c := findCurve(name); c != nil {
		return c.node
	}
	return ""
}
