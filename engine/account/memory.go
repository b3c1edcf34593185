package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

const (
	// rememberFor is how long a verified password or token is remembered.
	rememberFor = 60 * time.Second
	// recheckAfter is how long a remembered one is believed before the stored
	// account is looked at again.
	recheckAfter = 500 * time.Millisecond
	// maxRemembered bounds each memory.
	maxRemembered = 10_000
)

// proof is what credentials are remembered by: it cannot be turned back.
type proof [sha256.Size]byte

// remembered is one verified credential. Times are counted from Store.start.
type remembered struct {
	account atomic.Pointer[engine.Account] // another one whenever Config.Enrich was asked
	given   string                         // account name as it was given; "" for a token
	token   string                         // id of the token, "" for a password
	expires time.Duration
	checked atomic.Int64  // time.Duration of the last look at the stored account
	busy    chan struct{} // held while somebody looks
	ended   atomic.Bool
}

// memory remembers verified credentials. Its generation changes with every
// forget: what was verified under an older one is not remembered, because it
// may rest on what was forgotten.
type memory struct {
	mu         sync.RWMutex
	entries    map[proof]*remembered
	generation uint64
}

func newMemory() *memory { return &memory{entries: make(map[proof]*remembered)} }

func (m *memory) find(key proof) *remembered {
	m.mu.RLock()
	e := m.entries[key]
	m.mu.RUnlock()
	return e
}

func (m *memory) now() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.generation
}

// put remembers e, unless something was forgotten since the generation.
func (m *memory) put(key proof, e *remembered, generation uint64, at time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.generation != generation || at >= e.expires {
		return
	}
	if len(m.entries) >= maxRemembered {
		m.makeRoom(at)
	}
	m.entries[key] = e
}

// makeRoom removes what has expired, or any one if nothing has.
func (m *memory) makeRoom(at time.Duration) {
	for key, e := range m.entries {
		if at >= e.expires {
			delete(m.entries, key)
		}
	}
	for key := range m.entries {
		if len(m.entries) < maxRemembered {
			return
		}
		delete(m.entries, key)
	}
}

func (m *memory) drop(key proof, e *remembered) {
	e.ended.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key] == e {
		delete(m.entries, key)
	}
}

// forget ends every entry that the condition names.
func (m *memory) forget(which func(*remembered) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	for key, e := range m.entries {
		if which(e) {
			e.ended.Store(true)
			delete(m.entries, key)
		}
	}
}

// prover makes the proofs of passwords, with a key that only this process
// knows.
type prover struct{ pool sync.Pool }

type provingState struct {
	mac hash.Hash
	buf []byte
}

func newProver() *prover {
	key := make([]byte, sha256.Size)
	rand.Read(key)
	return &prover{pool: sync.Pool{New: func() any {
		return &provingState{mac: hmac.New(sha256.New, key)}
	}}}
}

func (p *prover) prove(account, password string) (sum proof) {
	s := p.pool.Get().(*provingState)
	s.mac.Reset()
	s.buf = binary.AppendUvarint(s.buf[:0], uint64(len(account)))
	s.buf = append(append(s.buf, account...), password...)
	s.mac.Write(s.buf)
	clear(s.buf)
	s.buf = s.mac.Sum(s.buf[:0])
	copy(sum[:], s.buf)
	p.pool.Put(s)
	return sum
}
