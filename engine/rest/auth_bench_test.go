package rest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/account"
	"restsrv/engine/oauth"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
)

// proving is a server with the account ann@local and several credentials for this account.
type proving struct {
	*Server
	token  string // a token of this server
	access string // an OAuth2 token
}

func newProving(b testing.TB) *proving {
	ctx := context.Background()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(b.TempDir(), "test.db"), Synchronous: "normal"})
	must(err)
	classes, grants := account.Classes(), oauth.Classes()
	data, err := store.Open(ctx, db, store.Config{Classes: slices.Concat(classes, grants)})
	must(err)
	b.Cleanup(func() { data.Close() })
	hasher := account.NewHasher(account.HasherConfig{})
	accounts, err := account.New(account.Config{Data: data, Classes: classes, Hasher: hasher})
	must(err)
	must(accounts.Add(ctx, account.Account{ID: "ann@local", Name: "Ann", Roles: []string{"staff"}}, "correct horse"))
	p := &proving{}
	p.token, _, err = accounts.Issue(ctx, "ann@local", "", 0)
	must(err)
	options, faults := oauth.ParseOptions("deploy.json", "options", engine.Fields{{Name: "clients", Value: []any{engine.Fields{
		{Name: "id", Value: "robot"}, {Name: "secret", Value: "r0b0t"}, {Name: "grants", Value: []any{"client_credentials"}}, {Name: "account", Value: "ann@local"},
	}}}})
	if len(faults) > 0 {
		b.Fatal(faults)
	}
	provider, err := oauth.New(ctx, oauth.Config{Data: data, Classes: grants, Accounts: accounts, Hasher: hasher, Options: options,
		Issuer: func() string { return "http://localhost" }})
	must(err)
	p.Server = New(Config{Auth: accounts, OAuth: provider, Handlers: provider.Handlers(), Log: slog.New(slog.DiscardHandler)})
	r := httptest.NewRequest("POST", "/oauth2/token", strings.NewReader("grant_type=client_credentials"))
	r.SetBasicAuth("robot", "r0b0t")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	var answer struct {
		Token string `json:"access_token"`
	}
	must(json.Unmarshal(w.Body.Bytes(), &answer))
	if p.access = answer.Token; p.access == "" {
		b.Fatal(w.Body.String())
	}
	return p
}

// remembered calls each for every kind of credential, after its first use, so that benchmarks do
// not include the first verification.
func (p *proving) remembered(b testing.TB, each func(name string, prove func() (*engine.Account, error))) {
	x := &exchange{caller: engine.Caller{Request: "r"}}
	for _, w := range []struct {
		name string
		mode engine.AuthMode
		sign func(r *http.Request)
	}{
		{"Basic", engine.AuthPwd, func(r *http.Request) { r.SetBasicAuth("ann@local", "correct horse") }},
		{"Token", engine.AuthToken, func(r *http.Request) { r.Header.Set("Auth-Token", p.token) }},
		{"OAuth2", engine.AuthOAuth, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+p.access) }},
	} {
		r := httptest.NewRequest("GET", "/rest/simple", nil)
		w.sign(r)
		prove := func() (*engine.Account, error) { return p.authenticateRequest(r, w.mode, x) }
		if a, err := prove(); err != nil || a.ID != "ann@local" {
			b.Fatal(w.name, a, err)
		}
		each(w.name, prove)
	}
}

// BenchmarkAuthenticate measures the cost of authentication with a credential
// that was verified before: reading the header and finding the account in the
// cache. The target is 3 microseconds.
func BenchmarkAuthenticate(b *testing.B) {
	newProving(b).remembered(b, func(name string, prove func() (*engine.Account, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := prove(); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}
