package oauth_test

import (
	"context"
	"net/http"
	"testing"

	"restsrv/engine"
	"restsrv/engine/oauth"
	"restsrv/engine/store/dbtest"
)

// interrupted is a repository that calls meanwhile right before the first update. If meanwhile
// returns an error, the update fails. Later reads by id and deletions fail with the given errors.
type interrupted struct {
	engine.Repository
	meanwhile   func() error
	updates     int
	get, delete error
}

func (r *interrupted) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	if r.updates > 0 && r.get != nil {
		return nil, r.get
	}
	return r.Repository.Get(ctx, c, id, load...)
}

func (r *interrupted) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	if r.delete != nil {
		return r.delete
	}
	return r.Repository.Delete(ctx, c, id, m)
}

func (r *interrupted) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	if r.updates++; r.updates == 1 {
		if err := r.meanwhile(); err != nil {
			return nil, err
		}
	}
	return r.Repository.Update(ctx, c, id, v, o)
}

// interrupted returns a provider on the same data that calls meanwhile before its
// first update.
func (f *fixture) interrupted(meanwhile func() error) *oauth.Provider {
	return f.with(func(c *oauth.Config) { c.Data = &interrupted{Repository: f.data, meanwhile: meanwhile} })
}

func revoke(p *oauth.Provider, token string) answer {
	return call(p, http.MethodPost, "/oauth2/revoke", query("token", token), basicOf("ext@system", "pw of ext@system"))
}

var busy = engine.Errorf(engine.Unavailable, "busy", "the database is busy")

// TestGrantChangesDuringRefresh changes a grant while its refresh token is being exchanged: after
// the exchange has read the grant, and before the exchange writes the grant.
func TestGrantChangesDuringRefresh(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	refresh := func(p *oauth.Provider, token string) answer {
		return exchangeAt(p, "ext@system", "grant_type", "refresh_token", "refresh_token", token)
	}

	access, token := f.tokens()
	a := refresh(f.interrupted(func() error {
		if b := revoke(f.Provider, access); b.status != http.StatusOK {
			t.Errorf("revocation: %d %s", b.status, b.body)
		}
		return nil
	}), token)
	if a.status != http.StatusOK {
		t.Errorf("after a revocation of the access token: got %d %s, want new tokens", a.status, a.body)
	}
	wantHolds(t, "the new access token", f.another(), a.text("access_token"), true)

	_, token = f.tokens()
	var other answer
	a = refresh(f.interrupted(func() error {
		other = refresh(f.Provider, token)
		return nil
	}), token)
	wantError(t, "a refresh token that another request has exchanged", a, http.StatusBadRequest, "invalid_grant")
	wantHolds(t, "the access token of the other request", f.another(), other.text("access_token"), false)

	_, token = f.tokens()
	a = refresh(f.interrupted(func() error {
		revoke(f.Provider, token)
		return nil
	}), token)
	wantError(t, "after the end of the grant", a, http.StatusBadRequest, "invalid_grant")

	_, token = f.tokens()
	a = refresh(f.interrupted(func() error { return busy }), token)
	if a.status != http.StatusServiceUnavailable {
		t.Errorf("with a busy database: got %d %s, want 503", a.status, a.body)
	}
	if a := refresh(f.Provider, token); a.status != http.StatusOK {
		t.Errorf("the same refresh token afterwards: got %d %s, want new tokens", a.status, a.body)
	}
}

// TestGrantChangesDuringRevocation changes a grant while its access token is being revoked: after
// the revocation has read the grant, and before the revocation writes the grant.
func TestGrantChangesDuringRevocation(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	grants := f.classes[0]
	access, _ := f.tokens()
	a := revoke(f.interrupted(func() error {
		ctx := engine.AsServer(t.Context())
		var id string
		if err := f.data.List(ctx, &engine.Query{Class: grants, Count: 1}, func(it *engine.Item) error { id = it.ID; return nil }); err != nil {
			return err
		}
		_, err := f.data.Update(ctx, grants, id, engine.ValuesOf(grants, engine.Named("scope", "crud:read")), engine.WriteOptions{})
		return err
	}), access)
	if a.status != http.StatusOK {
		t.Errorf("got %d %s, want 200", a.status, a.body)
	}
	wantHolds(t, "a revoked access token of a grant that changed meanwhile", f.another(), access, false)

	access, _ = f.tokens()
	if a := revoke(f.interrupted(func() error { return busy }), access); a.status != http.StatusServiceUnavailable {
		t.Errorf("with a busy database: got %d %s, want 503", a.status, a.body)
	}
	wantHolds(t, "an access token that could not be revoked", f.another(), access, true)
}

// TestFailuresLeaveGrants checks that an error of the database is reported as such, and is not
// mistaken for the reuse of a code or a refresh token.
func TestFailuresLeaveGrants(t *testing.T) {
	f := newFixture(t, dbtest.New(t))
	fail := func() error { return busy }
	wantBusy := func(what string, a answer) {
		t.Helper()
		if a.status != http.StatusServiceUnavailable {
			t.Errorf("%s: got %d %s, want 503", what, a.status, a.body)
		}
	}
	wantTokens := func(what string, a answer) {
		t.Helper()
		if a.status != http.StatusOK {
			t.Errorf("%s: got %d %s, want tokens", what, a.status, a.body)
		}
	}
	code := f.code("ext@system")
	wantBusy("a code", exchangeAt(f.interrupted(fail), "ext@system", "grant_type", "authorization_code", "code", code))
	wantTokens("the code again", f.exchange("ext@system", "grant_type", "authorization_code", "code", code))

	access, token := f.tokens()
	p := f.with(func(c *oauth.Config) {
		c.Data = &interrupted{Repository: f.data, get: busy, meanwhile: func() error {
			revoke(f.Provider, access)
			return nil
		}}
	})
	wantBusy("a refresh token of a grant that cannot be read again", exchangeAt(p, "ext@system", "grant_type", "refresh_token", "refresh_token", token))
	wantTokens("the refresh token again", f.refreshed(token))

	access, token = f.tokens()
	p = f.with(func(c *oauth.Config) { c.Data = &interrupted{Repository: f.data, delete: busy} })
	wantBusy("a revocation of the grant", revoke(p, token))
	wantHolds(t, "the access token of a grant that could not be revoked", f.another(), access, true)

	// The grant is of an older version. Its exchange was interrupted after the token was stored
	// as exchanged.
	if _, err := f.data.UpdateAll(t.Context(), &engine.Query{Class: f.classes[0], Count: -1}, engine.ValuesOf(f.classes[0], engine.Named("family", nil))); err != nil {
		t.Fatal(err)
	}
	wantBusy("a refresh token of an older version", exchangeAt(f.interrupted(fail), "ext@system", "grant_type", "refresh_token", "refresh_token", token))
	wantTokens("the refresh token of an older version again", f.refreshed(token))
}
