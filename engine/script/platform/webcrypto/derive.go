package webcrypto

import (
	"crypto/hkdf"
	"crypto/pbkdf2"
	"hash"

	"golang.org/x/crypto/scrypt"
)

// Limits for key derivations. cheapIterations is the number of iterations of PBKDF2 that take less than a
// millisecond. maxIterations is the maximum number of iterations of one derivation, for all blocks of the key
// together; it takes some seconds, which is more than a request has by default. maxDerived is the maximum length of a
// key in bytes.
const (
	cheapIterations = 1000
	maxIterations   = 10_000_000
	maxDerived      = 1 << 20
)

func importDerivation(_ *params, format string, data keyData) (*Material, error) {
	if format != "raw" {
		return nil, failure(notSupportedError, "Unable to import a key for a derivation in the format %s; use raw", format)
	}
	return NewSecret(append([]byte(nil), data.bytes...)), nil
}

func anyKeyLength(*params) (*uint32, error) { return nil, nil }

// derivedBytes returns the length of a derivation in bytes.
func derivedBytes(length *uint32) (int, error) {
	if length == nil || *length%8 != 0 {
		return 0, failure(operationError, "length must be a multiple of 8")
	}
	if *length/8 > maxDerived {
		return 0, failure(operationError, "length must be at most %d", 8*maxDerived)
	}
	return int(*length / 8), nil
}

func derivePBKDF2(m *Meter, p *params, k *Key, length *uint32) ([]byte, error) {
	n, err := derivedBytes(length)
	if err != nil {
		return nil, err
	}
	if p.iterations == 0 {
		return nil, failure(operationError, "iterations must not be 0")
	}
	return DerivePBKDF2(m, p.hash.new, k.material.secret, p.salt, int(p.iterations), n)
}

// DerivePBKDF2 returns n bytes that are derived from a password (RFC 8018).
func DerivePBKDF2(m *Meter, newHash func() hash.Hash, password, salt []byte, iterations, n int) ([]byte, error) {
	size := newHash().Size()
	if blocks := (n + size - 1) / size; iterations < 1 || n > maxDerived || iterations > maxIterations/max(1, blocks) {
		return nil, failure(operationError, "PBKDF2: %d iterations for %d bytes are too many; the limit is %d for each block of the hash", iterations, n, maxIterations)
	}
	if n == 0 {
		return nil, nil
	}
	return m.run(newHash, func(metered func() hash.Hash) ([]byte, error) {
		return pbkdf2.Key(metered, string(password), salt, iterations, n)
	})
}

func deriveHKDF(m *Meter, p *params, k *Key, length *uint32) ([]byte, error) {
	n, err := derivedBytes(length)
	if err != nil {
		return nil, err
	}
	return DeriveHKDF(m, p.hash.new, k.material.secret, p.salt, p.infoText, n)
}

// DeriveHKDF returns n bytes that are derived from a secret (RFC 5869). It fails if n is more than 255 times the
// length of the hash.
func DeriveHKDF(m *Meter, newHash func() hash.Hash, secret, salt, info []byte, n int) ([]byte, error) {
	if most := 255 * newHash().Size(); n > most {
		return nil, failure(operationError, "HKDF: the length must be at most %d bytes, not %d", most, n)
	}
	return m.run(newHash, func(metered func() hash.Hash) ([]byte, error) {
		return hkdf.Key(metered, secret, salt, string(info), n)
	})
}

// Scrypt has the parameters of the key derivation scrypt (RFC 7914).
type Scrypt struct {
	Cost, BlockSize, Parallel int64
	MaxMemory                 int64 // maximum memory in bytes
}

// maxScryptWork is the maximum of Cost * BlockSize * Parallel: about as many bytes of memory, divided by 128, as one
// second suffices for. The derivation cannot be interrupted.
const maxScryptWork = 2 << 20

// Memory returns the memory that the derivation needs in bytes, or false if the parameters are not valid.
func (s Scrypt) Memory() (int64, bool) {
	if s.Cost < 2 || s.Cost&(s.Cost-1) != 0 || s.BlockSize < 1 || s.Parallel < 1 {
		return 0, false
	}
	const most = 1 << 30
	if s.Cost > most || s.BlockSize > most/s.Cost || s.Parallel > most/s.BlockSize {
		return 0, false
	}
	return 128 * s.BlockSize * (s.Cost + s.Parallel), true
}

// Derive returns n bytes that are derived from a password.
func (s Scrypt) Derive(m *Meter, password, salt []byte, n int) ([]byte, error) {
	memory, ok := s.Memory()
	switch {
	case !ok || memory > s.MaxMemory:
		return nil, &Error{Name: "RangeError", Code: "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", Message: "Invalid scrypt params: memory limit exceeded"}
	case s.Cost*s.BlockSize*s.Parallel > maxScryptWork || n > maxDerived:
		return nil, &Error{Name: "RangeError", Code: "ERR_CRYPTO_INVALID_SCRYPT_PARAMS",
			Message: "Invalid scrypt params: the derivation takes too long"}
	}
	if err := m.check(); err != nil || n == 0 {
		return nil, err
	}
	key, err := scrypt.Key(password, salt, int(s.Cost), int(s.BlockSize), int(s.Parallel), n)
	if err != nil {
		return nil, failure(operationError, "scrypt: %v", err)
	}
	return key, nil
}
