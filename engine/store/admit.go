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

// admitEntry returns Denied in two cases: the item of the entry is stored and the account may not change it, or the
// item is not stored and the account may not create it. before is the stored item, or nil.
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

// admitGroup does the work of admitEntry for the entries of a group with stored items: it checks that the account may
// change these items. The entries belong to one class. existing maps the ids of stored items to class names.
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

// upsertMet writes upserts of one class. It is used if permissions or the journal depend on which of the items exist.
// upsertMet looks the items up, writes the updates, and then the inserts.
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

// deferCheck records that the account needs a permission for some items. The check itself is done by checkDeferred at
// the end of the transaction, when the items have their final state.
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

// deferChecks calls deferCheck for the items of a written group. The group consists of inserts, or of upserts that
// have updated existing items.
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

// checkDeferred checks the permissions that deferCheck has recorded. It returns Denied if the account lacks one of
// them for an item in its final state. It skips an item if its class has changed since then, because a check for the
// new class was recorded too.
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

// permittedKeys returns those keys of members of a collection for which the account has one of the permissions in of.
// It reuses the array of keys. A caller that replaces a collection cannot list the members that it may not read, and
// does not intend to remove them. Therefore only the members that permittedKeys returns are removed.
func (sv *permits) permittedKeys(p *layout.Plan, keys []any, of ...engine.Permission) ([]any, error) {
	if len(keys) == 0 || sv.guard.RowFilter(engine.MayRead, p.Class) == nil {
		return keys, nil
	}
	found, err := sv.store.table.FindAdmitted(sv.w, sv.guard, table.Wish{Plan: p, Of: of}, keys)
	return slices.DeleteFunc(keys, func(key any) bool { return !found[engine.ValueText(key)] }), err
}

// admitMembers returns Denied if the account may not add members to a collection or remove them. The members store a
// reference to the owner, so the account must be allowed to change the members.
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

// admitStaying checks items that the caller adds to a collection and that are members already. It returns Denied if
// the account may neither read nor write one of them, because a success would disclose that the item is a member.
// MayUse does not suffice, because it does not let the account see the references of an item.
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

// noMember returns the error for a member that does not exist. If there are items of the class that the account may
// not refer to, the error is Denied, which is also the error for such an item.
func (sv *permits) noMember(p *engine.Property, id string) error {
	if sv.guard.RestrictsTarget(p.Target) {
		return engine.Denied()
	}
	return danglingError(p, id)
}
