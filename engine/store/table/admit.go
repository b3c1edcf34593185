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

// Wish is a list of permissions for items of a class, of which the account needs one (see FindAdmitted).
type Wish struct {
	Plan *layout.Plan
	Of   []engine.Permission
	Lock string // appended to the statement, to lock items that will be changed; "" for no lock
}

// FindAdmitted returns those of the keys, as text, for which there is an item, if the account has one of the wanted
// permissions for that item.
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

// AdmitKeys returns Denied unless the account has the permission for all items with these keys, in their present state.
// It locks the items that it checks.
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
		// The statement may have waited for a transaction that deleted an item and created it
		// again. It does not find the new item. The next statement finds it and does not wait.
		if found, err = s.FindAdmitted(w, g, Wish{Plan: c.Plan, Of: locking.Of}, keys); err != nil {
			return err
		}
		if len(found) < len(keys) {
			break
		}
	}
	return engine.Denied()
}

// LockClause returns the end of a SELECT that locks items for a write that needs the permission.
func (s *Writer) LockClause(may engine.Permission) string {
	if may&engine.MayDelete != 0 {
		return s.traits.LockGone
	}
	return s.traits.Lock
}

// AdmitNamed is like AdmitKeys, for one item that the caller names and that may not exist: if it is missing and the
// account may know this, the error is that for a missing item.
func (s *Writer) AdmitNamed(w *conns.Session, g *rights.Guard, c Check, key []any) error {
	err := s.AdmitKeys(w, g, c, key)
	if engine.CodeOf(err) == engine.Forbidden {
		return s.reader.AbsentError(w, c.Plan, g, c.May, engine.ValueText(key[0]))
	}
	return err
}

// HideMissing replaces the error for a missing item by Denied, if the account may not read all items of the class.
func HideMissing(g *rights.Guard, c *engine.Class, err error) error {
	if g != nil && engine.CodeOf(err) == engine.NotFound && err != nil && g.RowFilter(engine.MayRead, c) != nil {
		return conns.KeepMark(err, engine.Denied())
	}
	return err
}
