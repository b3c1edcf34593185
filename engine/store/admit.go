package store

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
	"restsrv/engine/store/table"
)

// setsRestricted reports whether an entry gives a value to a reference whose target is restricted for the account (see
// rights.Guard.RestrictsTarget).
func (sv *permits) setsRestricted(e *entry) bool {
	return slices.ContainsFunc(sv.guard.RestrictedReferences(e.plan), func(p *engine.Property) bool {
		return e.given[p.Index] != nil && e.given[p.Index] != engine.Absent
	})
}

// admitEntry returns Denied if the account may not change the stored item of an entry or, if there is none, may not
// create it.
func (sv *permits) admitEntry(e *entry, before *engine.Item) error {
	switch g := sv.guard; {
	case g == nil || e.admitted && before != nil:
		return nil
	case e.how == modify:
		return sv.store.table.AdmitNamed(sv.w, g, table.Check{Plan: e.plan, May: engine.MayWrite}, e.key)
	case before != nil:
		return sv.store.table.AdmitKeys(sv.w, g, table.Check{Plan: sv.store.layout.Plans[before.Class], May: engine.MayWrite}, e.key)
	case !g.MayCreate(e.plan.Class):
		return engine.Denied()
	}
	return nil
}

// admitGroup checks that the account may change the existing items of a group of entries, as admitEntry does for one
// entry. The entries belong to one class. existing maps the ids of existing items to the names of their classes.
func (sv *permits) admitGroup(p *layout.Plan, group []entry, existing map[string]string) error {
	if sv.guard == nil {
		return nil
	}
	keys := map[string][]any{}
	for i := range group {
		e := &group[i]
		if class := existing[keyText(e.key)]; class != "" {
			e.admitted = true
			keys[class] = append(keys[class], e.key[0])
		}
	}
	for _, c := range p.Table.Classes {
		if err := sv.store.table.AdmitKeys(sv.w, sv.guard, table.Check{Plan: sv.store.layout.Plans[c], May: engine.MayWrite}, keys[c.FullName]); err != nil {
			return err
		}
	}
	return nil
}

// upsertMet writes upserts of one class if permissions or the journal depend on whether the items exist. It writes the
// updates first, then the inserts.
func (sv *permits) upsertMet(p *layout.Plan, group []entry) error {
	for chunk := range slices.Chunk(group, min(table.BulkRows, sv.store.traits.MaxVariables)) {
		existing, err := sv.existingClasses(p, chunk)
		if err != nil {
			return err
		}
		if err := sv.meetExisting(p, chunk, existing); err != nil {
			return err
		}
		var old, fresh []entry
		for i, e := range chunk {
			chunk[i].was = nil // otherwise it stays in memory until the last record is written
			if existing[keyText(e.key)] != "" {
				e.admitted = true
				old = append(old, e)
				continue
			}
			e.how, e.mask, e.sought = insert, "", true
			fresh = append(fresh, e)
		}
		if err := sv.insertAll(old); err != nil {
			return err
		}
		if err := sv.insertAll(fresh); err != nil {
			return err
		}
	}
	return nil
}

// deferCheck records that the account needs a permission for some items. It does not check the permission now:
// checkDeferred does so at the end of the transaction, when the items have their final state.
func (sv *permits) deferCheck(may engine.Permission, items ...*engine.Item) {
	if sv.guard == nil {
		return
	}
	for _, it := range items {
		if sv.guard.RowFilter(may, it.Class) != nil {
			key := table.KeyOf(it)
			if text, ok := key.(string); ok {
				key = strings.Clone(text) // key is part of the text read for the row, and would keep all of it in memory
			}
			sv.deferKeyChecks(table.Check{Plan: sv.store.layout.Plans[it.Class], May: may}, key)
		}
	}
}

// deferChecks calls deferCheck for a group of entries that were written. The group consists of inserts, or of upserts
// that have updated existing items.
func (sv *permits) deferChecks(group []entry) {
	may := engine.MayUse
	if group[0].how == upsert {
		may = engine.MayWrite
	}
	for i := range group {
		sv.deferCheck(may, sv.items[group[i].index])
	}
}

