// Package cached computes cached attributes: attributes that are calculated, but stored with their items. After a
// write it computes the cached attributes of the changed items, and of all items that depend on changed items.
package cached

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
	"restsrv/engine/store/table"
)

// Writer computes and stores cached attributes.
type Writer struct {
	pool    *conns.Pool
	layout  *layout.Layout
	queries *sqlquery.Queries
	reader  *read.Reader
	table   *table.Writer
}

// New returns a Writer.
func New(pool *conns.Pool, l *layout.Layout, queries *sqlquery.Queries, reader *read.Reader, rows *table.Writer) *Writer {
	return &Writer{pool, l, queries, reader, rows}
}

// maxRounds limits how far a change of a cached attribute spreads. The first round computes the items that depend on
// the changed items. If a round changes values of some of these items, the next round computes the items that depend
// on them, and so on.
const maxRounds = 8

// recacheRows is the number of items that are computed together.
const recacheRows = 500

// Update computes and stores the cached attributes of the items in written, and of all items that depend on them. The
// items must have been written in the transaction of w; they get the new values. before contains changed and deleted
// items in their previous state, because the items that depended on this state must be computed, too. Update returns
// Invalid if a formula does not accept a written value, or if a computed value violates a unique index.
func (s *Writer) Update(w *conns.Session, written, before []*engine.Item) error {
	r := s.newRecaching(w)
	for _, it := range written {
		r.written[table.IdentityOf(it)] = it
	}
	for chunk := range slices.Chunk(written, recacheRows) {
		if _, err := r.computeItems(chunk, true); err != nil {
			return err
		}
	}
	return r.spreadChanges(slices.Concat(written, before))
}

func (s *Writer) newRecaching(w *conns.Session) *recaching {
	return &recaching{writer: s, ctx: w.Ctx, w: w, data: s.reader.WriterLookups(w), written: map[table.Identity]*engine.Item{}}
}

// spreadChanges computes the cached attributes of items that depend on changed items, and so on up to maxRounds.
func (r *recaching) spreadChanges(changed []*engine.Item) error {
	for range maxRounds {
		next, err := r.findDependents(changed)
		if err != nil || len(next) == 0 {
			return err
		}
		changed = nil
		for chunk := range slices.Chunk(next, recacheRows) {
			if chunk, err = r.writer.table.RereadLocked(r.w, chunk); err != nil {
				return err
			}
			more, err := r.computeItems(chunk, false)
			if err != nil {
				return err
			}
			changed = append(changed, more...)
		}
	}
	return nil
}

// recaching is the state of one call of Update or recalculateKeys.
type recaching struct {
	writer  *Writer
	ctx     context.Context
	w       *conns.Session
	data    *read.Lookups
	written map[table.Identity]*engine.Item // the items of the caller of Update, which get the new values
}

// computeItems computes and stores the cached attributes of items, and returns the items with changed values. If fresh
// is true, the save has just written the items. They then keep their revision, because the change belongs to the same
// write.
func (r *recaching) computeItems(items []*engine.Item, fresh bool) ([]*engine.Item, error) {
	var work, changed []*engine.Item
	for _, it := range items {
		if len(r.writer.layout.Plans[it.Class].Caching.Cached) > 0 {
			work = append(work, read.WithoutLinks(it))
		}
	}
	if len(work) == 0 {
		return nil, nil
	}
	if err := r.writer.reader.LoadAll(r.ctx, r.w, work, nil, read.ImplicitDepth); err != nil {
		return nil, err
	}
	for _, it := range work {
		for _, link := range it.Links {
			loaded := link.Items
			if link.Item != nil {
				loaded = []*engine.Item{link.Item}
			}
			if err := r.writer.reader.ComputeItems(r.ctx, loaded, r.data); err != nil {
				return nil, err
			}
		}
		old := slices.Clone(it.Values)
		if err := it.ComputeCached(r.ctx, r.data); err != nil {
			return nil, err
		}
		if differs, err := r.writer.storeCached(r.w, it, old, fresh); err != nil {
			return nil, err
		} else if differs {
			changed = append(changed, it)
		}
		r.updateWritten(it)
	}
	return changed, nil
}

