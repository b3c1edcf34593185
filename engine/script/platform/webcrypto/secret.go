package webcrypto

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"slices"

	josecipher "github.com/go-jose/go-jose/v4/cipher"
)

func randomSecret(bits uint32) *Material {
	b := make([]byte, (bits+7)/8)
	_, _ = rand.Read(b)
	return &Material{secret: b, bits: int(bits)}
}

func generateAES(p *params) (*Material, error) {
	if !isAESLength(p.length) {
		return nil, failure(operationError, "Invalid key length %d; AES keys have 128, 192 or 256 bits", p.length)
	}
	return randomSecret(p.length), nil
}

func isAESLength(bits uint32) bool { return bits == 128 || bits == 192 || bits == 256 }

func aesKeyLength(p *params) (*uint32, error) {
	if !isAESLength(p.length) {
		return nil, failure(operationError, "Invalid key length %d; AES keys have 128, 192 or 256 bits", p.length)
	}
	return &p.length, nil
}

// aesJWK returns the member alg of a JWK, such as A128GCM.
func aesJWK(bits int, mode string) string { return fmt.Sprintf("A%d%s", bits, mode) }

// importSecret returns the bytes of a key in the formats raw and jwk.
func importSecret(format string, data keyData) ([]byte, error) {
	switch format {
	case "raw":
		return slices.Clone(data.bytes), nil
	case "jwk":
		if data.jwk.text["kty"] != "oct" {
			return nil, failure(dataError, "Invalid JWK: the member kty is %q, not \"oct\"", data.jwk.text["kty"])
		}
		return data.jwk.bytes("k")
	}
	return nil, failure(notSupportedError, "Unable to import a secret key in the format %s; supported are raw and jwk", format)
}

// importAES returns the function importKey for a mode of AES.
func importAES(mode string) func(*params, string, keyData) (*Material, error) {
	return func(p *params, format string, data keyData) (*Material, error) {
		b, err := importSecret(format, data)
		if err != nil {
			return nil, err
		}
		if !isAESLength(uint32(8 * len(b))) {
			return nil, failure(dataError, "Invalid key length: AES keys have 16, 24 or 32 bytes, not %d", len(b))
		}
		if data.jwk != nil {
			if err := data.jwk.checkAlg(aesJWK(8*len(b), mode)); err != nil {
				return nil, err
			}
		}
		return NewSecret(b), nil
	}
}

// maxHMAC is the maximum length of a generated key for HMAC in bits.
const maxHMAC = 1 << 20

func hmacKeyLength(p *params) (*uint32, error) {
	if !p.hasLength {
		n := uint32(8 * p.hash.block)
		return &n, nil
	}
	if p.length == 0 || p.length > maxHMAC {
		return nil, typeError(codeValue, "Invalid key length %d; keys for HMAC have from 1 to %d bits", p.length, maxHMAC)
	}
	return &p.length, nil
}

func generateHMAC(p *params) (*Material, error) {
	n, err := hmacKeyLength(p)
	if err != nil {
		return nil, failure(operationError, "%v", err)
	}
	return randomSecret(*n), nil
}

func importHMAC(p *params, format string, data keyData) (*Material, error) {
	b, err := importSecret(format, data)
	if err != nil {
		return nil, err
	}
	if data.jwk != nil {
		if err := data.jwk.checkAlg(p.hash.hs); err != nil {
			return nil, err
		}
	}
	bits := uint32(8 * len(b))
	if bits == 0 {
		return nil, failure(dataError, "Zero-length key is not supported")
	}
	if p.hasLength {
		if p.length > bits || p.length+8 <= bits {
			return nil, failure(dataError, "Invalid key length: the key has %d bits, and the member length is %d", bits, p.length)
		}
		bits = p.length
	}
	return &Material{secret: b, bits: int(bits)}, nil
}

func signHMAC(m *Meter, _ *params, k *Key, data []byte) ([]byte, error) {
	h := hmac.New(k.hash.new, k.material.secret)
	if err := m.Write(h, data); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

func verifyHMAC(m *Meter, p *params, k *Key, signature, data []byte) (bool, error) {
	want, err := signHMAC(m, p, k, data)
	return err == nil && hmac.Equal(want, signature), err
}

// newAES returns the block cipher with a key of AES.
func newAES(key []byte) cipher.Block {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the length of the key has been checked
	}
	return block
}

func checkIV(name string, iv []byte) error {
	if len(iv) != aes.BlockSize {
		return failure(operationError, "%s must contain exactly 16 bytes, not %d", name, len(iv))
	}
	return nil
}

// pad appends the padding of PKCS #7 to a copy of data.
func pad(data []byte) []byte {
	n := aes.BlockSize - len(data)%aes.BlockSize
	out := make([]byte, len(data)+n)
	copy(out, data)
	for i := len(data); i < len(out); i++ {
		out[i] = byte(n)
	}
	return out
}

