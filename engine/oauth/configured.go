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

// proven caches the last right secret of each configured client, as an HMAC
// with a random key of this process. Entries stay valid, because the
// configuration does not change while the process runs.
type proven struct {
	key []byte
	mu  sync.Mutex
	by  map[string][]byte // HMAC by client id
}

func newProven() *proven {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never returns an error: if it fails, it ends the process
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

// authenticateConfigured checks the secret of a configured client. A secret that was right before
// is accepted from the cache (see proven), without a delay and without a hash. Any other secret
// counts as a guess: the request may have to wait, and is refused after too many wrong secrets.
func (p *clientStore) authenticateConfigured(ctx context.Context, c *Client, secret string) (*Client, error) {
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
		if err := waitFor(ctx, wait); err != nil {
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

// hashAgain is the wait before the next try to hash a secret, if the hasher is
// busy.
const hashAgain = 100 * time.Millisecond

// secrets holds the hashes of configured secrets, by client id. The map is complete when ready is
// closed. A client authenticates only if its secret could be hashed.
type secrets struct {
	ready  chan struct{}
	hashes map[string]string
}

// hashSecrets hashes the secrets one after the other. If the hasher is busy, hashSecrets tries
// the same secret again after hashAgain.
func (p *clientStore) hashSecrets(ctx context.Context, plain map[string]string) {
	defer close(p.secrets.ready)
	p.secrets.hashes = map[string]string{}
	for id, secret := range plain {
		hash, err := p.cfg.Hasher.Hash(ctx, secret)
		for ; engine.CodeOf(err) == engine.Unavailable; hash, err = p.cfg.Hasher.Hash(ctx, secret) {
			time.Sleep(hashAgain)
		}
		if err != nil {
			p.cfg.Log.Error("hashing the secret of an OAuth2 client failed: the client cannot authenticate", "client", id, "error", err)
			continue
		}
		p.secrets.hashes[id] = hash
	}
}

// secretHash returns the stored hash of a configured client. It waits until the
// secrets are hashed.
func (p *clientStore) secretHash(ctx context.Context, c *Client) (string, error) {
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
