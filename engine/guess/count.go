package guess

import (
	"math"
	"time"
)

// Failures are counted in slices of time. A failure must count for at least the time Window.
// Since a slice contains older and younger failures, the whole slice counts until its last
// failure is older than Window.
const (
	sliceTime  = 5 * time.Second
	slicesKept = int64(Window/sliceTime) + 1
)

// maxEntries is the maximum number of keys in each table.
const maxEntries = 50_000

func sliceOf(t time.Time) int64 { return t.UnixNano() / int64(sliceTime) }

// counter contains the failures of one key. The index of counts is the slice
// modulo slicesKept.
type counter struct {
	counts [slicesKept]uint16
	last   int64 // the newest slice
}

func (c *counter) add(slice int64, n uint16) {
	if slice <= c.last-slicesKept {
		return
	}
	for s := max(c.last+1, slice-slicesKept+1); s <= slice; s++ {
		c.counts[s%slicesKept] = 0
	}
	c.last = max(c.last, slice)
	c.counts[slice%slicesKept] = addCapped(c.counts[slice%slicesKept], n)
}

func addCapped(a, b uint16) uint16 { return uint16(min(uint32(a)+uint32(b), math.MaxUint16)) }

// sum returns the number of failures that still count in the given slice of time. slice must be the
// current slice or a later one.
func (c *counter) sum(slice int64) (n int) {
	for s := max(slice-slicesKept+1, c.last-slicesKept+1); s <= c.last; s++ {
		n += int(c.counts[s%slicesKept])
	}
	return n
}

// table contains the counters of all keys of one kind.
type table[K comparable] struct{ counters map[K]*counter }

func newTable[K comparable]() table[K] { return table[K]{map[K]*counter{}} }

// get returns the counter of k, or nil if there is none. A counter can be further ahead of now
// than the clocks of processes can differ, if the system clock was set back. get removes such a
// counter. Otherwise the counter would block its key until the clock reaches that time again, and
// would not count new failures.
func (t table[K]) get(k K, now time.Time) *counter {
	c := t.counters[k]
	if c != nil && c.last > sliceOf(now)+slicesKept {
		delete(t.counters, k)
		return nil
	}
	return c
}

func (t table[K]) add(k K, slice int64, n uint16, now time.Time) {
	c := t.get(k, now)
	if c == nil {
		if len(t.counters) >= maxEntries {
			t.makeRoom(now)
		}
		c = &counter{last: slice}
		t.counters[k] = c
	}
	c.add(slice, n)
}

func (t table[K]) count(k K, now time.Time) int {
	if c := t.get(k, now); c != nil {
		return c.sum(sliceOf(now))
	}
	return 0
}

// blockedFor returns how long k stays at or over limit. It returns 0 if k is
// below the limit.
func (t table[K]) blockedFor(k K, now time.Time, limit int) time.Duration {
	c := t.get(k, now)
	if c == nil || limit <= 0 {
		return 0
	}
	slice := sliceOf(now)
	s := slice
	for c.sum(s) >= limit {
		s++
	}
	if s == slice {
		return 0
	}
	return time.Unix(0, s*int64(sliceTime)).Sub(now)
}

// prune removes the counters that have no failures within Window.
func (t table[K]) prune(now time.Time) {
	slice := sliceOf(now)
	for k, c := range t.counters {
		if c.sum(slice) == 0 {
			delete(t.counters, k)
		}
	}
}

// makeRoom prunes the table. If that is not enough, it removes keys, those with the fewest
// failures first. So an attacker who invents many keys cannot remove a blocked key from the
// table.
func (t table[K]) makeRoom(now time.Time) {
	t.prune(now)
	slice := sliceOf(now)
	for few := 1; len(t.counters) > maxEntries*9/10; few *= 2 {
		for k, c := range t.counters {
			if c.sum(slice) <= few {
				delete(t.counters, k)
			}
			if len(t.counters) <= maxEntries*9/10 {
				return
			}
		}
	}
}

// An account is known at a network for the time knownFor after it signed in from there. A new
// sign-in is stored only if the stored sign-in is older than renewAfter.
const (
	knownFor   = 25 * time.Hour
	renewAfter = time.Hour
	// maxNetworks is the maximum number of networks of each account.
	maxNetworks = 32
)

// acquaintances contains the networks from which each account signed in, with
// the time of the last sign-in.
type acquaintances map[key]map[key]time.Time

func (a acquaintances) has(p pair, now time.Time) bool {
	t, ok := a[p.account][p.network]
	return ok && now.Sub(t) < knownFor
}

// renewNetwork records a sign-in. If the recorded sign-in is recent, it makes no change and
// returns false.
func (a acquaintances) renewNetwork(p pair, now time.Time) bool {
	if t, ok := a[p.account][p.network]; ok && now.Sub(t) < renewAfter {
		return false
	}
	a.putNetwork(p, now)
	return true
}

// putNetwork records a sign-in. If the account has too many networks, the
// oldest one is removed.
func (a acquaintances) putNetwork(p pair, at time.Time) {
	of := a[p.account]
	if of == nil {
		if len(a) >= maxEntries {
			for k := range a { // any account; it becomes known again when it signs in
				delete(a, k)
				break
			}
		}
		of = map[key]time.Time{}
		a[p.account] = of
	}
	if at.After(of[p.network]) {
		of[p.network] = at
	}
	if len(of) <= maxNetworks {
		return
	}
	oldest := p.network
	for k, t := range of {
		if t.Before(of[oldest]) {
			oldest = k
		}
	}
	delete(of, oldest)
}

func (a acquaintances) prune(now time.Time) {
	for account, of := range a {
		for k, t := range of {
			if now.Sub(t) >= knownFor {
				delete(of, k)
			}
		}
		if len(of) == 0 {
			delete(a, account)
		}
	}
}