// unpad returns data without the padding of PKCS #7, or false if the padding is wrong. The time does not depend on
// the bytes of the padding.
func unpad(data []byte) ([]byte, bool) {
	if len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, false
	}
	n := int(data[len(data)-1])
	good := subtle.ConstantTimeLessOrEq(1, n) & subtle.ConstantTimeLessOrEq(n, aes.BlockSize)
	for i := 1; i <= aes.BlockSize; i++ {
		inside := subtle.ConstantTimeLessOrEq(i, n)
		good &= subtle.ConstantTimeSelect(inside, subtle.ConstantTimeByteEq(data[len(data)-i], byte(n)), 1)
	}
	if good != 1 {
		return nil, false
	}
	return data[:len(data)-n], true
}

func encryptCBC(_ *Meter, p *params, k *Key, data []byte) ([]byte, error) {
	if err := checkIV("algorithm.iv", p.iv); err != nil {
		return nil, err
	}
	out := pad(data)
	cipher.NewCBCEncrypter(newAES(k.material.secret), p.iv).CryptBlocks(out, out)
	return out, nil
}

func decryptCBC(_ *Meter, p *params, k *Key, data []byte) ([]byte, error) {
	if err := checkIV("algorithm.iv", p.iv); err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, errDecrypt
	}
	out := make([]byte, len(data))
	cipher.NewCBCDecrypter(newAES(k.material.secret), p.iv).CryptBlocks(out, data)
	out, ok := unpad(out)
	if !ok {
		return nil, errDecrypt
	}
	return out, nil
}

var errDecrypt = failure(operationError, "The operation failed for an operation-specific reason: the data cannot be decrypted")

func cryptCTR(_ *Meter, p *params, k *Key, data []byte) ([]byte, error) {
	if err := checkIV("algorithm.counter", p.counter); err != nil {
		return nil, err
	}
	if p.length == 0 || p.length > 128 {
		return nil, failure(operationError, "algorithm.length must be from 1 to 128, not %d", p.length)
	}
	blocks := (uint64(len(data)) + aes.BlockSize - 1) / aes.BlockSize
	if p.length < 64 && blocks > 1<<p.length {
		return nil, failure(operationError, "The counter has %d bits, which is too few for %d blocks", p.length, blocks)
	}
	out := make([]byte, len(data))
	newCounter(newAES(k.material.secret), p.counter, int(p.length)).XORKeyStream(out, data)
	return out, nil
}

// tagBytes returns the length of the tag of AES-GCM in bytes.
func (p *params) tagBytes() (int, error) {
	if !p.hasTagLength {
		return maxTag, nil
	}
	switch p.tagLength {
	case 32, 64, 96, 104, 112, 120, 128:
		return int(p.tagLength / 8), nil
	}
	return 0, failure(operationError, "%d is not a valid AES-GCM tag length", p.tagLength)
}

func encryptGCM(m *Meter, p *params, k *Key, data []byte) ([]byte, error) {
	tag, err := p.tagBytes()
	if err != nil {
		return nil, err
	}
	if len(p.iv) == 0 {
		return nil, failure(operationError, "algorithm.iv must not be empty")
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	out := newGCM(newAES(k.material.secret), len(p.iv)).Seal(nil, p.iv, data, p.additional)
	return out[:len(out)-maxTag+tag], nil // a shorter tag is the beginning of the longest one
}

func decryptGCM(m *Meter, p *params, k *Key, data []byte) ([]byte, error) {
	tag, err := p.tagBytes()
	if err != nil {
		return nil, err
	}
	if len(p.iv) == 0 || len(data) < tag {
		return nil, failure(operationError, "The provided data is too small, or algorithm.iv is empty")
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	block := newAES(k.material.secret)
	if tag == maxTag {
		out, err := newGCM(block, len(p.iv)).Open(nil, p.iv, data, p.additional)
		if err != nil {
			return nil, errDecrypt
		}
		return out, nil
	}
	s := newGCMStream(block, p.iv)
	s.additional = p.additional
	text := s.crypt(data[:len(data)-tag], false)
	if subtle.ConstantTimeCompare(s.tag()[:tag], data[len(data)-tag:]) != 1 {
		return nil, errDecrypt
	}
	return text, nil
}

func wrapKW(_ *Meter, _ *params, k *Key, data []byte) ([]byte, error) {
	if len(data) < 16 || len(data)%8 != 0 {
		return nil, failure(operationError, "AES-KW can only wrap keys with a multiple of 8 bytes and at least 16, not %d", len(data))
	}
	out, err := josecipher.KeyWrap(newAES(k.material.secret), data)
	if err != nil {
		return nil, failure(operationError, "The key cannot be wrapped")
	}
	return out, nil
}

func unwrapKW(_ *Meter, _ *params, k *Key, data []byte) ([]byte, error) {
	if len(data) < 24 || len(data)%8 != 0 {
		return nil, errDecrypt
	}
	out, err := josecipher.KeyUnwrap(newAES(k.material.secret), data)
	if err != nil {
		return nil, errDecrypt
	}
	return out, nil
}
