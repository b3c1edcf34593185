package store

import (
	"context"
	"errors"
	"slices"

	"restsrv/engine"
)

// Save is engine.Repository's.
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
		return nil, s.masked(ctx, err)
	}
	work := func(w *session) error {
		if err := sv.run(w, entries); err != nil {
			return err
		}
		if err := sv.loadMembers(records); err != nil || last.Make == nil {
			return err
		}
		return sv.conclude(w, last)
	}
	if err = s.writer.doTo(ctx, tableOf(entries), work); err != nil {
		return nil, s.masked(ctx, sv.settle(err, work))
	}
	s.enrichAll(ctx, sv.items)
	return sv.items, nil
}

// tableOf returns the table of the first entry, nil if there is none.
func tableOf(entries []entry) *table {
	if len(entries) == 0 {
		return nil
	}
	return entries[0].plan.table
}

// conclude saves the record that is made from what was saved before it.
func (sv *save) conclude(w *session, last engine.Record) (err error) {
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
	sv := s.newWrite(ctx, s.guardOf(ctx), len(records))
	sv.bulk = true
	entries := make([]entry, len(records))
	for i := range records {
		var err error
		if entries[i], err = sv.prepare(&records[i], false); err != nil {
			return nil, nil, atRecord(i, err)
		}
		entries[i].settle(i, "")
	}
	return sv, entries, nil
}

// newWrite prepares a write of so many records.
func (s *Store) newWrite(ctx context.Context, g *guard, records int) *save {
	return &save{store: s, ctx: ctx, guard: g, account: account(ctx), now: engine.InstantOf(s.cfg.Now()), items: make([]*engine.Item, records)}
}

// save is one call of Create, Update or Save.
type save struct {
	store    *Store
	w        *session
	attempts int // transactions begun: all but the last have failed
	ctx      context.Context
	guard    *guard
	account  string
	now      engine.Instant
	bulk     bool          // a Save: errors tell the record
	grants   bool          // grants or the policy are written
	match    *engine.Match // of an Update
	items    []*engine.Item
	later    []pending // of the record under way
	waiting  []pending // of records after that, whose rows are written
	owner    pending   // whose collections are being written
	expected []expectation
	written  []*engine.Item              // whose cached attributes, or those of others, are to be made anew
	owed     map[check][]any             // keys of items that the account must have been allowed to make what they are
	former   []*engine.Item              // what they were before, as far as others depend on it
	records  []engine.Values             // of the journal, not stored yet
	unseen   []engine.Change             // of mirrored collections, in members that are not there yet
	defaults map[*engine.Property]string // hashes of default passwords

	record   int                  // the index of the record under way
	moves    moves                // of its keys
	groups   int                  // of records written together
	shaken   bool                 // any item may have changed after it was written
	touched  map[identity]bool    // items that may have
	asked    []innerItem          // whose callers want to know them
	awaited  []*awaited           // in the order in which they were named
	awaiting map[place][]*awaited // by the member
	holding  map[place][]*awaited // by the collection
	arrived  []*awaited           // written and not members yet
	only     [1]*engine.Item      // items of a call for one record
	args     []any
	mask     []byte // room for one
	last     string // mask of the record before: most have the same
}

// entry is a record, ready to be written.
type entry struct {
	plan    *plan
	index   int
	version string
	given   engine.Values // what the record gives; its key too, when known
	full    engine.Values // given, completed for an insert; nil when it cannot be
	key     []any         // where to look; nil when the record is surely new
	sought  bool          // it was looked for there and not found
	how     how
	mask    string // which properties are given, for upserts

	handling engine.Handling
	alone    bool  // is written by itself, not together with others
	brief    bool  // its item need not have what an update leaves as it is (engine.Record)
	nest     *nest // nil for a record of the call, not nested in another
	deep     *deep // nil when there is nothing but the row

	was      *engine.Item // what is stored, as far as it was read
	admitted bool         // the account may change that
	unread   bool         // but not read it
	doubtful bool         // it points at what the account may not, as far as is known yet
}

// nest is where a record is nested.
type nest struct {
	path  string                             // to the attribute
	saved func(*engine.Item)                 // learns of what it became; nil for nobody
	place func(engine.Values, *engine.Class) // gives a member the reference to its owner; nil if it has none
}

// path is where in the record of the call the entry is, "" for that itself.
func (e *entry) path() string {
	if e.nest == nil {
		return ""
	}
	return e.nest.path
}

// settle tells the entry, and what is nested in it, which record of the call
// it is of, and where in that.
func (e *entry) settle(index int, path string) {
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
		n.entry.settle(index, path+n.property.Name)
	}
	for _, m := range e.deep.members {
		for i, member := range m.add {
			if inner, ok := member.(*entry); ok {
				inner.settle(index, path+memberPlace(m.property, i))
			}
		}
	}
}

// how an entry is written.
type how int

const (
	insert how = iota // surely new
	upsert            // complete enough to be inserted or updated by one statement
	lookup            // whether it exists decides what to do
	rekey             // found by one key, stored under another
	modify            // an Update: it must exist
)

