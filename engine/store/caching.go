package store

import (
	"context"
	"slices"

	"restsrv/engine"
)

// caching lists what must be recomputed after a write of an item of a class: its own cached
// attributes, and those of the items at the end of paths from it.
type caching struct {
	cached       []*engine.Property
	dependencies []dependency
	watched      bool // the class, or one below it, has dependencies
	any          bool // the class, or one below it, has dependencies or cached attributes
}

// dependency is a path of references or collections to items with cached attributes.
type dependency struct {
	load *engine.Load
	path []string
}

// needsRecache reports whether a write of an item of the class must call recacheItems.
func (p *plan) needsRecache() bool { return len(p.caching.cached) > 0 || p.affectsOthers() }

// affectsOthers reports whether cached attributes of other items depend on items of the class. If so, a
// write must know the former state of an item.
func (p *plan) affectsOthers() bool { return len(p.caching.dependencies) > 0 }

// layOutCaching finds out what must be recomputed after writes. It ignores a path that does not
// exist: the reader of the class files has reported it.
func (s *Store) layOutCaching() {
	s.rowsRead = engine.RowsRead(s.cfg.Classes)
	for c, p := range s.plans {
		p.computed = needsCompute(c)
		s.computing = s.computing || p.computed
		for _, property := range c.Properties {
			if property.Formula != nil && property.Cached {
				p.caching.cached = append(p.caching.cached, property)
			}
		}
		for _, names := range c.Dependencies {
			if load := pathLoad(c, names); load != nil {
				p.caching.dependencies = append(p.caching.dependencies, dependency{load, names})
			}
		}
	}
	for c, p := range s.plans {
		for _, d := range append([]*engine.Class{c}, c.Descendants...) {
			if at := s.plans[d]; at != nil {
				p.caching.watched = p.caching.watched || at.affectsOthers()
				p.caching.any = p.caching.any || at.needsRecache()
			}
			p.several = p.several || s.looksUp(d)
			p.cachedBelow = p.cachedBelow || slices.ContainsFunc(d.Properties, func(property *engine.Property) bool { return len(s.rowsRead[property]) > 0 })
		}
	}
}

// pathLoad returns the Load for a path, or nil if the path does not exist.
func pathLoad(c *engine.Class, names []string) *engine.Load {
	if len(names) == 0 || c == nil {
		return nil
	}
	p := c.Property(names[0])
	if p == nil || p.Target == nil {
		return nil
	}
	load := &engine.Load{Property: p}
	if len(names) > 1 {
		next := pathLoad(p.Target, names[1:])
		if next == nil {
			return nil
		}
		load.Next = []*engine.Load{next}
	}
	return load
}

// Recalculate computes and stores the cached attributes of all items of a class and of the classes
// below it, and everything that depends on them. Use it after an Import, which stores values
// unchanged, and when a formula has changed. It takes several transactions. After each of them the
// items are consistent.
func (s *Store) Recalculate(ctx context.Context, c *engine.Class) error {
	p, err := s.planOf(c)
	if err != nil || !p.caching.any {
		return err
	}
	keys, err := s.allKeys(ctx, p)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(keys, recacheRows) {
		err := s.writer.do(ctx, func(w *session) error {
			_, err := s.recalculateKeys(w, p, chunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recalculateKeys is Recalculate for the items with the keys. It returns the number of items.
func (s *Store) recalculateKeys(w *session, p *plan, keys []any) (int, error) {
	items, err := s.readLocked(w, p.table, keys)
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
func (s *Store) Recache(ctx context.Context, c *engine.Class, id string) error {
	p, err := s.planOf(c)
	if err != nil {
		return err
	}
	key, ok := p.class.KeyValues(id)
	if !ok {
		return engine.NoItem(p.class, id)
	}
	return s.writer.do(ctx, func(w *session) error {
		n, err := s.recalculateKeys(w, p, key)
		if err == nil && n == 0 {
			err = engine.NoItem(p.class, id)
		}
		return err
	})
}

// allKeys returns the keys of all items of a plan's class.
func (s *Store) allKeys(ctx context.Context, p *plan) (keys []any, err error) {
	l, err := s.newListing(p, nil, &engine.Query{Class: p.class, Count: -1})
	if err != nil {
		return nil, err
	}
	r, err := s.readers.borrow(ctx)
	if err != nil {
		return nil, err
	}
	defer s.readers.giveBack(r)
	err = r.eachItem(ctx, p, l, func(it *engine.Item) error {
		keys = append(keys, keyOf(it))
		return nil
	})
	return keys, s.engineError(ctx, r, err)
}
