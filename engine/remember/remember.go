// Package remember caches proofs in memory. A proof is the result of a successful check of a
// password or a token, so that not every request has to repeat the check. Entries are found by a
// key from which the password or token cannot be computed. The package that owns a Memory
// (engine/account, engine/oauth) decides how long an entry is valid and when it is checked again.
// This package limits the number of entries, and ensures that a forgotten proof is not stored
// again by a check that began earlier.
package remember

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"
)

// Most is the maximum number of entries in each memory.
const Most = 10_000

// Key identifies an entry. It is a hash, or a keyed hash if the input can be
// guessed.
type Key [sha256.Size]byte

// Entry must be embedded in all entries.
type Entry struct {
	Expires time.Duration // measured from a time that the owner chooses
	ended   atomic.Bool
}

// Ended reports whether the entry was removed by Drop or Forget. An entry that has
// ended must not be used any more.
func (e *Entry) Ended() bool { return e.ended.Load() }

func (e *Entry) baseEntry() *Entry { return e }

// Remembered is a pointer to a type that embeds Entry.
type Remembered interface {
	comparable
	baseEntry() *Entry
}

// Memory stores entries of one kind. Its generation changes with every Forget. A check that began
// in an older generation may be based on data that have been revoked, so Put does not store its
// result. A Memory is safe for concurrent use.
type Memory[E Remembered] struct {
	mu         sync.RWMutex
	entries    map[Key]E
	generation uint64
}

// New returns an empty memory.
func New[E Remembered]() *Memory[E] { return &Memory[E]{entries: map[Key]E{}} }

// Find returns the entry with the key, or nil if it is not stored. The entry may have expired.
func (m *Memory[E]) Find(key Key) E {
	m.mu.RLock()
	e := m.entries[key]
	m.mu.RUnlock()
	return e
}

// Generation returns the current generation. Call it before a check, and pass it to
// Put together with the result of the check.
func (m *Memory[E]) Generation() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.generation
}

// Put stores e under the key. It does not store e if Forget was called after Generation returned
// the given generation, or if e has expired at the present time at.
func (m *Memory[E]) Put(key Key, e E, generation uint64, at time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.generation != generation || at >= e.baseEntry().Expires {
		return
	}
	if len(m.entries) >= Most {
		m.makeRoom(at)
	}
	m.entries[key] = e
}

// makeRoom removes expired entries. If no entry has expired, it removes other entries.
func (m *Memory[E]) makeRoom(at time.Duration) {
	for key, e := range m.entries {
		if at >= e.baseEntry().Expires {
			delete(m.entries, key)
		}
	}
	for key := range m.entries {
		if len(m.entries) < Most {
			return
		}
		delete(m.entries, key)
	}
}

// Drop ends and removes an entry that is not valid any more.
func (m *Memory[E]) Drop(key Key, e E) {
	e.baseEntry().ended.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key] == e {
		delete(m.entries, key)
	}
}

// Forget calls which for all entries, and ends and removes those for which the result is true.
// If a check is running at the same time, its result will not be stored; see Put.
func (m *Memory[E]) Forget(which func(E) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	for key, e := range m.entries {
		if which(e) {
			e.baseEntry().ended.Store(true)
			delete(m.entries, key)
		}
	}
}
