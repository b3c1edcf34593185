package store

import (
	"context"
	"errors"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/table"
)

// Save implements engine.Repository.
func (s *Store) Save(ctx context.Context, records []engine.Record) ([]*engine.Item, error) {
	if len(records) == 0 {
		return nil, nil
	}
	last := records[len(records)-1]
	if last.Make != nil {
		records = records[:len(records)-1]
	}
	sv, entries, err := s.newSave(ctx, records)
	if err != nil {
		return nil, s.hideError(ctx, err)
	}
	work := func(w *conns.Session) error {
		if err := sv.run(w, entries); err != nil {
			return err
		}
		if err := (answering{sv}).loadMembers(records); err != nil {
			return err
		}
		if err := (answering{sv}).checkMembers(entries); err != nil || last.Make == nil {
			return err
		}
		return sv.saveLast(w, last)
	}
	if err = s.pool.Writer.DoTo(ctx, tableOf(entries), work); err != nil {
		return nil, s.hideError(ctx, sv.permits.settleError(err, work))
	}
	s.enrichAll(ctx, sv.items)
	return sv.items, nil
}

// tableOf returns the table of the first entry, or nil if there is none.
func tableOf(entries []entry) *layout.Table {
	if len(entries) == 0 {
		return nil
	}
	return entries[0].plan.Table
}

// saveLast saves the last record of a call if its values are computed from the items that the call has saved before
// (engine.Record.Make).
func (sv *save) saveLast(w *conns.Session, last engine.Record) (err error) {
	if last.Values, err = last.Make(sv.items); err != nil {
		return err
	}
	end, entries, err := sv.store.newSave(engine.WithGuard(sv.ctx, nil), []engine.Record{last})
	if err != nil {
		return err
	}
	return end.run(w, entries)
}

// newSave prepares a save of the records: it returns the save and an entry for each record.
func (s *Store) newSave(ctx context.Context, records []engine.Record) (*save, []entry, error) {
	sv := s.newWrite(ctx, s.reader.GuardOf(ctx), len(records))
	sv.bulk = true
	entries := make([]entry, len(records))
	for i := range records {
		var err error
		if entries[i], err = sv.prepareEntry(&records[i], false); err != nil {
			return nil, nil, atRecord(i, err)
		}
		entries[i].setPlace(i, "")
	}
	return sv, entries, nil
}

// newWrite returns the state of a write with the given number of records.
func (s *Store) newWrite(ctx context.Context, g *rights.Guard, records int) *save {
	sv := &save{store: s, ctx: ctx, guard: g, account: accountID(ctx), now: engine.InstantOf(s.cfg.Now()), items: make([]*engine.Item, records)}
	sv.makeSteps()
	return sv
}

// save is the state of one call of Create, Update or Save. For each attempt, begin resets most fields.
type save struct {
	steps
	store    *Store
	w        *conns.Session
	attempts int // number of transactions begun; all but the last have failed
	ctx      context.Context
	guard    *rights.Guard
	account  string
	now      engine.Instant
	bulk     bool                        // the call is a Save, so errors contain the index of the record
	grants   bool                        // the write changes grants or the policy, so it must exclude deletions (see grants.go)
	match    *engine.Match               // condition of an Update on the stored item
	items    []*engine.Item              // results of the records
	later    []pending                   // items with collections that must still be written; in relateRecord, only those of the current record
	waiting  []pending                   // items with collections of later records, whose rows are written already
	owner    pending                     // the item with the collections that are being written
	replaced []replacement               // collections whose members were replaced, to be checked at the end
	wrote    map[table.ItemKey]bool      // items written since the first replacement
	locked   map[table.ItemKey]bool      // owners that are locked, so that other transactions cannot change their links from the other side
	expected []expectation               // references to check at the end
	written  []*engine.Item              // items for which cached attributes must be computed: their own, or those of items that depend on them
	deferred map[table.Check][]any       // keys of items for which the permission is checked at the end, in their final state
	former   []*engine.Item              // previous states of items on which cached attributes of other items depend
	records  []engine.Values             // journal records that are not stored yet
	unseen   []engine.Change             // changes of collections to be journaled for members that do not exist yet
	defaults map[*engine.Property]string // hashes of default passwords

	record   int                     // index of the record that is being written
	moves    moves                   // changes of keys by that record
	groups   int                     // number of groups of records that were written so far
	shaken   bool                    // any item may have changed after it was written, for example because a key has changed
	touched  map[table.Identity]bool // items that may have changed after they were written
	asked    []innerItem             // items of nested records that the caller wants back
	awaited  []*awaited              // members that do not exist yet, in the order in which collections named them
	awaiting map[place][]*awaited    // those members by their id
	holding  map[place][]*awaited    // those members by their collection
	arrived  []*awaited              // those members that were written in the meantime, but not yet added to their collections
	only     [1]*engine.Item         // used for items if the call has one record, to save an allocation
	args     []any                   // buffer for the arguments of a statement
	mask     []byte                  // buffer for entry.mask
	last     string                  // mask of the previous record, used again because most records have the same mask
}

