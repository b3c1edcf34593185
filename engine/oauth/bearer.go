package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/remember"
)

// recheckAfter is the age at which a cached access token is compared again with
// its stored grant, account and client.
const recheckAfter = 500 * time.Millisecond

// bearer is a valid access token in the cache. Its times are durations since Provider.start.
type bearer struct {
	remember.Entry
	grant, account, client string
	checked                atomic.Int64 // time.Duration of the last comparison with the stored grant
	who                    atomic.Pointer[engine.Account]
	busy                   chan struct{} // held during a comparison
}

// Forget removes access tokens from the cache: the tokens that stand for the account, and the tokens that it got as a
// client. Call it when the account changes. The next request with such a token reads its grant again.
func (p *Provider) Forget(account string) {
	p.bearers.Forget(func(b *bearer) bool { return b.account == account || b.client == account })
}

// Authenticate implements engine.Authenticator for mode oauth. It returns the
// account of an access token, with its client and scope. The account is shared
// and must not be changed. Every token that is not valid gets the same
// Unauthenticated.
func (p *Provider) Authenticate(ctx context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error) {
	switch {
	case mode != engine.AuthOAuth:
		return nil, engine.Errorf(engine.Unauthenticated, "auth-mode", "this service has another authentication mode")
	case c.Token == "":
		return nil, engine.Errorf(engine.Unauthenticated, "credentials-missing", "an access token is needed, as Authorization: Bearer")
	case !wellFormed(c.Token):
		return nil, badToken()
	}
	key := remember.Key(sha256.Sum256([]byte(c.Token)))
	b := p.bearers.Find(key)
	if b == nil {
		return p.firstLookUp(ctx, key)
	}
	now := p.elapsed()
	if now >= b.Expires {
		p.bearers.Drop(key, b)
		return nil, badToken()
	}
	if now-time.Duration(b.checked.Load()) < recheckAfter {
		return b.who.Load(), nil
	}
	return p.repeatLookUp(ctx, key, b)
}

func badToken() error {
	return engine.Errorf(engine.Unauthenticated, "token", "the access token is unknown, expired or revoked")
}

// firstLookUp looks up a token and caches it.
func (p *Provider) firstLookUp(ctx context.Context, key remember.Key) (*engine.Account, error) {
	generation, at := p.bearers.Generation(), p.elapsed()
	it, a, err := p.lookUp(ctx, key)
	if err != nil {
		return nil, err
	}
	left := it.When("accessExpires").Sub(p.cfg.Now())
	b := &bearer{Entry: remember.Entry{Expires: at + left}, grant: it.ID, account: a.ID, client: a.Client, busy: make(chan struct{}, 1)}
	b.checked.Store(int64(at))
	b.who.Store(a)
	p.bearers.Put(key, b, generation, at)
	return a, nil
}

// repeatLookUp compares a cached token with the database again. If several requests need this for
// the same token, only the first request reads the database, and the other requests wait for it.
func (p *Provider) repeatLookUp(ctx context.Context, key remember.Key, b *bearer) (*engine.Account, error) {
	select {
	case b.busy <- struct{}{}:
		defer func() { <-b.busy }()
	case <-ctx.Done():
		return nil, engine.Errorf(engine.Timeout, "timeout", "the request ended before the credentials were checked")
	}
	if b.Ended() {
		return p.firstLookUp(ctx, key)
	}
	now := p.elapsed()
	if now-time.Duration(b.checked.Load()) < recheckAfter {
		return b.who.Load(), nil
	}
	_, a, err := p.lookUp(ctx, key)
	if err != nil {
		if engine.CodeOf(err) == engine.Unauthenticated {
			p.bearers.Drop(key, b)
		}
		return nil, err
	}
	if b.Ended() { // the token was removed from the cache during the lookup
		return p.firstLookUp(ctx, key)
	}
	b.who.Store(a)
	b.checked.Store(int64(now))
	return a, nil
}

// lookUp reads the grant of an access token, its account and its client from
// the database.
func (p *Provider) lookUp(ctx context.Context, key remember.Key) (*engine.Item, *engine.Account, error) {
	it, err := p.byHash(ctx, "access", hex.EncodeToString(key[:]))
	if err != nil {
		return nil, nil, err
	}
	if it == nil || !it.When("accessExpires").After(p.cfg.Now()) {
		return nil, nil, badToken()
	}
	stored, err := p.grantAccount(ctx, it)
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
	scope, err := engine.ParseScope(it.Text("accessScope"))
	if err != nil || !scope.Within(c.Scope) {
		return nil, nil, badToken()
	}
	a := *stored
	a.Client, a.Scope = c.ID, scope
	return it, &a, nil
}
