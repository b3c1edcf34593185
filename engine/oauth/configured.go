package oauth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"restsrv/engine"
)

// proven remembers the last right secret of each configured client, as an HMAC
// with a key that only this process knows. The configuration does not change
// while it runs.
type proven struct {
	key []byte
	mu  sync.Mutex
	by  map[string][]byte // client id to HMAC
}

func newProven() *proven {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails: it ends the process instead
	return &proven{key: key, by: map[string][]byte{}}
}

func (p *proven) proof(secret string) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(secret))
	return mac.Sum(nil)
}

func (p *proven) has(id, secret string) bool {
	sum := p.proof(secret)
	p.mu.Lock()
	defer p.mu.Unlock()
	return subtle.ConstantTimeCompare(p.by[id], sum) == 1
}

func (p *proven) put(id, secret string) {
	sum := p.proof(secret)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by[id] = sum
}

// authenticateConfigured proves a client of the configuration. A secret that
// was right before is no guess: it neither waits behind the guesses of others
// nor is hashed again.
func (p *Provider) authenticateConfigured(ctx context.Context, c *Client, secret string) (*Client, error) {
	from, guesses := engine.CallerFrom(ctx), p.cfg.Guesses
	if p.proven.has(c.ID, secret) {
		if guesses != nil {
			guesses.Succeeded(ctx, c.ID, from)
		}
		return c, nil
	}
	if guesses != nil {
		wait, err := guesses.Admit(ctx, c.ID, from)
		if err != nil {
			return nil, err
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
	hash, err := p.secretHash(ctx, c)
	if err != nil {
		return nil, err
	}
	matches, err := p.cfg.Hasher.Matches(ctx, hash, secret)
	switch {
	case err != nil:
		return nil, err
	case !matches || hash == "":
		if guesses != nil {
			guesses.Failed(ctx, c.ID, from)
		}
		return nil, nil
	}
	if guesses != nil {
		guesses.Succeeded(ctx, c.ID, from)
	}
	p.proven.put(c.ID, secret)
	return c, nil
}

// hashAgain is how long a secret waits that cannot be hashed now.
const hashAgain = 100 * time.Millisecond

// secrets are the hashes of configured secrets, by client, once ready is
// closed. A secret that cannot be hashed has none and proves nobody.
type secrets struct {
	ready  chan struct{}
	hashes map[string]string
}

// hashSecrets hashes one secret after the other. Where too many passwords are
// being hashed it tries again.
func (p *Provider) hashSecrets(ctx context.Context, plain map[string]string) {
	defer close(p.secrets.ready)
	p.secrets.hashes = map[string]string{}
	for id, secret := range plain {
		hash, err := p.cfg.Hasher.Hash(ctx, secret)
		for ; engine.CodeOf(err) == engine.Unavailable; hash, err = p.cfg.Hasher.Hash(ctx, secret) {
			time.Sleep(hashAgain)
		}
		if err != nil {
			p.cfg.Log.Error("the secret of an OAuth2 client cannot be hashed: it proves nobody", "client", id, "error", err)
			continue
		}
		p.secrets.hashes[id] = hash
	}
}

// secretHash is what a secret of a configured client is compared with.
func (p *Provider) secretHash(ctx context.Context, c *Client) (string, error) {
	if c.hash != "" {
		return c.hash, nil
	}
	select {
	case <-p.secrets.ready:
		return p.secrets.hashes[c.ID], nil
	case <-ctx.Done():
		return "", engine.Errorf(engine.Timeout, "timeout", "the request ended before it was answered")
	}
}
