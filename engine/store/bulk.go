package store

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// run writes the entries in order. Entries that can share a statement are written together. run may be called again if
// the transaction failed, so it does not modify entries.
func (sv *save) run(w *conns.Session, entries []entry) error {
	if err := sv.beginSave(w); err != nil {
		return err
	}
	if err := sv.relations.lockLinks(entries); err != nil {
		return err
	}
	if sv.attempts > 1 {
		if err := sv.lockAll(entries); err != nil {
			return err
		}
	}
	entries = slices.Clone(entries)
	for len(entries) > 0 {
		if err := sv.ctx.Err(); err != nil {
			return conns.TimeoutError(err)
		}
		n := sv.groupLength(entries)
		sv.ordering.enterRecord(entries[0].index) // as a result, the group does not follow key changes of earlier records
		err := sv.writeGroup(entries[:n])
		if err == nil {
			err = sv.relations.relateAll()
		}
		if err != nil {
			return err
		}
		entries = entries[n:]
		sv.groups++
	}
	return sv.relations.finish()
}

// lockAll locks the stored items of all entries, in the order of tables and keys. Every repeated save calls it first.
// If the save is repeated because of a deadlock with another save, this prevents a second deadlock: both take their
// locks in the same order.
func (sv *save) lockAll(entries []entry) error {
	keys := map[*layout.Table][]any{}
	for i := range entries {
		if e := &entries[i]; e.key != nil {
			keys[e.plan.Table] = append(keys[e.plan.Table], e.key[0])
		}
	}
	return sv.store.table.LockItems(sv.w, keys, sv.store.traits.Lock, nil)
}

// begin resets the state of the save for a new transaction.
func (sv *save) begin(w *conns.Session) {
	sv.attempts++
	sv.w, sv.later, sv.expected, sv.written, sv.former, sv.deferred, sv.records = w, nil, nil, nil, nil, nil, nil
	clear(sv.items)
	sv.waiting, sv.owner, sv.unseen, sv.asked, sv.locked = nil, pending{}, nil, nil, nil
	sv.record, sv.moves, sv.groups, sv.shaken, sv.touched = 0, moves{}, 0, false, nil
	sv.awaited, sv.awaiting, sv.holding, sv.arrived = nil, nil, nil, nil
	sv.replaced, sv.wrote = nil, nil
}

// beginSave resets the state of the save for a new transaction. If the save writes grants, it also waits until
// concurrent transactions that delete items have ended.
func (sv *save) beginSave(w *conns.Session) error {
	sv.begin(w)
	if !sv.grants {
		return nil
	}
	return sv.store.owned.ExcludeDeletions(w)
}

// writeOne writes a single entry.
func (sv *save) writeOne(e *entry) error {
	sv.ordering.enterRecord(e.index)
	it, err := sv.nesting.writeRecord(e)
	if err != nil {
		return sv.relations.withRecordIndex(e, err)
	}
	sv.items[e.index] = it
	return nil
}

// groupLength returns the number of entries at the beginning of the list that can be written together. The entries of
// a group have different keys: of two entries with the same key, the later one must see the result of the earlier one.
// If mustClose is true for an entry, it is the last of its group.
func (sv *save) groupLength(entries []entry) int {
	first := &entries[0]
	if first.alone {
		return 1
	}
	seen := map[string]bool{}
	for n := range entries {
		e := &entries[n]
		if e.plan != first.plan || e.how != first.how || e.mask != first.mask || e.brief != first.brief || e.alone {
			return n
		}
		if e.key != nil {
			k := keyText(e.key)
			if seen[k] {
				return n
			}
			seen[k] = true
		}
		if sv.ordering.mustClose(e) {
			return n + 1
		}
	}
	return len(entries)
}

