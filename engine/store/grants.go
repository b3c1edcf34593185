package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"restsrv/engine"
)

// Grants on single items are rows of Config.PermissionClass. The resource of such a row names the
// item by one of the classes of its table and by its id (engine.ItemResource).
//
// A grant is deleted with its item and follows the item's key. If several transactions write at the
// same time, a transaction that deletes items or changes keys enters the table of grants, and a
// transaction that writes grants excludes the others from it (see Traits). So each grant is written
// either before a deletion, which finds it, or after it. Deletions do not wait for each other.

// itemResources returns the resources by which grants may name an item.
func (s *Store) itemResources(t *table, key any) []any {
	id := engine.ValueText(key)
	names := make([]any, 0, len(t.classes))
	for _, c := range t.classes {
		if c.Namespace == "" && s.meansOther(c, id) {
			continue
		}
		names = append(names, itemResource(c, id))
	}
	return names
}

func itemResource(c *engine.Class, id string) string {
	return engine.ItemResource + c.FullName + "@" + id
}

// meansOther reports whether the resource of an item of a class without namespace names an item of
// another class: note@a@b is the item b of note@a if there is such a class, and not the item a@b of
// note.
func (s *Store) meansOther(c *engine.Class, id string) bool {
	namespace, _, found := strings.Cut(id, "@")
	if !found {
		return false
	}
	for other := range s.plans {
		if other.FullName == c.FullName+"@"+namespace {
			return true
		}
	}
	return false
}

// permissionTable returns the quoted name of the table of grants.
func (s *Store) permissionTable() string { return s.plans[s.cfg.PermissionClass].table.quoted }

// enterGrants waits for transactions that write grants. Until this transaction ends, others that
// write grants wait for it.
func (s *Store) enterGrants(w *session) error {
	if s.traits.EnterTable == "" {
		return nil
	}
	return w.exec(fmt.Sprintf(s.traits.EnterTable, s.permissionTable()))
}

// excludeDeletions waits for transactions that have deleted items or changed keys. Until this
// transaction ends, others that do so wait for it. It soon returns an error that repeats the write,
// because new deletions wait behind it.
func (s *Store) excludeDeletions(w *session) error {
	for _, statement := range s.traits.ExcludeTable {
		if strings.Contains(statement, "%s") {
			statement = fmt.Sprintf(statement, s.permissionTable())
		}
		if err := w.exec(statement); err != nil {
			if s.failureKind(err) == Locked {
				err = again{err}
			}
			return err
		}
	}
	return nil
}

// deletesSingly reports whether one statement may delete an item that has no grants. The statement locks
// the grants that it finds. It must not be used in a transaction of several calls, because two
// transactions with such locks could wait for each other.
func (s *Store) deletesSingly(ctx context.Context, p *plan) bool {
	return !p.table.granted || s.traits.LockKey == "" || s.transactionOf(ctx) == nil
}

// writeUngranted appends the condition that no grant names an item.
func (s *Store) writeUngranted(b *builder, t *table, key any) {
	names := s.itemResources(t, key)
	if !t.granted || len(names) == 0 {
		return
	}
	b.add(" AND NOT EXISTS (SELECT 1 FROM ", s.permissionTable(), " WHERE ")
	if len(names) == 1 {
		b.add(`"resource" = `)
		b.bind(names[0])
	} else {
		s.writeIn(b, `"resource"`, engine.String, names)
	}
	b.add(s.traits.LockKey, ")")
}

