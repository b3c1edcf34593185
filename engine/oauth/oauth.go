package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/server"

	"restsrv/engine"
	"restsrv/engine/remember"
)

// Accounts are who grants and who may be granted something.
type Accounts interface {
	// Authenticate proves an account by its password; mode is AuthPwd.
	Authenticate(ctx context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error)
	// Current returns an account that may sign in, and a text that changes with
	// its password. Unauthenticated when it is gone or disabled.
	Current(ctx context.Context, id string) (a *engine.Account, basis string, err error)
}

// Hasher keeps the secrets of clients that are configured.
type Hasher interface {
	Hash(ctx context.Context, plain string) (string, error)
	Matches(ctx context.Context, hash, plain string) (bool, error)
}

// Sessions know who sits at a browser.
type Sessions interface {
	// Require returns who is signed in. When nobody is, or another site made the
	// browser send the request, it answers and reports false: whoever signs in
	// then comes back to the address of the request.
	Require(w http.ResponseWriter, r *http.Request) (*engine.Account, bool)
}

// Config is what a Provider works with. Data, Classes, Accounts, Hasher,
// Sessions and Issuer are needed.
type Config struct {
	Data     engine.Repository // stores items of Classes
	Classes  []*engine.Class   // from Classes, the same that Data was opened with
	Accounts Accounts
	Hasher   Hasher
	Sessions Sessions
	SignOut  string // path of the page to sign out at, "" for none
	Options  Options

	Issuer    func() string // the address of this server, without a slash at its end
	PublicURL bool          // Issuer is configured: clients may be told that answers are from it

	Guesses engine.Guesses // nil for no limits
	Audit   engine.Auditor // nil for none
	Log     *slog.Logger   // nil for none
	Now     func() time.Time
}

// Provider is the OAuth2 provider of one database. It is an
// engine.Authenticator for mode oauth, safe for concurrent use, also beside
// other processes on the same database: their changes count within a second.
type Provider struct {
	cfg     Config
	classes struct{ grant, spent, consent *engine.Class }
	clients map[string]*Client // that are configured
	secrets secrets            // of theirs
	proven  *proven            // those that were right before
	library *server.Server
	bearers *remember.Memory[*bearer]
	start   time.Time
	sweeper *engine.Sweeper
	bound   *engine.Bound // of grants
}

var (
	_ engine.Authenticator = (*Provider)(nil)
	_ oauth2.Manager       = (*flows)(nil)
)

// New makes a Provider. The secrets of clients that are configured are hashed
// afterwards, since that takes its time: who proves one waits for it.
func New(ctx context.Context, cfg Config) (*Provider, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Options = cfg.Options.withDefaults()
	p := &Provider{cfg: cfg, clients: map[string]*Client{}, proven: newProven(), bearers: remember.New[*bearer](), start: cfg.Now()}
	for _, c := range cfg.Classes {
		switch c.FullName {
		case grantClass:
			p.classes.grant = c
		case spentClass:
			p.classes.spent = c
		case consentClass:
			p.classes.consent = c
		}
	}
	if p.classes.grant == nil || p.classes.spent == nil || p.classes.consent == nil {
		return nil, errors.New("the system classes of oauth.Classes are needed")
	}
	plain := map[string]string{}
	for _, c := range cfg.Options.Clients {
		if c.secret != "" {
			plain[c.ID], c.secret = c.secret, ""
		}
		p.clients[c.ID] = &c
	}
	p.secrets.ready = make(chan struct{})
	go p.hashSecrets(context.WithoutCancel(ctx), plain)
	p.sweeper = engine.NewSweeper(cfg.Data, cfg.Now, cfg.Log, p.classes.grant, p.classes.spent)
	p.bound = engine.NewBound(engine.BoundConfig{Data: cfg.Data, Class: p.classes.grant, PerAccount: cfg.Options.GrantsPerAccount, All: cfg.Options.GrantsOfAll, Now: cfg.Now, Log: cfg.Log})
	p.library = p.newLibrary()
	return p, nil
}

// Paths of the endpoints.
const (
	grantPath      = "/oauth2/grant"
	tokenPath      = "/oauth2/token"
	revokePath     = "/oauth2/revoke"
	introspectPath = "/oauth2/introspect"
	metadataPath   = "/.well-known/oauth-authorization-server"
)

// Handlers are the endpoints by their paths.
func (p *Provider) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		grantPath:      http.HandlerFunc(p.serveGrant),
		tokenPath:      p.direct(p.token),
		revokePath:     p.direct(p.revoke),
		introspectPath: p.direct(p.introspect),
		metadataPath:   http.HandlerFunc(p.serveMetadata),
	}
}

func (p *Provider) audit(ctx context.Context, e engine.Event) {
	if p.cfg.Audit != nil {
		e.Caller = engine.CallerFrom(ctx)
		p.cfg.Audit.Audit(ctx, e)
	}
}

// event is what happened between a client and an account.
func event(kind engine.EventKind, client, account string, details ...engine.Field) engine.Event {
	return engine.Event{Kind: kind, Account: account, Details: append(engine.Fields{{Name: "client", Value: client}}, details...)}
}

func pause(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return engine.Errorf(engine.Timeout, "timeout", "the request ended before it was answered")
	}
}

// guessed is the error for a code or a token that this client was not given,
// which is counted; TooMany after too many of them. A good one is not kept
// waiting by the bad ones before it: nobody guesses 160 bits, but anybody can
// have a client's own server bring codes that are made up.
func (p *Provider) guessed(ctx context.Context, text string) error {
	if p.cfg.Guesses == nil {
		return invalidGrant(text)
	}
	from := engine.CallerFrom(ctx)
	wait, err := p.cfg.Guesses.Admit(ctx, "", from)
	if err != nil {
		return err
	}
	if err := pause(ctx, wait); err != nil {
		return err
	}
	p.cfg.Guesses.Failed(ctx, "", from)
	return invalidGrant(text)
}

// elapsed is the time since the Provider was made; unlike the wall clock it
// never jumps.
func (p *Provider) elapsed() time.Duration { return p.cfg.Now().Sub(p.start) }
