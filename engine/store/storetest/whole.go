package storetest

import (
	"context"

	"restsrv/engine"
)

// Whole is a repository that runs each call in a transaction of its own. The suite runs with it to check that calls
// have the same results in transactions.
type Whole struct{ engine.Repository }

// Get calls Repository.Get in a transaction.
func (w Whole) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (it *engine.Item, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		it, err = w.Repository.Get(ctx, c, id, load...)
		return err
	})
	return it, err
}

// List calls Repository.List in a transaction.
func (w Whole) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	return w.within(ctx, func(ctx context.Context) error { return w.Repository.List(ctx, q, visit) })
}

// Count calls Repository.Count in a transaction.
func (w Whole) Count(ctx context.Context, q *engine.Query) (n int64, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		n, err = w.Repository.Count(ctx, q)
		return err
	})
	return n, err
}

// Aggregate calls Repository.Aggregate in a transaction.
func (w Whole) Aggregate(ctx context.Context, a *engine.Aggregation, visit func([]any) error) error {
	return w.within(ctx, func(ctx context.Context) error { return w.Repository.Aggregate(ctx, a, visit) })
}

// Create calls Repository.Create in a transaction.
func (w Whole) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (it *engine.Item, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		it, err = w.Repository.Create(ctx, c, v, o)
		return err
	})
	return it, err
}

// Update calls Repository.Update in a transaction.
func (w Whole) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (it *engine.Item, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		it, err = w.Repository.Update(ctx, c, id, v, o)
		return err
	})
	return it, err
}

// Delete calls Repository.Delete in a transaction.
func (w Whole) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	return w.within(ctx, func(ctx context.Context) error { return w.Repository.Delete(ctx, c, id, m) })
}

// UpdateAll calls Repository.UpdateAll in a transaction.
func (w Whole) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (n int64, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		n, err = w.Repository.UpdateAll(ctx, q, v)
		return err
	})
	return n, err
}

// DeleteAll calls Repository.DeleteAll in a transaction.
func (w Whole) DeleteAll(ctx context.Context, q *engine.Query) (n int64, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		n, err = w.Repository.DeleteAll(ctx, q)
		return err
	})
	return n, err
}

// Save calls Repository.Save in a transaction.
func (w Whole) Save(ctx context.Context, records []engine.Record) (items []*engine.Item, err error) {
	err = w.within(ctx, func(ctx context.Context) (err error) {
		items, err = w.Repository.Save(ctx, records)
		return err
	})
	return items, err
}

func (w Whole) within(ctx context.Context, work func(ctx context.Context) error) error {
	return InTransaction(ctx, w, work)
}

// Admit calls engine.Admit in a transaction.
func (w Whole) Admit(ctx context.Context, a engine.Admission) error {
	return w.within(ctx, func(ctx context.Context) error { return engine.Admit(ctx, w.Repository, a) })
}
