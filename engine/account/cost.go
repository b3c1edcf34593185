package account

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha1"
	"flag"
	"sync"

	"golang.org/x/crypto/argon2"

	"restsrv/engine"
)

// work is the cost of computing hashes, counted separately for each algorithm. The time for an
// algorithm is proportional to its number.
type work struct {
	argon  uint64 // KiB of memory times passes
	pbkdf2 uint64 // iterations
}

func (w work) max(o work) work { return work{max(w.argon, o.argon), max(w.pbkdf2, o.pbkdf2)} }

// leastWork returns the minimum cost of a failed check: one hash of each kind.
func leastWork() work { return work{argonMemory * argonTime, pbkdf2Iterations} }

// compareWork returns the cost of comparing a password with the hash.
func (h storedHash) compareWork() work {
	switch h.algorithm {
	case argon2id:
		return work{argon: uint64(h.memory) * uint64(h.rounds)}
	case pbkdf2sha1:
		return work{pbkdf2: uint64(h.rounds)}
	}
	return work{}
}

// meter computes the hashes of one check and adds up their cost.
type meter struct{ spent work }

func (m *meter) argon2id(plain string, h storedHash) []byte {
	m.spent.argon += uint64(h.memory) * uint64(h.rounds)
	return argon2.IDKey([]byte(plain), h.salt, h.rounds, h.memory, h.threads, uint32(len(h.key)))
}

// pbkdf2 computes the hash that IONDV uses. If a FIPS setting forbids it, it
// returns nil, which matches no hash.
func (m *meter) pbkdf2(plain string, salt []byte, iterations uint32) []byte {
	m.spent.pbkdf2 += uint64(iterations)
	key, err := pbkdf2.Key(sha1.New, plain, salt, int(iterations), pbkdf2Key)
	if err != nil {
		return nil
	}
	return key
}

// spendUpTo computes hashes until the cost of the check is at least most. Without this, the time
// of a failure would disclose whether the account exists, or how its password is stored.
func (m *meter) spendUpTo(most work, plain string) {
	h := storedHash{salt: make([]byte, argonSalt), key: make([]byte, argonKey), memory: uint32(argonMemory), threads: argonThreads}
	if most.argon > m.spent.argon {
		rest := most.argon - m.spent.argon
		if h.rounds = uint32(rest / argonMemory); h.rounds > 0 {
			m.argon2id(plain, h)
		}
		h.rounds, h.memory = 1, uint32(rest%argonMemory)
		if h.memory >= 8*argonThreads { // the minimum of argon2
			m.argon2id(plain, h)
		}
	}
	if most.pbkdf2 > m.spent.pbkdf2 {
		m.pbkdf2(plain, h.salt, uint32(most.pbkdf2-m.spent.pbkdf2))
	}
}

// WeakenForTests makes new hashes cheap and insecure, for tests that start many
// servers: otherwise they would spend most of their time on hashes. Call it before
// the first hash. It panics outside of tests.
func WeakenForTests() {
	if flag.Lookup("test.v") == nil {
		panic("account: WeakenForTests is called outside of tests")
	}
	argonMemory, argonTime = 64, 1
}

// ceiling is the cost of a failed check: the cost of the most expensive stored hash,
// because imported hashes can have any parameters.
type ceiling struct {
	mu       sync.Mutex
	most     work
	surveyed bool
}

// failureCost returns the cost of a failed check. stored is the hash with which the password was
// compared. The first call finds the most expensive hash of all accounts. Later calls raise the
// cost if stored is more expensive.
func (s *passwordCheck) failureCost(ctx context.Context, stored storedHash) (work, error) {
	c := &s.cost
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.surveyed {
		most := leastWork()
		q := &engine.Query{Class: s.classes.account, Count: -1}
		err := s.data.List(engine.AsServer(ctx), q, func(it *engine.Item) error {
			most = most.max(parseHash(it.Text("pwd")).compareWork())
			return nil
		})
		if err != nil {
			return work{}, err
		}
		c.most, c.surveyed = c.most.max(most), true
	}
	c.most = c.most.max(stored.compareWork())
	return c.most, nil
}
