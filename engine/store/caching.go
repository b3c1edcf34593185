package store

import (
	"context"
	"slices"

	"restsrv/engine"
)

// caching is what a write of an item of a class makes anew: its own cached
// attributes, and those of the items at the end of paths from it.
type caching struct {
	cached       []*engine.Property
	dependencies []dependency
	watched      bool // items of the class, or of one below it, have dependencies
	any          bool // they have those, or cached attributes
}

// dependency is a path of references or collections.
type dependency struct {
	load *engine.Load
	path []string
}

// caches reports whether a write of an item of the class has to call recache.
func (p *plan) caches() bool { return len(p.caching.cached) > 0 || p.notifies() }

// notifies reports whether cached attributes of other items depend on items of
// the class, so that a write must know what an item was before.
func (p *plan) notifies() bool { return len(p.caching.dependencies) > 0 }

// layOutCaching finds out what writes make anew. A path that leads nowhere is
// passed over: whoever reads class files has said so.
func (s *Store) layOutCaching() {
	s.rowsRead = engine.RowsRead(s.cfg.Classes)
	for c, p := range s.plans {
		p.computed = computes(c)
		s.computing = s.computing || p.computed
		for _, property := range c.Properties {
			if property.Formula != nil && property.Cached {
				p.caching.cached = append(p.caching.cached, property)
			}
		}
		for _, names := range c.Dependencies {
			if load := chain(c, names); load != nil {
				p.caching.dependencies = append(p.caching.dependencies, dependency{load, names})
			}
		}
	}
	for c, p := range s.plans {
		for _, d := range append([]*engine.Class{c}, c.Descendants...) {
			if at := s.plans[d]; at != nil {
				p.caching.watched = p.caching.watched || at.notifies()
				p.caching.any = p.caching.any || at.caches()
			}
			p.several = p.several || s.looksUp(d)
			p.cachedBelow = p.cachedBelow || slices.ContainsFunc(d.Properties, func(property *engine.Property) bool { return len(s.rowsRead[property]) > 0 })
		}
	}
}

// chain says to load a path; nil when there is no such path.
func chain(c *engine.Class, names []string) *engine.Load {
	if len(names) == 0 || c == nil {
		return nil
	}
	p := c.Property(names[0])
	if p == nil || p.Target == nil {
		return nil
	}
	load := &engine.Load{Property: p}
	if len(names) > 1 {
		next := chain(p.Target, names[1:])
		if next == nil {
			return nil
		}
		load.Next = []*engine.Load{next}
	}
	return load
}

// Recalculate computes and stores the cached attributes of all items of a class
// and of those below it, and of what depends on them: after an Import, which
// stores what it is given, or when a formula has changed. Each of the
// transactions that it takes leaves whole items behind.
func (s *Store) Recalculate(ctx context.Context, c *engine.Class) error {
	p, err := s.plan(c)
	if err != nil || !p.caching.any {
		return err
	}
	keys, err := s.keys(ctx, p)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(keys, recacheRows) {
		err := s.writer.do(ctx, func(w *session) error {
			_, err := s.recalculate(w, p, chunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recalculate is Recalculate for the items with the keys; it returns how many
// there are.
func (s *Store) recalculate(w *session, p *plan, keys []any) (int, error) {
	items, err := s.locked(w, p.table, keys)
	if err != nil {
		return 0, err
	}
	r := s.newRecaching(w)
	changed, err := r.compute(items, false)
	if err != nil {
		return 0, err
	}
	return len(items), r.spread(append(changed, items...))
}

// Recache is engine.Recacher's.
func (s *Store) Recache(ctx context.Context, c *engine.Class, id string) error {
	p, err := s.plan(c)
	if err != nil {
		return err
	}
	key, ok := p.class.KeyValues(id)
	if !ok {
		return engine.NoItem(p.class, id)
	}
	return s.writer.do(ctx, func(w *session) error {
		n, err := s.recalculate(w, p, key)
		if err == nil && n == 0 {
			err = engine.NoItem(p.class, id)
		}
		return err
	})
}

// keys lists the keys of all items of a plan's class.
func (s *Store) keys(ctx context.Context, p *plan) (keys []any, err error) {
	l, err := s.listing(p, nil, &engine.Query{Class: p.class, Count: -1})
	if err != nil {
		return nil, err
	}
	r, err := s.readers.borrow(ctx)
	if err != nil {
		return nil, err
	}
	defer s.readers.giveBack(r)
	err = r.each(ctx, p, l, func(it *engine.Item) error {
		keys = append(keys, keyOf(it))
		return nil
	})
	return keys, s.failed(ctx, r, err)
}
