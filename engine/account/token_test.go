package account_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/account"
)

func (f *fixture) issue(id, name string, lifetime time.Duration) (string, engine.Token) {
	f.t.Helper()
	secret, token, err := f.Issue(context.Background(), id, name, lifetime)
	if err != nil {
		f.t.Fatal(err)
	}
	return secret, token
}

func TestTokenLifeCycle(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.add("ann@local")
	secret, token := f.issue("ann@local", "laptop", 0)
	if len(secret) != 40 || strings.Trim(secret, "0123456789abcdef") != "" {
		t.Errorf("secret %q", secret)
	}
	now := f.clock.Now()
	if token.Name != "laptop" || !token.Created.Equal(now) || !token.Expires.Equal(now.Add(30*24*time.Hour)) || token.ID == "" || strings.Contains(secret, token.ID) {
		t.Errorf("token %+v", token)
	}
	wantOK(t, "use", useToken(f.Store, secret))
	wantOK(t, "use after a restart", useToken(f.another(), secret))
	all, err := f.Tokens(ctx, "ann@local")
	if err != nil || len(all) != 1 || all[0] != token {
		t.Errorf("tokens %+v, %v", all, err)
	}
	f.add("bob@local")
	wantCode(t, "revoke another's", f.Revoke(ctx, "bob@local", token.ID), engine.NotFound)
	wantCode(t, "revoke by secret", f.Revoke(ctx, "ann@local", secret), engine.NotFound)
	wantCode(t, "revoke nothing", f.Revoke(ctx, "ann@local", ""), engine.NotFound)
	wantOK(t, "still there", useToken(f.Store, secret))
	wantOK(t, "revoke", f.Revoke(ctx, "ann@local", token.ID))
	wantCode(t, "use of a revoked one", useToken(f.Store, secret), engine.Forbidden)
	wantCode(t, "revoke twice", f.Revoke(ctx, "ann@local", token.ID), engine.NotFound)
}

func TestTokenSecretIsStoredHashed(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	secret, token := f.issue("ann@local", "", 0)
	it, err := f.data.Get(context.Background(), f.class("#token"), token.ID)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(secret))
	if it.Get("hash") != hex.EncodeToString(sum[:]) {
		t.Errorf("hash %v", it.Get("hash"))
	}
	for _, v := range it.Values {
		if strings.Contains(fmt.Sprint(v), secret) {
			t.Errorf("the secret is stored in %v", v)
		}
	}
}

func TestTokenExpires(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.add("ann@local")
	short, _ := f.issue("ann@local", "short", 10*time.Second)
	long, _ := f.issue("ann@local", "long", 0)
	wantOK(t, "short", useToken(f.Store, short))
	f.clock.Advance(9999 * time.Millisecond)
	wantOK(t, "just before", useToken(f.Store, short))
	f.clock.Advance(time.Millisecond)
	wantCode(t, "expired, though remembered", useToken(f.Store, short), engine.Forbidden)
	if n, _ := f.data.Count(ctx, &engine.Query{Class: f.class("#token")}); n != 1 {
		t.Errorf("%d tokens stored after one expired was met, want 1", n)
	}
	wantOK(t, "long", useToken(f.Store, long))
	f.clock.Advance(31 * 24 * time.Hour)
	if all, err := f.Tokens(ctx, "ann@local"); err != nil || len(all) != 0 {
		t.Errorf("tokens %+v, %v", all, err)
	}
	if n, _ := f.data.Count(ctx, &engine.Query{Class: f.class("#token")}); n != 0 {
		t.Errorf("%d expired tokens stored", n)
	}
	wantCode(t, "long", useToken(f.Store, long), engine.Forbidden)
}