func (sv *permits) deferKeyChecks(c table.Check, keys ...any) {
	if sv.deferred == nil {
		sv.deferred = map[table.Check][]any{}
	}
	sv.deferred[c] = append(sv.deferred[c], keys...)
}

// checkDeferred returns Denied if the account lacks a recorded permission for an item in its final state. Items that
// have changed their class since the check was recorded are skipped, because a check for the new class was recorded
// too.
func (sv *permits) checkDeferred() error {
	for c, keys := range sv.deferred {
		f := sv.guard.RowFilter(c.May, c.Plan.Class)
		if f == nil {
			continue
		}
		p := c.Plan
		id := p.Table.Quoted + "." + p.Table.ID.Quoted
		for chunk := range slices.Chunk(table.Distinct(keys), table.BulkRows) {
			b := sv.store.queries.GuardedBuilder(sv.guard)
			b.Add("SELECT 1 FROM ", p.Table.Quoted, " WHERE ")
			sqldb.WriteIn(sv.store.db.Dialect, &b.Builder, id, p.Table.ID.Type, chunk)
			b.Add(sqlquery.AndCondition(sqlquery.TopSource(p).OfClass()), " AND (", b.StandaloneFilter(sqlquery.TopSource(p), f), ") IS NOT TRUE LIMIT 1")
			if err := b.Finish(sv.store.traits); err != nil {
				return err
			}
			wrong := false
			if err := sv.w.VisitRows(&b.Builder, 1, func([]any) { wrong = true }); err != nil {
				return err
			}
			if wrong {
				return engine.Denied()
			}
		}
	}
	return nil
}

// permittedKeys returns the members that may be removed from a collection: those of keys for which the account has one
// of the permissions. The other members stay. If a caller replaces the members of a collection, its list lacks members
// that it cannot read, but it does not mean to remove them.
func (sv *permits) permittedKeys(p *layout.Plan, keys []any, of ...engine.Permission) ([]any, error) {
	if len(keys) == 0 || sv.guard.RowFilter(engine.MayRead, p.Class) == nil {
		return keys, nil
	}
	found, err := sv.store.table.FindAdmitted(sv.w, sv.guard, table.Wish{Plan: p, Of: of}, keys)
	return slices.DeleteFunc(keys, func(key any) bool { return !found[engine.ValueText(key)] }), err
}

// admitMembers checks whether members may be added to a collection or removed from it. The members store a reference to
// the owner, so this changes them. It returns Denied if the account may not change them.
func (sv *permits) admitMembers(p *engine.Property, ids []any) error {
	if sv.guard == nil || len(ids) == 0 {
		return nil
	}
	if sv.guard.Hides(engine.MayWrite, p.Back) {
		return engine.Denied()
	}
	c := table.Check{Plan: sv.store.layout.Plans[p.Target], May: engine.MayWrite}
	if err := sv.store.table.AdmitKeys(sv.w, sv.guard, c, ids); err != nil {
		return err
	}
	if sv.guard.RowFilter(c.May, p.Target) != nil {
		sv.deferKeyChecks(c, ids...)
	}
	return nil
}

// admitStaying returns Denied if the caller adds items that are already members and that the account may neither read
// nor write. If the write succeeded, it would disclose that they are members. An account that may only use an item does
// not see the references of the item either, so MayUse does not suffice.
func (sv *permits) admitStaying(p *engine.Property, ids []any) error {
	if len(ids) == 0 || sv.guard.RowFilter(engine.MayRead, p.Target) == nil {
		return nil
	}
	known := table.Wish{Plan: sv.store.layout.Plans[p.Target], Of: []engine.Permission{engine.MayRead, engine.MayWrite}}
	found, err := sv.store.table.FindAdmitted(sv.w, sv.guard, known, ids)
	if err == nil && len(found) < len(ids) {
		err = engine.Denied()
	}
	return err
}

// noMember returns the error for a member that does not exist. If the account may not refer to all items of the class,
// the error is Denied, as for a hidden item.
func (sv *permits) noMember(p *engine.Property, id string) error {
	if sv.guard.RestrictsTarget(p.Target) {
		return engine.Denied()
	}
	return danglingError(p, id)
}
