// Package access is the permission gate: a Repository that finds out what the
// account of the context may do, and lets the Repository it wraps do no more.
// Every service gets its repository through here, so that no path to the data
// passes beside it. It also answers and explains permissions on any resource
// (Checker), and finds out what data say an account is (CoactorFinder,
// Profiles). It is not for proving who the account is, which is engine/account,
// nor for keeping grants.
//
// What an account may do is computed once for all that are the same subjects (a
// profile): from grants on classes and items, from the roles that items give
// (RoleMap) and from the stages of workflows (Stages). It goes with the context
// as an engine.Guard, which the store makes part of its statements; what the gate
// does itself is to refuse at once what can be refused without looking, to tell
// hidden and missing items alike, and to take out of what comes back what may not
// be known of an item (see mask).
package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"

	"restsrv/engine"
)

// Config is what a gate works with.
type Config struct {
	Inner  engine.Repository
	Policy engine.Policy
	Meta   engine.MetaRepository

	RoleMap *RoleMap // nil for none
	Stages  Stages   // nil for none

	// Unrestricted lets every account do everything, as long as there is no
	// policy to ask.
	Unrestricted bool

	Log *slog.Logger // for resources that protect nothing; nil means none
}

// Stages are the permissions that the stages of workflows give.
type Stages interface {
	// Rows is the condition on items of exactly class c whose stage gives the
	// account the permission; nil for none. It is remembered for all accounts
	// that are the same subjects, and counts besides all other permissions.
	Rows(p engine.Permission, c *engine.Class, a *engine.Account) *engine.Filter
	// Keeps is the condition on items of exactly class c whose stage has the
	// account leave a property as it is, unless a grant lets it change the item;
	// nil for none.
	Keeps(property string, c *engine.Class, a *engine.Account) *engine.Filter
	// Variables are the variables of accounts, besides the id, on which the answers of
	// Rows and Keeps depend (see engine.Account.Variable).
	Variables() []string
}

// now as the time of a filter means that of each query.
var now time.Time

// gate is what Repository and Checker share.
type gate struct {
	cfg    Config
	schema func() *schema
	known  cache

	nothing   *engine.Views // of what may be written and not read
	variables []string      // of accounts, on which profiles depend
}

// newGate panics without a policy: that nobody is asked must be said.
func newGate(cfg Config) *gate {
	if cfg.Policy == nil && !cfg.Unrestricted {
		panic("access: neither a policy nor Unrestricted")
	}
	g := &gate{cfg: cfg, schema: schemaOf(cfg.Meta), nothing: engine.NewViews(func(*engine.Property) bool { return true })}
	if cfg.Stages != nil {
		g.variables = cfg.Stages.Variables()
	}
	return g
}

// Repository is a guarded engine.Repository.
type Repository struct {
	inner engine.Repository
	gate  *gate
}

var _ engine.Warden = (*Repository)(nil)

// New guards a repository.
func New(cfg Config) *Repository { return &Repository{cfg.Inner, newGate(cfg)} }

// noAccount refuses work that nobody is answerable for.
func noAccount() error {
	return engine.Errorf(engine.Forbidden, "no-account", "no account is acting here: the repository works within a request only")
}

// enter finds what the account of ctx may do, and puts it before the inner
// repository. The profile is nil for one that may do everything.
func (r *Repository) enter(ctx context.Context) (context.Context, *profile, error) {
	p, err := r.profile(ctx)
	switch {
	case err != nil:
		return ctx, nil, err
	case p == nil:
		return engine.WithGuard(ctx, nil), nil, nil
	}
	return engine.WithGuard(ctx, p), p, nil
}

// profile is that of the account of ctx; nil when everything is allowed.
func (r *Repository) profile(ctx context.Context) (*profile, error) {
	a := engine.AccountFrom(ctx)
	switch {
	case a == nil:
		return nil, noAccount()
	case r.gate.cfg.Unrestricted:
		return nil, nil
	}
	grants, err := r.gate.cfg.Policy.Grants(ctx)
	if err != nil {
		return nil, err
	}
	p := r.gate.profile(grants, a)
	if p.full {
		return nil, nil
	}
	return p, nil
}

