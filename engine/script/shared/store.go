package shared

import (
	"container/list"
	"sync"
	"time"
)

// Store contains the entries that all VMs and versions of a service share, and the state of its locks and
// computations. The values are copies in Go; values of a VM are never stored. If space is needed, the least recently
// used entries are removed.
type Store struct {
	mu      sync.Mutex
	limit   int                      // bytes
	bytes   int                      // size of all entries
	entries map[string]*list.Element // values are *entry
	used    *list.List               // most recently used first
	gates   map[string]*gate         // by name; for getOrCompute, once and lock
}

// entry is one value in the store.
type entry struct {
	key    string
	value  any // see value.go
	bytes  int
	ends   time.Time // time at which it expires; zero if it does not
	pinned bool      // result of once; not evicted
}

// entryBytes is the approximate size of an entry without its key and value.
const entryBytes = 160

// largestShare limits the size of one entry: it may take at most 1/largestShare of the store.
const largestShare = 4

// NewStore returns an empty store with a limit in bytes.
func NewStore(limit int) *Store {
	return &Store{limit: limit, entries: map[string]*list.Element{}, used: list.New(), gates: map[string]*gate{}}
}

// Grow raises the limit of the store to at least limit bytes. It is called while a new version of the service is
// loaded. The new version may never become active, so it must not lower the limit for the active version.
func (s *Store) Grow(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = max(s.limit, limit)
}

// Resize sets the limit of the store in bytes.
func (s *Store) Resize(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.evict()
}

// Size returns the number of entries and their total size in bytes.
func (s *Store) Size() (entries, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries), s.bytes
}

// get returns the value under a key. The caller must not change it.
func (s *Store) get(key string) (any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(key)
	if e == nil {
		return nil, false
	}
	return e.value, true
}

// find returns the entry under a key, or nil if there is none or if it has expired. The caller must hold s.mu.
func (s *Store) find(key string) *entry {
	at := s.entries[key]
	if at == nil {
		return nil
	}
	e := at.Value.(*entry)
	if !e.ends.IsZero() && !time.Now().Before(e.ends) {
		s.drop(at)
		return nil
	}
	s.used.MoveToFront(at)
	return e
}

// drop removes an entry. The caller must hold s.mu.
func (s *Store) drop(at *list.Element) {
	e := at.Value.(*entry)
	s.used.Remove(at)
	delete(s.entries, e.key)
	s.bytes -= e.bytes
}

// errTooLarge is the reason why a value was not stored: it has more bytes than one entry may have (limit). If limit is
// 0, the value has an allowed size, but results of once fill the store.
type errTooLarge struct{ bytes, limit int }

// put stores a value of the given size in bytes. The entry expires after ttl, or never if ttl is 0.
func (s *Store) put(key string, value any, bytes int, ttl time.Duration, pinned bool) *errTooLarge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(key, value, bytes, ttl, pinned)
}

// set is put for callers that hold s.mu.
func (s *Store) set(key string, value any, bytes int, ttl time.Duration, pinned bool) *errTooLarge {
	bytes += entryBytes + 2*len(key)
	if bytes > s.limit/largestShare {
		return &errTooLarge{bytes, s.limit / largestShare}
	}
	if at := s.entries[key]; at != nil {
		s.drop(at)
	}
	e := &entry{key: key, value: value, bytes: bytes, pinned: pinned}
	if ttl > 0 {
		e.ends = time.Now().Add(ttl)
	}
	at := s.used.PushFront(e)
	s.entries[key] = at
	s.bytes += bytes
	s.evict()
	if s.entries[key] != at { // the new entry was evicted, because all others are pinned
		return &errTooLarge{bytes, 0}
	}
	return nil
}

// evict removes the least recently used entries until the others fit. It keeps pinned entries. Only the most recently
// used entry, which was just added, is removed even if it is pinned. The caller must hold s.mu.
func (s *Store) evict() {
	for at := s.used.Back(); at != nil && s.bytes > s.limit; {
		before := at.Prev()
		if e := at.Value.(*entry); !e.pinned || before == nil {
			s.drop(at)
		}
		at = before
	}
}

// Sweep removes the entries that have expired.
func (s *Store) Sweep(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := s.used.Back(); at != nil; {
		before := at.Prev()
		if e := at.Value.(*entry); !e.ends.IsZero() && !now.Before(e.ends) {
			s.drop(at)
		}
		at = before
	}
}

// remove removes the entry under a key. It returns false if there was none.
func (s *Store) remove(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(key) == nil {
		return false
	}
	s.drop(s.entries[key])
	return true
}

// clear removes all entries, except results of once.
func (s *Store) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := s.used.Back(); at != nil; {
		before := at.Prev()
		if !at.Value.(*entry).pinned {
			s.drop(at)
		}
		at = before
	}
}

// keys returns the keys of the entries, most recently used first. Keys of results of once and of cache components are
// left out.
func (s *Store) keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var keys []string
	for at := s.used.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*entry); !e.pinned && e.key[0] != 0 && (e.ends.IsZero() || now.Before(e.ends)) {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// add increases the number under a key by the given amount and returns the sum. If there is no entry, it starts from
// 0 and creates one with the lifetime ttl. An existing entry keeps its expiry time. ok is false if the existing value
// is not a number.
func (s *Store) add(key string, by float64, ttl time.Duration) (sum float64, ok bool, failed *errTooLarge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(key)
	if e == nil {
		return by, true, s.set(key, by, 8, ttl, false)
	}
	n, ok := e.value.(float64)
	if !ok {
		return 0, false, nil
	}
	sum = n + by
	e.value = sum
	return sum, true, nil
}

// swap stores value if the current value equals expected. If expected is absent{}, there must be no entry.
func (s *Store) swap(key string, expected, value any, bytes int, ttl time.Duration) (done bool, failed *errTooLarge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var old any = absent{}
	if e := s.find(key); e != nil {
		old = e.value
	}
	if !sameValue(old, expected) {
		return false, nil
	}
	return true, s.set(key, value, bytes, ttl, false)
}
