package storetest

import (
	"context"

	"restsrv/engine"
)

// Rules implements engine.Guard for tests. It allows everything except the actions that Only and Hide forbid.
type Rules struct {
	rows   map[rule]*engine.Filter
	hidden map[string]engine.Permission
	Single bool // the account has permissions on single items only, so it cannot create items
}

type rule struct {
	may   engine.Permission
	class string
}

// Rows implements engine.Guard.
func (r *Rules) Rows(may engine.Permission, c *engine.Class) *engine.Filter {
	for ; c != nil; c = c.Ancestor {
		if f := r.rows[rule{may, c.FullName}]; f != nil {
			return f
		}
	}
	return nil
}

// Creates implements engine.Guard.
func (r *Rules) Creates(c *engine.Class) bool {
	return !r.Single && !r.Rows(engine.MayUse, c).Never()
}

// Hides implements engine.Guard.
func (r *Rules) Hides(may engine.Permission, p *engine.Property) bool {
	return r.hidden[p.Definition+"."+p.Name].Has(may)
}

// Only restricts the permissions in may: the account has them only for items of class c that satisfy f.
func (r *Rules) Only(f *engine.Filter, c *engine.Class, may ...engine.Permission) *Rules {
	if r.rows == nil {
		r.rows = map[rule]*engine.Filter{}
	}
	for _, one := range may {
		r.rows[rule{one, c.FullName}] = f
	}
	return r
}

// Hide takes a permission for properties of class c away from the account. may is the permission to read the
// properties, to write them, or both.
func (r *Rules) Hide(may engine.Permission, c *engine.Class, names ...string) *Rules {
	if r.hidden == nil {
		r.hidden = map[string]engine.Permission{}
	}
	for _, name := range names {
		r.hidden[c.Property(name).Definition+"."+name] |= may
	}
	return r
}

// Guarded is a repository that adds a guard to the context of each call.
type Guarded struct {
	engine.Repository
	guard engine.Guard
}

// WithGuard returns a repository that calls r with the guard g.
func WithGuard(r engine.Repository, g engine.Guard) Guarded { return Guarded{r, g} }

// Ctx returns a copy of ctx with the guard.
func (g Guarded) Ctx(ctx context.Context) context.Context { return engine.WithGuard(ctx, g.guard) }

// Get implements engine.Repository.
func (g Guarded) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	return g.Repository.Get(g.Ctx(ctx), c, id, load...)
}

// Admit implements engine.Admitter.
func (g Guarded) Admit(ctx context.Context, a engine.Admission) error {
	return engine.Admit(g.Ctx(ctx), g.Repository, a)
}

// List implements engine.Repository.
func (g Guarded) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	return g.Repository.List(g.Ctx(ctx), q, visit)
}

// Count implements engine.Repository.
func (g Guarded) Count(ctx context.Context, q *engine.Query) (int64, error) {
	return g.Repository.Count(g.Ctx(ctx), q)
}

// Aggregate implements engine.Repository.
func (g Guarded) Aggregate(ctx context.Context, a *engine.Aggregation, visit func([]any) error) error {
	return g.Repository.Aggregate(g.Ctx(ctx), a, visit)
}

// Create implements engine.Repository.
func (g Guarded) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	return g.Repository.Create(g.Ctx(ctx), c, v, o)
}

// Update implements engine.Repository.
func (g Guarded) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	return g.Repository.Update(g.Ctx(ctx), c, id, v, o)
}

// Delete implements engine.Repository.
func (g Guarded) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	return g.Repository.Delete(g.Ctx(ctx), c, id, m)
}

// UpdateAll implements engine.Repository.
func (g Guarded) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (int64, error) {
	return g.Repository.UpdateAll(g.Ctx(ctx), q, v)
}

// DeleteAll implements engine.Repository.
func (g Guarded) DeleteAll(ctx context.Context, q *engine.Query) (int64, error) {
	return g.Repository.DeleteAll(g.Ctx(ctx), q)
}

// Save implements engine.Repository.
func (g Guarded) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	return g.Repository.Save(g.Ctx(ctx), records)
}
