package account

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"restsrv/engine"
)

// ancestor is the hash of "Grüße:1" in the form of IONDV, computed with another
// implementation of PBKDF2; the salt is the bytes 0 to 63.
const (
	ancestorPassword = "Grüße:1"
	ancestor         = "pbkdf2$10000$" +
		"c7f81b7dd0df3769f893f7de9ec4b9a0de67b0e92a0a5def552e9f477f7aabb5c5e9e537adf983dd578247fb6c306296865a6612c0a56db5314da0339faba2ed$" +
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
)

func TestHashIsArgon2idInPHCForm(t *testing.T) {
	h := NewHasher(HasherConfig{})
	hash, err := h.Hash(context.Background(), "secret")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || strings.Join(parts[:4], "$") != "$argon2id$v=19$m=19456,t=2,p=1" {
		t.Fatalf("hash %q", hash)
	}
	salt, _ := base64.RawStdEncoding.DecodeString(parts[4])
	key := base64.RawStdEncoding.EncodeToString(argon2.IDKey([]byte("secret"), salt, 2, 19456, 1, 32))
	if len(salt) != 16 || key != parts[5] {
		t.Errorf("hash %q is not the argon2id of its salt", hash)
	}
	again, _ := h.Hash(context.Background(), "secret")
	if again == hash {
		t.Error("two hashes share a salt")
	}
	parsed := parseHash(hash)
	if !parsed.matches("secret") || parsed.matches("secreT") || !parsed.isCurrent() {
		t.Errorf("hash %q is not told right", hash)
	}
}

