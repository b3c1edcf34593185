package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/remember"
)

const (
	tokenBytes   = 20  // random bytes; the token has twice as many hex digits
	maxTokens    = 100 // valid tokens of one account
	maxTokenName = 200 // characters
)

// authenticateToken implements mode token. It returns the same Forbidden for every
// token that is not valid.
func (s *tokenStore) authenticateToken(ctx context.Context, secret string) (*engine.Account, error) {
	if secret == "" {
		return nil, missingCredentials("a token is needed")
	}
	if !wellFormed(secret) {
		return nil, badToken()
	}
	key := proof(sha256.Sum256([]byte(secret)))
	if a, err := s.recallAccount(ctx, s.tokens, key); a != nil || err != nil {
		return a, err
	}
	generation, at := s.tokens.Generation(), s.elapsed()
	token, err := s.tokenByHash(ctx, hex.EncodeToString(key[:]))
	if err != nil {
		return nil, err
	}
	if token == nil {
		return nil, badToken()
	}
	left := token.When("expires").Sub(s.clock())
	if left <= 0 {
		s.removeExpired(ctx, token.ID)
		return nil, badToken()
	}
	item, err := s.find(ctx, s.classes.account, token.Text("account"))
	if err != nil {
		return nil, err
	}
	if item == nil || isDisabled(item) || !stillValid(token, item) {
		return nil, badToken()
	}
	a, err := s.buildAccount(ctx, item)
	if err != nil {
		return nil, err
	}
	e := &remembered{Entry: remember.Entry{Expires: at + min(left, rememberFor)}, token: token.ID}
	e.account.Store(a)
	e.checked.Store(int64(at))
	s.rememberCredential(s.tokens, key, e, generation)
	return a, nil
}

// stillValid reports whether a token was issued after the account last got a
// password and after it was last disabled.
func stillValid(token, account *engine.Item) bool {
	date := token.Get("pwdDate")
	return date == nil || date == validFrom(account)
}

// validFrom returns the time since which the tokens, sessions and grants of an account are valid.
// The time changes with each new password and when the account is disabled, which makes older
// tokens void. A token stores this time as its pwdDate. If the account has no such time, the
// result is 0 and not null, because null marks a token of an older version.
func validFrom(account *engine.Item) engine.Instant {
	password, _ := account.Get("pwdDate").(engine.Instant)
	ended, _ := account.Get("ended").(engine.Instant)
	return max(password, ended)
}

func badToken() error {
	return engine.Errorf(engine.Forbidden, engine.UnknownToken, "the token is not valid")
}

// wellFormed reports whether s has the form of a token. The form is no secret.
func wellFormed(s string) bool {
	return len(s) == 2*tokenBytes && strings.Trim(s, "0123456789abcdef") == ""
}

func (s *tokenStore) tokenByHash(ctx context.Context, hash string) (*engine.Item, error) {
	items, err := s.tokensWhere(ctx, "hash", hash)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	return items[0], nil
}

// tokensWhere returns the tokens with that value of a property, oldest first.
func (s *tokenStore) tokensWhere(ctx context.Context, name, value string) ([]*engine.Item, error) {
	filter, err := query.Equal(s.classes.token.Property(name), value)
	if err != nil {
		return nil, err
	}
	var items []*engine.Item
	err = s.data.List(engine.AsServer(ctx), &engine.Query{Class: s.classes.token, Filter: filter, Count: -1}, func(it *engine.Item) error {
		items = append(items, it.Clone())
		return nil
	})
	return items, err
}

// liveTokens returns the account's valid tokens, oldest first, and removes those
// that have expired.
func (s *tokenStore) liveTokens(ctx context.Context, account string) ([]*engine.Item, error) {
	items, err := s.tokensWhere(ctx, "account", account)
	if err != nil {
		return nil, err
	}
	now, live := s.clock(), items[:0]
	for _, it := range items {
		if it.When("expires").After(now) {
			live = append(live, it)
		} else {
			s.removeExpired(ctx, it.ID)
		}
	}
	return live, nil
}

// removeExpired deletes an expired token. If that fails, the token is rejected
// anyway.
func (s *tokenStore) removeExpired(ctx context.Context, id string) {
	if err := s.removeToken(ctx, id); err != nil {
		s.log.Warn("deleting an expired token failed: it is rejected anyway", "token", id, "error", err)
	}
}

