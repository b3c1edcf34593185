package webcrypto

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
)

// Limits for RSA keys that scripts generate, in bits. The time for a key grows with the fourth power of its length.
const (
	minGenerated = 2048
	maxGenerated = 4096
)

// GenerateRSA returns a new private key. It takes about 0.1 s for 2048 bits and 1 s for 4096 bits, and cannot be
// interrupted.
func GenerateRSA(bits int) (*Material, error) {
	if bits < minGenerated || bits > maxGenerated {
		return nil, fmt.Errorf("the modulus must have from %d to %d bits, not %d", minGenerated, maxGenerated, bits)
	}
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, err
	}
	return newPrivate(key), nil
}

func generateRSA(p *params) (*Material, error) {
	if !bytes.Equal(bytes.TrimLeft(p.exponent, "\x00"), []byte{1, 0, 1}) {
		return nil, failure(operationError, "The public exponent must be 65537")
	}
	m, err := GenerateRSA(int(p.modulus))
	if err != nil {
		return nil, failure(operationError, "RSA: %v", err)
	}
	return m, nil
}

// isHeavyRSA implements algorithm.isHeavy. Operations with the private key take a millisecond or more.
func isHeavyRSA(op operation, _ *params, k *Key) bool {
	return op == opGenerate || k != nil && k.Type() == "private" && op != opExport
}

// importRSA returns the function importKey for an algorithm whose names in JWK are returned by alg.
func importRSA(alg func(*digest) string) func(*params, string, keyData) (*Material, error) {
	return func(p *params, format string, data keyData) (*Material, error) {
		if data.jwk != nil {
			if data.jwk.text["kty"] != "RSA" {
				return nil, failure(dataError, "Invalid JWK: the member kty is %q, not \"RSA\"", data.jwk.text["kty"])
			}
			if err := data.jwk.checkAlg(alg(p.hash)); err != nil {
				return nil, err
			}
		}
		return importPublic(format, data, "rsa")
	}
}

// importPublic reads a public or private key of a family in the formats pkcs8, spki and jwk.
func importPublic(format string, data keyData, family string) (*Material, error) {
	var m *Material
	var err error
	switch format {
	case "pkcs8":
		m, err = ParsePKCS8(data.bytes)
	case "spki":
		m, err = ParseSPKI(data.bytes)
	case "jwk":
		m, err = data.jwk.Material()
	default:
		return nil, failure(notSupportedError, "Unable to import a key of %s in the format %s", family, format)
	}
	if err != nil {
		return nil, failure(dataError, "Invalid keyData: %v", err)
	}
	if m.Family() != family {
		return nil, failure(dataError, "Invalid key type: the key is not one of %s", family)
	}
	return m, nil
}

func signV15(m *Meter, _ *params, k *Key, data []byte) ([]byte, error) {
	sum, err := k.hash.sum(m, data)
	if err != nil {
		return nil, err
	}
	return k.material.SignRSA(sum, k.hash.id, nil)
}

func verifyV15(m *Meter, _ *params, k *Key, signature, data []byte) (bool, error) {
	sum, err := k.hash.sum(m, data)
	if err != nil {
		return false, err
	}
	return k.material.VerifyRSA(sum, signature, k.hash.id, nil), nil
}

// pssOptions returns the options of the Go function for PSS. In Go, the length 0 stands for the longest salt. So an
// empty salt is not supported.
func (p *params) pssOptions(k *Key) (*rsa.PSSOptions, error) {
	if p.saltLength == 0 {
		return nil, failure(notSupportedError, "RSA-PSS: a saltLength of 0 is not supported; use the length of the hash")
	}
	if most := (k.material.Details().Modulus+6)/8 - k.hash.new().Size() - 2; int64(p.saltLength) > int64(most) {
		return nil, failure(operationError, "RSA-PSS: the saltLength must be at most %d for this key", most)
	}
	return &rsa.PSSOptions{SaltLength: int(p.saltLength), Hash: k.hash.id}, nil
}

func signPSS(m *Meter, p *params, k *Key, data []byte) ([]byte, error) {
	options, err := p.pssOptions(k)
	if err != nil {
		return nil, err
	}
	sum, err := k.hash.sum(m, data)
	if err != nil {
		return nil, err
	}
	return k.material.SignRSA(sum, k.hash.id, options)
}

func verifyPSS(m *Meter, p *params, k *Key, signature, data []byte) (bool, error) {
	options, err := p.pssOptions(k)
	if err != nil {
		return false, err
	}
	sum, err := k.hash.sum(m, data)
	if err != nil {
		return false, err
	}
	return k.material.VerifyRSA(sum, signature, k.hash.id, options), nil
}

// SignRSA signs a hash with a private RSA key. It uses the padding PSS if there are options for it, and PKCS #1 v1.5
// otherwise.
func (m *Material) SignRSA(sum []byte, id crypto.Hash, options *rsa.PSSOptions) ([]byte, error) {
	key := m.private.(*rsa.PrivateKey)
	var out []byte
	var err error
	if options != nil {
		out, err = rsa.SignPSS(rand.Reader, key, id, sum, options)
	} else {
		out, err = rsa.SignPKCS1v15(nil, key, id, sum)
	}
	if err != nil {
		return nil, failure(operationError, "The data cannot be signed with this key")
	}
	return out, nil
}

// VerifyRSA reports whether a signature of SignRSA is valid.
func (m *Material) VerifyRSA(sum, signature []byte, id crypto.Hash, options *rsa.PSSOptions) bool {
	key := m.public.(*rsa.PublicKey)
	if options != nil {
		return rsa.VerifyPSS(key, id, sum, signature, options) == nil
	}
	return rsa.VerifyPKCS1v15(key, id, sum, signature) == nil
}

func encryptOAEP(_ *Meter, p *params, k *Key, data []byte) ([]byte, error) {
	return k.material.encryptOAEP(k.hash, data, p.label)
}

func decryptOAEP(_ *Meter, p *params, k *Key, data []byte) ([]byte, error) {
	return k.material.decryptOAEP(k.hash, data, p.label)
}

// encryptOAEP encrypts with a public RSA key.
func (m *Material) encryptOAEP(d *digest, data, label []byte) ([]byte, error) {
	out, err := rsa.EncryptOAEP(d.new(), rand.Reader, m.public.(*rsa.PublicKey), data, label)
	if err != nil {
		return nil, failure(operationError, "The data is too long for the key")
	}
	return out, nil
}

// decryptOAEP decrypts with a private RSA key.
func (m *Material) decryptOAEP(d *digest, data, label []byte) ([]byte, error) {
	out, err := rsa.DecryptOAEP(d.new(), nil, m.private.(*rsa.PrivateKey), data, label)
	if err != nil {
		return nil, errDecrypt
	}
	return out, nil
}
