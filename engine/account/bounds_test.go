package account

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
)

// TestHashBounds checks the smallest and the largest accepted settings of stored hashes, and the
// settings just beyond these.
func TestHashBounds(t *testing.T) {
	argon := func(memory, rounds, threads, salt, key int) string {
		b64 := base64.RawStdEncoding
		return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", memory, rounds, threads, b64.EncodeToString(make([]byte, salt)), b64.EncodeToString(make([]byte, key)))
	}
	pbkdf2 := func(rounds, length int) string {
		s := fmt.Sprintf("pbkdf2$%d$%s$", rounds, hex.EncodeToString(make([]byte, pbkdf2Key)))
		return s + strings.Repeat("0", length-len(s))
	}
	for _, x := range []struct {
		name, hash string
		want       algorithm
	}{
		{"the least memory of one thread", argon(8, 1, 1, 8, 16), argon2id},
		{"less memory", argon(7, 1, 1, 8, 16), malformed},
		{"the least memory of two threads", argon(16, 1, 2, 8, 16), argon2id},
		{"less memory for two threads", argon(15, 1, 2, 8, 16), malformed},
		{"the memory of one thread for two", argon(8, 1, 2, 8, 16), malformed},
		{"a shorter salt", argon(8, 1, 1, 7, 16), malformed},
		{"a shorter key", argon(8, 1, 1, 8, 15), malformed},
		{"the most of everything", argon(maxArgonMemory, maxArgonTime, maxArgonThreads, 16, 32), argon2id},
		{"more memory", argon(maxArgonMemory+1, maxArgonTime, maxArgonThreads, 16, 32), malformed},
		{"more passes", argon(maxArgonMemory, maxArgonTime+1, maxArgonThreads, 16, 32), malformed},
		{"more threads", argon(maxArgonMemory, maxArgonTime, maxArgonThreads+1, 16, 32), malformed},
		{"the most iterations", pbkdf2(maxPBKDF2Iterations, 200), pbkdf2sha1},
		{"more iterations", pbkdf2(maxPBKDF2Iterations+1, 200), malformed},
		{"the longest hash", pbkdf2(10_000, maxStored), pbkdf2sha1},
		{"a longer hash", pbkdf2(10_000, maxStored+2), malformed},
	} {
		if got := parseHash(x.hash).algorithm; got != x.want {
			t.Errorf("%s: algorithm %d, want %d: %s", x.name, got, x.want, x.hash)
		}
	}
}

// TestHasherDefaults checks that a hasher leaves a processor free and that its
// queue grows with its slots.
func TestHasherDefaults(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, x := range []struct {
		config      HasherConfig
		slots, room int
	}{
		{HasherConfig{}, 1, 64},
		{HasherConfig{Parallel: 2}, 2, 128},
		{HasherConfig{Parallel: 3, Queue: 5}, 3, 5},
		{HasherConfig{Parallel: 3, Queue: -1}, 3, 0},
	} {
		h := NewHasher(x.config)
		if h.turns.slots != x.slots || h.turns.room != x.room {
			t.Errorf("%+v: %d slots and room for %d, want %d and %d", x.config, h.turns.slots, h.turns.room, x.slots, x.room)
		}
	}
}

