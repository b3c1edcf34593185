// Package session signs users in with a browser. It provides the pages under /auth. Sessions are
// stored in the database, so all processes that use the database share them. The browser has only a
// random token, which the library scs creates and renews. Passwords belong to engine/account,
// permissions to engine/access.
//
// Other packages use Account, or Require for pages, to find the account of a session. Both reject a
// request that changes data and comes from another site.
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
	"restsrv/engine/quota"
	"restsrv/engine/service"
)

// Accounts provides the current state of accounts.
type Accounts interface {
	// Current returns the account, and a text that changes with its password. The error is
	// Unauthenticated if the account is deleted or disabled.
	Current(ctx context.Context, id string) (a *engine.Account, basis string, err error)
}

// Config contains the settings of Sessions. Audit, Log and Now may be nil.
type Config struct {
	Data      engine.Repository    // stores the items of Class
	Class     *engine.Class        // the class that the function Class builds, as Data stores it
	Auth      engine.Authenticator // checks the passwords
	Accounts  Accounts
	Audit     engine.Auditor // gets an event when a user signs out
	PublicURL string         // scheme://host[:port] at which browsers reach the server; "" if unknown
	Idle      time.Duration  // time after which an unused session ends; 0 means DefaultIdle
	Lifetime  time.Duration  // time after which every session ends; 0 means DefaultLifetime
	// PerAccount is the maximum number of sessions of an account. If there are
	// more, the oldest one ends. 0 means DefaultPerAccount.
	PerAccount int
	// All is the maximum number of sessions of all accounts. If there are more,
	// the oldest one of the account with the most sessions ends. 0 means
	// DefaultAll.
	All int
	Log *slog.Logger
	Now func() time.Time
}

// Default time limits of sessions.
const (
	DefaultIdle     = 30 * time.Minute
	DefaultLifetime = 12 * time.Hour
)

// Default limits for the number of sessions, per account and in total.
const (
	DefaultPerAccount = 100
	DefaultAll        = 100_000
)

// Sessions manages the sessions of one database. It is safe for concurrent use,
// also if several processes use the database.
type Sessions struct {
	cfg     Config
	origin  http.CrossOriginProtection
	scs     *scs.SessionManager
	sweeper *quota.Sweeper
	bound   *quota.Bound
}

// New returns Sessions that use cfg.
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
	s := &Sessions{cfg: cfg, sweeper: quota.NewSweeper(cfg.Data, cfg.Now, cfg.Log, cfg.Class)}
	s.bound = quota.NewBound(quota.BoundConfig{Data: cfg.Data, Class: cfg.Class, PerAccount: cfg.PerAccount, All: cfg.All, Now: cfg.Now, Log: cfg.Log})
	if cfg.PublicURL != "" {
		if err := s.origin.AddTrustedOrigin(cfg.PublicURL); err != nil {
			return nil, err
		}
	}
	// The store manages the times itself, with its own clock. scs.New would
	// also start a memory store.
	s.scs = &scs.SessionManager{Store: store{s}, Codec: codec{}, Lifetime: cfg.Lifetime, HashTokenInStore: true}
	return s, nil
}

// Handlers returns the handlers of the pages by path.
func (s *Sessions) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		signInPath:  s.newHandler(s.signIn),
		signOutPath: s.newHandler(s.signOut),
	}
}

// Paths of the pages.
const (
	signInPath  = "/auth"
	signOutPath = "/auth/logout"
)

// Keys of the values in a session.
const (
	accountKey = "account"
	basisKey   = "basis"
)

// Reasons of the error if there is no session.
const (
	reasonNone  = "no-session"
	reasonEnded = "session-ended"
)

func noSession(reason string) *engine.Error {
	return engine.Errorf(engine.Unauthenticated, reason, "this needs a session: sign in at %s", signInPath)
}

// Account returns the account of a request's session in its current state. The caller must not
// change the account. The error is Unauthenticated if there is no session or if the session has
// ended. The error is Forbidden if the method of the request can change data and the request
// comes from another site.
func (s *Sessions) Account(r *http.Request) (*engine.Account, error) {
	token := s.readToken(r)
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

// Require returns the account of a request for a page, in the same way as Account. If there is no
// session, it redirects to the sign-in page, which leads back to the request afterwards. Clients
// that do not accept pages get status 401. Require also writes the response for other errors. The
// second result is false if it has written a response.
func (s *Sessions) Require(w http.ResponseWriter, r *http.Request) (*engine.Account, bool) {
	a, err := s.Account(r)
	switch {
	case err == nil:
		return a, true
	case engine.CodeOf(err) != engine.Unauthenticated || wantsJSON(r):
		service.Fail(w, err)
		return nil, false
	}
	query := url.Values{}
	if back := localPath(r.URL.RequestURI()); back != "" {
		query.Set("return", back)
	}
	if reasonOf(err) == reasonEnded {
		query.Set("m", "ended")
	}
	page.Guard(w.Header())
	redirect(w, signInPath, query)
	return nil, false
}

// sameOrigin rejects a request if its method can change data and a page of another site has sent
// it. It accepts a request without origin headers, because such a request does not come from a
// browser.
func (s *Sessions) sameOrigin(r *http.Request) error {
	if s.origin.Check(r) != nil {
		return engine.Errorf(engine.Forbidden, "cross-origin", "the request comes from another site")
	}
	return nil
}

// wantsJSON reports whether the client accepts JSON and no pages.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "json") && !strings.Contains(accept, "text/html")
}
