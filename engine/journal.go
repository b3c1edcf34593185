package engine

import "context"

// Journal creates the records of writes to items of classes with Journaling. The
// repository stores each record in the transaction of its write. Package
// engine/journal implements it.
type Journal interface {
	// Class returns the system class of the records.
	Class() *Class
	// Record returns the values of a record without its key, or nil if the write
	// did not change anything that is journaled.
	Record(ctx context.Context, c Change) Values
}

// Change is the effect of a write on an item, or on one of its collections.
type Change struct {
	At  Instant
	Was *Item // before the write; nil for a new item
	Is  *Item // after the write; nil for a deleted item

	// If members were added to or removed from a collection of Is, the following
	// fields are set, Was is nil, and only class and id of Is are valid.
	Collection *Property
	Members    []string // ids of the members
	Left       bool
}

type unjournaledKey struct{}

// Unjournaled returns a context in which writes leave no records in a journal.
// Imported data either have a history of their own or none.
func Unjournaled(ctx context.Context) context.Context {
	return context.WithValue(ctx, unjournaledKey{}, true)
}

// Journaled reports whether the writes of a context are journaled.
func Journaled(ctx context.Context) bool { return ctx.Value(unjournaledKey{}) == nil }
