package webcrypto

import (
	"encoding"
	"hash"
)

// Meter stops operations that take too long. The zero Meter never stops an operation.
type Meter struct {
	// Expired returns the reason why the operation must stop, or nil. It is called about every millisecond.
	Expired func() error
	blocks  int
}

// blocksPerCheck is the number of calls of a hash between two calls of Expired.
const blocksPerCheck = 2048

// bytesPerCheck is the number of bytes that a hash or a stream cipher processes between two calls of Expired.
const bytesPerCheck = 1 << 20

// check returns the reason why the operation must stop, or nil.
func (m *Meter) check() error {
	if m.Expired == nil {
		return nil
	}
	return m.Expired()
}

// stopped is the panic value of a meteredHash. The function run converts it to an error.
type stopped struct{ err error }

// run calls derive with a version of the hash that stops the derivation when the time is over. The functions for
// PBKDF2 and scrypt cannot be interrupted, but they call the hash again and again.
func (m *Meter) run(newHash func() hash.Hash, derive func(func() hash.Hash) ([]byte, error)) (key []byte, err error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	defer func() {
		if x := recover(); x != nil {
			s, ok := x.(stopped)
			if !ok {
				panic(x)
			}
			key, err = nil, s.err
		}
	}()
	return derive(func() hash.Hash { return &meteredHash{newHash(), m} })
}

// meteredHash is a hash that counts its calls. It can save its state as the hashes of the standard library can, because
// crypto/hmac is much faster for such hashes.
type meteredHash struct {
	hash.Hash
	meter *Meter
}

// Sum implements hash.Hash. It panics with the value stopped if the time is over.
func (h *meteredHash) Sum(b []byte) []byte {
	if h.meter.blocks++; h.meter.blocks%blocksPerCheck == 0 {
		if err := h.meter.check(); err != nil {
			panic(stopped{err})
		}
	}
	return h.Hash.Sum(b)
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (h *meteredHash) MarshalBinary() ([]byte, error) {
	return h.Hash.(encoding.BinaryMarshaler).MarshalBinary()
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (h *meteredHash) UnmarshalBinary(state []byte) error {
	return h.Hash.(encoding.BinaryUnmarshaler).UnmarshalBinary(state)
}

// Write adds data to a hash, in pieces. It returns an error if the time is over.
func (m *Meter) Write(h hash.Hash, data []byte) error {
	for len(data) > 0 {
		if err := m.check(); err != nil {
			return err
		}
		n := min(len(data), bytesPerCheck)
		_, _ = h.Write(data[:n])
		data = data[n:]
	}
	return nil
}
