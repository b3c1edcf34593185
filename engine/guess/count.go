package guess

import (
	"math"
	"time"
)

// Failures are counted by slices of time. One that is as old as Window must not
// count any more, nor a younger one be left out; a slice has both, so it counts
// until its last failure is that old.
const (
	sliceTime  = 5 * time.Second
	slicesKept = int64(Window/sliceTime) + 1
)

// maxEntries bounds each table.
const maxEntries = 50_000

func sliceOf(t time.Time) int64 { return t.UnixNano() / int64(sliceTime) }

// counter are the failures of one key, by slice modulo slicesKept.
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

// sum is what counts in a slice of time, which is now or later.
func (c *counter) sum(slice int64) (n int) {
	for s := max(slice-slicesKept+1, c.last-slicesKept+1); s <= c.last; s++ {
		n += int(c.counts[s%slicesKept])
	}
	return n
}

// table are the counters of keys of one kind.
type table[K comparable] struct{ counters map[K]*counter }

func newTable[K comparable]() table[K] { return table[K]{map[K]*counter{}} }

// get returns the counter of a key, nil for none. One that is further ahead
// than any process counts is from before the clock was put back: it would keep
// its key out until then, and count nothing more.
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

// rest is how long a key stays over a limit, 0 when it is not.
func (t table[K]) rest(k K, now time.Time, limit int) time.Duration {
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

// prune removes what does not count any more.
func (t table[K]) prune(now time.Time) {
	slice := sliceOf(now)
	for k, c := range t.counters {
		if c.sum(slice) == 0 {
			delete(t.counters, k)
		}
	}
}

// makeRoom removes what does not count any more and, if that is not enough,
// the keys with the fewest failures, so that nobody gets rid of a limit by
// making up others.
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

// How long an account is known at a network after it signed in from there, and
// after which part of that it is written again.
const (
	knownFor   = 25 * time.Hour
	renewAfter = time.Hour
	// maxNetworks is for each account.
	maxNetworks = 32
)

// acquaintances are the networks from which accounts signed in, and when.
type acquaintances map[key]map[key]time.Time

func (a acquaintances) has(p pair, now time.Time) bool {
	t, ok := a[p.account][p.network]
	return ok && now.Sub(t) < knownFor
}

// renew reports whether that is news.
func (a acquaintances) renew(p pair, now time.Time) bool {
	if t, ok := a[p.account][p.network]; ok && now.Sub(t) < renewAfter {
		return false
	}
	a.put(p, now)
	return true
}

// put notes a sign-in; the oldest of too many networks makes room.
func (a acquaintances) put(p pair, at time.Time) {
	of := a[p.account]
	if of == nil {
		if len(a) >= maxEntries {
			for k := range a { // any: it will be known again after its next sign-in
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