// updateWritten copies the new values of it to the caller's copy of the same item, if the caller has one.
func (r *recaching) updateWritten(it *engine.Item) {
	mine := r.written[table.IdentityOf(it)]
	if mine == nil || mine.Class != it.Class {
		return
	}
	for _, p := range r.writer.layout.Plans[it.Class].Caching.Cached {
		mine.Values[p.Index] = it.Values[p.Index]
	}
	if it.Revision != 0 {
		mine.Revision = it.Revision
	}
}

// storeCached stores the cached attributes of an item that differ from the old values. It gives the item a new
// revision if fresh is false.
func (s *Writer) storeCached(w *conns.Session, it *engine.Item, old engine.Values, fresh bool) (differs bool, err error) {
	p := s.layout.Plans[it.Class]
	b := sqldb.NewBuilder(s.layout.Traits)
	b.Add("UPDATE ", p.Table.Quoted, " SET ")
	for _, property := range p.Caching.Cached {
		if !property.Stored() || it.Values[property.Index] == old[property.Index] {
			continue
		}
		if differs {
			b.Add(", ")
		}
		differs = true
		b.Add(p.Table.Column(property).Quoted, " = ")
		b.Bind(it.Values[property.Index])
	}
	if !differs {
		return false, nil
	}
	if !fresh {
		it.Revision = uint64(table.NewRevision())
		b.Add(", ", layout.RevColumn, " = ")
		b.Bind(int64(it.Revision))
	}
	key, ok := it.Class.KeyValues(it.ID)
	if !ok {
		return false, engine.NoItem(it.Class, it.ID)
	}
	p.WhereKey(b, key)
	if err := p.CheckSizes(it.Values); err != nil {
		return false, err
	}
	if _, err := w.Execute(b); err != nil {
		return false, s.table.WriteError(p, err, it.Get)
	}
	return true, s.table.KeepWords(w, p, it)
}

// findDependents returns the items with cached attributes that depend on the given items. Each item is returned once.
func (r *recaching) findDependents(items []*engine.Item) ([]*engine.Item, error) {
	byClass := map[*engine.Class][]*engine.Item{}
	var classes []*engine.Class
	for _, it := range items {
		if !r.writer.layout.Plans[it.Class].AffectsOthers() {
			continue
		}
		if byClass[it.Class] == nil {
			classes = append(classes, it.Class)
		}
		byClass[it.Class] = append(byClass[it.Class], read.WithoutLinks(it))
	}
	seen := map[table.Identity]bool{}
	var found []*engine.Item
	for _, c := range classes {
		for chunk := range slices.Chunk(byClass[c], recacheRows) {
			for _, d := range r.writer.layout.Plans[c].Caching.Dependencies {
				if err := r.writer.reader.LoadAll(r.ctx, r.w, chunk, []*engine.Load{d.Load}, 0); err != nil {
					return nil, err
				}
				for _, it := range chunk {
					found = appendLeaves(it, d.Path, seen, found)
				}
			}
		}
	}
	return found, nil
}

// appendLeaves appends the items at the end of a path of loaded relations to found, except those in seen.
func appendLeaves(it *engine.Item, path []string, seen map[table.Identity]bool, found []*engine.Item) []*engine.Item {
	if len(path) == 0 {
		if !seen[table.IdentityOf(it)] {
			seen[table.IdentityOf(it)] = true
			found = append(found, it)
		}
		return found
	}
	p := it.Class.Property(path[0])
	if p == nil {
		return found
	}
	link := it.Link(p)
	if link.Item != nil {
		found = appendLeaves(link.Item, path[1:], seen, found)
	}
	for _, member := range link.Items {
		found = appendLeaves(member, path[1:], seen, found)
	}
	return found
}
