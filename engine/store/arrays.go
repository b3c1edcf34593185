package store

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// arrayRows is the maximum number of rows of one statement that binds an array for each column.
const arrayRows = 1000

// bindsArrays reports whether statements bind their rows as one array for each column.
func (sv *rows) bindsArrays() bool {
	typ, _ := sv.store.db.Dialect.Array(engine.String, nil)
	return typ != ""
}

// asArrays converts the values of rows, row by row, to one array for each column.
func (sv *rows) asArrays(p *layout.Plan, values []any) []any {
	b := sqldb.NewBuilder(sv.store.traits)
	b.Unnest(sv.store.db.Dialect, p.RowTypes(), values)
	return b.Args
}

// copyRows inserts the items of entries by COPY. The items must be new.
func (sv *rows) copyRows(p *layout.Plan, group []entry) error {
	w := sv.w
	if w.Conn == nil {
		if err := w.Connect(w.Ctx); err != nil {
			return err
		}
	}
	st, err := w.Conn.PrepareContext(w.Ctx, "COPY "+p.Table.Quoted+" ("+p.RowColumns()+") FROM STDIN")
	if err != nil {
		return err
	}
	defer st.Close()
	args := slices.Grow(sv.args[:0], p.RowVariables()+1)
	for i, it := range sv.newItems(p, group) {
		if i%arrayRows == 0 && sv.ctx.Err() != nil {
			return conns.TimeoutError(sv.ctx.Err())
		}
		args = p.RowArgs(append(args[:0], p.Class.FullName), it)
		if _, err := st.ExecContext(w.Ctx, args...); err != nil {
			return err
		}
	}
	sv.args = args
	_, err = st.ExecContext(w.Ctx) // ends the copy and returns its error
	return err
}
