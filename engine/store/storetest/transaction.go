package storetest

import (
	"context"

	"restsrv/engine"
)

// InTransaction calls work in a transaction of r.
func InTransaction(ctx context.Context, r engine.Repository, work func(ctx context.Context) error) error {
	if w, ok := r.(Whole); ok {
		r = w.Repository
	}
	return r.(engine.Transactor).Transaction(ctx, work)
}

// CreateWithin creates an item in the transaction of ctx.
func CreateWithin(ctx context.Context, r engine.Repository, c *engine.Class, pairs ...any) error {
	_, err := r.Create(ctx, c, NewValues(c, pairs...), engine.WriteOptions{})
	return err
}
