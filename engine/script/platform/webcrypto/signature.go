package webcrypto

import (
	"crypto/rsa"
	"errors"
)

// Signing has the options of a signature in Node.js.
type Signing struct {
	Digest     string // name of the hash algorithm; "" for Ed25519, and for the default SHA-256
	PSS        bool   // use the padding PSS for RSA
	SaltLength int    // of PSS: a length in bytes, or one of the constants below
	P1363      bool   // signatures of ECDSA have the format IEEE P1363 instead of DER
}

// The special lengths of the salt in Node.js.
const (
	SaltDigest = -1 // the length of the hash
	SaltAuto   = -2 // the greatest length when signing, any length when verifying
)

// ErrDigest is the error for an unknown hash algorithm.
//
//lint:ignore ST1005 the text is that of Node.js
var ErrDigest = errors.New("Invalid digest")

// errNoSalt is the error for signatures without salt. In Go, the length 0 stands for any length.
var errNoSalt = errors.New("RSA-PSS without salt is not supported; use the length of the hash")

// IsPure reports whether the key signs data itself, not a hash of the data.
func (m *Material) IsPure() bool { return m.Family() == "ed25519" }

func (s Signing) digest() (*digest, error) {
	name := s.Digest
	if name == "" {
		name = "sha256"
	}
	d := nodeDigest(name)
	if d == nil || d.id == 0 {
		return nil, ErrDigest
	}
	return d, nil
}

func (s Signing) pssOptions(d *digest) (*rsa.PSSOptions, error) {
	options := &rsa.PSSOptions{Hash: d.id, SaltLength: s.SaltLength}
	switch s.SaltLength {
	case SaltDigest:
		options.SaltLength = rsa.PSSSaltLengthEqualsHash
	case SaltAuto:
		options.SaltLength = rsa.PSSSaltLengthAuto
	case 0:
		return nil, errNoSalt
	}
	return options, nil
}

// errNoSignatures is the error for keys of X25519.
var errNoSignatures = errors.New("operation not supported for this keytype")

// Sign signs a hash, or data if the key is pure.
func (s Signing) Sign(m *Material, data []byte) ([]byte, error) {
	switch m.Family() {
	case "ed25519":
		return m.SignEd25519(data), nil
	case "ec":
		return m.SignEC(data, !s.P1363)
	case "rsa":
		d, err := s.digest()
		if err != nil {
			return nil, err
		}
		if !s.PSS {
			return m.SignRSA(data, d.id, nil)
		}
		options, err := s.pssOptions(d)
		if err != nil {
			return nil, err
		}
		return m.SignRSA(data, d.id, options)
	}
	return nil, errNoSignatures
}

// Verify reports whether the signature of a hash is valid, or of data if the key is pure.
func (s Signing) Verify(m *Material, data, signature []byte) (bool, error) {
	switch m.Family() {
	case "ed25519":
		return m.VerifyEd25519(data, signature), nil
	case "ec":
		return m.VerifyEC(data, signature, !s.P1363), nil
	case "rsa":
		d, err := s.digest()
		if err != nil {
			return false, err
		}
		if !s.PSS {
			return m.VerifyRSA(data, signature, d.id, nil), nil
		}
		options, err := s.pssOptions(d)
		if err != nil {
			return false, err
		}
		return m.VerifyRSA(data, signature, d.id, options), nil
	}
	return false, errNoSignatures
}

// EncryptRSA encrypts with a public RSA key and the padding OAEP. The parameter name is the name of the hash in
// Node.js.
func (m *Material) EncryptRSA(name string, data, label []byte) ([]byte, error) {
	d := nodeDigest(name)
	if d == nil {
		return nil, ErrDigest
	}
	return m.encryptOAEP(d, data, label)
}

// DecryptRSA decrypts data of EncryptRSA with a private key.
func (m *Material) DecryptRSA(name string, data, label []byte) ([]byte, error) {
	d := nodeDigest(name)
	if d == nil {
		return nil, ErrDigest
	}
	return m.decryptOAEP(d, data, label)
}
