package store

import (
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/table"
)

// Each of these tables lists the paths by which a write can be done. The first path that fits is taken, so each path
// can assume that the paths before it do not fit. Whether a path fits depends on the duties of the class, on the
// permissions of the account, and on the keys and nested records in the call.

// lonePath is a way to run a Create or an Update. run calls work, which writes the record in the session w.
type lonePath struct {
	name string
	fits func(sv *save, e *entry) bool
	run  func(sv *save, t *layout.Table, work func(w *conns.Session) error) error
}

// lonePaths are the ways to run a Create or an Update that needs a save. A Create of a plain row needs no save (see
// isPlainInsert).
var lonePaths = [...]lonePath{
	{"one statement, without a transaction", (*save).isSingle,
		func(sv *save, t *layout.Table, work func(w *conns.Session) error) error {
			return sv.store.pool.Writer.DoStatement(sv.ctx, t, work) // the account may write all items, so a conflict needs no hiding
		}},
	{"transaction",
		func(*save, *entry) bool { return true },
		func(sv *save, t *layout.Table, work func(w *conns.Session) error) error {
			return sv.permits.settleError(sv.store.pool.Writer.DoTo(sv.ctx, t, work), work)
		}},
}

// groupPath is a way to write a group of records of a Save (see groupLength).
type groupPath struct {
	name  string
	fits  func(sv *save, group []entry) bool
	write func(sv *save, group []entry) error
}

var groupPaths = [...]groupPath{
	{"one record, with the records nested in it",
		func(_ *save, group []entry) bool { return group[0].alone },
		func(sv *save, group []entry) error { return sv.writeOne(&group[0]) }},
	{"find the items, then update them or insert new ones",
		func(_ *save, group []entry) bool { return group[0].how == lookup },
		(*save).lookUpGroup},
	{"find the items and check the permissions, then upsert",
		func(sv *save, group []entry) bool {
			p := group[0].plan
			return group[0].how == upsert && (p.Duties.Journaled || !sv.guard.SkipsRowChecks(p))
		},
		func(sv *save, group []entry) error { return sv.permits.upsertMet(group[0].plan, group) }},
	{"insert or upsert",
		func(*save, []entry) bool { return true },
		(*save).insertAll},
}

// rowPath is a way to write the rows of inserts or upserts of one class. size returns the number of entries, from the
// beginning of the group, that are written at once.
type rowPath struct {
	name  string
	fits  func(sv *save, group []entry) bool
	size  func(sv *save, group []entry) int
	write func(sv *save, p *layout.Plan, group []entry) error
}

var rowPaths = [...]rowPath{
	{"COPY",
		func(sv *save, group []entry) bool {
			least := sv.store.traits.Copy
			return least > 0 && group[0].how == insert && len(group) >= least
		},
		func(_ *save, group []entry) int { return len(group) },
		func(sv *save, p *layout.Plan, group []entry) error { return sv.rows.copyRows(p, group) }},
	{"one statement that takes an array for each column",
		func(sv *save, _ []entry) bool { return sv.rows.bindsArrays() },
		func(_ *save, group []entry) int { return min(len(group), arrayRows) },
		(*save).writeChunk},
	{"one statement with the values of each row",
		func(*save, []entry) bool { return true },
		func(sv *save, group []entry) int {
			most := min(table.BulkRows, (sv.store.traits.MaxVariables-1)/group[0].plan.RowVariables())
			return table.PowerOfTwo(min(len(group), most))
		},
		(*save).writeChunk},
}

// isPlainInsert reports whether a Create writes only one row, with values that are all known before the write.
func isPlainInsert(p *layout.Plan, g *rights.Guard) bool {
	return p.Duties.IsPlain() && g.SkipsRowChecks(p) && !p.Table.Grants
}

// runLone runs work, which writes e, by the first lonePath that fits.
func (sv *save) runLone(e *entry, work func(w *conns.Session) error) error {
	for i := range lonePaths {
		if lonePaths[i].fits(sv, e) {
			return lonePaths[i].run(sv, e.plan.Table, work)
		}
	}
	return nil
}

// writeGroup writes a group of records of a Save by the first groupPath that fits.
func (sv *save) writeGroup(group []entry) error {
	for i := range groupPaths {
		if groupPaths[i].fits(sv, group) {
			return groupPaths[i].write(sv, group)
		}
	}
	return nil
}

// writeRows writes the rows of the first entries by the first rowPath that fits, and returns their number.
func (sv *save) writeRows(p *layout.Plan, group []entry) (n int, err error) {
	for i := range rowPaths {
		if !rowPaths[i].fits(sv, group) {
			continue
		}
		n = rowPaths[i].size(sv, group)
		if sv.store.traits.Savepoint && n > 1 {
			if err := sv.w.Exec("SAVEPOINT rows"); err != nil {
				return n, err
			}
		}
		if err = rowPaths[i].write(sv, p, group[:n]); err != nil {
			err = sv.blameRecord(p, group[:n], err)
		}
		return n, err
	}
	return 0, nil
}
