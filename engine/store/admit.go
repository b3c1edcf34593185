package store

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// check is a permission that the account needs for items of a class.
type check struct {
	plan *plan
	may  engine.Permission
}

// checkValues denies values of attributes that the account may not change. Values that the write ignores
// are allowed.
func (g *guard) checkValues(c *engine.Class, v engine.Values) error {
	if g == nil {
		return nil
	}
	for i, p := range c.Properties {
		passed := v[i] == engine.Absent || p.Formula != nil || v[i] == nil && p.Type == engine.Collection
		if !passed && g.hides(engine.MayWrite, p) {
			return engine.Denied()
		}
	}
	return nil
}

// checkWrite denies a write of a class if the account has none of the permissions for any item, or if
// it gives values of attributes that the account may not change. MayUse stands for creating the
// item.
func (g *guard) checkWrite(c *engine.Class, v engine.Values, of ...engine.Permission) error {
	if g == nil {
		return nil
	}
	allowed := func(may engine.Permission) bool {
		if may == engine.MayUse {
			return g.mayCreate(c)
		}
		return !g.neverAllows(may, c)
	}
	if !slices.ContainsFunc(of, allowed) {
		return engine.Denied()
	}
	return g.checkValues(c, v)
}

// checkReclass denies a change of the class of an item if the account may not create items of the new
// class. It also denies the change if the new class lacks an attribute that the account may not
// read, because the answer would disclose whether the item has a value of it. read reports whether
// the account may read the item.
func (g *guard) checkReclass(it *engine.Item, to *engine.Class, read bool) error {
	if g == nil {
		return nil
	}
	if !g.mayCreate(to) {
		return engine.Denied()
	}
	for _, p := range it.Class.Properties {
		if (!read || g.isUnusable(p)) && to.Property(p.Name) == nil {
			return engine.Denied()
		}
	}
	return nil
}

// restrictsTarget reports whether the account may refer to only some items of a class, or to no item. To
// refer to an item, the account must be allowed to read it or to use it.
func (g *guard) restrictsTarget(c *engine.Class) bool {
	return c != nil && g.rowFilter(engine.MayRead, c) != nil && g.rowFilter(engine.MayUse, c) != nil
}

// restrictedReferences returns the references of a plan's class to classes that are restricted for the
// account.
func (g *guard) restrictedReferences(p *plan) []*engine.Property {
	if g == nil {
		return nil
	}
	all, known := g.pointers[p]
	if !known {
		for _, property := range p.duties.references {
			if g.restrictsTarget(property.Target) {
				all = append(all, property)
			}
		}
		if g.pointers == nil {
			g.pointers = map[*plan][]*engine.Property{}
		}
		g.pointers[p] = all
	}
	return all
}

// skipsRowChecks reports whether items of a plan's class can be inserted and updated without a check of each
// item.
func (g *guard) skipsRowChecks(p *plan) bool {
	return g == nil || g.rowFilter(engine.MayUse, p.class) == nil && g.rowFilter(engine.MayWrite, p.class) == nil && len(g.restrictedReferences(p)) == 0
}

// setsRestricted reports whether an entry gives a value to a reference with a restricted target.
func (sv *save) setsRestricted(e *entry) bool {
	return slices.ContainsFunc(sv.guard.restrictedReferences(e.plan), func(p *engine.Property) bool {
		return e.given[p.Index] != nil && e.given[p.Index] != engine.Absent
	})
}

// wish is a set of alternative permissions for items of a class. The account needs one of them.
type wish struct {
	plan *plan
	of   []engine.Permission
	lock string // ends the statement; set it to lock items that are about to change
}