func (sv *save) updateEntry(e *entry) error {
	if err := sv.store.table.RaiseCounters(sv.w, e.plan, []engine.Values{e.given}); err != nil {
		return err
	}
	it := &engine.Item{}
	c := table.Change{Key: e.key, Values: sv.stampedUpdate(e.plan, e.given), KeepKey: true, Version: &e.version, Editor: sv.editorID(e.plan)}
	found, err := sv.store.table.Update(sv.w, e.plan, it, c)
	if err == nil && !found {
		err = engine.NoItem(e.plan.Class, e.plan.Class.ID(e.given))
	}
	if err != nil {
		return atRecord(e.index, err)
	}
	sv.items[e.index] = it
	sv.permits.deferCheck(engine.MayWrite, it)
	return sv.rows.afterWrite(e, e.given, it)
}

// insertAll writes a group of entries that are all inserts or all upserts.
func (sv *save) insertAll(group []entry) error {
	if len(group) == 0 {
		return nil
	}
	p := group[0].plan
	if group[0].how == insert {
		if !sv.guard.MayCreate(p.Class) {
			return atRecord(group[0].index, engine.Denied())
		}
		if err := sv.completeAll(p, group); err != nil {
			return err
		}
		if p.Duties.Late {
			for i := range group {
				if err := p.CheckSizes(group[i].full); err != nil {
					return atRecord(group[i].index, err)
				}
			}
		}
	}
	for len(group) > 0 {
		if err := sv.ctx.Err(); err != nil {
			return conns.TimeoutError(err)
		}
		n, err := sv.writeRows(p, group)
		if err != nil {
			return err
		}
		if err := sv.afterAll(p, group[:n]); err != nil {
			return err
		}
		group = group[n:]
	}
	return nil
}

// afterAll checks and completes the items of entries after their rows were written: sizes, permissions, files, the
// journal and other duties of their class.
func (sv *save) afterAll(p *layout.Plan, group []entry) error {
	if p.Shares && group[0].how != insert {
		for i := range group {
			if err := sv.store.layout.CheckSharedSizes(p, group[i].given, sv.items[group[i].index]); err != nil {
				return atRecord(group[i].index, err)
			}
		}
	}
	if sv.guard != nil {
		sv.permits.deferChecks(group)
	}
	if p.Duties.IsPlain() && len(sv.awaited) == 0 {
		return nil
	}
	for i := range group {
		if err := sv.rows.afterWrite(&group[i], group[i].given, sv.items[group[i].index]); err != nil {
			return err
		}
	}
	return nil
}

// blameRecord finds the record that caused err, the error of a statement for several entries. The failed statement has
// no effect, so blameRecord writes the rows one by one. If a row fails, it returns the error with the index of the
// record, and the whole transaction is rolled back. If all rows succeed, for example because a concurrent transaction
// has removed the cause, blameRecord returns nil.
func (sv *save) blameRecord(p *layout.Plan, group []entry, err error) error {
	if kind := sv.store.pool.FailureKind(err); kind != sqldb.Other && kind != sqldb.TooLong || sv.w.Ctx.Err() != nil {
		return err // the error is not caused by a record
	}
	if sv.store.traits.Savepoint && len(group) > 1 {
		if failure := sv.w.Exec("ROLLBACK TO SAVEPOINT rows"); failure != nil {
			return err
		}
	}
	for i := range group {
		if len(group) > 1 {
			if err = sv.writeChunk(p, group[i:i+1]); err == nil {
				continue
			}
		}
		e := &group[i]
		if errors.Is(err, table.ErrSameID) {
			return atRecord(e.index, err)
		}
		value := func(name string) any { return e.full[p.Class.Property(name).Index] }
		if d := sv.store.table.DuplicateError(p, err, value); d != nil {
			if e.sought {
				return sv.rows.duplicateError(atRecord(e.index, d))
			}
			return atRecord(e.index, d)
		}
		if sv.store.pool.FailureKind(err) == sqldb.TooLong {
			return atRecord(e.index, sv.store.pool.EngineError(sv.ctx, sv.w, err))
		}
		return err
	}
	return err
}

