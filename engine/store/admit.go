package store

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// check is a permission that the account needs for items of a class.
type check struct {
	plan *layout.Plan
	may  engine.Permission
}

// setsRestricted reports whether an entry gives a value to a reference with a restricted target.
func (sv *permits) setsRestricted(e *entry) bool {
	return slices.ContainsFunc(sv.guard.RestrictedReferences(e.plan), func(p *engine.Property) bool {
		return e.given[p.Index] != nil && e.given[p.Index] != engine.Absent
	})
}

// wish is a set of alternative permissions for items of a class. The account needs one of them.
type wish struct {
	plan *layout.Plan
	of   []engine.Permission
	lock string // ends the statement; set it to lock items that are about to change
}

// findAdmitted returns the ids, among keys, of the items for which the account has one of the wanted
// permissions.
func (s *Store) findAdmitted(w *conns.Session, g *rights.Guard, want wish, keys []any) (found map[string]bool, err error) {
	p := want.plan
	found = make(map[string]bool, len(keys))
	id := p.Table.Quoted + "." + p.Table.ID.Quoted
	for chunk := range slices.Chunk(keys, bulkRows) {
		b := s.queries.GuardedBuilder(g)
		b.Add("SELECT ", id, " FROM ", p.Table.Quoted, " WHERE ")
		sqldb.WriteIn(s.db.Dialect, &b.Builder, id, p.Table.ID.Type, chunk)
		b.Add(sqlquery.AndCondition(sqlquery.TopSource(p).OfClass()), sqlquery.AndCondition(sqlquery.AnyPermission(b, p, want.of)), " ORDER BY ", id, want.lock)
		if err := b.Finish(s.traits); err != nil {
			return nil, err
		}
		err := w.VisitRows(&b.Builder, 1, func(row []any) { found[engine.ValueText(sqldb.ReadValue(p.Table.ID.Type, row[0]))] = true })
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// admitKeys denies a change of items unless the account has the permission for all of them in their
// present state.
func (s *Store) admitKeys(w *conns.Session, g *rights.Guard, c check, keys []any) error {
	if g.RowFilter(c.may, c.plan.Class) == nil || len(keys) == 0 {
		return nil
	}
	if g.NeverAllows(c.may, c.plan.Class) {
		return engine.Denied()
	}
	keys = distinctValues(keys)
	locking := wish{c.plan, []engine.Permission{c.may}, s.lockClause(c.may)}
	for range conns.MaxAttempts {
		found, err := s.findAdmitted(w, g, locking, keys)
		if err != nil || len(found) == len(keys) {
			return err
		}
		if locking.lock == "" {
			break
		}
		// The statement may have waited for a transaction that deleted an item and created it
		// again. It does not find the new item. The next statement finds it and does not wait.
		if found, err = s.findAdmitted(w, g, wish{plan: c.plan, of: locking.of}, keys); err != nil {
			return err
		}
		if len(found) < len(keys) {
			break
		}
	}
	return engine.Denied()
}

// lockClause returns the end of a SELECT that locks items for a write with the permission.
func (s *Store) lockClause(may engine.Permission) string {
	if may&engine.MayDelete != 0 {
		return s.traits.LockGone
	}
	return s.traits.Lock
}

// admitNamed is like admitKeys, for an item that the caller names and that may not exist.
func (s *Store) admitNamed(w *conns.Session, g *rights.Guard, c check, key []any) error {
	err := s.admitKeys(w, g, c, key)
	if engine.CodeOf(err) == engine.Forbidden {
		return s.absentError(w, c.plan, g, c.may, keyText(key))
	}
	return err
}

// admitEntry denies a record if the account may not write the stored item or, when there is none,
// may not insert it.
func (sv *permits) admitEntry(e *entry, before *engine.Item) error {
	switch g := sv.guard; {
	case g == nil || e.admitted && before != nil:
		return nil
	case e.how == modify:
		return sv.store.admitNamed(sv.w, g, check{e.plan, engine.MayWrite}, e.key)
	case before != nil:
		return sv.store.admitKeys(sv.w, g, check{sv.store.layout.Plans[before.Class], engine.MayWrite}, e.key)
	case !g.MayCreate(e.plan.Class):
		return engine.Denied()
	}
	return nil
}

// admitGroup is admitEntry for the entries of one class with stored items. existing maps ids to the
// classes of the items.
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
		if err := sv.store.admitKeys(sv.w, sv.guard, check{sv.store.layout.Plans[c], engine.MayWrite}, keys[c.FullName]); err != nil {
			return err
		}
	}
	return nil
}

