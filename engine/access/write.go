package access

import (
	"context"
	"errors"
	"slices"

	"restsrv/engine"
)

// Create implements engine.Repository.
func (r *Repository) Create(ctx context.Context, c *engine.Class, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	ctx, p, err := r.guardContext(ctx)
	if err != nil {
		return nil, err
	}
	c = c.Base()
	if p != nil && !p.Creates(c) {
		return nil, engine.Denied()
	}
	if err := p.checkValues(c, v); err != nil {
		return nil, err
	}
	it, err := r.inner.Create(p.changeContext(ctx, engine.Record{Class: c, Values: v}), c, v, o)
	return r.writtenItem(ctx, p, it, p.concealMissing(err, c))
}

// Update implements engine.Repository.
func (r *Repository) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, o engine.WriteOptions) (*engine.Item, error) {
	ctx, p, err := r.guardContext(ctx)
	if err != nil {
		return nil, err
	}
	c = c.Base()
	if err := p.checkAllowed(c, engine.MayWrite); err != nil {
		return nil, err
	}
	if err := p.checkValues(c, v); err != nil {
		return nil, err
	}
	it, err := r.inner.Update(p.changeContext(ctx, engine.Record{Class: c, Values: v}), c, id, v, o)
	return r.writtenItem(ctx, p, it, p.concealMissing(err, c))
}

// Delete implements engine.Repository.
func (r *Repository) Delete(ctx context.Context, c *engine.Class, id string, m *engine.Match) error {
	ctx, p, err := r.guardContext(ctx)
	if err != nil {
		return err
	}
	c = c.Base()
	if err := p.checkAllowed(c, engine.MayDelete); err != nil {
		return err
	}
	return p.concealMissing(r.inner.Delete(ctx, c, id, m), c)
}

// UpdateAll implements engine.Repository.
func (r *Repository) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (int64, error) {
	ctx, p, err := r.guardContext(ctx)
	if err != nil {
		return 0, err
	}
	if err := p.checkAllowed(q.Class, engine.MayWrite); err != nil {
		return 0, err
	}
	if err := p.checkValues(q.Class, v); err != nil {
		return 0, err
	}
	return r.inner.UpdateAll(p.changeContext(ctx, engine.Record{Class: q.Class, Values: v}), baseQuery(q), v)
}

// DeleteAll implements engine.Repository.
func (r *Repository) DeleteAll(ctx context.Context, q *engine.Query) (int64, error) {
	ctx, p, err := r.guardContext(ctx)
	if err != nil {
		return 0, err
	}
	if err := p.checkAllowed(q.Class, engine.MayDelete); err != nil {
		return 0, err
	}
	return r.inner.DeleteAll(ctx, baseQuery(q))
}

// Save implements engine.Repository. It rejects records that the account may neither create nor
// change. The gate does not know whether a record creates or changes an item; the inner
// repository knows it and checks the permission.
func (r *Repository) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	ctx, p, err := r.guardContext(ctx)
	if err != nil {
		return nil, err
	}
	records = baseRecords(records)
	for i := range records {
		if err := p.checkRecord(&records[i]); err != nil {
			return nil, engine.AtRecord(err, i)
		}
	}
	items, err := r.inner.Save(p.changeContext(ctx, records...), records)
	if err != nil {
		return nil, p.withoutIndex(p.concealMissing(err, failedClass(err, records)))
	}
	return r.allWritten(ctx, p, items)
}

// withoutIndex removes the index of the record from a permission error. Records are checked in an
// order that depends on whether the items exist. So the index would disclose which items exist.
func (p *profile) withoutIndex(err error) error {
	var e *engine.Error
	if p == nil || engine.CodeOf(err) != engine.Forbidden || !errors.As(err, &e) || !e.Bulk {
		return err
	}
	all := *e
	all.Bulk, all.Index = false, 0
	return &all
}

// failedClass returns the class of the record that caused the error, or the class
// of the first record if the error does not name one.
func failedClass(err error, records []engine.Record) *engine.Class {
	var e *engine.Error
	switch {
	case len(records) == 0:
		return nil
	case errors.As(err, &e) && e.Bulk && e.Index >= 0 && e.Index < len(records):
		return records[e.Index].Class
	}
	return records[0].Class
}

// checkRecord rejects a record if the account may neither insert nor update it, or if the record
// sets a property that the account may not write. It does not check records that the server
// makes.
func (p *profile) checkRecord(r *engine.Record) error {
	switch {
	case r.Make != nil:
		return nil
	case p != nil && p.Rows(engine.MayWrite, r.Class).Never() && !p.Creates(r.Class):
		return engine.Denied()
	}
	return p.checkValues(r.Class, r.Values)
}

// checkValues returns an error if the values of an item of c set a property that the account may
// not write. It also checks nested records. In these, it replaces views by their classes, because
// the inner repository does not accept views.
func (p *profile) checkValues(c *engine.Class, given engine.Values) error {
	c = c.Base()
	for i, v := range given {
		if v == engine.Absent {
			continue
		}
		if p != nil && i < len(c.Properties) && !ignoresValue(c.Properties[i], v) && p.Hides(engine.MayWrite, c.Properties[i]) {
			return engine.Denied()
		}
		if err := p.checkNested(v); err != nil {
			return err
		}
	}
	return nil
}

// ignoresValue reports whether the inner repository ignores the value. Such values
// are not checked, so that a client can send an answer back unchanged.
func ignoresValue(p *engine.Property, v any) bool {
	return p.Formula != nil || v == nil && p.Type == engine.Collection
}

