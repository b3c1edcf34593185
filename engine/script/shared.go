package script

import (
	"container/list"
	"sync"
	"time"
)

// store is what all VMs of a service share, in all its versions: entries by
// key, and who computes or holds what. It keeps copies in Go, never values of
// a VM. Entries that were not used for long make room for new ones.
type store struct {
	mu      sync.Mutex
	limit   int
	bytes   int
	entries map[string]*list.Element // of *entry
	used    *list.List               // the one used last in front
	gates   map[string]*gate         // of getOrCompute, once and lock
}

// entry is one value. A pinned one is the result of once: it stays.
type entry struct {
	key    string
	value  any // see sharedvalue.go
	bytes  int
	ends   time.Time // zero for never
	pinned bool
}

// entryBytes is what an entry takes beside its key and value, about.
const entryBytes = 160

// largestShare is the part of the store that one entry may take: 1/4.
const largestShare = 4

func newStore(limit int) *store {
	return &store{limit: limit, entries: map[string]*list.Element{}, used: list.New(), gates: map[string]*gate{}}
}

// grow lets the store have so many bytes, if it may not already. A version that
// is loaded may never answer, and takes nothing from the one that does.
func (s *store) grow(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = max(s.limit, limit)
}

// resize sets how many bytes the store may have.
func (s *store) resize(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.evict()
}

// size returns the entries and their bytes.
func (s *store) size() (entries, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries), s.bytes
}

// get returns a value, which nobody may change.
func (s *store) get(key string) (any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(key)
	if e == nil {
		return nil, false
	}
	return e.value, true
}

// find needs s.mu.
func (s *store) find(key string) *entry {
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

// drop needs s.mu.
func (s *store) drop(at *list.Element) {
	e := at.Value.(*entry)
	s.used.Remove(at)
	delete(s.entries, e.key)
	s.bytes -= e.bytes
}

// errTooLarge is why a value is not kept.
type errTooLarge struct{ bytes, limit int }

// put keeps a value that takes so many bytes.
func (s *store) put(key string, value any, bytes int, ttl time.Duration, pinned bool) *errTooLarge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set(key, value, bytes, ttl, pinned)
}

// set needs s.mu.
func (s *store) set(key string, value any, bytes int, ttl time.Duration, pinned bool) *errTooLarge {
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
	if s.entries[key] != at { // all others are pinned
		return &errTooLarge{bytes, 0}
	}
	return nil
}

// evict needs s.mu. It drops entries until the rest fit, those first that were
// not used for longest.
func (s *store) evict() {
	for at := s.used.Back(); at != nil && s.bytes > s.limit; {
		before := at.Prev()
		if e := at.Value.(*entry); !e.pinned || before == nil {
			s.drop(at)
		}
		at = before
	}
}

// sweep drops what is over.
func (s *store) sweep(now time.Time) {
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

// remove drops an entry, and reports whether there was one.
func (s *store) remove(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(key) == nil {
		return false
	}
	s.drop(s.entries[key])
	return true
}

// clear drops all entries but the results of once.
func (s *store) clear() {
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

// keys lists the keys of what set and its like keep, the one used last first.
func (s *store) keys() []string {
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

// add adds to a number, 0 when there is none. An entry that is there keeps the
// end that it has; ok is false when it is no number.
func (s *store) add(key string, by float64, ttl time.Duration) (sum float64, ok bool, failed *errTooLarge) {
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

// swap puts a value in the place of an equal one; expected is absent{} for no
// entry.
func (s *store) swap(key string, expected, value any, bytes int, ttl time.Duration) (done bool, failed *errTooLarge) {
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