func TestExpiredTokenIsRefusedOnAReadOnlyDatabase(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	secret, _ := f.issue("ann@local", "", time.Second)
	f.clock.Advance(time.Second)
	s, err := account.New(account.Config{Data: readOnly{f.data}, Classes: f.classes, Hasher: f.hasher, Now: f.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "use", useToken(s, secret), engine.Forbidden)
	if all, err := s.Tokens(context.Background(), "ann@local"); err != nil || len(all) != 0 {
		t.Errorf("tokens %+v, %v", all, err)
	}
}

func TestTokenLifetimeAndName(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.add("ann@local")
	s, err := account.New(account.Config{Data: f.data, Classes: f.classes, Hasher: f.hasher, Now: f.clock.Now, TokenLifetime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	_, token, err := s.Issue(ctx, "ann@local", "", 0)
	if err != nil || token.Expires.Sub(token.Created) != time.Minute {
		t.Errorf("token %+v, %v", token, err)
	}
	_, _, err = s.Issue(ctx, "ann@local", "", time.Minute)
	wantOK(t, "the longest", err)
	for _, d := range []time.Duration{-1, time.Minute + 1, 1<<63 - 1} {
		_, _, err := s.Issue(ctx, "ann@local", "", d)
		wantCode(t, d.String(), err, engine.Invalid)
	}
	for _, name := range []string{"a\nb", "\xff", strings.Repeat("x", 201)} {
		_, _, err := s.Issue(ctx, "ann@local", name, 0)
		wantCode(t, name, err, engine.Invalid)
	}
	_, _, err = s.Issue(ctx, "nobody@local", "", 0)
	wantCode(t, "nobody", err, engine.NotFound)
}

func TestTokenNeedsItsAccount(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.add("ann@local")
	secret, _ := f.issue("ann@local", "", 0)
	other := f.another()
	wantOK(t, "use", useToken(f.Store, secret))
	wantOK(t, "use elsewhere", useToken(other, secret))
	wantOK(t, "disable", f.Disable(ctx, "ann@local"))
	wantCode(t, "disabled", useToken(f.Store, secret), engine.Forbidden)
	f.clock.Advance(time.Second)
	wantCode(t, "disabled elsewhere", useToken(other, secret), engine.Forbidden)
	wantOK(t, "enable", f.Enable(ctx, "ann@local"))
	wantCode(t, "enabled", useToken(f.Store, secret), engine.Forbidden)
	f.clock.Advance(time.Second)
	wantCode(t, "enabled elsewhere", useToken(other, secret), engine.Forbidden)
	secret, _ = f.issue("ann@local", "", 0)
	wantOK(t, "new token", useToken(f.Store, secret))
	wantOK(t, "delete", f.data.Delete(ctx, f.class("#account"), "ann@local", nil))
	f.clock.Advance(time.Second)
	wantCode(t, "account gone", useToken(f.Store, secret), engine.Forbidden)
}

// TestTokensEndWithTheirPassword checks that a new password revokes all tokens of the account, in
// this and in other processes, and no tokens of other accounts.
func TestTokensEndWithTheirPassword(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.add("ann@local")
	f.add("bob@local")
	secret, _ := f.issue("ann@local", "", 0)
	unused, _ := f.issue("ann@local", "", 0)
	bobs, _ := f.issue("bob@local", "", 0)
	other := f.another()
	wantOK(t, "use", useToken(f.Store, secret))
	wantOK(t, "use elsewhere", useToken(other, secret))
	wantOK(t, "new password", f.SetPassword(ctx, "ann@local", "new"))
	wantCode(t, "at once", useToken(f.Store, secret), engine.Forbidden)
	f.clock.Advance(time.Second)
	wantCode(t, "elsewhere", useToken(other, secret), engine.Forbidden)
	wantCode(t, "never used", useToken(f.Store, unused), engine.Forbidden)
	if all, err := f.Tokens(ctx, "ann@local"); err != nil || len(all) != 0 {
		t.Errorf("tokens %+v, %v", all, err)
	}
	fresh, _ := f.issue("ann@local", "", 0)
	wantOK(t, "a new token", useToken(f.Store, fresh))
	wantOK(t, "bob's", useToken(other, bobs))
}

// undeleting is a repository in which each deletion fails, as if the process was killed before
// it.
type undeleting struct{ engine.Repository }

func (undeleting) Delete(context.Context, *engine.Class, string, *engine.Match) error {
	return engine.Errorf(engine.Unavailable, "database", "away")
}

// TestTokensEndWithoutBeingDeleted checks that the write of a new password revokes the tokens
// even if deleting them fails. A token of an older version does not store the date of its
// password. Only the deletion revokes it.
func TestTokensEndWithoutBeingDeleted(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.add("ann@local")
	secret, _ := f.issue("ann@local", "", 0)
	wantOK(t, "use", useToken(f.Store, secret))
	f.clock.Advance(time.Millisecond)
	classes := []*engine.Class{f.class("#account"), f.class("#token"), f.class("#seen")}
	killed, err := account.New(account.Config{
		Data: undeleting{f.data}, Classes: classes, Hasher: account.NewHasher(account.HasherConfig{}), Now: f.clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "new password", killed.SetPassword(ctx, "ann@local", "new"), engine.Unavailable)
	f.clock.Advance(time.Second)
	wantCode(t, "use", useToken(f.Store, secret), engine.Forbidden)
	wantOK(t, "sign in", signIn(f.Store, "ann@local", "new"))

	secret, token := f.issue("ann@local", "", 0)
	v := engine.NewValues(f.class("#token"))
	v[f.class("#token").Property("pwdDate").Index] = nil
	if _, err := f.data.Update(ctx, f.class("#token"), token.ID, v, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	wantOK(t, "an older token", useToken(f.Store, secret))
	wantOK(t, "new password", f.SetPassword(ctx, "ann@local", "newer"))
	wantCode(t, "the older token", useToken(f.Store, secret), engine.Forbidden)
}

func TestTokenRevokedElsewhere(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	secret, token := f.issue("ann@local", "", 0)
	wantOK(t, "use", useToken(f.Store, secret))
	wantOK(t, "revoke", f.another().Revoke(context.Background(), "ann@local", token.ID))
	f.clock.Advance(time.Second)
	wantCode(t, "a second later", useToken(f.Store, secret), engine.Forbidden)
}

func TestTokenIsRemembered(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	secret, _ := f.issue("ann@local", "", 0)
	wantOK(t, "use", useToken(f.Store, secret))
	reads := f.data.count()
	for range 5 {
		wantOK(t, "use", useToken(f.Store, secret))
	}
	if n := f.data.count() - reads; n != 0 {
		t.Errorf("%d reads for a remembered token", n)
	}
}

func TestAtMostHundredTokens(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t)
	f.add("ann@local")
	f.add("bob@local")
	bobs, _ := f.issue("bob@local", "", 0)
	var secrets []string
	for i := range 101 {
		secret, _ := f.issue("ann@local", fmt.Sprint(i), 0)
		secrets = append(secrets, secret)
		if i == 99 {
			wantOK(t, "the oldest of 100", useToken(f.Store, secrets[0]))
		}
	}
	wantCode(t, "the oldest of 101", useToken(f.Store, secrets[0]), engine.Forbidden)
	wantOK(t, "the next", useToken(f.Store, secrets[1]))
	wantOK(t, "the newest", useToken(f.Store, secrets[100]))
	wantOK(t, "another account's", useToken(f.Store, bobs))
	all, err := f.Tokens(ctx, "ann@local")
	if err != nil || len(all) != 100 || all[0].Name != "1" || all[99].Name != "100" {
		t.Errorf("%d tokens, %v", len(all), err)
	}
}

// TestTokensAreTheServersBusiness checks that an account without rights on system classes can get
// a token.
func TestTokensAreTheServersBusiness(t *testing.T) {
	f := newFixture(t)
	f.add("ann@local")
	ctx := engine.WithAccount(context.Background(), &engine.Account{ID: "ann@local"})
	_, token, err := f.Issue(ctx, "ann@local", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Tokens(ctx, "ann@local")
	wantOK(t, "list", err)
	wantOK(t, "revoke", f.Revoke(ctx, "ann@local", token.ID))
}
