package store

import (
	"context"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/table"
)

var _ engine.Admitter = (*Store)(nil)

// Admit implements engine.Admitter.
func (s *Store) Admit(ctx context.Context, a engine.Admission) error {
	ad := &admission{store: s, guard: s.reader.GuardOf(ctx), asked: a}
	err := s.pool.Writer.Do(ctx, func(w *conns.Session) error {
		ad.w = w
		for i := range a.Records {
			if err := ad.checkRecord(&a.Records[i]); err != nil {
				if a.May == maySave {
					return atRecord(i, err)
				}
				return err
			}
		}
		return nil
	})
	return s.hideError(ctx, err)
}

// maySave is the value of Admission.May for a save. A save creates items, which requires MayUse, and changes items,
// which requires MayWrite. An account with only one of the two permissions may call Save, so the set contains both.
const maySave = engine.MayUse | engine.MayWrite

// admission is the state of one call of Admit.
type admission struct {
	store *Store
	w     *conns.Session
	guard *rights.Guard
	asked engine.Admission
}

// checkRecord checks one record of the call and the records nested in it.
func (ad *admission) checkRecord(r *engine.Record) error {
	if r.Make != nil {
		return nil
	}
	p, err := ad.store.layout.PlanOf(r.Class)
	if err != nil {
		return err
	}
	switch ad.asked.May {
	case engine.MayWrite, engine.MayDelete:
		key, ok := p.Class.KeyValues(r.ID)
		if !ok {
			return ad.guard.NoItem(p.Class, r.ID)
		}
		stored, err := ad.checkExisting(p, r.ID, key)
		if err != nil {
			return table.HideMissing(ad.guard, p.Class, err)
		}
		return ad.checkNested(p, r.Values, stored)
	case engine.MayUse:
		if !ad.guard.MayCreate(p.Class) {
			return engine.Denied()
		}
		return ad.checkNested(p, r.Values, nil)
	}
	stored, err := ad.checkUpsert(p, r, nil)
	if err != nil {
		return err
	}
	return ad.checkNested(p, r.Values, stored)
}

// checkExisting checks a record for an item that must exist, and returns that item.
func (ad *admission) checkExisting(p *layout.Plan, id string, key []any) (*engine.Item, error) {
	if err := ad.store.table.AdmitNamed(ad.w, ad.guard, table.Check{Plan: p, May: ad.asked.May}, slices.Clone(key)); err != nil {
		return nil, err
	}
	it := &engine.Item{}
	found, err := read.One(ad.w, ad.w.Ctx, p.SQL().Lock, p, it, slices.Clone(key))
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, ad.store.table.MissingError(ad.w, p, id, nil)
	case !ad.asked.Match.Allows(it.Revision):
		return nil, table.UnmatchedError(p.Class, id)
	}
	return it, nil
}

// checkUpsert checks a record that updates an item or inserts one. It returns the stored item, or nil if there is
// none. If a nested record has no key, pointed is the key in the reference of the outer item; it identifies the item
// of the nested record.
func (ad *admission) checkUpsert(p *layout.Plan, r *engine.Record, pointed []any) (*engine.Item, error) {
	e := entry{plan: p, given: slices.Clone(r.Values)}
	if err := e.locateItem(r); err != nil {
		return nil, nil // the write itself rejects the malformed id
	}
	if e.key == nil {
		e.key = pointed
	}
	var stored *engine.Item
	if e.key != nil {
		root := ad.store.layout.Plans[p.Table.Classes[0]]
		it := &engine.Item{}
		found, err := read.One(ad.w, ad.w.Ctx, root.SQL().Lock, root, it, slices.Clone(e.key))
		if err != nil {
			return nil, err
		}
		if found {
			stored = it
		}
	}
	if stored == nil {
		if !ad.guard.MayCreate(p.Class) {
			return nil, engine.Denied()
		}
		return nil, nil
	}
	return stored, ad.store.table.AdmitKeys(ad.w, ad.guard, table.Check{Plan: ad.store.layout.Plans[stored.Class], May: engine.MayWrite}, []any{table.KeyOf(stored)})
}

// checkNested checks the records nested in v, the values of an item of p. stored is the item in the database; nil if
// it is new.
func (ad *admission) checkNested(p *layout.Plan, v engine.Values, stored *engine.Item) error {
	inner := func(property *engine.Property, r *engine.Record, pointed []any) error {
		ip, err := ad.store.layout.PlanOf(r.Class)
		if err != nil {
			return err
		}
		was, err := ad.checkUpsert(ip, r, pointed)
		if err == nil {
			err = ad.checkNested(ip, r.Values, was)
		}
		return withinAttribute(property.Name, err)
	}
	for i, value := range v {
		property := p.Class.Properties[i]
		if property.Formula != nil {
			continue // values of calculated properties are ignored
		}
		switch value := value.(type) {
		case *engine.Record:
			var pointed []any
			if value.Follow && stored != nil {
				pointed = pointedKey(property, stored)
			}
			if err := inner(property, value, pointed); err != nil {
				return err
			}
		case *engine.Links:
			for _, member := range value.Add {
				if r, ok := member.(*engine.Record); ok {
					if err := inner(property, r, nil); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