// entry is a record of a save, prepared for writing. A nested record has an entry of its own.
type entry struct {
	plan    *layout.Plan
	index   int // of the record in the call
	version string
	given   engine.Values // values of the record, including its key if it is known
	full    engine.Values // the values for an insert: given with defaults and generated values; nil if they cannot be determined yet
	key     []any         // identifies the item; nil if the record certainly creates one
	sought  bool          // the item was looked for and does not exist
	how     how
	mask    string // has a character for each stored property, 1 if it is given; only for upserts

	handling engine.Handling
	alone    bool  // cannot be written together with other records
	brief    bool  // the caller does not need values that the update leaves unchanged (engine.Record.Brief)
	nest     *nest // position of a nested record; nil if the record is not nested
	deep     *deep // nested records and collections; nil if there are none

	was      *engine.Item // the stored item, if it was needed
	admitted bool         // it was checked that the account may change the stored item
	unread   bool         // the account may not read the stored item
	doubtful bool         // the entry may refer to an item that the account may not refer to (see checkDoubt)
}

// nest describes the position of a nested record.
type nest struct {
	path  string                             // path from the outermost record to the record, for error messages
	saved func(*engine.Item)                 // receives the stored item; may be nil
	place func(engine.Values, *engine.Class) // sets the reference of a member to the owner of its collection; nil if there is no such reference
}

// path returns the path from the record of the call to the entry, or "" if the entry is not nested.
func (e *entry) path() string {
	if e.nest == nil {
		return ""
	}
	return e.nest.path
}

// setPlace sets the index of the record and the path within that record, for the entry and all entries nested in it.
func (e *entry) setPlace(index int, path string) {
	if e.index = index; e.nest != nil {
		e.nest.path = path
	}
	if e.deep == nil {
		return
	}
	if path != "" {
		path += "."
	}
	for _, n := range e.deep.records {
		n.entry.setPlace(index, path+n.property.Name)
	}
	for _, m := range e.deep.members {
		for i, member := range m.add {
			if inner, ok := member.(*entry); ok {
				inner.setPlace(index, path+memberPlace(m.property, i))
			}
		}
	}
}

// how is the way in which an entry finds or creates its item.
type how int

const (
	insert how = iota // the item certainly does not exist
	upsert            // one statement inserts or updates the item; the record has all values that an insert requires
	lookup            // the item is looked for, and then inserted or updated
	rekey             // the item is found by one key, and gets another key
	modify            // the call is an Update, so the item must exist
)

