package store

import (
	"cmp"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// journalRows is the number of journal records that are collected before they are stored together.
const journalRows = table.BulkRows

// journalWrite journals the write of an item if a class of the item is journaled. It must be called for every written
// item of a class tree that contains a journaled class. The parameter was is the item before the write, or nil if the
// item is new. The parameter is is the item after the write, or nil if the item was deleted.
func (sv *journaling) journalWrite(was, is *engine.Item) error {
	if is != nil && is.Class.Journaling || was != nil && was.Class.Journaling {
		return sv.recordChange(engine.Change{Was: was, Is: is})
	}
	return nil
}

// journalWrites journals the writes of items that have kept their keys. The first list contains the items before the
// write, the second list the same items after it.
func (sv *journaling) journalWrites(was, is []*engine.Item) error {
	before := make(map[string]*engine.Item, len(was))
	for _, it := range was {
		before[it.ID] = it
	}
	for _, it := range is {
		if err := sv.journalWrite(before[it.ID], it); err != nil {
			return err
		}
	}
	return nil
}

func (sv *journaling) recordChange(c engine.Change) error {
	j := sv.store.cfg.Journal
	if j == nil || !engine.Journaled(sv.ctx) {
		return nil
	}
	// Take the time while the item is locked, so that earlier writes of the item have an earlier time by this clock.
	c.At = engine.InstantOf(sv.store.cfg.Now())
	v := j.Record(sv.ctx, c)
	if v == nil {
		return nil
	}
	if sv.records = append(sv.records, v); len(sv.records) < journalRows {
		return nil
	}
	return sv.keepRecords()
}

// keepRecords stores the journal records that were collected.
func (sv *journaling) keepRecords() error {
	if len(sv.records) == 0 {
		return nil
	}
	p := sv.store.layout.Plans[sv.store.cfg.Journal.Class()]
	key := p.Class.KeyProperties()[0].Index
	entries := make([]entry, len(sv.records))
	for i, v := range sv.records {
		v[key] = sv.store.cfg.NewID()
		entries[i] = entry{plan: p, index: i, given: v, full: v, how: insert}
	}
	sv.records = nil
	own := sv.store.newWrite(engine.AsServer(sv.ctx), nil, len(entries))
	own.begin(sv.w)
	return own.insertAll(entries)
}

// membership collects the keys of items that join or leave a collection, for the journal. If it is nil, the change is
// not journaled.
type membership struct {
	joined, left []any // keys of members
}

func (m *membership) joinedKeys() *[]any {
	if m == nil {
		return nil
	}
	return &m.joined
}

func (m *membership) leftKeys() *[]any {
	if m == nil {
		return nil
	}
	return &m.left
}

// watchMembers returns a new membership for a collection that will change. It returns nil if the change is not
// journaled, that is, if neither the class of the owner nor the class of a mirror is journaled.
func (sv *journaling) watchMembers(owner *engine.Item, p *engine.Property) *membership {
	if owner.Class.Journaling || p.Mirror != nil && sv.store.layout.Plans[p.Target].Duties.Journaled {
		return &membership{}
	}
	return nil
}

// journalMembers journals the change of a collection for its owner. If there is a mirror, it also does so for the
// members.
func (sv *journaling) journalMembers(owner *engine.Item, p *engine.Property, m *membership) error {
	if m == nil {
		return nil
	}
	for i, keys := range [][]any{m.left, m.joined} {
		if len(keys) == 0 {
			continue
		}
		change := engine.Change{Is: owner, Collection: p, Left: i == 0}
		for _, key := range keys {
			change.Members = append(change.Members, engine.ValueText(key))
		}
		if owner.Class.Journaling {
			if err := sv.recordChange(change); err != nil {
				return err
			}
		}
		if err := sv.journalMirror(change, keys); err != nil {
			return err
		}
	}
	return nil
}

// journalMirror journals the change c of a collection for the members with these keys. It does so if the collection
// has a mirror, because the mirror, a collection of each member, has changed too.
func (sv *journaling) journalMirror(c engine.Change, keys []any) error {
	p := c.Collection
	if p.Mirror == nil || !sv.store.layout.Plans[p.Target].Duties.Journaled {
		return nil
	}
	t := sv.store.layout.Plans[p.Target].Table
	names, err := sv.references.classesOf(t, keys, "")
	if err != nil {
		return err
	}
	for i, id := range c.Members {
		class := t.JournaledClass(names[id])
		if names[id] == "" {
			unseen := c
			unseen.Members = c.Members[i : i+1]
			sv.unseen = append(sv.unseen, unseen)
		}
		if class == nil {
			continue
		}
		seen := engine.Change{Is: &engine.Item{Class: class, ID: id}, Collection: p.Mirror, Members: []string{c.Is.ID}, Left: c.Left}
		if err := sv.recordChange(seen); err != nil {
			return err
		}
	}
	return nil
}

// journalUnseen calls journalMirror for members that did not exist when the collection was changed, but were created
// later in the transaction.
func (sv *journaling) journalUnseen() error {
	unseen := sv.unseen
	for _, c := range unseen {
		key, ok := c.Collection.Target.KeyValues(c.Members[0])
		if !ok || c.Left {
			continue
		}
		if err := sv.journalMirror(c, key); err != nil {
			return err
		}
	}
	return nil
}

// journaledClasses finds the items with these keys that belong to a journaled class. It returns their classes by id.
func (sv *journaling) journaledClasses(t *layout.Table, keys []any) (map[string]*engine.Class, error) {
	names, err := sv.references.classesOf(t, keys, "")
	if err != nil {
		return nil, err
	}
	found := map[string]*engine.Class{}
	for id, name := range names {
		if c := t.JournaledClass(name); c != nil {
			found[id] = c
		}
	}
	return found, nil
}

// membersOf runs a statement that adds or deletes links, and returns the number of links. If keys is not nil, it
// appends the keys of the members to *keys, in the order of the links.
func (sv *journaling) membersOf(b *sqldb.Builder, l *layout.Links, p *engine.Property, keys *[]any) (n int64, err error) {
	if keys == nil {
		return sv.w.Execute(b)
	}
	type member struct{ key, seq any }
	var members []member
	typ := sv.store.layout.Plans[p.Target].Table.ID.Type
	b.Returning(l.Item, layout.SeqColumn)
	err = sv.w.VisitRows(b, 2, func(row []any) {
		members = append(members, member{sqldb.ReadValue(typ, row[0]), sqldb.ReadValue(engine.Int, row[1])})
	})
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.seq.(int64), b.seq.(int64)) })
	for _, m := range members {
		*keys = append(*keys, m.key)
	}
	return int64(len(members)), err
}