// removeToken deletes a token from the database and from the cache. It does not
// fail if the token is gone already.
func (s *tokenStore) removeToken(ctx context.Context, id string) error {
	err := s.data.Delete(engine.AsServer(ctx), s.classes.token, id, nil)
	s.tokens.Forget(func(e *remembered) bool { return e.token == id })
	if engine.CodeOf(err) == engine.NotFound {
		return nil
	}
	return err
}

// removeTokens deletes all tokens of an account.
func (s *tokenStore) removeTokens(ctx context.Context, account string) error {
	items, err := s.tokensWhere(ctx, "account", account)
	if err != nil {
		return err
	}
	for _, it := range items {
		if err := s.removeToken(ctx, it.ID); err != nil {
			return err
		}
	}
	return nil
}

// Issue implements engine.TokenIssuer. If an account has more than 100 valid
// tokens, the oldest are removed. Errors: Invalid also if the name is too long or
// contains control characters; NotFound if there is no such account.
func (s *tokenStore) Issue(ctx context.Context, account, name string, lifetime time.Duration) (string, engine.Token, error) {
	if lifetime < 0 || lifetime > s.lifetime {
		return "", engine.Token{}, engine.Errorf(engine.Invalid, "lifetime", "a token lives from 1 to %d seconds", int64(s.lifetime/time.Second))
	}
	if lifetime == 0 {
		lifetime = s.lifetime
	}
	if err := checkText("token name", name, maxTokenName); err != nil {
		return "", engine.Token{}, err
	}
	owner, err := s.existingAccount(ctx, account)
	if err != nil {
		return "", engine.Token{}, err
	}
	secret, item, err := s.createToken(ctx, owner, name, lifetime)
	if err != nil {
		return "", engine.Token{}, err
	}
	live, err := s.liveTokens(ctx, account)
	if err != nil {
		return "", engine.Token{}, err
	}
	for i := 0; i < len(live)-maxTokens; i++ {
		if err := s.removeToken(ctx, live[i].ID); err != nil {
			return "", engine.Token{}, err
		}
	}
	return secret, describeToken(item), nil
}

func (s *tokenStore) createToken(ctx context.Context, owner *engine.Item, name string, lifetime time.Duration) (string, *engine.Item, error) {
	random := make([]byte, tokenBytes+8)
	rand.Read(random)
	secret := hex.EncodeToString(random[:tokenBytes])
	hash := sha256.Sum256([]byte(secret))
	now := s.clock()
	item, err := s.data.Create(engine.AsServer(ctx), s.classes.token, engine.ValuesOf(s.classes.token,
		engine.Named("id", hex.EncodeToString(random[tokenBytes:])),
		engine.Named("hash", hex.EncodeToString(hash[:])),
		engine.Named("account", owner.ID),
		engine.Named("name", name),
		engine.Named("created", engine.InstantOf(now)),
		engine.Named("expires", engine.InstantOf(now.Add(lifetime))),
		engine.Named("pwdDate", validFrom(owner)),
	), engine.WriteOptions{})
	return secret, item, err
}

// Tokens implements engine.TokenIssuer.
func (s *tokenStore) Tokens(ctx context.Context, account string) ([]engine.Token, error) {
	live, err := s.liveTokens(ctx, account)
	if err != nil {
		return nil, err
	}
	tokens := make([]engine.Token, len(live))
	for i, it := range live {
		tokens[i] = describeToken(it)
	}
	return tokens, nil
}

// Revoke implements engine.TokenIssuer. The token is void at once, in other
// processes within a second.
func (s *tokenStore) Revoke(ctx context.Context, account, id string) error {
	item, err := s.find(ctx, s.classes.token, id)
	if err != nil {
		return err
	}
	if item == nil || item.Text("account") != account {
		return engine.Errorf(engine.NotFound, "unknown-token", "there is no token %s", engine.Quote(id))
	}
	return s.removeToken(ctx, id)
}

func describeToken(it *engine.Item) engine.Token {
	return engine.Token{ID: it.ID, Name: it.Text("name"), Created: it.When("created"), Expires: it.When("expires")}
}

// checkText rejects texts with control characters, which could break a line of
// output, and texts of more than limit characters.
func checkText(what, s string, limit int) error {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return engine.Errorf(engine.Invalid, "name", "a %s is text without control characters, found %s", what, engine.Quote(s))
	}
	if n := utf8.RuneCountInString(s); n > limit {
		return engine.Errorf(engine.Invalid, "name", "a %s has at most %d characters, found %d", what, limit, n)
	}
	return nil
}
