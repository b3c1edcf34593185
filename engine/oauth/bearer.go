package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

const (
	// recheckAfter is how long an access token is believed before what is
	// stored of it, its account and its client is looked at again.
	recheckAfter = 500 * time.Millisecond
	// maxRemembered bounds how many are remembered.
	maxRemembered = 10_000
)

// bearer is an access token that holds. Times are counted from Provider.start.
type bearer struct {
	grant, account, client string
	expires                time.Duration
	checked                atomic.Int64 // time.Duration of the last look at what is stored
	who                    atomic.Pointer[engine.Account]
	busy                   chan struct{} // held while somebody looks
	ended                  atomic.Bool
}

// memory remembers access tokens by their hashes. Its generation changes with
// every forget: what was read under an older one is not remembered.
type memory struct {
	mu         sync.RWMutex
	entries    map[[sha256.Size]byte]*bearer
	generation uint64
}

func newMemory() *memory { return &memory{entries: map[[sha256.Size]byte]*bearer{}} }

func (m *memory) find(key [sha256.Size]byte) *bearer {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.entries[key]
}

func (m *memory) now() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.generation
}

// put remembers b, unless something was forgotten since the generation.
func (m *memory) put(key [sha256.Size]byte, b *bearer, generation uint64, at time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.generation != generation {
		return
	}
	if len(m.entries) >= maxRemembered {
		m.makeRoom(at)
	}
	m.entries[key] = b
}

// makeRoom removes what has expired, or any one if nothing has.
func (m *memory) makeRoom(at time.Duration) {
	for key, b := range m.entries {
		if at >= b.expires {
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

// forget ends every entry that the condition names.
func (m *memory) forget(which func(*bearer) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	for key, b := range m.entries {
		if which(b) {
			b.ended.Store(true)
			delete(m.entries, key)
		}
	}
}

// Forget ends what is remembered of an account, which was changed: its tokens
// are looked at again with the next request.
func (p *Provider) Forget(account string) {
	p.bearers.forget(func(b *bearer) bool { return b.account == account || b.client == account })
}

// Authenticate implements engine.Authenticator for mode oauth: the account that
// an access token stands for, with its client and scope. It is shared: do not
// change it. Every token that does not hold is the same Unauthenticated.
func (p *Provider) Authenticate(ctx context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
	switch {
	case mode != engine.AuthOAuth:
		return nil, engine.Errorf(engine.Unauthenticated, "auth-mode", "this service has another authentication mode")
	case c.Token == "":
		return nil, engine.Errorf(engine.Unauthenticated, "credentials-missing", "an access token is needed, as Authorization: Bearer")
	case !wellFormed(c.Token):
		return nil, badToken()
	}
	key := sha256.Sum256([]byte(c.Token))
	b := p.bearers.find(key)
	if b == nil {
		return p.first(ctx, key)
	}
	now := p.elapsed()
	if now >= b.expires {
		p.bearers.forget(func(other *bearer) bool { return other == b })
		return nil, badToken()
	}
	if now-time.Duration(b.checked.Load()) < recheckAfter {
		return b.who.Load(), nil
	}
	return p.again(ctx, key, b)
}

func badToken() error {
	return engine.Errorf(engine.Unauthenticated, "token", "the access token is unknown, expired or revoked")
}

// first looks a token up and remembers it.
func (p *Provider) first(ctx context.Context, key [sha256.Size]byte) (*engine.Account, error) {
	generation, at := p.bearers.now(), p.elapsed()
	it, a, err := p.lookUp(ctx, key)
	if err != nil {
		return nil, err
	}
	left := when(it, "accessExpires").Sub(p.cfg.Now())
	b := &bearer{grant: it.ID, account: a.ID, client: a.Client, expires: at + left, busy: make(chan struct{}, 1)}
	b.checked.Store(int64(at))
	b.who.Store(a)
	p.bearers.put(key, b, generation, at)
	return a, nil
}

// again looks a remembered token up, once for all requests that wait for it.
func (p *Provider) again(ctx context.Context, key [sha256.Size]byte, b *bearer) (*engine.Account, error) {
	select {
	case b.busy <- struct{}{}:
		defer func() { <-b.busy }()
	case <-ctx.Done():
		return nil, engine.Errorf(engine.Timeout, "timeout", "the request ended before the credentials were checked")
	}
	if b.ended.Load() {
		return p.first(ctx, key)
	}
	now := p.elapsed()
	if now-time.Duration(b.checked.Load()) < recheckAfter {
		return b.who.Load(), nil
	}
	_, a, err := p.lookUp(ctx, key)
	if err != nil {
		if engine.CodeOf(err) == engine.Unauthenticated {
			p.bearers.forget(func(other *bearer) bool { return other == b })
		}
		return nil, err
	}
	if b.ended.Load() { // while it was looked up
		return p.first(ctx, key)
	}
	b.who.Store(a)
	b.checked.Store(int64(now))
	return a, nil
}

// lookUp reads an access token, its account and its client as they are stored.
func (p *Provider) lookUp(ctx context.Context, key [sha256.Size]byte) (*engine.Item, *engine.Account, error) {
	it, err := p.byHash(ctx, "access", hex.EncodeToString(key[:]))
	if err != nil {
		return nil, nil, err
	}
	if it == nil || !when(it, "accessExpires").After(p.cfg.Now()) {
		return nil, nil, badToken()
	}
	stored, err := p.holder(ctx, it)
	if err != nil {
		return nil, nil, err
	}
	c, err := p.clientOf(ctx, it)
	if err != nil {
		return nil, nil, err
	}
	if stored == nil || c == nil {
		return nil, nil, badToken()
	}
	scope, err := engine.ParseScope(text(it, "accessScope"))
	if err != nil || !scope.Within(c.Scope) {
		return nil, nil, badToken()
	}
	a := *stored
	a.Client, a.Scope = c.ID, scope
	return it, &a, nil
}
