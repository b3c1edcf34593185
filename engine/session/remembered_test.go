package session

import (
	"context"

	"restsrv/engine"
)

// remembered is a repository with one session. Its writes can be made to fail.
type remembered struct {
	engine.Repository
	it      *engine.Item
	updates int
	fail    error
}

func (r *remembered) Get(context.Context, *engine.Class, string, ...*engine.Load) (*engine.Item, error) {
	return r.it, nil
}

func (r *remembered) Create(_ context.Context, c *engine.Class, v engine.Values, _ engine.WriteOptions) (*engine.Item, error) {
	r.it = &engine.Item{Class: c, ID: "id", Values: v}
	return r.it, nil
}

func (r *remembered) Update(context.Context, *engine.Class, string, engine.Values, engine.WriteOptions) (*engine.Item, error) {
	r.updates++
	return r.it, r.fail
}

func (r *remembered) Delete(context.Context, *engine.Class, string, *engine.Match) error {
	return r.fail
}

func (r *remembered) DeleteAll(context.Context, *engine.Query) (int64, error) { return 0, nil }

func (*remembered) Aggregate(context.Context, *engine.Aggregation, func([]any) error) error {
	return nil
}

func (*remembered) List(context.Context, *engine.Query, func(*engine.Item) error) error { return nil }