func (p *profile) checkNested(v any) error {
	switch v := v.(type) {
	case *engine.Record:
		if v == nil {
			return nil
		}
		v.Class = v.Class.Base()
		return p.checkValues(v.Class, v.Values)
	case *engine.Links:
		if v == nil {
			return nil
		}
		for _, member := range v.Add {
			if err := p.checkNested(member); err != nil {
				return err
			}
		}
	}
	return nil
}

func baseQuery(q *engine.Query) *engine.Query {
	c := q.Class.Base()
	if c == q.Class {
		return q
	}
	of := *q
	of.Class = c
	return &of
}

// baseRecords returns the records with views replaced by their classes. It
// returns the same slice if no record has a view.
func baseRecords(records []engine.Record) []engine.Record {
	copied := false
	for i := range records {
		c := records[i].Class.Base()
		if c == records[i].Class {
			continue
		}
		if !copied {
			records, copied = slices.Clone(records), true
		}
		records[i].Class = c
	}
	return records
}

// concealMissing replaces an error of the inner repository about a missing item of c.
// If the account may not read the whole class, it gets the same error for hidden
// and for missing items.
func (p *profile) concealMissing(err error, c *engine.Class) error {
	var e *engine.Error
	if err == nil || p == nil || c == nil || !errors.As(err, &e) || e.Code != engine.NotFound || p.Rows(engine.MayRead, c) == nil {
		return err
	}
	denied := engine.Denied()
	denied.Bulk, denied.Index = e.Bulk, e.Index
	return denied
}

// writtenItem returns the result of a write of one item.
func (r *Repository) writtenItem(ctx context.Context, p *profile, it *engine.Item, err error) (*engine.Item, error) {
	if err != nil || it == nil {
		return nil, err
	}
	items, err := r.allWritten(ctx, p, []*engine.Item{it})
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

// allWritten returns the results of a write: each item as the account may see it.
// If the account may not read an item, the result has only its id.
func (r *Repository) allWritten(ctx context.Context, p *profile, items []*engine.Item) ([]*engine.Item, error) {
	if p == nil {
		return items, nil
	}
	doubtful := map[*engine.Class][]*engine.Item{}
	shown := make([]*engine.Item, len(items))
	for i, it := range items {
		switch f := p.Rows(engine.MayRead, it.Class); {
		case p.gate.schema().displays[it.Class.Base()] == nil: // a class of the server itself
			shown[i] = it
		case f == nil:
			shown[i] = p.redactItem(it)
		case f.Never():
			shown[i] = p.existenceOnly(it)
		default:
			doubtful[it.Class.Base()] = append(doubtful[it.Class.Base()], it)
		}
	}
	readable := map[*engine.Item]bool{}
	for c, some := range doubtful {
		if err := r.findReadable(ctx, c, some, readable); err != nil {
			return nil, err
		}
	}
	for i, it := range items {
		switch {
		case shown[i] != nil:
		case readable[it]:
			shown[i] = p.redactItem(it)
		default:
			shown[i] = p.existenceOnly(it)
		}
	}
	return shown, nil
}

// maxAsked is the maximum number of ids in one statement.
const maxAsked = 1000

// findReadable adds to found the items of exactly class c that the guard of ctx
// allows to read.
func (r *Repository) findReadable(ctx context.Context, c *engine.Class, items []*engine.Item, found map[*engine.Item]bool) error {
	id := engine.ItemID
	if key := c.KeyProperties(); len(key) == 1 {
		id = key[0]
	}
	for some := range slices.Chunk(items, maxAsked) {
		byID := map[string][]*engine.Item{}
		var ids []string
		for _, it := range some {
			if byID[it.ID] == nil {
				ids = append(ids, it.ID)
			}
			byID[it.ID] = append(byID[it.ID], it)
		}
		a := &engine.Aggregation{Class: c, Filter: ofIDs(c, ids), Columns: []engine.Column{{Name: "id", Expr: engine.Attribute(id)}}, Count: -1}
		err := r.inner.Aggregate(ctx, a, func(row []any) error {
			for _, it := range byID[engine.ValueText(row[0])] {
				found[it] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var _ engine.Admitter = (*Repository)(nil)

// Admit implements engine.Admitter.
func (r *Repository) Admit(ctx context.Context, a engine.Admission) error {
	ctx, p, err := r.guardContext(ctx)
	if err != nil {
		return err
	}
	a.Records = baseRecords(a.Records)
	for i := range a.Records {
		err := p.admitRecord(a.May, &a.Records[i])
		switch {
		case err != nil && a.May == engine.MayUse|engine.MayWrite:
			return engine.AtRecord(err, i)
		case err != nil:
			return err
		}
	}
	err = engine.Admit(p.changeContext(ctx, a.Records...), r.inner, a)
	return p.concealMissing(err, failedClass(err, a.Records))
}

// admitRecord makes the checks of a record that do not need the stored item.
func (p *profile) admitRecord(may engine.Permission, r *engine.Record) error {
	switch {
	case may == engine.MayUse && p != nil && !p.Creates(r.Class):
		return engine.Denied()
	case may == engine.MayWrite || may == engine.MayDelete:
		if err := p.checkAllowed(r.Class, may); err != nil {
			return err
		}
	case may != engine.MayUse:
		return p.checkRecord(r)
	}
	return p.checkValues(r.Class, r.Values)
}
