package webcrypto

import (
	"crypto/aes"
	"crypto/cipher"
	"math/big"
)

// counter is the key stream of AES in the mode CTR. Only the last bits of the counter block count; the others keep
// their value. crypto/cipher counts with all 128 bits, so counter starts a new stream when the counter returns to 0.
// The number of blocks must not be more than the number of values of the counter.
type counter struct {
	block  cipher.Block
	zero   [aes.BlockSize]byte // counter block with the counter 0
	stream cipher.Stream
	left   uint64 // bytes until the counter returns to 0
	again  bool   // the counter will return to 0
}

func newCounter(block cipher.Block, first []byte, bits int) *counter {
	c := &counter{block: block, stream: cipher.NewCTR(block, first)}
	size := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	value := new(big.Int).SetBytes(first)
	count := new(big.Int).Mod(value, size)
	value.Sub(value, count).FillBytes(c.zero[:])
	if blocks := size.Sub(size, count); blocks.BitLen() < 60 {
		c.left, c.again = blocks.Uint64()*aes.BlockSize, true
	}
	return c
}

// XORKeyStream implements cipher.Stream.
func (c *counter) XORKeyStream(dst, src []byte) {
	if c.again && uint64(len(src)) > c.left {
		c.stream.XORKeyStream(dst[:c.left], src[:c.left])
		dst, src = dst[c.left:], src[c.left:]
		c.stream, c.again = cipher.NewCTR(c.block, c.zero[:]), false
	}
	c.stream.XORKeyStream(dst, src)
	c.left -= uint64(len(src))
}

// maxTag is the length of the tag of AES-GCM in bytes.
const maxTag = 16

func newGCM(block cipher.Block, nonceSize int) cipher.AEAD {
	aead, err := cipher.NewGCMWithNonceSize(block, nonceSize)
	if err != nil {
		panic(err) // the block cipher is AES, and the nonce is not empty
	}
	return aead
}

// gcmStream is AES-GCM for data that arrives in parts, and for tags that crypto/cipher does not support. It encrypts
// with the mode CTR, of which GCM consists. crypto/cipher computes the tag from the whole text at the end, so
// gcmStream keeps the text.
type gcmStream struct {
	aead       cipher.AEAD
	nonce      []byte
	keys       cipher.Stream
	additional []byte
	text       []byte // the decrypted text so far
}

func newGCMStream(block cipher.Block, nonce []byte) *gcmStream {
	aead := newGCM(block, len(nonce))
	// The first block of the key stream is the encrypted counter block. To decrypt it returns that block for a nonce
	// of any length.
	var first [aes.BlockSize]byte
	block.Decrypt(first[:], aead.Seal(nil, nonce, first[:], nil)[:aes.BlockSize])
	return &gcmStream{aead: aead, nonce: nonce, keys: newCounter(block, first[:], 32)}
}

// crypt encrypts or decrypts the next part of the text.
func (s *gcmStream) crypt(data []byte, encrypt bool) []byte {
	out := make([]byte, len(data))
	s.keys.XORKeyStream(out, data)
	if encrypt {
		s.text = append(s.text, data...)
	} else {
		s.text = append(s.text, out...)
	}
	return out
}

// tag returns the tag of the text.
func (s *gcmStream) tag() []byte {
	sealed := s.aead.Seal(nil, s.nonce, s.text, s.additional)
	return sealed[len(sealed)-maxTag:]
}
