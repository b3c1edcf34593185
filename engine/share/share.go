// Package share divides a bounded resource, such as slots for long readings or bytes of answers
// in flight, among concurrent callers.
//
// Callers are distinguished by keys: the key is the account, or for an anonymous request its network
// (see Key). A key that wants more units than it can get waits in a queue of its own. When units
// become free, the key that holds the fewest units goes first. Among equals, the key goes first
// that has used the resource least (units times time held). A key without competitors can use the
// whole resource, up to PerKey. So many requests of one key delay each other, but delay another
// key by at most one grant.
//
// The rule is start-time fair queueing (Goyal, Vin, Cheng, 1996) with the measured time as the
// cost.
package share

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"restsrv/engine"
)

// Config describes the resource of a Pool.
type Config struct {
	Name     string // in the plural, for messages: "long readings"
	Capacity int64  // units that all keys may hold at once
	PerKey   int64  // units that one key may hold at once; 0 means Capacity

	// Waiting is how many requests of one key may wait; 0 means 64. AllWaiting is how many
	// requests of all keys may wait; 0 means 1024.
	Waiting, AllWaiting int
	// MaxWait is how long a request may wait; 0 means until its context ends.
	MaxWait time.Duration

	Now func() time.Time // nil means time.Now
}

// Reason is the field Reason of the errors that this package returns when a share is used up.
const Reason = "share"

// retryAfter is the time after which a client can try again if a share was used up.
const retryAfter = time.Second

// Pool divides a resource. It is safe for concurrent use.
type Pool struct {
	cfg Config

	mu      sync.Mutex
	held    int64
	waiting int
	clock   time.Duration // the use of the key that was granted units last
	keys    map[string]*holder
	refused uint64
	spare   *holder // an unused holder; a request that has the pool to itself reuses it instead of allocating one
}

// holder is a key that holds units or waits for some.
type holder struct {
	name  string
	held  int64
	used  time.Duration // units times time held, on the scale of Pool.clock
	queue []*waiter
}

type waiter struct {
	units   int64
	most    int64 // units that its key may hold, including these units
	granted chan struct{}
}

