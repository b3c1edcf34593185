// Package guess counts failed attempts at passwords and codes, and delays or rejects further
// attempts. It gets account names and addresses as clients send them, and never gets a secret.
// Package engine/account manages the accounts.
//
// Each process counts in memory and decides from its own counters. It writes new counts to the
// database as one row, at most once per FlushEvery, and reads the rows of other processes before
// it decides. A limit therefore applies at once in the process that saw the failures and within a
// second in all others, and 10,000 failures do not cause 10,000 transactions.
package guess

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"restsrv/engine"
)

// Window is the time for which a failure counts. FlushEvery is the minimum interval at which a
// process writes its counts, and at which it reads the counts of other processes.
const (
	Window     = time.Minute
	FlushEvery = 250 * time.Millisecond
)

// firstDelay is the delay at DelayFrom failures. Each further failure doubles
// it.
const firstDelay = 100 * time.Millisecond

// Limits are the limits that Admit applies. If a limit is 0, it is off.
type Limits struct {
	PerAccount int           // failures of an account from one address within Window
	PerAddress int           // failures from one address within Window, except those of accounts that signed in from there within a day
	DelayFrom  int           // failures of an account from all addresses within Window at which delays begin
	MaxDelay   time.Duration // the longest delay
}

// Config contains the settings of a Keeper.
type Config struct {
	Data   engine.Repository // stores the items of Class
	Class  *engine.Class     // the class that the function Class builds, as Data stores it
	Limits Limits
	Now    func() time.Time // nil means time.Now
	Log    *slog.Logger     // nil disables logging
}

// Keeper implements engine.Guesses with a repository. It is safe for concurrent
// use.
type Keeper struct {
	cfg     Config
	process string        // random name of this process, stored in its rows
	reading chan struct{} // semaphore, held while rows are read or written

	mu       sync.Mutex
	pairs    table[pair]
	networks table[key]
	accounts table[key]
	known    acquaintances
	pending  map[event]uint16 // failures that are not written yet
	renewed  map[key]struct{} // accounts with known networks that are not written yet
	timer    *time.Timer      // runs while something is pending
	closed   bool

	read   time.Time            // when rows were last read, zero if never
	retry  time.Time            // after a failure, rows are not read before this time
	seen   map[string]time.Time // batches that are counted already
	swept  time.Time
	warned time.Time
}

var _ engine.Guesses = (*Keeper)(nil)

// New returns a Keeper that uses cfg.
func New(cfg Config) *Keeper {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{
		cfg: cfg, process: rand.Text(), reading: make(chan struct{}, 1),
		pairs: newTable[pair](), networks: newTable[key](), accounts: newTable[key](), known: acquaintances{},
		pending: map[event]uint16{}, renewed: map[key]struct{}{}, seen: map[string]time.Time{},
	}
}

// key identifies an account or a network by a hash. Attempted names are not
// stored, because users sometimes type a password into the name field.
type key [12]byte

type pair struct{ account, network key }

func keyOf(kind byte, name string) (k key) {
	sum := sha256.Sum256(append([]byte{kind}, name...))
	copy(k[:], sum[:])
	return k
}

// accountKey returns the key of an account. It ignores case even if account names are
// case-sensitive. The only effect then is that names that differ in case share their limits.
func accountKey(account string) key { return keyOf('a', strings.ToLower(account)) }

// networkKey returns the key of an IPv4 address or of an IPv6 /64 network,
// since one customer usually has all addresses of a /64. Requests without an
// address share one key.
func networkKey(a netip.Addr) key {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // the zero Prefix if a is the zero Addr
	return keyOf('n', p.String())
}

// Admit implements engine.Guesses. If an address is over its limit, accounts that are known at
// this address are still admitted.
func (k *Keeper) Admit(ctx context.Context, account string, from engine.Caller) (time.Duration, error) {
	p := pair{accountKey(account), networkKey(from.Address)}
	if err := k.refreshCounts(ctx); err != nil {
		return 0, err
	}
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.cfg.Limits
	rest := k.pairs.blockedFor(p, now, l.PerAccount)
	if !k.known.has(p, now) {
		rest = max(rest, k.networks.blockedFor(p.network, now, l.PerAddress))
	}
	if rest > 0 {
		e := engine.Errorf(engine.TooMany, "attempts", "too many failed attempts, try again later")
		e.RetryAfter = rest
		return 0, e
	}
	if account == "" {
		return 0, nil
	}
	return l.delayAfter(k.accounts.count(p.account, now)), nil
}

func (l Limits) delayAfter(failures int) time.Duration {
	if l.DelayFrom <= 0 || failures < l.DelayFrom {
		return 0
	}
	doublings := min(failures-l.DelayFrom, 20)
	return min(firstDelay<<doublings, l.MaxDelay)
}

// Failed implements engine.Guesses.
func (k *Keeper) Failed(_ context.Context, account string, from engine.Caller) {
	p := pair{accountKey(account), networkKey(from.Address)}
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	e := event{pair: p, slice: sliceOf(now), known: k.known.has(p, now)}
	k.countFailures(e, 1, now)
	if len(k.pending) < maxEntries || k.pending[e] > 0 {
		k.pending[e] = addCapped(k.pending[e], 1)
	}
	k.scheduleFlush()
}

// countFailures adds n failures to the counters that Admit uses. The caller
// must hold mu.
func (k *Keeper) countFailures(e event, n uint16, now time.Time) {
	k.pairs.add(e.pair, e.slice, n, now)
	k.accounts.add(e.pair.account, e.slice, n, now)
	if !e.known {
		k.networks.add(e.pair.network, e.slice, n, now)
	}
}

// Succeeded implements engine.Guesses.
func (k *Keeper) Succeeded(_ context.Context, account string, from engine.Caller) {
	if account == "" {
		return
	}
	p := pair{accountKey(account), networkKey(from.Address)}
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known.renewNetwork(p, now) {
		k.renewed[p.account] = struct{}{}
		k.scheduleFlush()
	}
}

// event identifies failures of an account from a network in one slice of time,
// as a batch stores them.
type event struct {
	pair  pair
	slice int64
	known bool // the account was known at the network, so the failures do not count for the network
}

// Close writes the pending counts. Failures after Close count in memory only.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	k.closed = true
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	return k.flushPending(ctx)
}

// scheduleFlush starts the timer that writes the pending counts. The caller
// must hold mu.
func (k *Keeper) scheduleFlush() {
	if k.timer == nil && !k.closed {
		k.timer = time.AfterFunc(FlushEvery, k.flushInBackground)
	}
}
