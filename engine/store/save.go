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
		if err := sv.loadMembers(records); err != nil {
			return err
		}
		if err := sv.checkMembers(entries); err != nil || last.Make == nil {
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

// saveLast saves the record that is computed from the records saved before it.
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

// newSave prepares a save of the records.
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

// newWrite prepares a write of the given number of records.
func (s *Store) newWrite(ctx context.Context, g *rights.Guard, records int) *save {
	sv := &save{store: s, ctx: ctx, guard: g, account: accountID(ctx), now: engine.InstantOf(s.cfg.Now()), items: make([]*engine.Item, records)}
	sv.makeSteps()
	return sv
}

// save is one call of Create, Update or Save.
type save struct {
	steps
	store    *Store
	w        *conns.Session
	attempts int // transactions begun; all but the last have failed
	ctx      context.Context
	guard    *rights.Guard
	account  string
	now      engine.Instant
	bulk     bool          // the call is a Save, so errors contain the index of the record
	grants   bool          // grants or the policy are written
	match    *engine.Match // of an Update
	items    []*engine.Item
	later    []pending              // collections of the current record
	waiting  []pending              // collections of earlier records; the rows of these records are written
	owner    pending                // owner of the collections that are being written
	locked   map[table.ItemKey]bool // owners that are locked against changes of their links from the other side
	expected []expectation
	written  []*engine.Item              // items for which cached attributes, their own or those of dependents, must be computed
	deferred map[table.Check][]any       // keys of items; the account must have permission for their final state
	former   []*engine.Item              // previous states of items that others depend on
	records  []engine.Values             // of the journal, not stored yet
	unseen   []engine.Change             // changes of mirrored collections in members that do not exist yet
	defaults map[*engine.Property]string // hashes of default passwords

	record   int                     // index of the current record
	moves    moves                   // changes of keys in the current record
	groups   int                     // number of groups of records that were written together
	shaken   bool                    // any item may have changed after it was written
	touched  map[table.Identity]bool // items that may have changed after they were written
	asked    []innerItem             // nested items that callers want back
	awaited  []*awaited              // in the order in which they were named
	awaiting map[place][]*awaited    // by member
	holding  map[place][]*awaited    // by collection
	arrived  []*awaited              // written, but not yet added to their collections
	only     [1]*engine.Item         // items, if the call has one record
	args     []any
	mask     []byte // buffer for a mask
	last     string // mask of the previous record; most records have the same mask
}

// entry is a record that is prepared for writing.
type entry struct {
	plan    *layout.Plan
	index   int
	version string
	given   engine.Values // values of the record, including its key if known
	full    engine.Values // given, completed for an insert; nil if that is not possible
	key     []any         // key of the item to look for; nil if the record is certainly new
	sought  bool          // the key was looked up and not found
	how     how
	mask    string // the properties that are given, for upserts

	handling engine.Handling
	alone    bool  // must be written separately from other records
	brief    bool  // the returned item may lack values that the update leaves unchanged (engine.Record)
	nest     *nest // nil for a record of the call that is not nested in another
	deep     *deep // nil if the record has only values of its row

	was      *engine.Item // the stored item, if it was read
	admitted bool         // the account has permission to change the stored item
	unread   bool         // the account may not read the stored item
	doubtful bool         // it may refer to an item that the account may not refer to; not checked yet
}

// nest describes where a record is nested.
type nest struct {
	path  string                             // to the attribute
	saved func(*engine.Item)                 // called with the stored item; may be nil
	place func(engine.Values, *engine.Class) // sets the reference of a member to its owner; nil if there is none
}

// path returns the place of the entry in the record of the call, or "" if it is that record.
func (e *entry) path() string {
	if e.nest == nil {
		return ""
	}
	return e.nest.path
}

// setPlace sets the index of the record in the call, and the path within that record, for the entry and all nested
// entries.
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

// how is the way in which an entry is written.
type how int

const (
	insert how = iota // certainly new
	upsert            // complete enough for one statement that inserts or updates
	lookup            // inserted or updated, depending on whether it exists
	rekey             // found by one key, stored with another
	modify            // an Update: the item must exist
)

// prepareEntry does all work that needs no transaction: checks, hashes and generated values. A nested record is
// completed in the transaction, because the outer record supplies some of its values.
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

// abstractError returns the error for an item of an abstract class.
func abstractError(c *engine.Class) *engine.Error {
	e := engine.Errorf(engine.Invalid, "abstract", "class %s is abstract: an object must be of a class below it", c.FullName)
	e.Class = c.FullName
	return e
}

// locateItem determines the key of the record's item. It adds the key to the given values if the record has only an id.
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

// keyTouched reports whether a part of the key is given.
func (e *entry) keyTouched() bool {
	return slices.ContainsFunc(e.plan.Class.KeyProperties(), func(p *engine.Property) bool { return e.given[p.Index] != engine.Absent })
}

// tryUpsert makes e an upsert if defaults and generated values can supply the missing values.
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
				return nil // still sufficient for an update
			}
			return err
		}
	}
	e.how = upsert
	return nil
}

// completeValues adds all values that an insert requires to v.
func (sv *save) completeValues(p *layout.Plan, v engine.Values) error {
	if p.Duties.HasTrackers() {
		p.Class.Stamp(v, sv.newGenerate(), true)
	}
	return sv.fillValues(p, v)
}

// fillValues adds the missing defaults and generated values to v.
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

// hashPasswords hashes the given passwords and the defaults that may be needed. Hashing is slow, so it must not be done
// inside the transaction.
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

// keyText returns the key as text.
func keyText(key []any) string { return engine.ValueText(key[0]) }

// atRecord adds the index of the record to an error.
func atRecord(i int, err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Index, c.Bulk = i, true
	return conns.KeepMark(err, &c)
}

// computeDefault evaluates a default that a formula computes for a new item. v holds the values that are known so far.
// The caller must cast the result. Since the account that writes may read the result, the formula sees only data that
// the account may read: hidden items are missing, and hidden attributes are null.
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

// isScalar reports whether v is a value that a row can hold, as opposed to nested input or an unknown value.
func isScalar(v any) bool {
	switch v.(type) {
	case bool, string, int64, float64, engine.Decimal, engine.Instant, engine.JSONText:
		return true
	}
	return false
}