// New returns a Pool. Capacity must be positive.
func New(cfg Config) *Pool {
	if cfg.PerKey <= 0 || cfg.PerKey > cfg.Capacity {
		cfg.PerKey = cfg.Capacity
	}
	if cfg.Waiting <= 0 {
		cfg.Waiting = 64
	}
	if cfg.AllWaiting <= 0 {
		cfg.AllWaiting = 1024
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Pool{cfg: cfg, keys: map[string]*holder{}}
}

// Grant is a number of units that a key holds. The zero Grant holds none. A Grant
// must not be copied after its first use.
type Grant struct {
	pool  *Pool
	key   *holder
	units int64
	since time.Time
}

// Acquire waits for units of the resource. The caller must Release the grant. A
// request for more than PerKey is granted PerKey. Errors: Unavailable with
// Reason when a queue is full or MaxWait is over, Timeout when ctx ends.
func (p *Pool) Acquire(ctx context.Context, key string, units int64) (Grant, error) {
	return p.AcquireWithin(ctx, key, units, p.cfg.PerKey)
}

// AcquireWithin waits for units like Acquire, with a lower limit for the key: if most is less than PerKey, the
// request waits until its key holds at most the number most, including these units.
func (p *Pool) AcquireWithin(ctx context.Context, key string, units, most int64) (Grant, error) {
	most = max(min(most, p.cfg.PerKey), 1)
	if err := ctx.Err(); err != nil {
		return Grant{}, timeoutError(err)
	}
	units = max(min(units, most), 0)
	p.mu.Lock()
	h := p.findHolder(key)
	if p.waiting == 0 && p.fits(h, units, most) || len(h.queue) == 0 && p.fits(h, units, most) && p.goesFirst(h) {
		defer p.mu.Unlock()
		return p.grantUnits(h, units), nil
	}
	if len(h.queue) >= p.cfg.Waiting || p.waiting >= p.cfg.AllWaiting {
		defer p.mu.Unlock()
		p.forgetIdle(h)
		return Grant{}, p.countRefused()
	}
	w := &waiter{units, most, make(chan struct{})}
	h.queue = append(h.queue, w)
	p.waiting++
	p.mu.Unlock()
	return p.waitForTurn(ctx, h, w, p.cfg.MaxWait)
}

// TryAcquire grants units of the resource if that is possible without waiting, and
// reports whether it was. The caller must Release the grant.
func (p *Pool) TryAcquire(key string, units int64) (Grant, bool) {
	units = max(min(units, p.cfg.PerKey), 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.findHolder(key)
	if len(h.queue) == 0 && p.fits(h, units, p.cfg.PerKey) && (p.waiting == 0 || p.goesFirst(h)) {
		return p.grantUnits(h, units), true
	}
	p.forgetIdle(h)
	return Grant{}, false
}

// waitForTurn waits until w is granted its units, at most for the time most. If most is 0, it
// waits until ctx ends.
func (p *Pool) waitForTurn(ctx context.Context, h *holder, w *waiter, most time.Duration) (Grant, error) {
	var over <-chan time.Time
	if most > 0 {
		t := time.NewTimer(most)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-w.granted:
		return Grant{p, h, w.units, p.cfg.Now()}, nil
	case <-ctx.Done():
	case <-over:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !h.removeWaiter(w) { // the units were granted in the meantime
		return Grant{p, h, w.units, p.cfg.Now()}, nil
	}
	p.waiting--
	p.forgetIdle(h)
	p.serveWaiting() // a smaller request behind this one may fit
	if err := ctx.Err(); err != nil {
		return Grant{}, timeoutError(err)
	}
	return Grant{}, p.countRefused()
}

// Held reports whether the grant holds units.
func (g *Grant) Held() bool { return g.pool != nil }

// Discount subtracts d from the time for which the units count as held by the key.
func (g *Grant) Discount(d time.Duration) { g.since = g.since.Add(d) }

// Yield releases the units if another key waits that goes first (see the package), and waits
// until they are granted again. During the wait, this request is the first in the queue of its
// own key. If no such key waits, Yield returns at once and keeps the units. MaxWait does not
// apply. If ctx ends during the wait, Yield returns Timeout, and the grant holds no units any
// more.
func (g *Grant) Yield(ctx context.Context) error {
	p, h := g.pool, g.key
	if p == nil {
		return nil
	}
	p.mu.Lock()
	if p.waiting == 0 {
		p.mu.Unlock()
		return nil
	}
	now := p.cfg.Now()
	h.used += time.Duration(g.units) * now.Sub(g.since)
	g.since = now
	h.held -= g.units
	p.held -= g.units
	if p.goesFirst(h) {
		h.held += g.units
		p.held += g.units
		p.mu.Unlock()
		return nil
	}
	w := &waiter{g.units, p.cfg.PerKey, make(chan struct{})}
	h.queue = append([]*waiter{w}, h.queue...)
	p.waiting++
	p.serveWaiting()
	p.mu.Unlock()
	again, err := p.waitForTurn(ctx, h, w, 0)
	*g = again
	return err
}

// Release returns the units to the pool. A second call has no effect.
func (g *Grant) Release() {
	p, h := g.pool, g.key
	if p == nil {
		return
	}
	g.pool = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	h.used += time.Duration(g.units) * p.cfg.Now().Sub(g.since)
	h.held -= g.units
	p.held -= g.units
	p.forgetIdle(h)
	p.serveWaiting()
}

// Grow raises the grant to the given number of units, at most PerKey, without waiting. It returns
// false if these units are not free.
func (g *Grant) Grow(units int64) bool {
	p := g.pool
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	more, h := min(units, p.cfg.PerKey)-g.units, g.key
	if more <= 0 {
		return true
	}
	if len(h.queue) > 0 || !p.fits(h, more, p.cfg.PerKey) || p.waiting > 0 && !p.goesFirst(h) {
		return false
	}
	now := p.cfg.Now()
	h.used += time.Duration(g.units) * now.Sub(g.since)
	g.since = now
	g.units += more
	h.held += more
	p.held += more
	return true
}

// Charge grants units without waiting, because the resource is already in use. The key, or all
// keys together, can then hold more than their limit. In that case no other request is granted
// units until enough units are released.
func (p *Pool) Charge(key string, units int64) Grant {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.grantUnits(p.findHolder(key), max(units, 0))
}

// Over reports whether the key or all keys together hold more than their limit, because of
// Charge.
func (p *Pool) Over(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.keys[key]
	return p.held > p.cfg.Capacity || h != nil && h.held > p.cfg.PerKey
}

// Shrink lowers the grant to the given number of units, for a caller that needs less than it
// requested.
func (g *Grant) Shrink(units int64) {
	p := g.pool
	if p == nil || units >= g.units {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.cfg.Now()
	g.key.used += time.Duration(g.units) * now.Sub(g.since)
	g.since = now
	g.key.held -= g.units - units
	p.held -= g.units - units
	g.units = units
	p.serveWaiting()
}

// Refuse returns the error for a request that the caller refuses because the share is used up. It
// also counts the refusal.
func (p *Pool) Refuse() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.countRefused()
}

// Waiting returns the number of waiting requests, of a key and of all keys.
func (p *Pool) Waiting(key string) (own, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.keys[key]; h != nil {
		own = len(h.queue)
	}
	return own, p.waiting
}

// Held returns the number of units that a key and that all keys hold.
func (p *Pool) Held(key string) (own, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.keys[key]; h != nil {
		own = h.held
	}
	return own, p.held
}

// Refused returns how many requests were refused because a share was used up.
func (p *Pool) Refused() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused
}

// findHolder returns the state of a key, and creates the state if needed. If the key was idle,
// its use is raised to the use of the key that was served last. Otherwise an idle key could
// collect credit, and then go before all others for a long time.
func (p *Pool) findHolder(key string) *holder {
	h := p.keys[key]
	if h == nil {
		if h = p.spare; h == nil {
			h = &holder{}
		}
		*h, p.spare = holder{name: key}, nil
		p.keys[key] = h
	}
	if h.isIdle() {
		h.used = max(h.used, p.clock)
	}
	return h
}

func (h *holder) isIdle() bool { return h.held == 0 && len(h.queue) == 0 }

// sweepAbove is the number of keys above which forgetIdle looks for other idle keys.
const sweepAbove = 256

// forgetIdle removes the state of h if its key is idle. It keeps the state if the key has used
// more than the key that was served last, so that this use still counts when the key comes back.
// If there are many keys, forgetIdle also removes other idle keys. If no units are held and no
// request waits, it removes all keys.
func (p *Pool) forgetIdle(h *holder) {
	switch {
	case p.held == 0 && p.waiting == 0: // the past no longer matters
		clear(p.keys)
		p.spare = h
	case h.isIdle() && h.used <= p.clock:
		delete(p.keys, h.name)
	case len(p.keys) > sweepAbove:
		for name, h := range p.keys {
			if h.isIdle() && h.used <= p.clock {
				delete(p.keys, name)
			}
		}
	}
}

func (p *Pool) fits(h *holder, units, most int64) bool {
	return p.held+units <= p.cfg.Capacity && h.held+units <= most
}

// withinLimit reports whether the limit of the key allows the units for which its first request
// waits.
func (h *holder) withinLimit() bool { return h.held+h.queue[0].units <= h.queue[0].most }

// before reports whether a is served before b.
func before(a, b *holder) bool {
	if a.held != b.held {
		return a.held < b.held
	}
	return a.used < b.used
}

// goesFirst reports whether key h would be served before all waiting keys. It ignores waiting
// keys that cannot be granted units now because of their own limit.
func (p *Pool) goesFirst(h *holder) bool {
	for _, other := range p.keys {
		if other != h && len(other.queue) > 0 && other.withinLimit() && !before(h, other) {
			return false
		}
	}
	return true
}

// serveWaiting grants units to waiting requests as long as the units suffice. A request for which
// they do not suffice blocks the requests behind it: otherwise small requests could keep a large
// one waiting.
func (p *Pool) serveWaiting() {
	for p.waiting > 0 {
		var next *holder
		for _, h := range p.keys {
			if len(h.queue) == 0 || !h.withinLimit() {
				continue
			}
			if next == nil || before(h, next) || !before(next, h) && h.name < next.name {
				next = h
			}
		}
		if next == nil || !p.fits(next, next.queue[0].units, next.queue[0].most) {
			return
		}
		w := next.queue[0]
		next.queue = next.queue[1:]
		p.waiting--
		p.grantUnits(next, w.units)
		close(w.granted)
	}
}

func (p *Pool) grantUnits(h *holder, units int64) Grant {
	h.held += units
	p.held += units
	p.clock = max(p.clock, h.used)
	return Grant{p, h, units, p.cfg.Now()}
}

func (h *holder) removeWaiter(w *waiter) bool {
	for i, other := range h.queue {
		if other == w {
			h.queue = append(h.queue[:i:i], h.queue[i+1:]...)
			return true
		}
	}
	return false
}

func (p *Pool) countRefused() error {
	p.refused++
	return &engine.Error{Code: engine.Unavailable, Reason: Reason, RetryAfter: retryAfter,
		Message: "too many " + p.cfg.Name + " are under way; try again later"}
}

func timeoutError(cause error) error {
	return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the time for this request is over", Err: cause}
}

// Key returns the key of the caller of ctx: its account, or the network of its address if
// it is anonymous. It is "" for the server itself.
func Key(ctx context.Context) string {
	if a := engine.AccountFrom(ctx); a != nil && a.ID != engine.Anonymous.ID {
		return a.ID
	}
	return NetworkKey(engine.CallerFrom(ctx).Address)
}

// NetworkKey returns the key of an anonymous caller at an address.
func NetworkKey(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	network := Network(a)
	names.mu.RLock()
	name, known := names.of[network]
	names.mu.RUnlock()
	if known {
		return name
	}
	name = network.String()
	names.mu.Lock()
	defer names.mu.Unlock()
	if names.of == nil || len(names.of) >= maxNames {
		names.of = map[netip.Prefix]string{}
	}
	names.of[network] = name
	return name
}

// names caches the keys of recent networks, so that a request does not have to allocate its key.
var names struct {
	mu sync.RWMutex
	of map[netip.Prefix]string
}

// maxNames is the maximum number of keys of networks in memory.
const maxNames = 1024

// Network returns the network of an address: an IPv4 address itself, or the /64 of an IPv6
// address, because one customer has all addresses of a /64. The zero Addr has the zero Prefix.
func Network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	return p
}