// grantsItems reports whether any grant names a single item of a table. Until the transaction ends,
// no other transaction can write such a grant.
func (s *Store) grantsItems(w *session, t *table) (bool, error) {
	if !t.granted {
		return false, nil
	}
	if err := s.enterGrants(w); err != nil {
		return false, err
	}
	for _, c := range t.classes {
		b := newBuilder(s.traits)
		b.add("SELECT 1 FROM ", s.permissionTable(), ` WHERE "resource" > `)
		b.bind(itemResource(c, ""))
		b.add(` AND "resource" < `)
		b.bind(engine.ItemResource + c.FullName + string(rune('@'+1)))
		b.add(" LIMIT 1")
		found := false
		if err := w.visitRows(b, 1, func([]any) { found = true }); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// forgetGrants deletes the grants on deleted items. They must not apply to later items with the
// same ids.
func (s *Store) forgetGrants(w *session, t *table, keys []any) error {
	if !t.granted || len(keys) == 0 {
		return nil
	}
	if len(keys) > 1 {
		if some, err := s.grantsItems(w, t); err != nil || !some {
			return err
		}
	}
	var names []any
	for _, key := range keys {
		names = append(names, s.itemResources(t, key)...)
	}
	gone := int64(0)
	for chunk := range slices.Chunk(names, bulkRows) {
		b := newBuilder(s.traits)
		b.add("DELETE FROM ", s.permissionTable(), " WHERE ")
		s.writeIn(b, `"resource"`, engine.String, chunk)
		n, err := w.execute(b)
		if err != nil {
			return err
		}
		gone += n
	}
	if gone == 0 {
		return nil
	}
	return s.changePolicy(w)
}

// followGrants moves the grants on an item when its key changes. Grants that already name the new
// key stay, as they do when an item is created with it.
func (sv *save) followGrants(t *table, from, to any) error {
	if !t.granted {
		return nil
	}
	b := newBuilder(sv.store.traits)
	b.add(`SELECT "resource" FROM `, sv.store.permissionTable(), " WHERE ")
	names := sv.store.itemResources(t, from)
	if len(names) == 0 {
		return nil
	}
	sv.store.writeIn(b, `"resource"`, engine.String, names)
	b.add(sv.store.traits.Lock)
	oldID, newID := engine.ValueText(from), engine.ValueText(to)
	granted := map[string]bool{}
	if err := sv.w.visitRows(b, 1, func(row []any) { granted[textOf(row[0])] = true }); err != nil || len(granted) == 0 {
		return err
	}
	for _, c := range t.classes {
		resource := itemResource(c, oldID)
		if !granted[resource] {
			continue
		}
		next := itemResource(c, newID)
		if c.Namespace == "" && sv.store.meansOther(c, newID) || !engine.Grantable(next) {
			sv.store.cfg.Log.Warn("removing the grants on an object, because a resource cannot contain its new id", "resource", resource)
			next = ""
		}
		if err := sv.moveGrants(resource, next); err != nil {
			return err
		}
	}
	return sv.store.changePolicy(sv.w)
}

// moveGrants moves the grants on a resource to another resource, or deletes them if
// to is "".
func (sv *save) moveGrants(from, to string) error {
	p := sv.store.plans[sv.store.cfg.PermissionClass]
	b := newBuilder(sv.store.traits)
	b.add("DELETE FROM ", p.table.quoted, ` WHERE "resource" = `)
	b.bind(from)
	if to != "" {
		b.add(` AND ("permission" IS NULL OR `, p.table.id.quoted, ` IN (SELECT p.`, p.table.id.quoted, " FROM ", p.table.quoted, " AS p, ", p.table.quoted,
			` AS q WHERE p."resource" = `)
		b.bind(from)
		b.add(` AND q."resource" = `)
		b.bind(to)
		b.add(` AND q."subject" = p."subject" AND q."permission" = p."permission"))`)
	}
	if _, err := sv.w.execute(b); err != nil || to == "" {
		return err
	}
	b = newBuilder(sv.store.traits)
	b.add("DELETE FROM ", p.table.quoted, ` WHERE "permission" IS NULL AND "resource" = `) // denied, and about to be deleted
	b.bind(to)
	if _, err := sv.w.execute(b); err != nil {
		return err
	}
	b = newBuilder(sv.store.traits)
	b.add("UPDATE ", p.table.quoted, ` SET "resource" = `)
	b.bind(to)
	b.add(", ", p.table.id.quoted, ` = "subject" || `)
	b.bind("\t" + to + "\t")
	b.add(` || "permission", `, revColumn, " = ")
	b.bind(newRevision())
	b.add(` WHERE "resource" = `)
	b.bind(from)
	_, err := sv.w.execute(b)
	return err
}

// changePolicy gives the item of the policy a new revision, so that all processes
// read the grants again.
func (s *Store) changePolicy(w *session) error {
	b := newBuilder(s.traits)
	b.add("UPDATE ", s.plans[s.cfg.PolicyClass].table.quoted, " SET ", revColumn, " = ")
	b.bind(newRevision())
	if _, err := w.execute(b); err != nil {
		return err
	}
	w.regranted = true
	return nil
}

// reportRegranted calls Config.Regranted if transactions of w that have ended changed grants.
func (s *Store) reportRegranted(w *session) {
	if w.regranted && s.cfg.Regranted != nil {
		s.cfg.Regranted()
	}
	w.regranted = false
}
