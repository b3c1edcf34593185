package storetest

import (
	"math/rand/v2"
	"strings"
)

// MaxIndexed is the maximum number of bytes of text in a key or an index.
const MaxIndexed = 2600

// NoiseText returns text that cannot be compressed.
func NoiseText(bytes int) string {
	random := rand.New(rand.NewPCG(1, uint64(bytes)))
	var b strings.Builder
	for b.Len() < bytes {
		b.WriteByte(byte('!' + random.IntN(60)))
	}
	return b.String()
}
