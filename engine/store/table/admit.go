package table

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// Check is a permission that the account needs for items of a class, to be checked with AdmitKeys.
type Check struct {
	Plan *layout.Plan
	May  engine.Permission
}

// Wish is a list of permissions for items of a class. FindAdmitted finds the items for which the account has at least
// one of these permissions.
type Wish struct {
	Plan *layout.Plan
	Of   []engine.Permission
	Lock string // appended to the statement, to lock items that will be changed; "" for no lock
}

// FindAdmitted looks up the items with these keys. It returns the keys, as text, of the items that exist and for which
// the account has at least one of the wanted permissions.
func (s *Writer) FindAdmitted(w *conns.Session, g *rights.Guard, want Wish, keys []any) (found map[string]bool, err error) {
	p := want.Plan
	found = make(map[string]bool, len(keys))
	id := p.Table.Quoted + "." + p.Table.ID.Quoted
	for chunk := range slices.Chunk(keys, BulkRows) {
		b := s.queries.GuardedBuilder(g)
		b.Add("SELECT ", id, " FROM ", p.Table.Quoted, " WHERE ")
		sqldb.WriteIn(s.dialect, &b.Builder, id, p.Table.ID.Type, chunk)
		b.Add(sqlquery.AndCondition(sqlquery.TopSource(p).OfClass()), sqlquery.AndCondition(sqlquery.AnyPermission(b, p, want.Of)), " ORDER BY ", id, want.Lock)
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

// AdmitKeys checks that the account has the permission for all items with these keys, in their present state, and
// locks the items. If not, it returns Denied.
func (s *Writer) AdmitKeys(w *conns.Session, g *rights.Guard, c Check, keys []any) error {
	if g.RowFilter(c.May, c.Plan.Class) == nil || len(keys) == 0 {
		return nil
	}
	if g.NeverAllows(c.May, c.Plan.Class) {
		return engine.Denied()
	}
	keys = Distinct(keys)
	locking := Wish{c.Plan, []engine.Permission{c.May}, s.LockClause(c.May)}
	for range conns.MaxAttempts {
		found, err := s.FindAdmitted(w, g, locking, keys)
		if err != nil || len(found) == len(keys) {
			return err
		}
		if locking.Lock == "" {
			break
		}
		// The statement may have waited for a transaction that deleted an item and created it again. It does not find
		// the new item, but the next statement does, without waiting.
		if found, err = s.FindAdmitted(w, g, Wish{Plan: c.Plan, Of: locking.Of}, keys); err != nil {
			return err
		}
		if len(found) < len(keys) {
			break
		}
	}
	return engine.Denied()
}

// LockClause returns a clause at the end of a SELECT that locks items strongly enough for a write with the permission
// may.
func (s *Writer) LockClause(may engine.Permission) string {
	if may&engine.MayDelete != 0 {
		return s.traits.LockGone
	}
	return s.traits.Lock
}

// AdmitNamed does the work of AdmitKeys for one item that the request names, which may be missing. The error for a
// missing item is NotFound if the account may know that the item is missing, otherwise Denied.
func (s *Writer) AdmitNamed(w *conns.Session, g *rights.Guard, c Check, key []any) error {
	err := s.AdmitKeys(w, g, c, key)
	if engine.CodeOf(err) == engine.Forbidden {
		return s.reader.AbsentError(w, c.Plan, g, c.May, engine.ValueText(key[0]))
	}
	return err
}

// HideMissing replaces the error for a missing item by Denied if there are items of the class that the account may not
// read.
func HideMissing(g *rights.Guard, c *engine.Class, err error) error {
	if g != nil && engine.CodeOf(err) == engine.NotFound && err != nil && g.RowFilter(engine.MayRead, c) != nil {
		return conns.KeepMark(err, engine.Denied())
	}
	return err
}
