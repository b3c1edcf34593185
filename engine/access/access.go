// Package access is the permission gate: a Repository that asks whether the
// account of the context may do a thing before the Repository it wraps does
// it. Every service gets its repository through here, so that no path to the
// data passes beside it. It is not for proving who the account is: that is
// engine/account.
//
// Until roles and permissions exist, whoever a service let in may do
// everything; a context without an account may do nothing.
package access

import (
	"context"

	"restsrv/engine"
)

// Repository is a guarded engine.Repository.
type Repository struct{ inner engine.Repository }

var _ engine.Repository = (*Repository)(nil)

// New guards a repository.
func New(inner engine.Repository) *Repository { return &Repository{inner} }

// allow refuses work that nobody is answerable for.
func allow(ctx context.Context) error {
	if engine.AccountFrom(ctx) == nil {
		return engine.Errorf(engine.Forbidden, "no-account", "no account is acting here: the repository works within a request only")
	}
	return nil
}

// Get is engine.Repository's.
func (r *Repository) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	if err := allow(ctx); err != nil {
		return nil, err
	}
	return r.inner.Get(ctx, c, id, load...)
}

// List is engine.Repository's.
func (r *Repository) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	if err := allow(ctx); err != nil {
		return err
	}
	return r.inner.List(ctx, q, visit)
}

// Count is engine.Repository's.
func (r *Repository) Count(ctx context.Context, q *engine.Query) (int64, error) {
	if err := allow(ctx); err != nil {
		return 0, err
	}
	return r.inner.Count(ctx, q)
}

// Aggregate is engine.Repository's.
func (r *Repository) Aggregate(ctx context.Context, a *engine.Aggregation, visit func(row []any) error) error {
	if err := allow(ctx); err != nil {
		return err
	}
	return r.inner.Aggregate(ctx, a, visit)
}

// Create is engine.Repository's.
func (r *Repository) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	if err := allow(ctx); err != nil {
		return nil, err
	}
	return r.inner.Create(ctx, c, v, o)
}

// Update is engine.Repository's.
func (r *Repository) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	if err := allow(ctx); err != nil {
		return nil, err
	}
	return r.inner.Update(ctx, c, id, v, o)
}

// Delete is engine.Repository's.
func (r *Repository) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	if err := allow(ctx); err != nil {
		return err
	}
	return r.inner.Delete(ctx, c, id, m)
}

// UpdateAll is engine.Repository's.
func (r *Repository) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (int64, error) {
	if err := allow(ctx); err != nil {
		return 0, err
	}
	return r.inner.UpdateAll(ctx, q, v)
}

// DeleteAll is engine.Repository's.
func (r *Repository) DeleteAll(ctx context.Context, q *engine.Query) (int64, error) {
	if err := allow(ctx); err != nil {
		return 0, err
	}
	return r.inner.DeleteAll(ctx, q)
}

// Save is engine.Repository's.
func (r *Repository) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	if err := allow(ctx); err != nil {
		return nil, err
	}
	return r.inner.Save(ctx, records)
}