// TestMatches checks which passwords match a hash. It also checks that a full queue and an ended
// request cause errors and not a mismatch.
func TestMatches(t *testing.T) {
	h := NewHasher(HasherConfig{Parallel: 1, Queue: -1})
	longest := strings.Repeat("x", MaxPassword)
	for _, x := range []struct {
		name, stored, plain string
		want                bool
	}{
		{"the password", ancestor, ancestorPassword, true},
		{"another", ancestor, "x", false},
		{"none", ancestor, "", false},
		{"the longest", newHash(longest), longest, true},
		{"one that is too long", newHash(longest + "x"), longest + "x", false},
		{"a malformed hash", "x", "x", false},
	} {
		if got, err := h.Matches(t.Context(), x.stored, x.plain); err != nil || got != x.want {
			t.Errorf("%s: got %v, %v, want %v", x.name, got, err, x.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := h.Matches(ctx, ancestor, ancestorPassword); got || engine.CodeOf(err) != engine.Timeout {
		t.Errorf("of a request that has ended: got %v, %v, want a timeout", got, err)
	}
	if err := h.enter(t.Context(), engine.Caller{}); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Matches(t.Context(), ancestor, ancestorPassword); got || engine.CodeOf(err) != engine.Unavailable {
		t.Errorf("with a full queue: got %v, %v, want Unavailable", got, err)
	}
	h.leave()
	if got, err := h.Matches(t.Context(), ancestor, ancestorPassword); !got || err != nil {
		t.Errorf("with a free slot: got %v, %v, want true", got, err)
	}
}

// TestFailureCostIsReached checks that a failed check costs exactly as much as the most expensive
// hash, whatever the comparison of the password has cost before.
func TestFailureCostIsReached(t *testing.T) {
	least := leastWork()
	if want := (work{argon: 19 * 1024 * 2, pbkdf2: 10_000}); least != want {
		t.Errorf("a failure costs at least %+v, want %+v", least, want)
	}
	for _, x := range []struct{ most, spent work }{
		{least, work{}}, {least, least}, {least, work{argon: least.argon}}, {least, work{pbkdf2: 9_999}},
		{work{argon: argonMemory + 8}, work{}}, {work{argon: argonMemory + 9}, work{}}, {work{argon: 8}, work{}},
	} {
		m := meter{spent: x.spent}
		m.spendUpTo(x.most, "x")
		if m.spent != x.most {
			t.Errorf("after %+v: %+v are spent, want %+v", x.spent, m.spent, x.most)
		}
	}
	m := meter{}
	m.spendUpTo(work{argon: 7}, "x") // less than the minimum of argon2
	if m.spent != (work{}) {
		t.Errorf("%+v are spent, want nothing", m.spent)
	}
}

// TestCrowdBounds checks how many requests may wait because of earlier failures, from one network
// and in total, and that a request makes room when it leaves.
func TestCrowdBounds(t *testing.T) {
	var c crowd
	network := func(i int) netip.Prefix { return networkOf(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})) }
	for i := range maxWaitingFrom {
		if !c.join(network(0)) {
			t.Fatalf("request %d of one network was refused, want room for %d", i+1, maxWaitingFrom)
		}
	}
	if c.join(network(0)) {
		t.Error("one request more of the network has joined")
	}
	if !c.join(network(1)) {
		t.Error("a request of another network was refused")
	}
	c.leave(network(1))
	c.leave(network(0))
	if !c.join(network(0)) || c.join(network(0)) {
		t.Error("a request that left did not make room for one")
	}
	for range maxWaitingFrom {
		c.leave(network(0))
	}
	if c.count() != 0 || len(c.from) != 0 {
		t.Errorf("%d requests of %d networks are left, want none", c.count(), len(c.from))
	}
	for i := range maxWaiting {
		if !c.join(network(i)) {
			t.Fatalf("request %d was refused, want room for %d", i+1, maxWaiting)
		}
	}
	if c.join(network(maxWaiting)) {
		t.Error("one request more has joined")
	}
}

// handingOver is a context that ends at the moment when the request is handed a slot.
type handingOver struct {
	context.Context
	leave func()
	done  chan struct{}
}

func (h *handingOver) Done() <-chan struct{} {
	h.leave()
	close(h.done)
	return h.done
}

// TestSlotForAnEndedRequest checks a slot that is handed to a request just as the request ends:
// the request uses the slot or passes it on, and the slot is never lost.
func TestSlotForAnEndedRequest(t *testing.T) {
	for range 64 {
		q := newTurns(1, 1)
		if err := q.enter(t.Context(), netip.Prefix{}, false); err != nil {
			t.Fatal(err)
		}
		err := q.enter(&handingOver{t.Context(), q.leave, make(chan struct{})}, netip.Prefix{}, false)
		if err == nil {
			q.leave()
		}
		if computing, waiting := q.counts(); computing != 0 || waiting != 0 {
			t.Fatalf("after the request ended with %v, %d compute and %d wait, want none", err, computing, waiting)
		}
	}
}

// TestTokenNameBounds checks the longest name of a token and of an account.
func TestTokenNameBounds(t *testing.T) {
	for _, x := range []struct {
		name string
		err  error
		ok   bool
	}{
		{"the longest name", checkText("token name", strings.Repeat("é", maxTokenName), maxTokenName), true},
		{"a longer name", checkText("token name", strings.Repeat("é", maxTokenName+1), maxTokenName), false},
		{"the longest account", checkID(strings.Repeat("a", maxID-len("@local")) + "@local"), true},
		{"a longer account", checkID(strings.Repeat("a", maxID-len("@local")+1) + "@local"), false},
	} {
		if (x.err == nil) != x.ok {
			t.Errorf("%s: got %v, want it accepted: %v", x.name, x.err, x.ok)
		}
	}
}

// TestWarnsOnceAMinute checks how often refused sign-ins are logged.
func TestWarnsOnceAMinute(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	log := &lines{}
	s := &passwordCheck{cache: &cache{directory: &directory{log: log.logger(), clock: func() time.Time { return now }, start: now}}}
	for _, x := range []struct {
		at   time.Duration
		want int
	}{{0, 1}, {time.Second, 1}, {warnEvery, 1}, {warnEvery + 1, 2}, {2 * warnEvery, 2}, {2*warnEvery + 1, 3}} {
		now = s.start.Add(x.at)
		s.warnRejected(busyError(), engine.Caller{})
		if got := log.count(); got != x.want {
			t.Errorf("after %s: %d warnings, want %d", x.at, got, x.want)
		}
	}
	s.warnRejected(engine.Errorf(engine.Unavailable, "database", "away"), engine.Caller{})
	if got := log.count(); got != 3 {
		t.Errorf("a failure of the database was logged as a full queue")
	}
}
