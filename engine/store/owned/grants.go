package owned

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// A grant on a single item is a row of Config.Permissions. Its resource consists of a class and the id of the item
// (engine.ItemResource). The class is any class of the item's table.
//
// When an item is deleted, its grants are deleted too. When the key of an item changes, its grants are updated. A
// grant that is written at the same time must not be missed. Therefore a transaction that deletes items or changes
// keys enters the table of grants, and a transaction that writes grants excludes other transactions from the table
// (see sqldb.Traits.EnterTable). A grant is then written either before a deletion, which finds the grant, or after it.
// Deletions do not wait for each other.

// itemResources returns the resources that can name an item in a grant: one for each class of the item's table.
func (s *Rows) itemResources(t *layout.Table, key any) []any {
	id := engine.ValueText(key)
	names := make([]any, 0, len(t.Classes))
	for _, c := range t.Classes {
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

// meansOther reports whether the resource for the item id of class c really names an item of another class. This is
// possible if c has no namespace. For example, note@a@b names the item a@b of class note. But if there is a class
// note@a, it names the item b of note@a.
func (s *Rows) meansOther(c *engine.Class, id string) bool {
	namespace, _, found := strings.Cut(id, "@")
	if !found {
		return false
	}
	for other := range s.layout.Plans {
		if other.FullName == c.FullName+"@"+namespace {
			return true
		}
	}
	return false
}

// permissionTable returns the quoted name of the table of grants.
func (s *Rows) permissionTable() string { return s.layout.Plans[s.cfg.Permissions].Table.Quoted }

// enterGrants enters the table of grants: it waits for transactions that write grants, and makes new ones wait until
// this transaction ends.
func (s *Rows) enterGrants(w *conns.Session) error {
	if s.traits.EnterTable == "" {
		return nil
	}
	return w.Exec(fmt.Sprintf(s.traits.EnterTable, s.permissionTable()))
}

// ExcludeDeletions waits until all transactions that delete items or change keys have ended, and makes new ones wait
// until this transaction ends. See conns.Pool.Exclude.
func (s *Rows) ExcludeDeletions(w *conns.Session) error {
	return s.pool.Exclude(w, s.traits.ExcludeTable, s.permissionTable())
}

// DeletesSingly reports whether a single statement may delete an item after checking that the item has no grants. Such
// a statement locks the grants that it finds. In a transaction of several calls it must not be used, because two such
// transactions could wait for each other's locks.
func (s *Rows) DeletesSingly(ctx context.Context, p *layout.Plan) bool {
	return !p.Table.Granted || s.traits.LockKey == "" || s.pool.TransactionOf(ctx) == nil
}

// WriteUngranted appends the condition that an item has no grants.
func (s *Rows) WriteUngranted(b *sqldb.Builder, t *layout.Table, key any) {
	names := s.itemResources(t, key)
	if !t.Granted || len(names) == 0 {
		return
	}
	b.Add(" AND NOT EXISTS (SELECT 1 FROM ", s.permissionTable(), " WHERE ")
	if len(names) == 1 {
		b.Add(`"resource" = `)
		b.Bind(names[0])
	} else {
		sqldb.WriteIn(s.dialect, b, `"resource"`, engine.String, names)
	}
	b.Add(s.traits.LockKey, ")")
}

// GrantsItems reports whether there is a grant on a single item of a table. The answer stays valid until the
// transaction ends, because other transactions cannot write such grants before.
func (s *Rows) GrantsItems(w *conns.Session, t *layout.Table) (bool, error) {
	if !t.Granted {
		return false, nil
	}
	if err := s.enterGrants(w); err != nil {
		return false, err
	}
	for _, c := range t.Classes {
		b := sqldb.NewBuilder(s.traits)
		b.Add("SELECT 1 FROM ", s.permissionTable(), ` WHERE "resource" > `)
		b.Bind(itemResource(c, ""))
		b.Add(` AND "resource" < `)
		b.Bind(engine.ItemResource + c.FullName + string(rune('@'+1)))
		b.Add(" LIMIT 1")
		found := false
		if err := w.VisitRows(b, 1, func([]any) { found = true }); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// forgetGrants deletes the grants on deleted items. Otherwise they would apply to later items with the same ids.
func (s *Rows) forgetGrants(w *conns.Session, t *layout.Table, keys []any) error {
	if !t.Granted || len(keys) == 0 {
		return nil
	}
	if len(keys) > 1 {
		if some, err := s.GrantsItems(w, t); err != nil || !some {
			return err
		}
	}
	var names []any
	for _, key := range keys {
		names = append(names, s.itemResources(t, key)...)
	}
	gone := int64(0)
	for chunk := range slices.Chunk(names, table.BulkRows) {
		b := sqldb.NewBuilder(s.traits)
		b.Add("DELETE FROM ", s.permissionTable(), " WHERE ")
		sqldb.WriteIn(s.dialect, b, `"resource"`, engine.String, chunk)
		n, err := w.Execute(b)
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

// followGrants moves the grants on an item from its old key to its new key. There may be grants that already name the
// new key; they stay and apply to the item, as they would apply to a new item with this key.
func (s *Rows) followGrants(w *conns.Session, t *layout.Table, from, to any) error {
	if !t.Granted {
		return nil
	}
	b := sqldb.NewBuilder(s.traits)
	b.Add(`SELECT "resource" FROM `, s.permissionTable(), " WHERE ")
	names := s.itemResources(t, from)
	if len(names) == 0 {
		return nil
	}
	sqldb.WriteIn(s.dialect, b, `"resource"`, engine.String, names)
	b.Add(s.traits.Lock)
	oldID, newID := engine.ValueText(from), engine.ValueText(to)
	granted := map[string]bool{}
	if err := w.VisitRows(b, 1, func(row []any) { granted[sqldb.TextOf(row[0])] = true }); err != nil || len(granted) == 0 {
		return err
	}
	for _, c := range t.Classes {
		resource := itemResource(c, oldID)
		if !granted[resource] {
			continue
		}
		next := itemResource(c, newID)
		if c.Namespace == "" && s.meansOther(c, newID) || !engine.Grantable(next) {
			s.cfg.Log.Warn("removing the grants on an object, because a resource cannot contain its new id", "resource", resource)
			next = ""
		}
		if err := s.moveGrants(w, resource, next); err != nil {
			return err
		}
	}
	return s.changePolicy(w)
}

// moveGrants moves the grants on the resource from to the resource to. If to is "", it deletes them.
func (s *Rows) moveGrants(w *conns.Session, from, to string) error {
	p := s.layout.Plans[s.cfg.Permissions]
	b := sqldb.NewBuilder(s.traits)
	b.Add("DELETE FROM ", p.Table.Quoted, ` WHERE "resource" = `)
	b.Bind(from)
	if to != "" {
		b.Add(` AND ("permission" IS NULL OR `, p.Table.ID.Quoted, ` IN (SELECT p.`, p.Table.ID.Quoted, " FROM ", p.Table.Quoted, " AS p, ", p.Table.Quoted,
			` AS q WHERE p."resource" = `)
		b.Bind(from)
		b.Add(` AND q."resource" = `)
		b.Bind(to)
		b.Add(` AND q."subject" = p."subject" AND q."permission" = p."permission"))`)
	}
	if _, err := w.Execute(b); err != nil || to == "" {
		return err
	}
	b = sqldb.NewBuilder(s.traits)
	b.Add("DELETE FROM ", p.Table.Quoted, ` WHERE "permission" IS NULL AND "resource" = `) // rows of denied permissions, which are about to be deleted anyway
	b.Bind(to)
	if _, err := w.Execute(b); err != nil {
		return err
	}
	b = sqldb.NewBuilder(s.traits)
	b.Add("UPDATE ", p.Table.Quoted, ` SET "resource" = `)
	b.Bind(to)
	b.Add(", ", p.Table.ID.Quoted, ` = "subject" || `)
	b.Bind("\t" + to + "\t")
	b.Add(` || "permission", `, layout.RevColumn, " = ")
	b.Bind(table.NewRevision())
	b.Add(` WHERE "resource" = `)
	b.Bind(from)
	_, err := w.Execute(b)
	return err
}

// changePolicy gives the item of the policy a new revision, so that all processes read the grants again.
func (s *Rows) changePolicy(w *conns.Session) error {
	b := sqldb.NewBuilder(s.traits)
	b.Add("UPDATE ", s.layout.Plans[s.cfg.Policy].Table.Quoted, " SET ", layout.RevColumn, " = ")
	b.Bind(table.NewRevision())
	if _, err := w.Execute(b); err != nil {
		return err
	}
	w.Regranted = true
	return nil
}

// reportRegranted calls Reports.Regranted if a transaction on w has changed grants and has ended.
func (s Reports) reportRegranted(w *conns.Session) {
	if w.Regranted && s.Regranted != nil {
		s.Regranted()
	}
	w.Regranted = false
}
