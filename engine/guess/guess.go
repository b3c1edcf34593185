// Package guess counts failed attempts at passwords and codes and says who has
// to wait (decisions.md section 4). It knows names of accounts and addresses,
// as whoever attempts gives them, and no secret; what an account is, is the
// business of engine/account.
//
// Each process counts in memory, decides by that alone, and writes what it has
// counted as one row at most every FlushEvery; before it decides it reads the
// rows of the others. So a refusal is immediate where the failures were, holds
// everywhere within a second, and 10,000 failures are not 10,000 transactions.
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

// Window is how long a failure counts, FlushEvery how often a process writes
// at most, and reads what the others wrote.
const (
	Window     = time.Minute
	FlushEvery = 250 * time.Millisecond
)

// firstDelay is that of the failure with which delays begin; each further one
// doubles it.
const firstDelay = 100 * time.Millisecond

// Limits are what Admit goes by; 0 takes a limit away.
type Limits struct {
	PerAccount int           // failures of an account from an address within Window
	PerAddress int           // failures from an address, but for accounts that signed in from there within a day
	DelayFrom  int           // failures of an account from anywhere from which on it waits
	MaxDelay   time.Duration // the longest wait
}

// Config is what a Keeper works with.
type Config struct {
	Data   engine.Repository // keeps items of Class
	Class  *engine.Class     // of Class, as Data keeps it
	Limits Limits
	Now    func() time.Time // nil means time.Now
	Log    *slog.Logger     // nil means none
}

// Keeper is engine.Guesses on a repository. It is safe for concurrent use.
type Keeper struct {
	cfg     Config
	process string        // that marks its rows
	reading chan struct{} // held by who reads or writes rows

	mu       sync.Mutex
	pairs    table[pair]
	networks table[key]
	accounts table[key]
	known    acquaintances
	pending  map[event]uint16 // not written yet
	renewed  map[key]struct{} // accounts whose acquaintances are not written yet
	timer    *time.Timer      // runs while something is pending
	closed   bool

	read   time.Time            // when rows were last read, zero for never
	retry  time.Time            // not before that, after a failure
	seen   map[string]time.Time // batches that are counted already
	swept  time.Time
	warned time.Time
}

var _ engine.Guesses = (*Keeper)(nil)

// New returns a Keeper.
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

// key stands for an account or a network: names that were attempted are kept
// nowhere, since people mistake fields.
type key [12]byte

type pair struct{ account, network key }

func keyOf(kind byte, name string) (k key) {
	sum := sha256.Sum256(append([]byte{kind}, name...))
	copy(k[:], sum[:])
	return k
}

// accountKey does not tell names apart that differ in case only, whatever the
// accounts do: they share their limits.
func accountKey(account string) key { return keyOf('a', strings.ToLower(account)) }

// networkKey is that of an IPv4 address or of an IPv6 /64, all of whose
// addresses one customer has. Requests without an address share one.
func networkKey(a netip.Addr) key {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // of the zero Addr: the zero Prefix
	return keyOf('n', p.String())
}

// Admit is engine.Guesses's. That an address is over its limit does not keep
// out the accounts that are known there.
func (k *Keeper) Admit(ctx context.Context, account string, from engine.Caller) (time.Duration, error) {
	p := pair{accountKey(account), networkKey(from.Address)}
	if err := k.refresh(ctx); err != nil {
		return 0, err
	}
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.cfg.Limits
	rest := k.pairs.rest(p, now, l.PerAccount)
	if !k.known.has(p, now) {
		rest = max(rest, k.networks.rest(p.network, now, l.PerAddress))
	}
	if rest > 0 {
		e := engine.Errorf(engine.TooMany, "attempts", "too many failed attempts, try again later")
		e.RetryAfter = rest
		return 0, e
	}
	if account == "" {
		return 0, nil
	}
	return l.delay(k.accounts.count(p.account, now)), nil
}

func (l Limits) delay(failures int) time.Duration {
	if l.DelayFrom <= 0 || failures < l.DelayFrom {
		return 0
	}
	doublings := min(failures-l.DelayFrom, 20)
	return min(firstDelay<<doublings, l.MaxDelay)
}

// Failed is engine.Guesses's.
func (k *Keeper) Failed(_ context.Context, account string, from engine.Caller) {
	p := pair{accountKey(account), networkKey(from.Address)}
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	e := event{pair: p, slice: sliceOf(now), known: k.known.has(p, now)}
	k.count(e, 1, now)
	if len(k.pending) < maxEntries || k.pending[e] > 0 {
		k.pending[e] = addCapped(k.pending[e], 1)
	}
	k.schedule()
}

// count adds failures to what Admit looks at; mu is held.
func (k *Keeper) count(e event, n uint16, now time.Time) {
	k.pairs.add(e.pair, e.slice, n, now)
	k.accounts.add(e.pair.account, e.slice, n, now)
	if !e.known {
		k.networks.add(e.pair.network, e.slice, n, now)
	}
}

// Succeeded is engine.Guesses's.
func (k *Keeper) Succeeded(_ context.Context, account string, from engine.Caller) {
	if account == "" {
		return
	}
	p := pair{accountKey(account), networkKey(from.Address)}
	now := k.cfg.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known.renew(p, now) {
		k.renewed[p.account] = struct{}{}
		k.schedule()
	}
}

// event is what a batch tells: failures of an account from a network.
type event struct {
	pair  pair
	slice int64
	known bool // the account was known there: they do not count for the network
}

// Close writes what is pending. Later failures count in memory only.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	k.closed = true
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	return k.flush(ctx)
}

// schedule has what is pending written soon; mu is held.
func (k *Keeper) schedule() {
	if k.timer == nil && !k.closed {
		k.timer = time.AfterFunc(FlushEvery, k.flushAside)
	}
}
