package webcrypto

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/asn1"
	"errors"
	"math/big"
)

// GenerateEC returns a new private key of a curve. It fails if there is no curve with this name. Use a name of the
// standard or of Node.js.
func GenerateEC(name string) (*Material, error) {
	c := findCurve(name)
	if c == nil {
		return nil, errors.New("unknown curve")
	}
	key, err := ecdsa.GenerateKey(c.params, rand.Reader)
	if err != nil {
		return nil, err
	}
	return newPrivate(key), nil
}

// GenerateOKP returns a new private key of Ed25519 or X25519.
func GenerateOKP(family string) (*Material, error) {
	if family == "x25519" {
		key, err := ecdh.X25519().GenerateKey(rand.Reader)
		return newPrivate(key), err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return newPrivate(key), err
}

func generateEC(p *params) (*Material, error)     { return GenerateEC(p.curve.name) }
func generateEd25519(*params) (*Material, error)  { return GenerateOKP("ed25519") }
func generateX25519(p *params) (*Material, error) { return GenerateOKP("x25519") }

// importEC returns the function importKey for ECDSA or ECDH.
func importEC(signs bool) func(*params, string, keyData) (*Material, error) {
	return func(p *params, format string, data keyData) (*Material, error) {
		if format == "raw" {
			m, err := parsePoint(p.curve, data.bytes)
			if err != nil {
				return nil, failure(dataError, "Invalid keyData: the bytes are not a point on the curve")
			}
			return m, nil
		}
		if data.jwk != nil {
			if data.jwk.text["kty"] != "EC" || data.jwk.text["crv"] != p.curve.name {
				return nil, failure(dataError, "Invalid JWK: kty and crv are %q and %q, not \"EC\" and %q", data.jwk.text["kty"], data.jwk.text["crv"], p.curve.name)
			}
			if signs {
				if err := data.jwk.checkAlg(p.curve.es); err != nil {
					return nil, err
				}
			}
		}
		m, err := importPublic(format, data, "ec")
		if err != nil {
			return nil, err
		}
		if got := m.Details().Curve; got != p.curve.name {
			return nil, failure(dataError, "Named curve mismatch: the key has the curve %s, not %s", got, p.curve.name)
		}
		return m, nil
	}
}

// importOKP returns the function importKey for Ed25519 or X25519.
func importOKP(family string) func(*params, string, keyData) (*Material, error) {
	return func(_ *params, format string, data keyData) (*Material, error) {
		if format == "raw" {
			if len(data.bytes) != 32 {
				return nil, failure(dataError, "Invalid keyData: the key must have 32 bytes, not %d", len(data.bytes))
			}
			if family == "ed25519" {
				return newPublic(ed25519.PublicKey(append([]byte(nil), data.bytes...))), nil
			}
			key, err := ecdh.X25519().NewPublicKey(data.bytes)
			if err != nil {
				return nil, failure(dataError, "Invalid keyData: %v", err)
			}
			return newPublic(key), nil
		}
		if data.jwk != nil {
			if data.jwk.text["kty"] != "OKP" {
				return nil, failure(dataError, "Invalid JWK: the member kty is %q, not \"OKP\"", data.jwk.text["kty"])
			}
			if family == "ed25519" {
				if err := data.jwk.checkAlg("EdDSA", "Ed25519"); err != nil {
					return nil, err
				}
			}
		}
		return importPublic(format, data, family)
	}
}

// ecdsaSignature is a signature of ECDSA as defined by ASN.1.
type ecdsaSignature struct{ R, S *big.Int }

func signECDSA(m *Meter, p *params, k *Key, data []byte) ([]byte, error) {
	sum, err := p.hash.sum(m, data)
	if err != nil {
		return nil, err
	}
	return k.material.SignEC(sum, false)
}

func verifyECDSA(m *Meter, p *params, k *Key, signature, data []byte) (bool, error) {
	sum, err := p.hash.sum(m, data)
	if err != nil {
		return false, err
	}
	return k.material.VerifyEC(sum, signature, false), nil
}

// SignEC signs a hash with ECDSA. The signature is in the format DER, or the numbers R and S with a fixed length
// (IEEE P1363).
func (m *Material) SignEC(sum []byte, der bool) ([]byte, error) {
	key := m.private.(*ecdsa.PrivateKey)
	out, err := ecdsa.SignASN1(rand.Reader, key, sum)
	if err != nil || der {
		return out, err
	}
	var s ecdsaSignature
	if _, err := asn1.Unmarshal(out, &s); err != nil {
		return nil, err
	}
	n := curveOf(key.Curve).size
	both := make([]byte, 2*n)
	s.R.FillBytes(both[:n])
	s.S.FillBytes(both[n:])
	return both, nil
}

// VerifyEC reports whether a signature of SignEC is valid.
func (m *Material) VerifyEC(sum, signature []byte, der bool) bool {
	key := m.public.(*ecdsa.PublicKey)
	if der {
		return ecdsa.VerifyASN1(key, sum, signature)
	}
	n := curveOf(key.Curve).size
	if len(signature) != 2*n {
		return false
	}
	encoded, err := asn1.Marshal(ecdsaSignature{new(big.Int).SetBytes(signature[:n]), new(big.Int).SetBytes(signature[n:])})
	return err == nil && ecdsa.VerifyASN1(key, sum, encoded)
}

func signEd25519(m *Meter, _ *params, k *Key, data []byte) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return k.material.SignEd25519(data), nil
}

