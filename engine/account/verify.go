package account

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The parameters of new hashes that determine their cost. They change only in WeakenForTests.
var (
	argonMemory uint64 = 19 * 1024 // KiB
	argonTime   uint64 = 2
)

// The other parameters of new hashes.
const (
	argonThreads = 1
	argonSalt    = 16
	argonKey     = 32
)

// The parameters of the hashes of IONDV, pbkdf2$iterations$hash$salt.
const (
	pbkdf2Iterations = 10_000
	pbkdf2Key        = 64
)

// Limits for the parameters of a stored hash. Comparing a password with a hash beyond these
// limits could take minutes or gigabytes.
const (
	maxStored           = 1024 // bytes
	maxArgonMemory      = 256 * 1024
	maxArgonTime        = 16
	maxArgonThreads     = 16
	maxPBKDF2Iterations = 1_000_000
)

type algorithm int

const (
	malformed algorithm = iota
	argon2id
	pbkdf2sha1
)

// storedHash is a parsed password hash.
type storedHash struct {
	algorithm algorithm
	memory    uint32 // argon2id: KiB
	rounds    uint32 // argon2id: passes; pbkdf2: iterations
	threads   uint8  // argon2id
	salt, key []byte
}

// parseHash parses a stored hash of either algorithm. Any other text is
// malformed, and matches no password.
func parseHash(s string) storedHash {
	if len(s) > maxStored {
		return storedHash{}
	}
	if rest, ok := strings.CutPrefix(s, "$argon2id$v=19$"); ok {
		return parseArgon(rest)
	}
	if rest, ok := strings.CutPrefix(s, "pbkdf2$"); ok {
		return parsePBKDF2(rest)
	}
	return storedHash{}
}

// parseArgon parses m=19456,t=2,p=1$salt$key.
func parseArgon(s string) storedHash {
	parts := strings.Split(s, "$")
	if len(parts) != 3 {
		return storedHash{}
	}
	settings := strings.Split(parts[0], ",")
	if len(settings) != 3 {
		return storedHash{}
	}
	memory, mok := parseNumber(settings[0], "m=", maxArgonMemory)
	rounds, tok := parseNumber(settings[1], "t=", maxArgonTime)
	threads, pok := parseNumber(settings[2], "p=", maxArgonThreads)
	salt, serr := base64.RawStdEncoding.Strict().DecodeString(parts[1])
	key, kerr := base64.RawStdEncoding.Strict().DecodeString(parts[2])
	if !mok || !tok || !pok || serr != nil || kerr != nil ||
		memory < 8*threads || len(salt) < 8 || len(key) < 16 || strings.ContainsAny(s, "\r\n") {
		return storedHash{}
	}
	return storedHash{argon2id, memory, rounds, uint8(threads), salt, key}
}

// parsePBKDF2 parses iterations$hash$salt, with the hash in lower-case hex.
func parsePBKDF2(s string) storedHash {
	parts := strings.Split(s, "$")
	if len(parts) != 3 {
		return storedHash{}
	}
	rounds, ok := parseNumber(parts[0], "", maxPBKDF2Iterations)
	key, kerr := hex.DecodeString(parts[1])
	salt, serr := hex.DecodeString(parts[2])
	if !ok || kerr != nil || serr != nil || len(key) != pbkdf2Key || len(salt) == 0 ||
		parts[1] != strings.ToLower(parts[1]) {
		return storedHash{}
	}
	return storedHash{algorithm: pbkdf2sha1, rounds: rounds, salt: salt, key: key}
}

// parseNumber parses a prefix and a decimal number from 1 to limit, without leading
// zeros.
func parseNumber(s, prefix string, limit uint64) (uint32, bool) {
	digits, ok := strings.CutPrefix(s, prefix)
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), ok && err == nil && n >= 1 && n <= limit && digits[0] != '0' && digits[0] != '+'
}

// matches computes the hash of a password and compares it in constant time.
func (h storedHash) matches(plain string) bool { return h.compare(new(meter), plain) }

func (h storedHash) compare(m *meter, plain string) bool {
	var key []byte
	switch h.algorithm {
	case argon2id:
		key = m.argon2id(plain, h)
	case pbkdf2sha1:
		key = m.pbkdf2(plain, h.salt, h.rounds)
	default:
		return false
	}
	return subtle.ConstantTimeCompare(key, h.key) == 1
}

// isCurrent reports whether a new hash would have the same parameters.
func (h storedHash) isCurrent() bool {
	return h.algorithm == argon2id && uint64(h.memory) == argonMemory && uint64(h.rounds) == argonTime &&
		h.threads == argonThreads && len(h.salt) >= argonSalt && len(h.key) == argonKey
}

// newHash hashes a password with a new salt and returns a PHC string.
func newHash(plain string) string {
	salt := make([]byte, argonSalt)
	rand.Read(salt) // never returns an error: if it fails, it ends the process
	key := argon2.IDKey([]byte(plain), salt, uint32(argonTime), uint32(argonMemory), argonThreads, argonKey)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		b64.EncodeToString(salt), b64.EncodeToString(key))
}
