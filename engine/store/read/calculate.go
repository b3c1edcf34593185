package read

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/schema"
)

// ComputeItems computes the calculated attributes of items and of all items that are loaded with them. Each item is
// computed once, after the items that are loaded with it.
func (s *Reader) ComputeItems(ctx context.Context, items []*engine.Item, data *Lookups) error {
	if !s.layout.Computing && (data.r.Guard == nil || len(s.layout.RowsRead) == 0) {
		return nil
	}
	c := calculation{ctx: ctx, reader: s, data: data, done: map[*engine.Item]bool{}}
	for _, it := range items {
		if err := c.computeItem(it); err != nil {
			return err
		}
	}
	return nil
}

type calculation struct {
	ctx    context.Context
	reader *Reader
	data   *Lookups
	done   map[*engine.Item]bool
}

func (c *calculation) computeItem(it *engine.Item) error {
	if it == nil || c.done[it] {
		return nil
	}
	c.done[it] = true
	for _, link := range it.Links {
		if err := c.computeItem(link.Item); err != nil {
			return err
		}
		for _, member := range link.Items {
			if err := c.computeItem(member); err != nil {
				return err
			}
		}
	}
	g := c.data.r.Guard
	g.HideValues(it)
	if withheld := g.WithheldIn(it.Class); len(withheld) > 0 {
		if err := it.ComputeAgain(c.ctx, withheld, c.data); err != nil {
			return err
		}
	}
	if p := c.reader.layout.Plans[it.Class]; p == nil || !p.Computed {
		return nil
	}
	return it.Compute(c.ctx, c.data)
}

// whenRead converts an error of a formula that was computed for a read to an internal error. The error does not mean
// that the request is invalid, and another request would not avoid it.
func whenRead(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != engine.Invalid {
		return err
	}
	failure := engine.Wrap(err, "a calculated attribute could not be computed")
	failure.Class, failure.ID, failure.Attribute = e.Class, e.ID, e.Attribute
	return failure
}

// Lookups finds items for formulas, on the connection of one read or write. It implements engine.FormulaData. The
// found items have only stored values, with one exception: attributes withheld from the account are computed again
// (see ComputeAgain).
type Lookups struct {
	reader  *Reader
	r       *conns.Session
	writing bool // the formula is computed in a transaction that writes: the data can change, and formulas can use counters
	now     engine.Instant
	kept    *results // results of earlier lookups; nil if each lookup must read again, because the data can change
	depth   int      // number of enclosing lookups: the computation of a found item can need a further lookup
}

// results caches the results of lookups, for the formulas of further items. The keys contain the depth of nested
// lookups, because withheld values are computed only up to a maximum depth (maxAgain).
type results struct {
	found  map[lookupKey][]*engine.Item
	counts map[string]int64
	again  map[againKey]engine.Values // values of the withheld attributes of an item, in the order of rights.Guard.WithheldIn
	size   int                        // number of items and numbers in all three maps
}

// lookupKey identifies a statement and its arguments.
type lookupKey struct {
	depth int
	name  string
}

// againKey identifies an item with withheld attributes that were computed again.
type againKey struct {
	depth int
	class *engine.Class
	id    string
}

func newResults() *results {
	return &results{found: map[lookupKey][]*engine.Item{}, counts: map[string]int64{}, again: map[againKey]engine.Values{}}
}

// maxKept is the maximum number of items and numbers that results stores.
const maxKept = 10_000

// reserveRoom reports whether results can store n more items. If so, it adds n to the size.
func (r *results) reserveRoom(n int) bool {
	if r == nil || r.size+n > maxKept {
		return false
	}
	r.size += n
	return true
}

// readerLookups returns the Lookups of a read. It caches results, so that a formula that does not depend on its item
// costs one statement for a whole list.
func (s *Reader) readerLookups(r *conns.Session) *Lookups {
	return &Lookups{reader: s, r: r, now: engine.InstantOf(s.now()), kept: newResults()}
}

// WriterLookups returns the Lookups of a write, in the transaction of w. It does not cache results, because the write
// may change them.
func (s *Reader) WriterLookups(w *conns.Session) *Lookups {
	return &Lookups{reader: s, r: w, writing: true, now: engine.InstantOf(s.now())}
}