// prepare does what needs no transaction: checks, hashes, generated values. A
// record nested in another is completed in the transaction: what it is nested
// in gives it values.
func (sv *save) prepare(r *engine.Record, inner bool) (entry, error) {
	p, err := sv.store.plan(r.Class)
	if err != nil {
		return entry{}, err
	}
	if err := sv.guard.enters(p.class, r.Values, engine.MayUse, engine.MayWrite); err != nil {
		return entry{}, err
	}
	if r.Class.Abstract {
		return entry{}, abstract(r.Class)
	}
	sv.grants = sv.grants || p.table.grants
	e := entry{plan: p, version: r.Version, given: r.Values, handling: r.Handling, alone: inner, brief: r.Brief && !p.needy && !p.caches() && !p.duties.journaled}
	if inner {
		e.nest = &nest{saved: r.Saved}
	}
	if err := sv.unfold(&e); err != nil {
		return entry{}, err
	}
	if err := r.Class.Check(r.Values); err != nil {
		return entry{}, err
	}
	if err := p.fits(r.Values); err != nil {
		return entry{}, err
	}
	if err := sv.passwords(p, r.Values); err != nil {
		return entry{}, err
	}
	if err := e.locate(r); err != nil {
		return entry{}, err
	}
	e.alone = e.alone || e.how == rekey || e.handling == engine.Strict && setsReadonly(p, e.given) || p.duties.late && sv.points(&e)
	switch {
	case e.how == rekey:
		return e, nil
	case e.key == nil && (inner || p.duties.late):
		return e, nil
	case e.key == nil:
		e.full = e.given
		return e, sv.complete(p, e.full)
	}
	e.how = lookup
	if !e.alone && p.upsertable() {
		return e, sv.tryUpsert(&e)
	}
	return e, nil
}

// abstract is the error for an item of a class that has none of its own.
func abstract(c *engine.Class) *engine.Error {
	e := engine.Errorf(engine.Invalid, "abstract", "class %s is abstract: an object must be of a class below it", c.FullName)
	e.Class = c.FullName
	return e
}

// upsertable reports whether one statement can insert or update an item of the
// class, whichever it takes.
func (p *plan) upsertable() bool {
	d := &p.duties
	return p.shapes == nil && p.condition() == "" && !p.caching.watched && !d.late && d.change == nil && d.creator == nil && d.editor == nil
}

// locate finds out where to look for the record's item, and makes the key
// that its id stands for a part of what is given.
func (e *entry) locate(r *engine.Record) error {
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
		if e.plan.table.composite() {
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
	for _, p := range e.plan.class.KeyProperties() {
		if e.given[p.Index] == engine.Absent {
			return false
		}
	}
	return true
}

// keyTouched reports whether a part of the key is given.
func (e *entry) keyTouched() bool {
	return slices.ContainsFunc(e.plan.class.KeyProperties(), func(p *engine.Property) bool { return e.given[p.Index] != engine.Absent })
}

// tryUpsert makes e an upsert if defaults and generated values make up for
// what it does not give.
func (sv *save) tryUpsert(e *entry) error {
	mask, all := sv.mask[:0], true
	for _, property := range e.plan.stored {
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
		if err := sv.complete(e.plan, e.full); err != nil {
			e.full, e.mask = nil, ""
			if engine.CodeOf(err) == engine.Invalid {
				return nil // good enough for an update
			}
			return err
		}
	}
	e.how = upsert
	return nil
}

// complete makes v what is inserted.
func (sv *save) complete(p *plan, v engine.Values) error {
	if p.duties.stamped() {
		p.class.Stamp(v, sv.generate(), true)
	}
	return sv.fill(p, v)
}

// fill gives v the defaults and generated values that it lacks.
func (sv *save) fill(p *plan, v engine.Values) error {
	for _, property := range p.passwords {
		if v[property.Index] != engine.Absent || property.Default == nil {
			continue
		}
		hashed, err := sv.defaultPassword(property)
		if err != nil {
			return err
		}
		v[property.Index] = hashed
	}
	g := sv.generate()
	if sv.w != nil {
		g.Formula = func(property *engine.Property) (any, error) { return sv.initial(p.class, v, property) }
	}
	return p.class.Complete(v, g)
}

// passwords hashes what a record gives, and the defaults that it may need:
// inside the transaction it would be too late.
func (sv *save) passwords(p *plan, v engine.Values) error {
	for _, property := range p.passwords {
		if v[property.Index] == engine.Absent && property.Default != nil {
			if _, err := sv.defaultPassword(property); err != nil {
				return err
			}
		}
	}
	return sv.store.hash(sv.ctx, p, v)
}

// defaultPassword hashes a default once per Save.
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

// keyText is the key as text.
func keyText(key []any) string { return engine.ValueText(key[0]) }

// atRecord says which record an error is about.
func atRecord(i int, err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Index, c.Bulk = i, true
	return likewise(err, &c)
}
