// Package session signs people in with a browser: the pages under /auth, and
// sessions that are kept in the database, so that all processes on it know them
// and nothing but a random token is in the browser. It owns the library scs,
// which makes and renews the tokens. Passwords are engine/account's; what an
// account may do is engine/access's.
//
// Whoever acts for a session asks Account, or Require for pages. Both refuse a
// request that changes something and comes from another site.
package session

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"restsrv/engine"
	"restsrv/engine/page"
)

// Accounts knows accounts as they are now.
type Accounts interface {
	// Current returns an account that may sign in, and a text that changes with
	// its password. Unauthenticated when it is gone or disabled.
	Current(ctx context.Context, id string) (a *engine.Account, basis string, err error)
}

// Config is what Sessions need. Audit, Log and Now may be nil.
type Config struct {
	Data      engine.Repository    // keeps items of Class
	Class     *engine.Class        // of Class, as Data keeps it
	Auth      engine.Authenticator // checks the passwords
	Accounts  Accounts
	Audit     engine.Auditor // learns who signs out
	PublicURL string         // scheme://host[:port] by which browsers reach the server; "" when it is not known
	Idle      time.Duration  // after which an unused session ends; 0 means DefaultIdle
	Lifetime  time.Duration  // after which any ends; 0 means DefaultLifetime
	// PerAccount is how many sessions an account may have; a further one ends the
	// oldest. 0 means DefaultPerAccount.
	PerAccount int
	// All is how many sessions there may be. One more ends the oldest of the account
	// that has the most. 0 means DefaultAll.
	All int
	Log *slog.Logger
	Now func() time.Time
}

// How long sessions last when nothing is configured.
const (
	DefaultIdle     = 30 * time.Minute
	DefaultLifetime = 12 * time.Hour
)

// How many sessions an account may have, and all accounts together, when nothing
// is configured.
const (
	DefaultPerAccount = 100
	DefaultAll        = 100_000
)

// Sessions are those of one database. They are safe for concurrent use, also
// beside other processes on it.
type Sessions struct {
	cfg     Config
	origin  http.CrossOriginProtection
	scs     *scs.SessionManager
	sweeper *engine.Sweeper
	bound   *engine.Bound
}

// New returns Sessions.
func New(cfg Config) (*Sessions, error) {
	if cfg.Idle <= 0 {
		cfg.Idle = DefaultIdle
	}
	if cfg.Lifetime <= 0 {
		cfg.Lifetime = DefaultLifetime
	}
	if cfg.PerAccount <= 0 {
		cfg.PerAccount = DefaultPerAccount
	}
	if cfg.All <= 0 {
		cfg.All = DefaultAll
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Sessions{cfg: cfg, sweeper: engine.NewSweeper(cfg.Data, cfg.Now, cfg.Log, cfg.Class)}
	s.bound = engine.NewBound(engine.BoundConfig{Data: cfg.Data, Class: cfg.Class, PerAccount: cfg.PerAccount, All: cfg.All, Now: cfg.Now, Log: cfg.Log})
	if cfg.PublicURL != "" {
		if err := s.origin.AddTrustedOrigin(cfg.PublicURL); err != nil {
			return nil, err
		}
	}
	// The store keeps the times itself, by its own clock. scs.New would start
	// a store in memory beside it.
	s.scs = &scs.SessionManager{Store: store{s}, Codec: codec{}, Lifetime: cfg.Lifetime, HashTokenInStore: true}
	return s, nil
}

// Handlers are the pages, by path.
func (s *Sessions) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		signInPath:  s.serve(s.signIn),
		signOutPath: s.serve(s.signOut),
	}
}

// The paths of the pages.
const (
	signInPath  = "/auth"
	signOutPath = "/auth/logout"
)

// Keys of a session's values.
const (
	accountKey = "account"
	basisKey   = "basis"
)

// Reasons of the error when there is no session.
const (
	reasonNone  = "no-session"
	reasonEnded = "session-ended"
)

func noSession(reason string) *engine.Error {
	return engine.Errorf(engine.Unauthenticated, reason, "this needs a session: sign in at %s", signInPath)
}

// Account returns the account that the session of a request acts for, as it is
// now; do not change it. Errors: Unauthenticated when there is no session, or
// one that has ended; Forbidden when the request is not a reading one and comes
// from another site.
func (s *Sessions) Account(r *http.Request) (*engine.Account, error) {
	token := s.token(r)
	if token == "" {
		return nil, noSession(reasonNone)
	}
	if err := s.sameOrigin(r); err != nil {
		return nil, err
	}
	ctx, err := s.scs.Load(engine.AsServer(r.Context()), token)
	if err != nil {
		return nil, err
	}
	id := s.scs.GetString(ctx, accountKey)
	if id == "" {
		return nil, noSession(reasonEnded)
	}
	a, basis, err := s.cfg.Accounts.Current(ctx, id)
	gone := engine.CodeOf(err) == engine.Unauthenticated
	if err != nil && !gone {
		return nil, err
	}
	if gone || basis != s.scs.GetString(ctx, basisKey) {
		if err := s.scs.Destroy(ctx); err != nil {
			return nil, err
		}
		return nil, noSession(reasonEnded)
	}
	return a, nil
}

// Require is Account for pages. Without a session it leads to the page of
// sign-in and from there back, or, for clients that take no pages, answers 401;
// other failures it answers too. It reports whether there is an account, and
// has answered if there is none.
func (s *Sessions) Require(w http.ResponseWriter, r *http.Request) (*engine.Account, bool) {
	a, err := s.Account(r)
	switch {
	case err == nil:
		return a, true
	case engine.CodeOf(err) != engine.Unauthenticated || wantsJSON(r):
		engine.Fail(w, err)
		return nil, false
	}
	query := url.Values{}
	if back := localPath(r.URL.RequestURI()); back != "" {
		query.Set("return", back)
	}
	if reason(err) == reasonEnded {
		query.Set("m", "ended")
	}
	page.Guard(w.Header())
	redirect(w, signInPath, query)
	return nil, false
}

// sameOrigin refuses a request that is not a reading one and that a page of
// another site sends. One that tells nothing of its origin comes from no
// browser.
func (s *Sessions) sameOrigin(r *http.Request) error {
	if s.origin.Check(r) != nil {
		return engine.Errorf(engine.Forbidden, "cross-origin", "the request comes from another site")
	}
	return nil
}

// wantsJSON reports whether the client takes JSON and no pages.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "json") && !strings.Contains(accept, "text/html")
}