// upsertMet writes upserts of one class when it matters whether their items exist. It writes the
// updates first, then the inserts.
func (sv *permits) upsertMet(p *layout.Plan, group []entry) error {
	for chunk := range slices.Chunk(group, min(bulkRows, sv.store.traits.MaxVariables)) {
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

// deferCheck records that the account needs the permission for the items in their state at the end of the
// transaction.
func (sv *permits) deferCheck(may engine.Permission, items ...*engine.Item) {
	if sv.guard == nil {
		return
	}
	for _, it := range items {
		if sv.guard.RowFilter(may, it.Class) != nil {
			key := keyOf(it)
			if text, ok := key.(string); ok {
				key = strings.Clone(text) // key is part of the text read for the row, and would keep all of it in memory
			}
			sv.deferKeyChecks(check{sv.store.layout.Plans[it.Class], may}, key)
		}
	}
}

// deferChecks is deferCheck for a group of inserts, or of upserts, which under a guard are updates.
func (sv *permits) deferChecks(group []entry) {
	may := engine.MayUse
	if group[0].how == upsert {
		may = engine.MayWrite
	}
	for i := range group {
		sv.deferCheck(may, sv.items[group[i].index])
	}
}

func (sv *permits) deferKeyChecks(c check, keys ...any) {
	if sv.deferred == nil {
		sv.deferred = map[check][]any{}
	}
	sv.deferred[c] = append(sv.deferred[c], keys...)
}

// checkDeferred denies the whole write if the account lacks the permission for an item in its final
// state. An item that has changed its class since then has an entry for the new class too.
func (sv *permits) checkDeferred() error {
	for c, keys := range sv.deferred {
		f := sv.guard.RowFilter(c.may, c.plan.Class)
		if f == nil {
			continue
		}
		p := c.plan
		id := p.Table.Quoted + "." + p.Table.ID.Quoted
		for chunk := range slices.Chunk(distinctValues(keys), bulkRows) {
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

// permittedKeys returns those of the members to be removed from a collection for which the account has
// one of the permissions. A caller does not remove members that it cannot read by leaving them out.
func (sv *permits) permittedKeys(p *layout.Plan, keys []any, of ...engine.Permission) ([]any, error) {
	if len(keys) == 0 || sv.guard.RowFilter(engine.MayRead, p.Class) == nil {
		return keys, nil
	}
	found, err := sv.store.findAdmitted(sv.w, sv.guard, wish{plan: p, of: of}, keys)
	return slices.DeleteFunc(keys, func(key any) bool { return !found[engine.ValueText(key)] }), err
}

// admitMembers denies adding items to a collection, or removing them, if that changes the items and
// the account may not change them.
func (sv *permits) admitMembers(p *engine.Property, ids []any) error {
	if sv.guard == nil || len(ids) == 0 {
		return nil
	}
	if sv.guard.Hides(engine.MayWrite, p.Back) {
		return engine.Denied()
	}
	c := check{sv.store.layout.Plans[p.Target], engine.MayWrite}
	if err := sv.store.admitKeys(sv.w, sv.guard, c, ids); err != nil {
		return err
	}
	if sv.guard.RowFilter(c.may, p.Target) != nil {
		sv.deferKeyChecks(c, ids...)
	}
	return nil
}

// admitStaying denies naming members that the account may neither read nor write. The answer would
// otherwise disclose that they are members already. The permission to use an item does not suffice:
// it does not disclose the item's references.
func (sv *permits) admitStaying(p *engine.Property, ids []any) error {
	if len(ids) == 0 || sv.guard.RowFilter(engine.MayRead, p.Target) == nil {
		return nil
	}
	known := wish{plan: sv.store.layout.Plans[p.Target], of: []engine.Permission{engine.MayRead, engine.MayWrite}}
	found, err := sv.store.findAdmitted(sv.w, sv.guard, known, ids)
	if err == nil && len(found) < len(ids) {
		err = engine.Denied()
	}
	return err
}

// noMember returns the error for a member that does not exist.
func (sv *permits) noMember(p *engine.Property, id string) error {
	if sv.guard.RestrictsTarget(p.Target) {
		return engine.Denied()
	}
	return danglingError(p, id)
}
