// Package access is the permission gate: a Repository that wraps another Repository and allows
// only the calls for which the account of the context has permission. Every service gets its
// repository from this package, so all access to the data is checked.
//
// The package also does the following:
//
//   - Checker checks and explains permissions on any resource.
//   - CoactorFinder finds further subjects of an account in the data.
//   - Profiles reads properties of accounts from the data.
//
// It does not authenticate accounts, which package engine/account does, and it does not store
// grants.
//
// Accounts with the same subjects, such as the same roles, share a profile with their
// permissions. A profile is computed once, from grants on classes and items, from the roles that
// items give (RoleMap) and from the stages of workflows (Stages). The gate puts the profile into
// the context as an engine.Guard, and the store adds the conditions of the guard to the SQL
// statements. The gate itself does three things:
//
//   - It rejects a call at once if it can decide without reading data.
//   - It returns the same error for hidden and for missing items.
//   - It removes hidden values from the results (see redaction).
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

// Config holds the dependencies of a gate.
type Config struct {
	Inner  engine.Repository
	Policy engine.Policy
	Meta   engine.MetaRepository

	RoleMap *RoleMap // may be nil
	Stages  Stages   // may be nil

	// Unrestricted allows everything to every account. It must be set if Policy
	// is nil.
	Unrestricted bool

	// Empty is called with the class of a list that is empty because of permissions. all is true if
	// the account may read no object of the class. all is false if the account may read some
	// objects of the class, but the list contains none of them. Empty may be nil.
	Empty func(ctx context.Context, c *engine.Class, all bool)

	Log *slog.Logger // for warnings about resources that have no effect; if nil, they are not logged
}

// Stages are the permissions that the stages of workflows give.
type Stages interface {
	// Rows returns a condition on items of exactly class c: the item is in a stage that gives the
	// account the permission. It returns nil if no stage gives it. The permission is added to those
	// from grants and roles. The result is cached for all accounts with the same subjects.
	Rows(p engine.Permission, c *engine.Class, a *engine.Account) *engine.Filter
	// Keeps returns a condition on items of exactly class c: the item is in a stage that forbids
	// the account to change the property. It returns nil if there is no such stage. A grant that
	// lets the account change the item takes precedence over the stage.
	Keeps(property string, c *engine.Class, a *engine.Account) *engine.Filter
	// Variables lists the variables of accounts, besides the id, on which the
	// results of Rows and Keeps depend (see engine.Account.Variable).
	Variables() []string
}

// now is the zero time. A filter that is parsed with it uses the time of each query.
var now time.Time

// gate is the part that Repository and Checker share.
type gate struct {
	cfg    Config
	schema func() *schema
	known  cache

	nothing   *engine.Views // views without any attribute, for items that the account wrote but is not allowed to read
	variables []string      // names of the account variables on which profiles depend
}

// newGate panics if there is no policy and Unrestricted is not set: access
// without checks must be configured explicitly.
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

// Repository is an engine.Repository that checks permissions.
type Repository struct {
	inner engine.Repository
	gate  *gate
}

var _ engine.Warden = (*Repository)(nil)

// New returns a Repository that guards cfg.Inner.
func New(cfg Config) *Repository { return &Repository{cfg.Inner, newGate(cfg)} }

// noAccount is the error when the context of a call has no account.
func noAccount() error {
	return engine.Errorf(engine.Forbidden, "no-account", "no account is acting here: the repository works within a request only")
}

// guardContext returns the profile of the account of ctx. It also returns a context in which the
// inner repository applies this profile. The profile is nil if the account may do everything.
func (r *Repository) guardContext(ctx context.Context) (context.Context, *profile, error) {
	p, err := r.currentProfile(ctx)
	switch {
	case err != nil:
		return ctx, nil, err
	case p == nil:
		return engine.WithGuard(ctx, nil), nil, nil
	}
	return engine.WithGuard(ctx, p), p, nil
}

// currentProfile returns the profile of the account of ctx; nil if the account may do
// everything.
func (r *Repository) currentProfile(ctx context.Context) (*profile, error) {
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
	p := r.gate.cachedProfile(grants, a)
	if p.full {
		return nil, nil
	}
	return p, nil
}