// View is engine.Warden's.
func (r *Repository) View(ctx context.Context, c *engine.Class) (*engine.Class, error) {
	p, err := r.profile(ctx)
	if err != nil || p == nil {
		return c.Base(), err
	}
	return p.views.Of(c.Base()), nil
}

// Rights implements engine.Rightful.
func (r *Repository) Rights(ctx context.Context) (string, error) {
	p, err := r.profile(ctx)
	if err != nil || p == nil {
		return "", err
	}
	a := engine.AccountFrom(ctx)
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %q %q %d", p.digest(), a.Client, scopeText(a.Scope), a.Limit))
	return hex.EncodeToString(sum[:]), nil
}

func scopeText(s *engine.Scope) string {
	if s == nil {
		return ""
	}
	return s.String()
}

// Allow is engine.Warden's.
func (r *Repository) Allow(ctx context.Context, c *engine.Class, may engine.Permission) error {
	p, err := r.profile(ctx)
	if err != nil || p == nil {
		return err
	}
	return p.allow(c, may)
}

// allow is Allow for the account of the profile.
func (p *profile) allow(c *engine.Class, may engine.Permission) error {
	switch {
	case p == nil:
	case may == engine.MayUse && !p.Creates(c), may != engine.MayUse && p.Rows(may, c).Never():
		return engine.Denied()
	}
	return nil
}

// Get is engine.Repository's.
func (r *Repository) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	ctx, p, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	c = c.Base()
	if err := p.allow(c, engine.MayRead); err != nil {
		return nil, err
	}
	it, err := r.inner.Get(ctx, c, id, load...)
	if err != nil {
		return nil, p.concealed(err, c)
	}
	return p.shown(it), nil
}

// List is engine.Repository's.
func (r *Repository) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	ctx, p, err := r.enter(ctx)
	if err != nil || p.allow(q.Class, engine.MayRead) != nil {
		if q.Total != nil {
			*q.Total = 0
		}
		return err
	}
	q = baseQuery(q)
	if p == nil || p.views == nil {
		return r.inner.List(ctx, q, visit)
	}
	return r.inner.List(ctx, q, func(it *engine.Item) error { return visit(p.shown(it)) })
}

// Count is engine.Repository's.
func (r *Repository) Count(ctx context.Context, q *engine.Query) (int64, error) {
	ctx, p, err := r.enter(ctx)
	if err != nil || p.allow(q.Class, engine.MayRead) != nil {
		return 0, err
	}
	return r.inner.Count(ctx, baseQuery(q))
}

// Aggregate is engine.Repository's. The inner repository makes the rows of no
// items too: there may be one.
func (r *Repository) Aggregate(ctx context.Context, a *engine.Aggregation, visit func(row []any) error) error {
	ctx, _, err := r.enter(ctx)
	if err != nil {
		return err
	}
	if c := a.Class.Base(); c != a.Class {
		of := *a
		of.Class, a = c, &of
	}
	return r.inner.Aggregate(ctx, a, visit)
}

var _ engine.Transactor = (*Repository)(nil)

// Transaction is engine.Transactor's: the calls in it may do no more than others.
func (r *Repository) Transaction(ctx context.Context, work func(ctx context.Context) error) error {
	if engine.AccountFrom(ctx) == nil {
		return noAccount()
	}
	return engine.InTransaction(ctx, r.inner, work)
}

var _ engine.Recacher = (*Repository)(nil)

// Recache is engine.Recacher's, of an item that the account may read: what is
// computed says nothing new.
func (r *Repository) Recache(ctx context.Context, c *engine.Class, id string) error {
	if _, err := r.Get(ctx, c, id); err != nil {
		return err
	}
	again, ok := r.inner.(engine.Recacher)
	if !ok {
		return engine.Errorf(engine.Invalid, "recache", "this repository keeps nothing of formulas")
	}
	return again.Recache(engine.WithGuard(ctx, nil), c.Base(), id)
}