// prepareEntry does all work on a record that needs no transaction: checks, hashes and generated values. inner is true
// for a nested record. Missing values of a nested record are added in the transaction, because the outer record
// supplies some of them.
func (sv *save) prepareEntry(r *engine.Record, inner bool) (entry, error) {
	p, err := sv.store.layout.PlanOf(r.Class)
	if err != nil {
		return entry{}, err
	}
	if err := sv.guard.CheckWrite(p.Class, r.Values, engine.MayUse, engine.MayWrite); err != nil {
		return entry{}, err
	}
	if r.Class.Abstract {
		return entry{}, abstractError(r.Class)
	}
	sv.grants = sv.grants || p.Table.Grants
	e := entry{plan: p, version: r.Version, given: r.Values, handling: r.Handling, alone: inner, brief: r.Brief && !p.Needy && !p.NeedsRecache() && !p.Duties.Journaled}
	if inner {
		e.nest = &nest{saved: r.Saved}
	}
	if err := sv.nesting.unfold(&e); err != nil {
		return entry{}, err
	}
	if err := r.Class.Check(r.Values); err != nil {
		return entry{}, err
	}
	if err := p.CheckSizes(r.Values); err != nil {
		return entry{}, err
	}
	if err := sv.hashPasswords(p, r.Values); err != nil {
		return entry{}, err
	}
	if err := e.locateItem(r); err != nil {
		return entry{}, err
	}
	e.alone = e.alone || e.how == rekey || e.handling == engine.Strict && setsReadonly(p, e.given) || p.Duties.Late && sv.permits.setsRestricted(&e)
	switch {
	case e.how == rekey:
		return e, nil
	case e.key == nil && (inner || p.Duties.Late):
		return e, nil
	case e.key == nil:
		e.full = e.given
		return e, sv.completeValues(p, e.full)
	}
	e.how = lookup
	if !e.alone && p.CanUpsert() {
		return e, sv.tryUpsert(&e)
	}
	return e, nil
}

// abstractError returns the error for a record of an abstract class. Only descendants of an abstract class have items.
func abstractError(c *engine.Class) *engine.Error {
	e := engine.Errorf(engine.Invalid, "abstract", "class %s is abstract: an object must be of a class below it", c.FullName)
	e.Class = c.FullName
	return e
}

// locateItem sets the key that identifies the item of the record. If there is only an id, it adds the key to the
// values.
func (e *entry) locateItem(r *engine.Record) error {
	c := r.Class
	var byID []any
	if r.ID != "" {
		var ok bool
		if byID, ok = c.KeyValues(r.ID); !ok && !e.keyGiven() {
			err := engine.Errorf(engine.Invalid, "type", "no object of class %s can have the id %s", c.FullName, engine.Quote(r.ID))
			err.Class, err.ID = c.FullName, r.ID
			return err
		}
	}
	if byID != nil {
		parts, ok := byID, true
		if e.plan.Table.HasIDColumn() {
			parts, ok = c.KeyParts(r.ID)
		}
		for i, p := range c.KeyProperties() {
			if ok && e.given[p.Index] == engine.Absent {
				e.given[p.Index] = parts[i]
			}
		}
		if e.keyGiven() && c.ID(e.given) != r.ID || !ok && e.keyTouched() && !e.keyGiven() {
			e.how = rekey
		}
	}
	switch {
	case byID != nil:
		e.key = byID
	case r.ID == "" && e.keyGiven():
		e.key, _ = c.KeyValues(c.ID(e.given))
	}
	return nil
}

func (e *entry) keyGiven() bool {
	for _, p := range e.plan.Class.KeyProperties() {
		if e.given[p.Index] == engine.Absent {
			return false
		}
	}
	return true
}

// keyTouched reports whether at least one property of the key is given.
func (e *entry) keyTouched() bool {
	return slices.ContainsFunc(e.plan.Class.KeyProperties(), func(p *engine.Property) bool { return e.given[p.Index] != engine.Absent })
}

// tryUpsert makes e an upsert if the record, completed with defaults and generated values, has all values that an
// insert requires.
func (sv *save) tryUpsert(e *entry) error {
	mask, all := sv.mask[:0], true
	for _, property := range e.plan.Stored {
		if e.given[property.Index] == engine.Absent {
			mask, all = append(mask, '0'), false
			continue
		}
		mask = append(mask, '1')
	}
	sv.mask = mask
	if e.mask = sv.last; e.mask != string(mask) {
		e.mask = string(mask)
		sv.last = e.mask
	}
	e.full = e.given
	if !all {
		e.full = append(engine.Values(nil), e.given...)
		if err := sv.completeValues(e.plan, e.full); err != nil {
			e.full, e.mask = nil, ""
			if engine.CodeOf(err) == engine.Invalid {
				return nil // the record still suffices for an update
			}
			return err
		}
	}
	e.how = upsert
	return nil
}

