package store

import (
	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/schema"
	"restsrv/engine/store/sqldb"
)

// keepWords updates the search words of items that were written. It does nothing if the table has no search words.
func (s *Store) keepWords(w *conns.Session, p *layout.Plan, items ...*engine.Item) error {
	if !p.Table.HasWords() {
		return nil
	}
	b := sqldb.NewBuilder(s.traits)
	b.Add("UPDATE ", p.Table.Quoted, " SET ", layout.SearchColumn, " = ")
	b.Bind(nil)
	p.WhereKey(b, []any{nil})
	st, err := w.Prepare(b.Text())
	if err != nil {
		return err
	}
	for _, it := range items {
		key, _ := it.Class.KeyValues(it.ID)
		args := []any{schema.SearchText(it), sqldb.Encode(key[0])}
		if _, err := st.ExecContext(w.Ctx, args...); err != nil {
			return err
		}
	}
	return nil
}
