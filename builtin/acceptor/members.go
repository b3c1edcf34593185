package acceptor

import (
	"context"

	"restsrv/engine"
)

// itemsAtOnce is how many items one statement reads.
const itemsAtOnce = 500

// loadMembers loads the collections that items keep themselves: answers have
// the ids of their members.
func (s *service) loadMembers(ctx context.Context, items []*engine.Item) error {
	byClass := map[*engine.Class][]*engine.Item{}
	for _, it := range items {
		if len(memberLoads(it.Class)) > 0 {
			byClass[it.Class] = append(byClass[it.Class], it)
		}
	}
	for c, all := range byClass {
		for len(all) > 0 {
			n := min(itemsAtOnce, len(all))
			if err := s.loadSome(ctx, c, all[:n]); err != nil {
				return err
			}
			all = all[n:]
		}
	}
	return nil
}

// memberLoads are the collections that are not what references say.
func memberLoads(c *engine.Class) (loads []*engine.Load) {
	for _, p := range c.Properties {
		if p.Type == engine.Collection && p.Back == nil && p.Formula == nil && p.Target != nil && !c.Lacks(p) {
			loads = append(loads, &engine.Load{Property: p})
		}
	}
	return loads
}

// loadSome loads them for some items of a class. What the account may write
// and not read has no members in the answer.
func (s *service) loadSome(ctx context.Context, c *engine.Class, items []*engine.Item) error {
	key := c.KeyProperties()
	if len(key) > 1 {
		for _, it := range items {
			found, err := s.data.Get(ctx, c, it.ID, memberLoads(c)...)
			switch engine.CodeOf(err) {
			case engine.NotFound, engine.Forbidden:
				continue
			}
			if err != nil {
				return err
			}
			it.Links = found.Links
		}
		return nil
	}
	ids := make([]any, len(items))
	byID := make(map[string][]*engine.Item, len(items))
	for i, it := range items {
		ids[i] = it.Values[key[0].Index]
		byID[it.ID] = append(byID[it.ID], it)
	}
	f, err := engine.AnyOf(key[0], ids)
	if err != nil {
		return err
	}
	q := &engine.Query{Class: c, Filter: f, Count: -1, Load: memberLoads(c)}
	return s.data.List(ctx, q, func(found *engine.Item) error {
		for _, it := range byID[found.ID] {
			it.Links = found.Links
		}
		return nil
	})
}