// findAdmitted returns the ids, among keys, of the items for which the account has one of the wanted
// permissions.
func (s *Store) findAdmitted(w *session, g *guard, want wish, keys []any) (found map[string]bool, err error) {
	p := want.plan
	found = make(map[string]bool, len(keys))
	id := p.table.quoted + "." + p.table.id.quoted
	for chunk := range slices.Chunk(keys, bulkRows) {
		b := s.guardedBuilder(g)
		b.add("SELECT ", id, " FROM ", p.table.quoted, " WHERE ")
		s.writeIn(b, id, p.table.id.typ, chunk)
		b.add(andCondition(b.topSource(p).ofClass()), andCondition(b.anyPermission(p, want.of)), " ORDER BY ", id, want.lock)
		if err := b.finish(s.traits); err != nil {
			return nil, err
		}
		err := w.visitRows(b, 1, func(row []any) { found[engine.ValueText(readValue(p.table.id.typ, row[0]))] = true })
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// anyPermission writes the condition under which the account has one of several permissions. It returns ""
// if the account has one for every item.
func (b *builder) anyPermission(p *plan, of []engine.Permission) string {
	var conditions []*engine.Filter
	for _, may := range of {
		f := b.guard.rowFilter(may, p.class)
		if f == nil {
			return "" // returned before any condition binds arguments
		}
		conditions = append(conditions, f)
	}
	all := make([]string, len(conditions))
	for i, f := range conditions {
		all[i] = b.standaloneFilter(b.topSource(p), f)
	}
	return "(" + strings.Join(all, " OR ") + ")"
}

// admitKeys denies a change of items unless the account has the permission for all of them in their
// present state.
func (s *Store) admitKeys(w *session, g *guard, c check, keys []any) error {
	if g.rowFilter(c.may, c.plan.class) == nil || len(keys) == 0 {
		return nil
	}
	if g.neverAllows(c.may, c.plan.class) {
		return engine.Denied()
	}
	keys = distinctValues(keys)
	locking := wish{c.plan, []engine.Permission{c.may}, s.lockClause(c.may)}
	for range maxAttempts {
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
func (s *Store) admitNamed(w *session, g *guard, c check, key []any) error {
	err := s.admitKeys(w, g, c, key)
	if engine.CodeOf(err) == engine.Forbidden {
		return s.absentError(w, c.plan, g, c.may, keyText(key))
	}
	return err
}

// admitEntry denies a record if the account may not write the stored item or, when there is none,
// may not insert it.
func (sv *save) admitEntry(e *entry, before *engine.Item) error {
	switch g := sv.guard; {
	case g == nil || e.admitted && before != nil:
		return nil
	case e.how == modify:
		return sv.store.admitNamed(sv.w, g, check{e.plan, engine.MayWrite}, e.key)
	case before != nil:
		return sv.store.admitKeys(sv.w, g, check{sv.store.plans[before.Class], engine.MayWrite}, e.key)
	case !g.mayCreate(e.plan.class):
		return engine.Denied()
	}
	return nil
}

// admitGroup is admitEntry for the entries of one class with stored items. existing maps ids to the
// classes of the items.
func (sv *save) admitGroup(p *plan, group []entry, existing map[string]string) error {
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
	for _, c := range p.table.classes {
		if err := sv.store.admitKeys(sv.w, sv.guard, check{sv.store.plans[c], engine.MayWrite}, keys[c.FullName]); err != nil {
			return err
		}
	}
	return nil
}

// upsertMet writes upserts of one class when it matters whether their items exist. It writes the
// updates first, then the inserts.
func (sv *save) upsertMet(p *plan, group []entry) error {
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
func (sv *save) deferCheck(may engine.Permission, items ...*engine.Item) {
	if sv.guard == nil {
		return
	}
	for _, it := range items {
		if sv.guard.rowFilter(may, it.Class) != nil {
			key := keyOf(it)
			if text, ok := key.(string); ok {
				key = strings.Clone(text) // key is part of the text read for the row, and would keep all of it in memory
			}
			sv.deferKeyChecks(check{sv.store.plans[it.Class], may}, key)
		}
	}
}

// deferChecks is deferCheck for a group of inserts, or of upserts, which under a guard are updates.
func (sv *save) deferChecks(group []entry) {
	may := engine.MayUse
	if group[0].how == upsert {
		may = engine.MayWrite
	}
	for i := range group {
		sv.deferCheck(may, sv.items[group[i].index])
	}
}

func (sv *save) deferKeyChecks(c check, keys ...any) {
	if sv.deferred == nil {
		sv.deferred = map[check][]any{}
	}
	sv.deferred[c] = append(sv.deferred[c], keys...)
}

// checkDeferred denies the whole write if the account lacks the permission for an item in its final
// state. An item that has changed its class since then has an entry for the new class too.
func (sv *save) checkDeferred() error {
	for c, keys := range sv.deferred {
		f := sv.guard.rowFilter(c.may, c.plan.class)
		if f == nil {
			continue
		}
		p := c.plan
		id := p.table.quoted + "." + p.table.id.quoted
		for chunk := range slices.Chunk(distinctValues(keys), bulkRows) {
			b := sv.store.guardedBuilder(sv.guard)
			b.add("SELECT 1 FROM ", p.table.quoted, " WHERE ")
			sv.store.writeIn(b, id, p.table.id.typ, chunk)
			b.add(andCondition(b.topSource(p).ofClass()), " AND (", b.standaloneFilter(b.topSource(p), f), ") IS NOT TRUE LIMIT 1")
			if err := b.finish(sv.store.traits); err != nil {
				return err
			}
			wrong := false
			if err := sv.w.visitRows(b, 1, func([]any) { wrong = true }); err != nil {
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
func (sv *save) permittedKeys(p *plan, keys []any, of ...engine.Permission) ([]any, error) {
	if len(keys) == 0 || sv.guard.rowFilter(engine.MayRead, p.class) == nil {
		return keys, nil
	}
	found, err := sv.store.findAdmitted(sv.w, sv.guard, wish{plan: p, of: of}, keys)
	return slices.DeleteFunc(keys, func(key any) bool { return !found[engine.ValueText(key)] }), err
}

// admitMembers denies adding items to a collection, or removing them, if that changes the items and
// the account may not change them.
func (sv *save) admitMembers(p *engine.Property, ids []any) error {
	if sv.guard == nil || len(ids) == 0 {
		return nil
	}
	if sv.guard.hides(engine.MayWrite, p.Back) {
		return engine.Denied()
	}
	c := check{sv.store.plans[p.Target], engine.MayWrite}
	if err := sv.store.admitKeys(sv.w, sv.guard, c, ids); err != nil {
		return err
	}
	if sv.guard.rowFilter(c.may, p.Target) != nil {
		sv.deferKeyChecks(c, ids...)
	}
	return nil
}

// admitStaying denies naming members that the account may neither read nor write. The answer would
// otherwise disclose that they are members already. The permission to use an item does not suffice:
// it does not disclose the item's references.
func (sv *save) admitStaying(p *engine.Property, ids []any) error {
	if len(ids) == 0 || sv.guard.rowFilter(engine.MayRead, p.Target) == nil {
		return nil
	}
	known := wish{plan: sv.store.plans[p.Target], of: []engine.Permission{engine.MayRead, engine.MayWrite}}
	found, err := sv.store.findAdmitted(sv.w, sv.guard, known, ids)
	if err == nil && len(found) < len(ids) {
		err = engine.Denied()
	}
	return err
}

// noMember returns the error for a member that does not exist.
func (sv *save) noMember(p *engine.Property, id string) error {
	if sv.guard.restrictsTarget(p.Target) {
		return engine.Denied()
	}
	return danglingError(p, id)
}
