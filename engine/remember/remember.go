// Package remember keeps in memory what was proven lately, such as a password
// or a token, by a key that cannot be turned back, so that not every request
// proves it again. How long something is believed, and when it is looked at
// again, is its owner's (engine/account, engine/oauth); here is how much there
// may be, and that what was forgotten does not come back.
package remember

import (
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"
)

// Most bounds each memory.
const Most = 10_000

// Key is what an entry is found by: a hash, or a keyed one of something that
// can be guessed.
type Key [sha256.Size]byte

// Entry is what every entry embeds.
type Entry struct {
	Expires time.Duration // since whatever moment the owner counts from
	ended   atomic.Bool
}

// Ended reports whether the entry was dropped or forgotten: whoever still holds
// it must not believe it.
func (e *Entry) Ended() bool { return e.ended.Load() }

func (e *Entry) base() *Entry { return e }

// Remembered is a pointer to what embeds Entry.
type Remembered interface {
	comparable
	base() *Entry
}

// Memory remembers entries of one kind. Its generation changes with every
// Forget: what was proven under an older one is not remembered, because it may
// rest on what was forgotten. It is safe for concurrent use.
type Memory[E Remembered] struct {
	mu         sync.RWMutex
	entries    map[Key]E
	generation uint64
}

// New makes an empty memory.
func New[E Remembered]() *Memory[E] { return &Memory[E]{entries: map[Key]E{}} }

// Find returns the entry of a key, nil for none. It may have expired.
func (m *Memory[E]) Find(key Key) E {
	m.mu.RLock()
	e := m.entries[key]
	m.mu.RUnlock()
	return e
}

// Generation is asked for before something is proven, for Put.
func (m *Memory[E]) Generation() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.generation
}

// Put remembers e, unless it has expired at the time at, or something was
// forgotten since the generation.
func (m *Memory[E]) Put(key Key, e E, generation uint64, at time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.generation != generation || at >= e.base().Expires {
		return
	}
	if len(m.entries) >= Most {
		m.makeRoom(at)
	}
	m.entries[key] = e
}

// makeRoom removes what has expired, or any one if nothing has.
func (m *Memory[E]) makeRoom(at time.Duration) {
	for key, e := range m.entries {
		if at >= e.base().Expires {
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

// Drop ends one entry, which no longer holds.
func (m *Memory[E]) Drop(key Key, e E) {
	e.base().ended.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key] == e {
		delete(m.entries, key)
	}
}

// Forget ends every entry that the condition names, and whatever is being
// proven now.
func (m *Memory[E]) Forget(which func(E) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	for key, e := range m.entries {
		if which(e) {
			e.base().ended.Store(true)
			delete(m.entries, key)
		}
	}
}