// writeChunk writes entries with one statement.
func (sv *save) writeChunk(p *layout.Plan, group []entry) error {
	first, arrays := &group[0], sv.rows.bindsArrays()
	rowTexts := len(group)
	if arrays {
		rowTexts = 1 // the text does not depend on the number of rows
	}
	sql := p.SQL()
	returned := first.returnedColumns(sql)
	name := strconv.Itoa(rowTexts) + " " + sql.Name + " " + first.mask
	if returned == nil {
		name += " brief"
	}
	st, err := sv.w.PrepareIn(&sv.w.Bulk, conns.KeptBulkStatements, name, func() string {
		tail := ""
		if first.how == upsert {
			tail = p.UpsertTail(sv.store.traits, rowTexts, first.mask, returned)
		}
		if arrays {
			return p.InsertArrays(sv.store.traits, sv.store.db.Dialect, tail)
		}
		return p.InsertText(sv.store.traits, rowTexts, tail)
	})
	if err != nil {
		return err
	}
	args := slices.Grow(sv.args[:0], len(group)*p.RowVariables()+1)
	for _, it := range sv.newItems(p, group) {
		args = p.RowArgs(args, it)
		if first.how == upsert && returned == nil {
			it.Creator = "" // unknown, because the row may exist and then keeps its creator
		}
	}
	sv.args = args
	if arrays {
		args = sv.rows.asArrays(p, args)
	}
	if first.how == upsert {
		args = append(args, layout.OrNull(sv.account))
	}
	if returned == nil {
		done, err := st.ExecContext(sv.w.Ctx, args...)
		if err != nil || first.how != upsert || !p.Table.HasIDColumn() {
			return err
		}
		n, err := done.RowsAffected()
		return sv.allWritten(p, group, int(n), err)
	}
	rows, err := st.QueryContext(sv.w.Ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	scan, n := sv.w.NewScanner(returned), 0
	for ; rows.Next(); n++ {
		if err := scan(rows); err != nil {
			return err
		}
		sv.loadUpserted(p, group, n, returned == sql.Selected)
	}
	return sv.allWritten(p, group, n, rows.Err())
}

// allWritten returns an error if an upsert of a group has skipped a row, which means that n, the number of written
// rows, is too small. The upsert skips a row if the item with its id has another key (see table.ErrSameID). It is not
// known which row was skipped, so the error names the first record of the group. blameRecord then finds the right one.
func (sv *save) allWritten(p *layout.Plan, group []entry, n int, err error) error {
	if err != nil || n == len(group) {
		return err
	}
	return table.OtherKey(p, group[0].full)
}

// returnedColumns returns the columns that the statement for entries like e must return; nil means no columns.
// Returning columns is expensive: on SQLite, reading the rows of 10,000 updates takes a fifth of the time of the save.
func (e *entry) returnedColumns(sql *layout.Texts) *sqldb.Result {
	switch {
	case e.how == insert:
		return nil
	case strings.Contains(e.mask, "0"):
		return sql.Selected
	case e.brief:
		return nil
	}
	return sql.Stamps
}

// newItems creates the items of entries that will be inserted or upserted, with new revisions.
func (sv *save) newItems(p *layout.Plan, group []entry) []*engine.Item {
	sv.w.Worked += len(group)
	items, list := make([]engine.Item, len(group)), make([]*engine.Item, len(group))
	for i := range group {
		e, it := &group[i], &items[i]
		*it = engine.Item{Class: p.Class, ID: p.Class.ID(e.full), Revision: uint64(table.NewRevision()), Version: e.version, Creator: sv.creatorID(p), Values: e.full}
		sv.items[e.index], list[i] = it, it
	}
	return list
}

// loadUpserted loads row i of the result of an upsert into the item of its entry. The rows usually have the order of
// the entries, but this is not guaranteed, so the entry is found by the revision in the row. If whole is true, the
// result has all columns.
func (sv *save) loadUpserted(p *layout.Plan, group []entry, i int, whole bool) {
	rev, _ := sv.w.Raw[layout.AtRev].(int64)
	for j := range group {
		it := sv.items[group[(i+j)%len(group)].index]
		if it.Revision != uint64(rev) {
			continue
		}
		if whole {
			it.Values = nil // keep the given values: they are needed if the transaction is repeated
			p.LoadRow(it, sv.w.Raw)
			return
		}
		it.Creator, it.Editor = sqldb.TextOf(sv.w.Raw[layout.AtCreator]), sqldb.TextOf(sv.w.Raw[layout.AtEditor])
		return
	}
}
