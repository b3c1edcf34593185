package webcrypto

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"fmt"
	"slices"
	"sync"
)

// Cipher is a cipher of Node.js, which encrypts or decrypts data that arrives in parts.
type Cipher struct {
	mode     string
	encrypts bool
	block    cipher.Block
	iv       []byte
	pads     bool // CBC adds and removes padding

	modes cipher.BlockMode // of CBC
	keys  cipher.Stream    // of CTR
	rest  []byte           // of CBC: data that does not fill a block yet

	gcm       *gcmStream
	tagLength int
	tag       []byte // expected when decrypting, computed when encrypting
	limit     int    // maximum number of bytes of a text of GCM
	done      bool
}

// CipherInfo describes a cipher of Node.js.
type CipherInfo struct {
	Name      string
	Mode      string
	KeyLength int
	IVLength  int
}

// ciphers returns the ciphers by the names in Node.js.
var ciphers = sync.OnceValue(buildCiphers)

func buildCiphers() map[string]CipherInfo {
	all := map[string]CipherInfo{}
	for _, bits := range []int{128, 192, 256} {
		for mode, iv := range map[string]int{"cbc": aes.BlockSize, "ctr": aes.BlockSize, "gcm": 12} {
			name := fmt.Sprintf("aes-%d-%s", bits, mode)
			all[name] = CipherInfo{name, mode, bits / 8, iv}
		}
		all[fmt.Sprintf("id-aes%d-gcm", bits)] = all[fmt.Sprintf("aes-%d-gcm", bits)]
	}
	return all
}

