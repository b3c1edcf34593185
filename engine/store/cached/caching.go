package cached

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/table"
)

// Recalculate computes and stores the cached attributes of all items of a class and its descendants, and all cached
// attributes that depend on these items. Use it after an Import, which stores values unchanged, and when a formula has
// changed. It takes several transactions. After each transaction the items are consistent.
func (s *Writer) Recalculate(ctx context.Context, c *engine.Class) error {
	p, err := s.layout.PlanOf(c)
	if err != nil || !p.Caching.Any {
		return err
	}
	keys, err := s.allKeys(ctx, p)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(keys, recacheRows) {
		err := s.pool.Writer.Do(ctx, func(w *conns.Session) error {
			_, err := s.recalculateKeys(w, p, chunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recalculateKeys computes the cached attributes of the items with these keys, like Recalculate, and returns the number
// of items.
func (s *Writer) recalculateKeys(w *conns.Session, p *layout.Plan, keys []any) (int, error) {
	items, err := s.table.ReadLocked(w, p.Table, keys)
	if err != nil {
		return 0, err
	}
	r := s.newRecaching(w)
	changed, err := r.computeItems(items, false)
	if err != nil {
		return 0, err
	}
	return len(items), r.spreadChanges(append(changed, items...))
}

// Recache implements engine.Recacher.
func (s *Writer) Recache(ctx context.Context, c *engine.Class, id string) error {
	p, err := s.layout.PlanOf(c)
	if err != nil {
		return err
	}
	key, ok := p.Class.KeyValues(id)
	if !ok {
		return engine.NoItem(p.Class, id)
	}
	return s.pool.Writer.Do(ctx, func(w *conns.Session) error {
		n, err := s.recalculateKeys(w, p, key)
		if err == nil && n == 0 {
			err = engine.NoItem(p.Class, id)
		}
		return err
	})
}

// allKeys returns the keys of all items of a plan's class.
func (s *Writer) allKeys(ctx context.Context, p *layout.Plan) (keys []any, err error) {
	l, err := s.queries.NewListing(p, nil, &engine.Query{Class: p.Class, Count: -1})
	if err != nil {
		return nil, err
	}
	r, err := s.pool.Readers.Borrow(ctx)
	if err != nil {
		return nil, err
	}
	defer s.pool.Readers.GiveBack(r)
	err = read.Each(r, ctx, p, l, func(it *engine.Item) error {
		keys = append(keys, table.KeyOf(it))
		return nil
	})
	return keys, s.pool.EngineError(ctx, r, err)
}
