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
	"restsrv/engine/quota"
	"restsrv/engine/remember"
)

// Accounts gives access to the accounts of users and clients.
type Accounts interface {
	// Authenticate checks the password of an account; mode is engine.AuthPwd.
	Authenticate(ctx context.Context, mode engine.AuthMode, c engine.Credentials) (*engine.Account, error)
	// Current returns the account, and a text that changes with its password. It fails with
	// Unauthenticated if the account does not exist or is disabled.
	Current(ctx context.Context, id string) (a *engine.Account, basis string, err error)
}

// Hasher hashes the secrets of configured clients.
type Hasher interface {
	Hash(ctx context.Context, plain string) (string, error)
	Matches(ctx context.Context, hash, plain string) (bool, error)
}

// Sessions gives access to the signed-in users of browsers.
type Sessions interface {
	// Require returns the account that is signed in. It returns false if no account is signed in,
	// or if another site made the browser send the request. It has then answered the request.
	// After the sign-in, the browser returns to the URL of the request.
	Require(w http.ResponseWriter, r *http.Request) (*engine.Account, bool)
}

// Config holds the dependencies of a Provider. Data, Classes, Accounts, Hasher,
// Sessions and Issuer are required.
type Config struct {
	Data     engine.Repository // stores items of Classes
	Classes  []*engine.Class   // the result of Classes, with which Data was opened
	Accounts Accounts
	Hasher   Hasher
	Sessions Sessions
	SignOut  string // path of the page for signing out; may be ""
	Options  Options

	Issuer    func() string // returns the URL of this server, without a slash at its end
	PublicURL bool          // set if Issuer is configured; answers then contain it as iss

	Guesses engine.Guesses // may be nil
	Audit   engine.Auditor // may be nil
	Log     *slog.Logger   // may be nil
	Now     func() time.Time
}

// Provider is the OAuth2 provider of one database. It is an engine.Authenticator for the mode
// oauth. It is safe for concurrent use. Several processes can use the same database: a change by
// one process takes effect in the others within a second.
type Provider struct {
	*core
	*clientStore
	*grantStore
	library *server.Server
}

// core holds the dependencies that all parts of a Provider share.
type core struct {
	cfg     Config
	classes struct{ grant, spent, consent *engine.Class }
	start   time.Time
}

// clientStore finds and authenticates clients.
type clientStore struct {
	*core
	clients map[string]*Client // configured clients
	secrets secrets            // hashes of their secrets
	proven  *proven            // cache of right secrets
}

// grantStore reads, changes and revokes the stored grants. It also holds the
// cache of their access tokens.
type grantStore struct {
	*core
	bearers *remember.Memory[*bearer]
	sweeper *quota.Sweeper
	bound   *quota.Bound // limit of the number of grants
}

var (
	_ engine.Authenticator = (*Provider)(nil)
	_ oauth2.Manager       = (*flows)(nil)
)

// New returns a Provider. It hashes the secrets of configured clients in the background, because
// hashing takes time. A request with such a secret waits until the secret is hashed.
func New(ctx context.Context, cfg Config) (*Provider, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Options = cfg.Options.withDefaults()
	c := &core{cfg: cfg, start: cfg.Now()}
	p := &Provider{
		core:        c,
		clientStore: &clientStore{core: c, clients: map[string]*Client{}, proven: newProven()},
		grantStore:  &grantStore{core: c, bearers: remember.New[*bearer]()},
	}
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
	p.sweeper = quota.NewSweeper(cfg.Data, cfg.Now, cfg.Log, p.classes.grant, p.classes.spent)
	p.bound = quota.NewBound(quota.BoundConfig{Data: cfg.Data, Class: p.classes.grant, PerAccount: cfg.Options.GrantsPerAccount, All: cfg.Options.GrantsOfAll, Now: cfg.Now, Log: cfg.Log})
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

// Handlers returns the endpoints by path.
func (p *Provider) Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		grantPath:      http.HandlerFunc(p.serveGrant),
		tokenPath:      p.directHandler(p.serveToken),
		revokePath:     p.directHandler(p.revoke),
		introspectPath: p.directHandler(p.introspect),
		metadataPath:   http.HandlerFunc(p.serveMetadata),
	}
}

func (p *core) audit(ctx context.Context, e engine.Event) {
	if p.cfg.Audit != nil {
		e.Caller = engine.CallerFrom(ctx)
		p.cfg.Audit.Audit(ctx, e)
	}
}

// newEvent returns an event about a client and an account.
func newEvent(kind engine.EventKind, client, account string, details ...engine.Field) engine.Event {
	return engine.Event{Kind: kind, Account: account, Details: append(engine.Fields{{Name: "client", Value: client}}, details...)}
}

func waitFor(ctx context.Context, wait time.Duration) error {
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

// countGuess counts a failed attempt and returns the error for a code or a token that was not
// issued to this client: TooMany if there were too many failures, else invalid_grant.
//
// The count does not delay valid codes. A delay would not make them safer, since a secret of 160
// bits cannot be guessed. And any website can make the server of a client send wrong codes.
func (p *core) countGuess(ctx context.Context, text string) error {
	if p.cfg.Guesses == nil {
		return invalidGrant(text)
	}
	from := engine.CallerFrom(ctx)
	wait, err := p.cfg.Guesses.Admit(ctx, "", from)
	if err != nil {
		return err
	}
	if err := waitFor(ctx, wait); err != nil {
		return err
	}
	p.cfg.Guesses.Failed(ctx, "", from)
	return invalidGrant(text)
}

// elapsed returns the time since the Provider was created. Unlike the wall
// clock, it never jumps.
func (p *core) elapsed() time.Duration { return p.cfg.Now().Sub(p.start) }
