package engine

import "context"

// Journal makes the records of what writes do to items of classes with
// Journaling (iondv-data.md section 4.4). The repository stores each in the
// transaction of its write. Package engine/journal has one.
type Journal interface {
	// Class is the system class of the records.
	Class() *Class
	// Record makes the values of a record, but for its key; nil when nothing
	// has changed that a journal tells.
	Record(ctx context.Context, c Change) Values
}

// Change is what a write did to an item, or to one of its collections.
type Change struct {
	At  Instant
	Was *Item // before the write; nil for a new item
	Is  *Item // after it; nil for one that was deleted

	// When members of a collection of Is, whose class and id count alone, have
	// joined it or left it, these are set and Was is nil.
	Collection *Property
	Members    []string // their ids
	Left       bool
}

type unjournaledKey struct{}

// Unjournaled returns a context whose writes leave no records in a journal: what
// is imported has a history of its own, or none.
func Unjournaled(ctx context.Context) context.Context {
	return context.WithValue(ctx, unjournaledKey{}, true)
}

// Journaled reports whether the writes of a context leave records.
func Journaled(ctx context.Context) bool { return ctx.Value(unjournaledKey{}) == nil }
