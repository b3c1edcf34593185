package store

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
)

// bulkRows is the maximum number of rows of one statement. Groups are divided into powers of two,
// so that few different statements are needed.
const bulkRows = 512

// run writes the entries in order. Entries that can share a statement are written together. run may
// be called again if the transaction failed, so it does not modify entries.
func (sv *save) run(w *session, entries []entry) error {
	if err := sv.beginSave(w); err != nil {
		return err
	}
	if err := sv.lockLinks(entries); err != nil {
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
			return timeoutError(err)
		}
		n := sv.groupLength(entries)
		sv.enterRecord(entries[0].index) // so the group does not follow key changes of earlier records
		var err error
		switch group := entries[:n]; {
		case group[0].alone:
			err = sv.writeOne(&group[0])
		case group[0].how == lookup:
			err = sv.lookUpGroup(group)
		default:
			err = sv.insertAll(group)
		}
		if err == nil {
			err = sv.relateAll()
		}
		if err != nil {
			return err
		}
		entries = entries[n:]
		sv.groups++
	}
	return sv.finish()
}

// lockAll locks the stored items of the entries in the order of tables. A repeated write calls it
// so that two saves that waited for each other do not do so again.
func (sv *save) lockAll(entries []entry) error {
	keys := map[*table][]any{}
	for i := range entries {
		if e := &entries[i]; e.key != nil {
			keys[e.plan.table] = append(keys[e.plan.table], e.key[0])
		}
	}
	return sv.lockItems(keys, sv.store.traits.Lock, nil)
}