func verifyEd25519(m *Meter, _ *params, k *Key, signature, data []byte) (bool, error) {
	if err := m.check(); err != nil {
		return false, err
	}
	return k.material.VerifyEd25519(data, signature), nil
}

// SignEd25519 signs data with a private key of Ed25519.
func (m *Material) SignEd25519(data []byte) []byte {
	return ed25519.Sign(m.private.(ed25519.PrivateKey), data)
}

// VerifyEd25519 reports whether a signature of SignEd25519 is valid.
func (m *Material) VerifyEd25519(data, signature []byte) bool {
	return len(signature) == ed25519.SignatureSize && ed25519.Verify(m.public.(ed25519.PublicKey), data, signature)
}

// Agree returns the secret that a private key and the public key of the other party have in common. It fails if the
// keys do not belong to the same curve.
func (m *Material) Agree(other *Material) ([]byte, error) {
	var private *ecdh.PrivateKey
	var public *ecdh.PublicKey
	var err error
	switch key := m.private.(type) {
	case *ecdsa.PrivateKey:
		private, err = key.ECDH()
	case *ecdh.PrivateKey:
		private = key
	}
	if err != nil {
		return nil, err
	}
	switch key := other.public.(type) {
	case *ecdsa.PublicKey:
		public, err = key.ECDH()
	case *ecdh.PublicKey:
		public = key
	}
	if err != nil {
		return nil, err
	}
	if private == nil || public == nil || private.Curve() != public.Curve() {
		return nil, errors.New("the keys do not belong to the same curve")
	}
	return private.ECDH(public)
}

func deriveECDH(_ *Meter, p *params, k *Key, length *uint32) ([]byte, error) {
	switch {
	case p.public.Type() != "public":
		return nil, failure(invalidAccessError, "algorithm.public must be a public key")
	case k.Type() != "private":
		return nil, failure(invalidAccessError, "baseKey must be a private key")
	case p.public.algorithm != k.algorithm:
		return nil, failure(invalidAccessError, "algorithm.public must be a key of %s, not of %s", k.algorithm, p.public.algorithm)
	case p.public.material.Details().Curve != k.material.Details().Curve:
		return nil, failure(invalidAccessError, "Named curve mismatch")
	}
	secret, err := k.material.Agree(p.public.material)
	if err != nil {
		return nil, failure(operationError, "The keys have no secret in common")
	}
	if length == nil {
		return secret, nil
	}
	n := int((uint64(*length) + 7) / 8)
	if n > len(secret) {
		return nil, failure(operationError, "The derived secret has only %d bits", 8*len(secret))
	}
	secret = secret[:n]
	if rest := *length % 8; rest > 0 {
		secret[n-1] &= 0xff << (8 - rest)
	}
	return secret, nil
}