// View implements engine.Warden.
func (r *Repository) View(ctx context.Context, c *engine.Class) (*engine.Class, error) {
	p, err := r.currentProfile(ctx)
	if err != nil || p == nil {
		return c.Base(), err
	}
	return p.views.Of(c.Base()), nil
}

// Rights implements engine.Rightful.
func (r *Repository) Rights(ctx context.Context) (string, error) {
	p, err := r.currentProfile(ctx)
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

// Allow implements engine.Warden.
func (r *Repository) Allow(ctx context.Context, c *engine.Class, may engine.Permission) error {
	p, err := r.currentProfile(ctx)
	if err != nil || p == nil {
		return err
	}
	return p.checkAllowed(c, may)
}

// checkAllowed returns engine.Denied if the profile does not give the permission on
// any item of c.
func (p *profile) checkAllowed(c *engine.Class, may engine.Permission) error {
	switch {
	case p == nil:
	case may == engine.MayUse && !p.Creates(c), may != engine.MayUse && p.Rows(may, c).Never():
		return engine.Denied()
	}
	return nil
}

// Get implements engine.Repository.
func (r *Repository) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	ctx, p, err := r.guardContext(ctx)
	if err != nil {
		return nil, err
	}
	c = c.Base()
	if err := p.checkAllowed(c, engine.MayRead); err != nil {
		return nil, err
	}
	it, err := r.inner.Get(ctx, c, id, load...)
	if err != nil {
		return nil, p.concealMissing(err, c)
	}
	return p.redactItem(it), nil
}

// List implements engine.Repository.
func (r *Repository) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) (err error) {
	ctx, p, err := r.guardContext(ctx)
	if err != nil || p.checkAllowed(q.Class, engine.MayRead) != nil {
		if q.Total != nil {
			*q.Total = 0
		}
		if err == nil && r.gate.cfg.Empty != nil {
			r.gate.cfg.Empty(ctx, q.Class.Base(), true)
		}
		return err
	}
	q = baseQuery(q)
	if r.gate.cfg.Empty != nil && p != nil && p.Rows(engine.MayRead, q.Class) != nil {
		var count func(err error)
		visit, count = r.countVisits(ctx, q.Class, visit)
		defer func() { count(err) }()
	}
	if p == nil || p.views == nil {
		return r.inner.List(ctx, q, visit)
	}
	return r.inner.List(ctx, q, func(it *engine.Item) error { return visit(p.redactItem(it)) })
}

// countVisits wraps visit and notes whether it was called. end must be called when the list has
// ended, with the error of the list. If there was neither an error nor an item, it calls
// Config.Empty.
func (r *Repository) countVisits(ctx context.Context, c *engine.Class, visit func(*engine.Item) error) (_ func(*engine.Item) error, end func(error)) {
	visited := false
	return func(it *engine.Item) error {
			visited = true
			return visit(it)
		}, func(err error) {
			if err == nil && !visited {
				r.gate.cfg.Empty(ctx, c, false)
			}
		}
}

// Count implements engine.Repository.
func (r *Repository) Count(ctx context.Context, q *engine.Query) (int64, error) {
	ctx, p, err := r.guardContext(ctx)
	if err != nil || p.checkAllowed(q.Class, engine.MayRead) != nil {
		return 0, err
	}
	return r.inner.Count(ctx, baseQuery(q))
}

// Aggregate implements engine.Repository. It calls the inner repository even if
// the account may read no items, because an aggregation can have a row without
// any item.
func (r *Repository) Aggregate(ctx context.Context, a *engine.Aggregation, visit func(row []any) error) error {
	ctx, _, err := r.guardContext(ctx)
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

// Transaction implements engine.Transactor. Calls within the transaction are
// checked like all others.
func (r *Repository) Transaction(ctx context.Context, work func(ctx context.Context) error) error {
	if engine.AccountFrom(ctx) == nil {
		return noAccount()
	}
	return engine.InTransaction(ctx, r.inner, work)
}

var _ engine.Recacher = (*Repository)(nil)

// Recache implements engine.Recacher. The account only needs permission to read the item, because
// the computed values do not depend on the account.
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
