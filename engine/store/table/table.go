// Package table reads, locks and changes rows in the transaction of a write. Each function does one thing to rows of
// one table, in one statement where possible. Package store decides which functions a write needs, and in which order.
package table

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// Writer changes rows of the tables of a layout.
type Writer struct {
	reader  *read.Reader
	layout  *layout.Layout
	queries *sqlquery.Queries
	dialect sqldb.Dialect
	traits  sqldb.Traits
}

// New returns a Writer.
func New(reader *read.Reader, l *layout.Layout, queries *sqlquery.Queries) *Writer {
	return &Writer{reader: reader, layout: l, queries: queries, dialect: l.Dialect, traits: l.Traits}
}

// BulkRows is the maximum number of rows of one statement. Larger groups of rows are divided into parts with sizes
// that are powers of two, so that only a few different statements are needed.
const BulkRows = 512

// PowerOfTwo returns the greatest power of two that is at most n. n must be positive.
func PowerOfTwo(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

// Distinct returns members without repeated values.
func Distinct(members []any) []any {
	seen := make(map[string]bool, len(members))
	return slices.DeleteFunc(slices.Clone(members), func(v any) bool {
		text := engine.ValueText(v)
		twice := seen[text]
		seen[text] = true
		return twice
	})
}

// KeyOf returns the key of an item in the form in which references to the item store it: the value of the key property
// or, if there are several key properties, the id.
func KeyOf(it *engine.Item) any {
	if key := it.Class.KeyProperties(); len(key) == 1 {
		return it.Values[key[0].Index]
	}
	return it.ID
}

// KeysOf returns the keys of items (see KeyOf).
func KeysOf(items []*engine.Item) []any {
	keys := make([]any, len(items))
	for i, it := range items {
		keys[i] = KeyOf(it)
	}
	return keys
}

// Identity identifies an item by its root class and its id.
type Identity struct {
	Root *engine.Class
	ID   string
}

// IdentityOf returns the identity of an item.
func IdentityOf(it *engine.Item) Identity { return Identity{it.Class.Root(), it.ID} }

// NewRevision returns a random revision for an item. With near certainty it differs from all earlier revisions of the
// item.
func NewRevision() int64 { return rand.Int64N(1<<63-1) + 1 }

// StoredRevision converts a revision to its form in the database. If no revision of this store can have this number,
// the result is 0, which is not the revision of any item.
func StoredRevision(revision uint64) int64 {
	if revision > math.MaxInt64 {
		return 0
	}
	return int64(revision)
}
