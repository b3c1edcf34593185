package webcrypto

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
)

// Limits for keys that scripts import. maxEncoded is the maximum length of an encoded key in bytes: some more than the
// longest RSA key needs. Parsing a longer key would take long, because it includes checks of the numbers.
const (
	maxModulus = 8192
	minModulus = 1024
	maxEncoded = 6 << 10
)

var errKeyTooLong = fmt.Errorf("the key is too long: the limit for RSA keys is %d bits", maxModulus)

// ParsePKCS8 reads a private key in the format PKCS #8 (DER).
func ParsePKCS8(der []byte) (*Material, error) {
	if len(der) > maxEncoded {
		return nil, errKeyTooLong
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	return checkMaterial(newPrivate(key))
}

// ParseSPKI reads a public key in the format SubjectPublicKeyInfo (DER).
func ParseSPKI(der []byte) (*Material, error) {
	if len(der) > maxEncoded {
		return nil, errKeyTooLong
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	return checkMaterial(newPublic(key))
}

// ParsePKCS1 reads an RSA key in the format PKCS #1 (DER).
func ParsePKCS1(der []byte, private bool) (*Material, error) {
	if len(der) > maxEncoded {
		return nil, errKeyTooLong
	}
	if private {
		key, err := x509.ParsePKCS1PrivateKey(der)
		if err != nil {
			return nil, err
		}
		return checkMaterial(newPrivate(key))
	}
	key, err := x509.ParsePKCS1PublicKey(der)
	if err != nil {
		return nil, err
	}
	return checkMaterial(newPublic(key))
}

// ParseSEC1 reads a private key of an elliptic curve in the format of RFC 5915 (DER).
func ParseSEC1(der []byte) (*Material, error) {
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return nil, err
	}
	return checkMaterial(newPrivate(key))
}

// ParseCertificate returns the public key of an X.509 certificate (DER). It does not check signatures and dates.
func ParseCertificate(der []byte) (*Material, error) {
	if len(der) > 16*maxEncoded {
		return nil, errKeyTooLong
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return checkMaterial(newPublic(c.PublicKey))
}

// checkMaterial fails if a key is of an unknown kind, or an RSA key of a length that is not supported.
func checkMaterial(m *Material) (*Material, error) {
	if m == nil {
		return nil, errors.New("keys of this kind are not supported")
	}
	if n := m.Details().Modulus; n > maxModulus {
		return nil, errKeyTooLong
	} else if n > 0 && n < minModulus {
		return nil, fmt.Errorf("RSA keys must have at least %d bits, not %d", minModulus, n)
	}
	return m, nil
}

// PKCS8 returns a private key in the format PKCS #8 (DER).
func (m *Material) PKCS8() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(m.private) }

// SPKI returns the public key in the format SubjectPublicKeyInfo (DER).
func (m *Material) SPKI() ([]byte, error) { return x509.MarshalPKIXPublicKey(m.public) }

// PKCS1 returns an RSA key in the format PKCS #1 (DER), or false if it is a key of another kind.
func (m *Material) PKCS1() ([]byte, bool) {
	if key, ok := m.private.(*rsa.PrivateKey); ok {
		return x509.MarshalPKCS1PrivateKey(key), true
	}
	if key, ok := m.public.(*rsa.PublicKey); ok && m.private == nil {
		return x509.MarshalPKCS1PublicKey(key), true
	}
	return nil, false
}

// SEC1 returns a private key of an elliptic curve in the format of RFC 5915 (DER), or false if it is a key of another
// kind.
func (m *Material) SEC1() ([]byte, bool) {
	key, ok := m.private.(*ecdsa.PrivateKey)
	if !ok {
		return nil, false
	}
	der, err := x509.MarshalECPrivateKey(key)
	return der, err == nil
}

// raw returns the bytes of a public key of a curve: an uncompressed point, or the key of Ed25519 or X25519.
func (m *Material) raw() ([]byte, error) {
	switch key := m.public.(type) {
	case *ecdsa.PublicKey:
		return key.Bytes()
	case ed25519.PublicKey:
		return []byte(key), nil
	case *ecdh.PublicKey:
		return key.Bytes(), nil
	}
	return nil, errors.New("the key has no raw format")
}

// parsePoint reads a point of a curve: uncompressed, or compressed.
func parsePoint(c *curve, b []byte) (*Material, error) {
	if len(b) == 1+c.size && (b[0] == 2 || b[0] == 3) {
		x, y := elliptic.UnmarshalCompressed(c.params, b)
		if x == nil {
			return nil, errors.New("the point is not on the curve")
		}
		full := make([]byte, 1+2*c.size)
		full[0] = 4
		x.FillBytes(full[1 : 1+c.size])
		y.FillBytes(full[1+c.size:])
		b = full
	}
	key, err := ecdsa.ParseUncompressedPublicKey(c.params, b)
	if err != nil {
		return nil, err
	}
	return newPublic(key), nil
}