// CipherNames returns the names of the ciphers.
func CipherNames() []string {
	var names []string
	for name := range ciphers() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// FindCipher returns the cipher with a name in lower case.
func FindCipher(name string) (CipherInfo, bool) {
	info, ok := ciphers()[name]
	return info, ok
}

// nodeFailure returns an error of Node.js.
func nodeFailure(class, code, message string) error {
	return &Error{Name: class, Code: code, Message: message}
}

// NewCipher returns a cipher. The parameter tag is the length of the tag of GCM in bytes, or 0 for the default. A text
// of GCM may have limit bytes, because it is kept until the end.
func NewCipher(info CipherInfo, encrypts bool, key, iv []byte, tag, limit int) (*Cipher, error) {
	if len(key) != info.KeyLength {
		return nil, nodeFailure("RangeError", "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length")
	}
	if len(iv) != info.IVLength && (info.Mode != "gcm" || len(iv) == 0) {
		return nil, nodeFailure("TypeError", "ERR_CRYPTO_INVALID_IV", "Invalid initialization vector")
	}
	c := &Cipher{mode: info.Mode, encrypts: encrypts, block: newAES(key), iv: slices.Clone(iv), pads: true, tagLength: tag, limit: limit}
	switch {
	case c.mode == "gcm":
		if tag != 0 && !isTagLength(tag) {
			return nil, invalidTag(tag)
		}
		c.gcm = newGCMStream(c.block, c.iv)
	case c.mode == "ctr":
		c.keys = cipher.NewCTR(c.block, c.iv)
	case encrypts:
		c.modes = cipher.NewCBCEncrypter(c.block, c.iv)
	default:
		c.modes = cipher.NewCBCDecrypter(c.block, c.iv)
	}
	return c, nil
}

// isTagLength reports whether a tag of GCM may have n bytes.
func isTagLength(n int) bool { return n == 4 || n == 8 || n >= 12 && n <= maxTag }

func invalidTag(n int) error {
	return nodeFailure("TypeError", "ERR_CRYPTO_INVALID_AUTH_TAG", fmt.Sprintf("Invalid authentication tag length: %d", n))
}

func invalidState(operation string) error {
	return nodeFailure("Error", "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation "+operation)
}

// SetPadding implements setAutoPadding.
func (c *Cipher) SetPadding(pads bool) error {
	if c.done {
		return invalidState("setAutoPadding")
	}
	c.pads = pads
	return nil
}

// SetAdditional implements setAAD.
func (c *Cipher) SetAdditional(data []byte) error {
	if c.done || c.gcm == nil || len(c.gcm.text) > 0 {
		return invalidState("setAAD")
	}
	c.gcm.additional = append(c.gcm.additional, data...)
	return nil
}

// SetTag implements setAuthTag.
func (c *Cipher) SetTag(tag []byte) error {
	if c.done || c.gcm == nil || c.encrypts || c.tag != nil {
		return invalidState("setAuthTag")
	}
	if !isTagLength(len(tag)) || c.tagLength != 0 && len(tag) != c.tagLength {
		return invalidTag(len(tag))
	}
	c.tag = slices.Clone(tag)
	return nil
}

// Tag implements getAuthTag.
func (c *Cipher) Tag() ([]byte, error) {
	if !c.done || c.gcm == nil || !c.encrypts {
		return nil, invalidState("getAuthTag")
	}
	return slices.Clone(c.tag), nil
}

// Update returns the next part of the result.
func (c *Cipher) Update(data []byte) ([]byte, error) {
	if c.done {
		return nil, nodeFailure("Error", "", "Trying to add data in unsupported state")
	}
	switch c.mode {
	case "gcm":
		if len(c.gcm.text)+len(data) > c.limit {
			return nil, nodeFailure("RangeError", "ERR_OUT_OF_RANGE", fmt.Sprintf("a text of GCM may have at most %d bytes", c.limit))
		}
		return c.gcm.crypt(data, c.encrypts), nil
	case "ctr":
		out := make([]byte, len(data))
		c.keys.XORKeyStream(out, data)
		return out, nil
	}
	c.rest = append(c.rest, data...)
	n := len(c.rest) / aes.BlockSize * aes.BlockSize
	if !c.encrypts && c.pads && n == len(c.rest) && n > 0 {
		n -= aes.BlockSize // the last block may have the padding
	}
	out := make([]byte, n)
	c.modes.CryptBlocks(out, c.rest[:n])
	c.rest = slices.Clone(c.rest[n:])
	return out, nil
}

// Final returns the last part of the result. When it decrypts with GCM, it fails if the tag is wrong.
func (c *Cipher) Final() ([]byte, error) {
	if c.done {
		return nil, nodeFailure("Error", "ERR_CRYPTO_INVALID_STATE", "Unsupported state")
	}
	c.done = true
	switch {
	case c.mode == "gcm" && c.encrypts:
		c.tag = c.gcm.tag()
		if c.tagLength != 0 {
			c.tag = c.tag[:c.tagLength]
		}
		c.gcm.text = nil
		return nil, nil
	case c.mode == "gcm":
		if c.tag == nil || subtle.ConstantTimeCompare(c.gcm.tag()[:len(c.tag)], c.tag) != 1 {
			return nil, nodeFailure("Error", "", "Unsupported state or unable to authenticate data")
		}
		return nil, nil
	case c.mode == "ctr":
		return nil, nil
	case c.encrypts:
		return c.finishEncryption()
	}
	return c.finishDecryption()
}

var errBlockLength = nodeFailure("Error", "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "wrong final block length")

func (c *Cipher) finishEncryption() ([]byte, error) {
	if !c.pads {
		if len(c.rest) > 0 {
			return nil, nodeFailure("Error", "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "data not multiple of block length")
		}
		return nil, nil
	}
	out := pad(c.rest)
	c.modes.CryptBlocks(out, out)
	return out, nil
}

func (c *Cipher) finishDecryption() ([]byte, error) {
	if !c.pads && len(c.rest) == 0 {
		return nil, nil
	}
	if len(c.rest) != aes.BlockSize || !c.pads {
		return nil, errBlockLength
	}
	out := make([]byte, aes.BlockSize)
	c.modes.CryptBlocks(out, c.rest)
	out, ok := unpad(out)
	if !ok {
		return nil, nodeFailure("Error", "ERR_OSSL_BAD_DECRYPT", "bad decrypt")
	}
	return out, nil
}