func TestHashLimits(t *testing.T) {
	h := NewHasher(HasherConfig{})
	for _, length := range []int{0, MaxPassword + 1} {
		_, err := h.Hash(context.Background(), strings.Repeat("x", length))
		if engine.CodeOf(err) != engine.Invalid || strings.Contains(err.Error(), "xx") {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	if _, err := h.Hash(context.Background(), strings.Repeat("x", MaxPassword)); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Hash(ctx, "x"); engine.CodeOf(err) != engine.Timeout {
		t.Errorf("ended context: %v", err)
	}
}

func TestQueueIsBounded(t *testing.T) {
	h := NewHasher(HasherConfig{Parallel: 1, Queue: 1})
	if err := h.enter(context.Background(), engine.Caller{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	waited := make(chan error)
	go func() {
		_, err := h.Hash(ctx, "waits")
		waited <- err
	}()
	for h.Queued() == 0 {
		time.Sleep(time.Millisecond)
	}
	_, err := h.Hash(context.Background(), "too many")
	e, ok := err.(*engine.Error)
	if !ok || e.Code != engine.Unavailable || e.RetryAfter <= 0 {
		t.Errorf("full queue: %v", err)
	}
	cancel()
	if err := <-waited; engine.CodeOf(err) != engine.Timeout {
		t.Errorf("request that ended in the queue: %v", err)
	}
	if n := h.Queued(); n != 0 {
		t.Errorf("%d still counted as waiting", n)
	}
	h.leave()
	if _, err := h.Hash(context.Background(), "free again"); err != nil {
		t.Error(err)
	}
}

func TestAncestorsHash(t *testing.T) {
	h := parseHash(ancestor)
	if h.algorithm != pbkdf2sha1 || h.rounds != 10000 || h.isCurrent() {
		t.Fatalf("parsed %+v", h)
	}
	if !h.matches(ancestorPassword) || h.matches("Grüße:2") || h.matches("") {
		t.Error("the ancestor's hash is not told right")
	}
}

func TestMalformedHashes(t *testing.T) {
	parts := strings.Split(ancestor, "$")
	good := newHash("x")
	bad := []string{
		"", "x", "$", "$$$$$", "pbkdf2", "pbkdf2$$$", "pbkdf2$10000$" + parts[2], ancestor + "$", ancestor + "0",
		strings.Replace(ancestor, "10000", "0", 1), strings.Replace(ancestor, "10000", "-1", 1),
		strings.Replace(ancestor, "10000", "1000001", 1), strings.Replace(ancestor, "10000", "010000", 1),
		strings.Replace(ancestor, "10000", "1e4", 1), strings.Replace(ancestor, "c7f8", "C7F8", 1),
		strings.Replace(ancestor, "c7f8", "zzzz", 1), strings.Replace(ancestor, "c7f8", "", 1),
		"pbkdf2$10000$" + parts[3] + "$", "$argon2i" + strings.TrimPrefix(good, "$argon2id"),
		strings.Replace(good, "v=19", "v=16", 1), strings.Replace(good, "m=19456", "m=999999999", 1),
		strings.Replace(good, "m=19456", "m=1", 1), strings.Replace(good, "t=2", "t=0", 1), strings.Replace(good, "t=2", "t=99", 1),
		strings.Replace(good, "p=1", "p=0", 1), strings.Replace(good, "p=1", "p=256", 1), good + "!", good + "$x",
		strings.Replace(good, "t=2,", "", 1), "$argon2id$v=19$m=19456,t=2,p=1$$", "$2a$10$abcdefghijklmnopqrstuv",
		strings.Repeat("a", maxStored+1),
	}
	for _, s := range bad {
		if h := parseHash(s); h.algorithm != malformed || h.matches("") || h.matches("x") {
			t.Errorf("%q is taken for a hash", s)
		}
	}
}

// TestFailuresCostTheSame checks that a failed check does the same work for every stored hash:
// the work of the most expensive hash.
func TestFailuresCostTheSame(t *testing.T) {
	argon := func(memory, rounds uint32) storedHash {
		return storedHash{argon2id, memory, rounds, 1, make([]byte, 16), make([]byte, 32)}
	}
	for name, stored := range map[string]storedHash{
		"none": {}, "malformed": parseHash("plain"), "ancestor": parseHash(ancestor), "current": parseHash(newHash("y")),
		"little argon2id": argon(64, 1), "much argon2id": argon(20*1024, 3), "few iterations": {pbkdf2sha1, 0, 100, 0, []byte{1}, []byte{2}},
	} {
		for _, most := range []work{leastWork(), {argonMemory*argonTime + 100, 12_000}} {
			most = most.max(stored.compareWork())
			var m meter
			if stored.compare(&m, "x") {
				t.Errorf("%s matches", name)
			}
			m.spendUpTo(most, "x")
			if m.spent != most {
				t.Errorf("%s: a failure costs %+v, want %+v", name, m.spent, most)
			}
		}
	}
}

func FuzzParseHash(f *testing.F) {
	f.Add(ancestor)
	f.Add("$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("$argon2id$v=19$m=,t=,p=$$")
	f.Add("pbkdf2$$$")
	f.Fuzz(func(t *testing.T, s string) {
		h := parseHash(s)
		var back string
		switch h.algorithm {
		case malformed:
			if h.matches(s) {
				t.Fatalf("%q: a malformed hash matches", s)
			}
			return
		case argon2id:
			b64 := base64.RawStdEncoding
			back = fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", h.memory, h.rounds, h.threads,
				b64.EncodeToString(h.salt), b64.EncodeToString(h.key))
			if h.memory > maxArgonMemory || h.memory < 8*uint32(h.threads) || h.rounds > maxArgonTime || h.threads == 0 {
				t.Fatalf("%q: out of bounds", s)
			}
		case pbkdf2sha1:
			back = fmt.Sprintf("pbkdf2$%d$%x$%s", h.rounds, h.key, s[len(s)-2*len(h.salt):])
			if h.rounds > maxPBKDF2Iterations || hex.EncodeToString(h.salt) != strings.ToLower(s[len(s)-2*len(h.salt):]) {
				t.Fatalf("%q: out of bounds", s)
			}
		}
		if back != s || h.rounds == 0 || len(h.salt) == 0 || len(h.key) < 16 {
			t.Fatalf("%q reads as %q", s, back)
		}
	})
}

func TestProofs(t *testing.T) {
	p := newProver()
	if first, again := p.prove("a@b", "c"), p.prove("a@b", "c"); first != again {
		t.Error("the same credential proves differently")
	}
	seen := map[proof]bool{}
	for _, c := range [][2]string{{"a@b", "c"}, {"a@bc", ""}, {"a@", "bc"}, {"a@b\x00", "c"}, {"a@b", "\x00c"}} {
		seen[p.prove(c[0], c[1])] = true
	}
	if len(seen) != 5 || seen[newProver().prove("a@b", "c")] {
		t.Error("proofs of different credentials or processes are the same")
	}
}

func TestIDs(t *testing.T) {
	for _, id := range []string{"a@b", "admin@local", "Иван Петров@local", "a.b+c@system"} {
		if err := checkID(id); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{"", "a", "@", "a@", "@b", "a@b@c", "a:b@c", "a@b:c", "a\n@b", "a@\x00", " a@b", "a @b", "a@ b", "a\xff@b", strings.Repeat("a", maxID) + "@b"} {
		if err := checkID(id); engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%q: %v", id, err)
		}
	}
}
