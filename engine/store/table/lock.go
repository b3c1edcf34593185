package table

import (
	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// ItemKey identifies an item by its table and by its key as text.
type ItemKey struct {
	Table *layout.Table
	Key   string
}

// LockItems locks the items with these keys, in the order of tables and keys. lock is the clause of the SELECT that
// locks the items, such as FOR UPDATE; if it is "", LockItems only returns. If found is not nil, LockItems adds the
// keys of the existing items to it.
func (s *Writer) LockItems(w *conns.Session, keys map[*layout.Table][]any, lock string, found map[ItemKey]bool) error {
	for _, t := range s.layout.Tables {
		if len(keys[t]) == 0 || lock == "" {
			continue
		}
		b := sqldb.NewBuilder(s.traits)
		b.Add("SELECT ", t.ID.Quoted, " FROM ", t.Quoted, " WHERE ")
		sqldb.WriteIn(s.dialect, b, t.ID.Quoted, t.ID.Type, keys[t])
		b.Add(" ORDER BY ", t.ID.Quoted, lock)
		err := w.VisitRows(b, 1, func(row []any) {
			if found != nil {
				found[ItemKey{t, engine.ValueText(sqldb.ReadValue(t.ID.Type, row[0]))}] = true
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RereadLocked reads items again and locks them. The result includes all changes of other transactions so far, and
// until this transaction ends, no other transaction can change the items or their cached attributes. Therefore values
// that are computed from the result are correct.
func (s *Writer) RereadLocked(w *conns.Session, items []*engine.Item) ([]*engine.Item, error) {
	keys := map[*layout.Table][]any{}
	var tables []*layout.Table
	for _, it := range items {
		t := s.layout.Plans[it.Class].Table
		if keys[t] == nil {
			tables = append(tables, t)
		}
		keys[t] = append(keys[t], KeyOf(it))
	}
	var found []*engine.Item
	for _, t := range tables {
		items, err := s.ReadLocked(w, t, keys[t])
		if err != nil {
			return nil, err
		}
		found = append(found, items...)
	}
	return found, nil
}

// ReadLocked reads the items with these keys and locks them until the transaction ends.
func (s *Writer) ReadLocked(w *conns.Session, t *layout.Table, keys []any) ([]*engine.Item, error) {
	p := s.layout.Plans[t.Classes[0]]
	b := sqldb.NewBuilder(s.traits)
	b.Add("SELECT ", p.SQL().Listed.List, " FROM ", t.Quoted, " WHERE ")
	sqldb.WriteIn(s.dialect, b, t.Quoted+"."+t.ID.Quoted, t.ID.Type, keys)
	if p.ClassCondition() != "" {
		b.Add(" AND ", p.ClassCondition())
	}
	b.Add(" ORDER BY ", t.Quoted, ".", t.ID.Quoted, s.traits.Lock) // a fixed order of locks avoids deadlocks
	return read.Clone(w, w.Ctx, p, sqlquery.Listing{Text: b.Text(), Args: b.Args})
}