// completeValues adds all missing values to v, the values of a new item. These include the times and accounts of
// creation and last change.
func (sv *save) completeValues(p *layout.Plan, v engine.Values) error {
	if p.Duties.HasTrackers() {
		p.Class.Stamp(v, sv.newGenerate(), true)
	}
	return sv.fillValues(p, v)
}

// fillValues adds missing defaults and generated values to v.
func (sv *save) fillValues(p *layout.Plan, v engine.Values) error {
	for _, property := range p.Passwords {
		if v[property.Index] != engine.Absent || property.Default == nil {
			continue
		}
		hashed, err := sv.defaultPassword(property)
		if err != nil {
			return err
		}
		v[property.Index] = hashed
	}
	g := sv.newGenerate()
	if sv.w != nil {
		g.Formula = func(property *engine.Property) (any, error) { return sv.computeDefault(p.Class, v, property) }
	}
	return p.Class.Complete(v, g)
}

// hashPasswords replaces the given passwords by their hashes, and hashes the default passwords that may be needed.
// Hashing is slow, so it must not be done in the transaction.
func (sv *save) hashPasswords(p *layout.Plan, v engine.Values) error {
	for _, property := range p.Passwords {
		if v[property.Index] == engine.Absent && property.Default != nil {
			if _, err := sv.defaultPassword(property); err != nil {
				return err
			}
		}
	}
	return sv.store.cfg.hashValues(sv.ctx, p, v)
}

// defaultPassword returns the hash of a default password. Each default is hashed once per Save.
func (sv *save) defaultPassword(p *engine.Property) (string, error) {
	if h, ok := sv.defaults[p]; ok {
		return h, nil
	}
	v, err := p.Cast(p.Default)
	if err != nil {
		return "", err
	}
	if sv.store.cfg.HashPassword == nil {
		return "", engine.Errorf(engine.Internal, "internal", "passwords cannot be stored here")
	}
	plain, _ := v.(string)
	h, err := sv.store.cfg.HashPassword(sv.ctx, plain)
	if err != nil {
		return "", err
	}
	if sv.defaults == nil {
		sv.defaults = make(map[*engine.Property]string)
	}
	sv.defaults[p] = h
	return h, nil
}

func keyText(key []any) string { return engine.ValueText(key[0]) }

// atRecord adds the index of a record to an error.
func atRecord(i int, err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Index, c.Bulk = i, true
	return conns.KeepMark(err, &c)
}

// computeDefault computes a default value of a new item by a formula. v contains the values that are known so far. The
// caller must cast the result. The account creates the item, so it can read the result. Therefore the formula uses
// only data that the account may read: hidden items count as missing, and hidden attributes as null.
func (sv *save) computeDefault(c *engine.Class, v engine.Values, p *engine.Property) (any, error) {
	s, w := sv.store, sv.w
	w.Guard = sv.guard
	defer func() { w.Guard = nil }()
	draft := &engine.Item{Class: c, Values: make(engine.Values, len(v))}
	for i, value := range v {
		if isScalar(value) {
			draft.Values[i] = value
		}
	}
	data := s.reader.WriterLookups(w)
	sv.guard.HideValues(draft)
	if err := s.reader.LoadAll(w.Ctx, w, []*engine.Item{draft}, engine.Loads(p.Computed), 0); err != nil {
		return nil, err
	}
	sv.guard.HideLoaded(draft)
	if err := data.ComputeAgain(w.Ctx, []*engine.Item{draft}); err != nil {
		return nil, err
	}
	result, err := p.Computed.Eval(w.Ctx, draft, data)
	if it, ok := result.(*engine.Item); ok {
		return it.ID, err
	}
	return result, err
}

// isScalar reports whether a column can contain v. Columns cannot contain nested records and absent values.
func isScalar(v any) bool {
	switch v.(type) {
	case bool, string, int64, float64, engine.Decimal, engine.Instant, engine.JSONText:
		return true
	}
	return false
}
