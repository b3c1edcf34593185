package platform

import (
	"context"
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"hash"
	"math/big"
	"runtime"
	"slices"
	"strings"

	"github.com/dop251/goja"
)

// hashes contains the hash algorithms by their names in Node.js.
var hashes = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
	"sha512-256": sha512.New512_256,
}

func hashNames() []string {
	names := make([]string, 0, len(hashes))
	for name := range hashes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// findHash returns the hash algorithm with the given name, in any of its spellings: SHA-256, sha256 or RSA-SHA256. It
// throws if there is no such algorithm.
func (p *Platform) findHash(name string) func() hash.Hash {
	plain := strings.TrimPrefix(strings.ToLower(name), "rsa-")
	if f := hashes[plain]; f != nil {
		return f
	}
	if f := hashes[strings.Replace(plain, "-", "", 1)]; f != nil {
		return f
	}
	p.fail("Error", "ERR_CRYPTO_INVALID_DIGEST", "Invalid digest: %s; known are %s", name, strings.Join(hashNames(), ", "))
	return nil
}

// Limits for one key derivation. Such a derivation cannot be interrupted; with maxIterations, it takes some seconds.
// If it runs inside a turn, the limit is maxSyncIterations, because other calls of the VM have to wait. maxKey is the
// maximum length of a key in bytes.
const (
	maxIterations     = 10_000_000
	maxSyncIterations = 600_000
	maxKey            = 1 << 20
)

// derivations limits the number of key derivations that the process runs at the same time outside of turns.
var derivations = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// cryptoNative returns the Go functions for the file modules/crypto.js. Their arguments are ArrayBuffers or typed
// arrays, and they return ArrayBuffers.
func cryptoNative(p *Platform) goja.Value {
	return p.newNatives(natives{
		"uuid": func(goja.FunctionCall) goja.Value { return p.js.ToValue(newUUID()) },
		"fill": func(call goja.FunctionCall) goja.Value {
			_, _ = rand.Read(p.needBytes(call.Argument(0), "getRandomValues"))
			return goja.Undefined()
		},
		"random": func(call goja.FunctionCall) goja.Value {
			b := p.allocate(call.Argument(0).ToInteger(), "randomBytes")
			_, _ = rand.Read(b)
			return p.arrayBuffer(b)
		},
		"int": func(call goja.FunctionCall) goja.Value {
			n, err := rand.Int(rand.Reader, big.NewInt(call.Argument(0).ToInteger()))
			must(err)
			return p.js.ToValue(n.Int64())
		},
		"hashes": func(goja.FunctionCall) goja.Value {
			var list []any
			for _, name := range hashNames() {
				list = append(list, name)
			}
			return p.js.NewArray(list...)
		},
		"hash": func(call goja.FunctionCall) goja.Value {
			return p.newHasher(p.findHash(textArgument(call, 0))())
		},
		"hmac": func(call goja.FunctionCall) goja.Value {
			return p.newHasher(hmac.New(p.findHash(textArgument(call, 0)), p.needBytes(call.Argument(1), "createHmac")))
		},
		"equal": func(call goja.FunctionCall) goja.Value {
			a, b := p.needBytes(call.Argument(0), "timingSafeEqual"), p.needBytes(call.Argument(1), "timingSafeEqual")
			if len(a) != len(b) {
				p.fail("RangeError", "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length")
			}
			return p.js.ToValue(subtle.ConstantTimeCompare(a, b) == 1)
		},
		"derive": p.deriveKey,
	})
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// newHasher returns a JavaScript object {update(bytes), digest(), copy()} for the hash h.
func (p *Platform) newHasher(h hash.Hash) goja.Value {
	return p.newNatives(natives{
		"update": func(call goja.FunctionCall) goja.Value {
			_, _ = h.Write(p.needBytes(call.Argument(0), "update"))
			return goja.Undefined()
		},
		"digest": func(goja.FunctionCall) goja.Value { return p.arrayBuffer(h.Sum(nil)) },
		"copy": func(goja.FunctionCall) goja.Value {
			cloner, ok := h.(hash.Cloner)
			if !ok {
				p.fail("Error", "ERR_CRYPTO_HASH_UPDATE_FAILED", "this hash cannot be copied")
			}
			c, err := cloner.Clone()
			must(err)
			return p.newHasher(c)
		},
	})
}

// deriveKey implements derive(password, salt, iterations, length, hash, wait), which derives a key with PBKDF2. It
// returns the bytes of the key. If wait is true, the derivation runs outside of the turn, and deriveKey returns a
// promise of the bytes.
func (p *Platform) deriveKey(call goja.FunctionCall) goja.Value {
	password, salt := p.needBytes(call.Argument(0), "pbkdf2"), p.needBytes(call.Argument(1), "pbkdf2")
	iterations, length := call.Argument(2).ToInteger(), call.Argument(3).ToInteger()
	algorithm, wait := p.findHash(textArgument(call, 4)), call.Argument(5).ToBoolean()
	most := int64(maxSyncIterations)
	if wait {
		most = maxIterations
	}
	blocks := (length + int64(algorithm().Size()) - 1) / int64(algorithm().Size())
	switch {
	case iterations < 1 || iterations > most:
		p.fail("RangeError", "ERR_OUT_OF_RANGE", "pbkdf2: the iterations must be from 1 to %d; %s", most, "pbkdf2Sync is for few, pbkdf2 does not hold up other requests")
	case length < 0 || length > maxKey || iterations*max(1, blocks) > most:
		p.fail("RangeError", "ERR_OUT_OF_RANGE", "pbkdf2: a key of %d bytes takes more than %d iterations", length, most)
	}
	derive := func(password, salt []byte) []byte {
		key, err := pbkdf2.Key(algorithm, string(password), salt, int(iterations), int(length))
		if err != nil || length == 0 {
			return nil
		}
		return key
	}
	if !wait {
		return p.arrayBuffer(derive(password, salt))
	}
	password, salt = slices.Clone(password), slices.Clone(salt)
	return p.host.Promise("pbkdf2", func(ctx context.Context) func() goja.Value {
		select {
		case derivations <- struct{}{}:
		case <-ctx.Done():
			return func() goja.Value {
				p.fail("Error", "", "pbkdf2: the request ended")
				return nil
			}
		}
		defer func() { <-derivations }()
		key := derive(password, salt)
		return func() goja.Value { return p.arrayBuffer(key) }
	})
}
