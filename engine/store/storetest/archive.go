package storetest

import (
	"context"

	"restsrv/engine"
)

// Archive is a repository that supports export and import.
type Archive interface {
	engine.Repository
	Dump(ctx context.Context, root *engine.Class, after int64, count int, visit func(*engine.Item) error) (int64, error)
	Linked() []*engine.Property
	DumpLinks(ctx context.Context, p *engine.Property, after int64, count int, visit func(owner, member string) error) (int64, error)
	Counters(ctx context.Context) (map[string]int64, error)
	Import(ctx context.Context, items []*engine.Item) error
	ImportLinks(ctx context.Context, p *engine.Property, pairs [][2]string) error
	ImportCounters(ctx context.Context, counters map[string]int64) error
}

// NewObject returns an item for Import. Properties that are not in pairs are null.
func NewObject(c *engine.Class, creator, editor string, pairs ...any) *engine.Item {
	return &engine.Item{Class: c, Version: "7", Creator: creator, Editor: editor, Values: NewValues(c, pairs...)}
}