// lockItems locks the items with these keys, in the order of tables and keys. lock ends the
// statements. If lock is "", lockItems does nothing. If found is not nil, lockItems adds the keys of
// the items that exist to it.
func (sv *save) lockItems(keys map[*table][]any, lock string, found map[itemKey]bool) error {
	for _, t := range sv.store.tables {
		if len(keys[t]) == 0 || lock == "" {
			continue
		}
		b := newBuilder(sv.store.traits)
		b.add("SELECT ", t.id.quoted, " FROM ", t.quoted, " WHERE ")
		sv.store.writeIn(b, t.id.quoted, t.id.typ, keys[t])
		b.add(" ORDER BY ", t.id.quoted, lock)
		err := sv.w.visitRows(b, 1, func(row []any) {
			if found != nil {
				found[itemKey{t, engine.ValueText(readValue(t.id.typ, row[0]))}] = true
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// itemKey is the table of an item and its key as text.
type itemKey struct {
	table *table
	key   string
}

// begin resets sv for a new transaction.
func (sv *save) begin(w *session) {
	sv.attempts++
	sv.w, sv.later, sv.expected, sv.written, sv.former, sv.deferred, sv.records = w, nil, nil, nil, nil, nil, nil
	clear(sv.items)
	sv.waiting, sv.owner, sv.unseen, sv.asked, sv.locked = nil, pending{}, nil, nil, nil
	sv.record, sv.moves, sv.groups, sv.shaken, sv.touched = 0, moves{}, 0, false, nil
	sv.awaited, sv.awaiting, sv.holding, sv.arrived = nil, nil, nil, nil
}

// beginSave resets sv for a new transaction. If sv writes grants, it also waits for concurrent
// deletions.
func (sv *save) beginSave(w *session) error {
	sv.begin(w)
	if !sv.grants {
		return nil
	}
	return sv.store.excludeDeletions(w)
}

// writeOne writes a single entry.
func (sv *save) writeOne(e *entry) error {
	sv.enterRecord(e.index)
	it, err := sv.writeRecord(e)
	if err != nil {
		return sv.withRecordIndex(e, err)
	}
	sv.items[e.index] = it
	return nil
}

// groupLength returns how many of the first entries form a group. Two entries with the same key do
// not share a group, because the later one must see the result of the earlier one. An entry that
// closes a group is its last.
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
		if sv.mustClose(e) {
			return n + 1
		}
	}
	return len(entries)
}

func (sv *save) updateEntry(e *entry) error {
	if err := sv.raiseCounters(e.plan, []engine.Values{e.given}); err != nil {
		return err
	}
	it := &engine.Item{}
	c := change{key: e.key, values: sv.stampedUpdate(e.plan, e.given), keepKey: true, version: &e.version, editor: sv.editorID(e.plan)}
	found, err := sv.store.updateOne(sv.w, e.plan, it, c)
	if err == nil && !found {
		err = engine.NoItem(e.plan.class, e.plan.class.ID(e.given))
	}
	if err != nil {
		return atRecord(e.index, err)
	}
	sv.items[e.index] = it
	sv.deferCheck(engine.MayWrite, it)
	return sv.afterWrite(e, e.given, it)
}

// insertAll writes a group of inserts or upserts.
func (sv *save) insertAll(group []entry) error {
	if len(group) == 0 {
		return nil
	}
	p := group[0].plan
	if group[0].how == upsert && !group[0].admitted && (p.duties.journaled || !sv.guard.skipsRowChecks(p)) {
		return sv.upsertMet(p, group)
	}
	if group[0].how == insert {
		if !sv.guard.mayCreate(p.class) {
			return atRecord(group[0].index, engine.Denied())
		}
		if err := sv.completeAll(p, group); err != nil {
			return err
		}
		if p.duties.late {
			for i := range group {
				if err := p.checkSizes(group[i].full); err != nil {
					return atRecord(group[i].index, err)
				}
			}
		}
	}
	tr, arrays := sv.store.traits, sv.store.bindsArrays()
	most := min(bulkRows, (tr.MaxVariables-1)/p.rowVariables())
	for len(group) > 0 {
		if err := sv.ctx.Err(); err != nil {
			return timeoutError(err)
		}
		n, write := powerOfTwo(min(len(group), most)), sv.writeChunk
		switch {
		case tr.Copy > 0 && group[0].how == insert && len(group) >= tr.Copy:
			n, write = len(group), sv.copyRows
		case arrays:
			n = min(len(group), arrayRows)
		}
		if tr.Savepoint && n > 1 {
			if err := sv.w.exec("SAVEPOINT rows"); err != nil {
				return err
			}
		}
		if err := write(p, group[:n]); err != nil {
			if err := sv.blameRecord(p, group[:n], err); err != nil {
				return err
			}
		}
		if err := sv.afterAll(p, group[:n]); err != nil {
			return err
		}
		group = group[n:]
	}
	return nil
}

// afterAll does the remaining work for entries after their rows are written.
func (sv *save) afterAll(p *plan, group []entry) error {
	if p.shares && group[0].how != insert {
		for i := range group {
			if err := sv.store.checkSharedSizes(p, group[i].given, sv.items[group[i].index]); err != nil {
				return atRecord(group[i].index, err)
			}
		}
	}
	if sv.guard != nil {
		sv.deferChecks(group)
	}
	if p.duties.isPlain() && len(sv.awaited) == 0 {
		return nil
	}
	for i := range group {
		if err := sv.afterWrite(&group[i], group[i].given, sv.items[group[i].index]); err != nil {
			return err
		}
	}
	return nil
}

// blameRecord finds the record that caused the failure of a statement. The failed statement has no
// effect, so blame tries its rows one by one. If a row fails again, the whole transaction is rolled
// back. If none fails, the cause is gone and the write goes on.
func (sv *save) blameRecord(p *plan, group []entry, err error) error {
	if kind := sv.store.failureKind(err); kind != Other && kind != TooLong || sv.w.ctx.Err() != nil {
		return err // the error is not caused by a record
	}
	if sv.store.traits.Savepoint && len(group) > 1 {
		if failure := sv.w.exec("ROLLBACK TO SAVEPOINT rows"); failure != nil {
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
		if errors.Is(err, errSameID) {
			return atRecord(e.index, err)
		}
		value := func(name string) any { return e.full[p.class.Property(name).Index] }
		if d := sv.store.duplicateError(p, err, value); d != nil {
			if e.sought {
				return sv.duplicateError(atRecord(e.index, d))
			}
			return atRecord(e.index, d)
		}
		if sv.store.failureKind(err) == TooLong {
			return atRecord(e.index, sv.store.engineError(sv.ctx, sv.w, err))
		}
		return err
	}
	return err
}

// writeChunk writes entries with one statement.
func (sv *save) writeChunk(p *plan, group []entry) error {
	first, arrays := &group[0], sv.store.bindsArrays()
	rowTexts := len(group)
	if arrays {
		rowTexts = 1 // the text does not depend on the number of rows
	}
	sql := p.sql()
	returned := first.returnedColumns(sql)
	name := strconv.Itoa(rowTexts) + " " + sql.name + " " + first.mask
	if returned == nil {
		name += " brief"
	}
	st, err := sv.w.prepareIn(&sv.w.bulk, keptBulkStatements, name, func() string {
		tail := ""
		if first.how == upsert {
			tail = p.upsertTail(sv.store.traits, rowTexts, first.mask, returned)
		}
		if arrays {
			return p.insertArrays(sv.store.traits, sv.store.db.Dialect, tail)
		}
		return p.insertText(sv.store.traits, rowTexts, tail)
	})
	if err != nil {
		return err
	}
	args := slices.Grow(sv.args[:0], len(group)*p.rowVariables()+1)
	for _, it := range sv.newItems(p, group) {
		args = p.rowArgs(args, it)
		if first.how == upsert && returned == nil {
			it.Creator = "" // it may be an update
		}
	}
	sv.args = args
	if arrays {
		args = sv.store.asArrays(p, args)
	}
	if first.how == upsert {
		args = append(args, orNull(sv.account))
	}
	if returned == nil {
		done, err := st.ExecContext(sv.w.ctx, args...)
		if err != nil || first.how != upsert || !p.table.hasIDColumn() {
			return err
		}
		n, err := done.RowsAffected()
		return sv.allWritten(p, group, int(n), err)
	}
	rows, err := st.QueryContext(sv.w.ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	scan, n := sv.w.newScanner(returned), 0
	for ; rows.Next(); n++ {
		if err := scan(rows); err != nil {
			return err
		}
		sv.loadUpserted(p, group, n, returned == sql.selected)
	}
	return sv.allWritten(p, group, n, rows.Err())
}

// allWritten returns an error if an upsert has skipped rows. A row is skipped if its key joins to
// the id of an item with another key. The error names the record if the group has only one, as it
// has when blameRecord calls writeChunk.
func (sv *save) allWritten(p *plan, group []entry, n int, err error) error {
	if err != nil || n == len(group) {
		return err
	}
	return p.otherKey(group[0].full)
}

// returnedColumns returns the columns that the statement must return for entries like this one, or nil if
// it need not return any. Reading back the rows of 10,000 updates would take SQLite a fifth of the
// time of the save.
func (e *entry) returnedColumns(sql *texts) *result {
	switch {
	case e.how == insert:
		return nil
	case strings.Contains(e.mask, "0"):
		return sql.selected
	case e.brief:
		return nil
	}
	return sql.stamps
}

// newItems creates the items for entries that are inserted.
func (sv *save) newItems(p *plan, group []entry) []*engine.Item {
	sv.w.worked += len(group)
	items, list := make([]engine.Item, len(group)), make([]*engine.Item, len(group))
	for i := range group {
		e, it := &group[i], &items[i]
		*it = engine.Item{Class: p.class, ID: p.class.ID(e.full), Revision: uint64(newRevision()), Version: e.version, Creator: sv.creatorID(p), Values: e.full}
		sv.items[e.index], list[i] = it, it
	}
	return list
}

// loadUpserted updates an item from row i of the result. The rows are usually in the order of the
// entries. The revision identifies the item.
func (sv *save) loadUpserted(p *plan, group []entry, i int, whole bool) {
	rev, _ := sv.w.raw[atRev].(int64)
	for j := range group {
		it := sv.items[group[(i+j)%len(group)].index]
		if it.Revision != uint64(rev) {
			continue
		}
		if whole {
			it.Values = nil // keep the given values: they are needed if the transaction is repeated
			p.loadRow(it, sv.w.raw)
			return
		}
		it.Creator, it.Editor = textOf(sv.w.raw[atCreator]), textOf(sv.w.raw[atEditor])
		return
	}
}

// upsertTail returns the end of an INSERT that updates rows that exist, and returns the wanted
// columns.
func (p *plan) upsertTail(tr Traits, rows int, mask string, returned *result) string {
	b := newBuilder(tr)
	b.args = make([]any, rows*p.rowVariables())
	b.add(" ON CONFLICT (", p.table.id.quoted, ") DO UPDATE SET ", revColumn, " = excluded.", revColumn, ", ", versionColumn, " = excluded.", versionColumn, ", ", editorColumn, " = ")
	b.bind(nil)
	for i, property := range p.stored {
		if col := p.table.column(property); mask[i] == '1' && !col.key {
			b.add(", ", col.quoted, " = excluded.", col.quoted)
		}
	}
	for i, col := range p.keyColumns() { // another key may have the same id
		b.add([]string{" WHERE ", " AND "}[min(i, 1)], p.table.quoted, ".", col.quoted, " = excluded.", col.quoted)
	}
	if returned != nil {
		b.add(" RETURNING ", returned.list)
	}
	return b.text()
}