// Find implements engine.FormulaData.
func (l *Lookups) Find(ctx context.Context, q *engine.Query) ([]*engine.Item, error) {
	p, err := l.reader.layout.PlanOf(q.Class)
	if err != nil || q.Count == 0 {
		return nil, err
	}
	list, err := l.reader.queries.NewListing(p, l.r.Guard, q)
	if err != nil {
		return nil, l.ignoreHidden(err)
	}
	key := lookupKey{l.depth, statementName(list.Text, list.Args, q)}
	if l.kept != nil && key.name != "" {
		if items, ok := l.kept.found[key]; ok {
			return items, nil
		}
	}
	items, err := Clone(l.r, ctx, p, list)
	if err == nil && len(q.Load) > 0 {
		err = l.reader.LoadAll(ctx, l.r, items, q.Load, 0)
	}
	if err != nil {
		return nil, l.reader.pool.EngineError(ctx, l.r, err)
	}
	for _, it := range items {
		l.r.Guard.HideLoaded(it)
	}
	if err := l.ComputeAgain(ctx, items); err != nil {
		return nil, l.reader.pool.EngineError(ctx, l.r, err)
	}
	if key.name != "" && l.kept.reserveRoom(len(items)+1) {
		l.kept.found[key] = items
	}
	return items, nil
}

// ignoreHidden returns nil if err means that the lookup uses an attribute hidden from the reader; the lookup then
// finds no items. The reader must not get this error, because the reader's request does not contain the lookup.
func (l *Lookups) ignoreHidden(err error) error {
	var e *engine.Error
	if l.r.Guard != nil && errors.As(err, &e) && (e.Reason == rights.UnknownReason || e.Reason == rights.WithheldReason) {
		return nil
	}
	return err
}

// statementName returns a text that identifies a statement with its arguments and the relations to load with the
// items. It returns "" if a relation is loaded with conditions, because the text does not contain them.
func statementName(text string, args []any, q *engine.Query) string {
	var b strings.Builder
	b.WriteString(text)
	for _, a := range args {
		fmt.Fprintf(&b, "\x00%T %v", a, a)
	}
	if !writeLoads(&b, q.Load) {
		return ""
	}
	return b.String()
}

// writeLoads appends the loads to b. It returns false if one of them has conditions.
func writeLoads(b *strings.Builder, loads []*engine.Load) bool {
	for _, l := range loads {
		fmt.Fprintf(b, "\x00%p(", l.Property)
		if l.Filter != nil || !writeLoads(b, l.Next) {
			return false
		}
		b.WriteByte(')')
	}
	return true
}

// Count implements engine.FormulaData.
func (l *Lookups) Count(ctx context.Context, q *engine.Query) (int64, error) {
	p, err := l.reader.layout.PlanOf(q.Class)
	if err != nil {
		return 0, err
	}
	text, args, err := l.reader.queries.CountStatement(p, l.r.Guard, q, engine.MayRead)
	if err != nil {
		return 0, l.ignoreHidden(err)
	}
	name := statementName(text, args, q)
	if l.kept != nil {
		if n, ok := l.kept.counts[name]; ok {
			return n, nil
		}
	}
	n, err := l.r.QueryNumber(ctx, text, args)
	if err != nil {
		return 0, l.reader.pool.EngineError(ctx, l.r, err)
	}
	if l.kept.reserveRoom(1) {
		l.kept.counts[name] = n
	}
	return n, nil
}

// Next implements engine.FormulaData.
func (l *Lookups) Next(_ context.Context, counter string) (int64, error) {
	if !l.writing {
		return 0, engine.Errorf(engine.Invalid, "formula", "next takes a number when an object is written, not when it is read: make the attribute cached, or the formula its default")
	}
	return schema.NextNumber(l.r, counter)
}

// Class implements engine.FormulaData.
func (l *Lookups) Class(name string) (*engine.Class, error) { return l.reader.layout.ClassNamed(name) }

// Now implements engine.FormulaData.
func (l *Lookups) Now() engine.Instant { return l.now }
