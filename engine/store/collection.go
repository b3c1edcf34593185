package store

import (
	"maps"
	"slices"

	"restsrv/engine"
)

// pending is an item whose collections are to be changed.
type pending struct {
	entry *entry
	item  *engine.Item
}

// finish does what waited until all records were written: collections, which
// may write records again, the checks of references, cached attributes, and what
// the account may have made of it all.
func (sv *save) finish() error {
	if err := sv.relateAll(); err != nil {
		return err
	}
	if err := sv.checkReferences(); err != nil {
		return err
	}
	if len(sv.written)+len(sv.former) > 0 {
		if err := sv.store.recache(sv.w, sv.written, sv.former); err != nil {
			return sv.ownError(err)
		}
	}
	return sv.settleOwed()
}

func (sv *save) relateAll() error {
	for len(sv.later) > 0 {
		next := sv.later[0]
		sv.later = sv.later[1:]
		for _, m := range next.entry.deep.members {
			if err := sv.relate(next, m); err != nil {
				return sv.blamed(next.entry, within(next.entry.path(), err))
			}
		}
	}
	return nil
}

// blamed says which record of a Save an error is about.
func (sv *save) blamed(e *entry, err error) error {
	if sv.bulk {
		return atRecord(e.index, err)
	}
	return err
}

func (sv *save) relate(owner pending, m memberChange) error {
	if m.property.Back != nil {
		return sv.relateBack(owner, m)
	}
	members, err := sv.members(owner.entry, m, nil)
	if err != nil {
		return err
	}
	l := linksOf(m.property)
	self := keyOf(owner.item)
	if m.replace {
		if members, err = sv.keepPrefix(l, self, m.property, members); err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(m.remove, bulkRows) {
		ids := make([]any, 0, len(chunk))
		for _, id := range chunk {
			if key, ok := m.property.Target.KeyValues(id); ok {
				ids = append(ids, key[0])
			}
		}
		target := sv.store.plans[m.property.Target]
		if sv.guard.restricts(target.class) {
			if ids, err = sv.leaving(target, ids, engine.MayRead, engine.MayUse); err != nil {
				return err
			}
		}
		if err := sv.unlink(l, self, target.table.id.typ, ids); err != nil {
			return err
		}
	}
	return sv.link(l, self, members)
}

// members returns the keys of what is added to a collection; records are
// written first, with values that fill sets.
func (sv *save) members(e *entry, m memberChange, fill func(v engine.Values, c *engine.Class)) ([]any, error) {
	keys := make([]any, 0, len(m.add))
	for i, member := range m.add {
		if id, ok := member.(string); ok {
			key, ok := m.property.Target.KeyValues(id)
			if !ok {
				return nil, sv.noMember(m.property, id)
			}
			keys = append(keys, key[0])
			if m.property.Back == nil || e.handling == engine.Strict || len(m.property.Subclasses) > 0 {
				sv.expect(e, m.property, key[0])
			}
			continue
		}
		inner := *member.(*entry)
		if fill != nil {
			if sv.guard.hides(engine.MayWrite, m.property.Back) {
				return nil, engine.Denied()
			}
			inner.given = slices.Clone(inner.given)
			fill(inner.given, inner.plan.class)
		}
		it, err := sv.write(&inner)
		if err == nil && !m.property.Allows(it.Class) {
			err = notAllowed(m.property, it.Class, it.ID)
		}
		if err != nil {
			return nil, within(place(m.property, i), err)
		}
		if m.property.Back == nil && sv.guard.restricts(m.property.Target) {
			sv.expect(e, m.property, keyOf(it))
		}
		keys = append(keys, keyOf(it))
	}
	return keys, nil
}

// keepPrefix makes the links of an owner the beginning of what they are to be
// and returns the rest, which is to be added: members that stay in their order
// are not touched.
func (sv *save) keepPrefix(l *links, owner any, p *engine.Property, members []any) ([]any, error) {
	members = distinct(members)
	typ := sv.store.plans[p.Target].table.id.typ
	b := newBuilder(sv.store.traits)
	b.add("SELECT ", l.item, " FROM ", l.quoted, " WHERE ", l.owner, " = ")
	b.bind(owner)
	b.add(" ORDER BY ", seqColumn)
	var gone []any
	err := sv.w.visitRows(b, 1, func(row []any) {
		value := read(typ, row[0])
		if len(members) > 0 && engine.ValueText(value) == engine.ValueText(members[0]) {
			members = members[1:]
			return
		}
		gone = append(gone, value)
	})
	if err != nil {
		return nil, err
	}
	if gone, err = sv.leaving(sv.store.plans[p.Target], gone, engine.MayRead); err != nil {
		return nil, err
	}
	return members, sv.unlink(l, owner, typ, gone)
}

// distinct leaves out what is there already.
func distinct(members []any) []any {
	seen := make(map[string]bool, len(members))
	return slices.DeleteFunc(slices.Clone(members), func(v any) bool {
		text := engine.ValueText(v)
		twice := seen[text]
		seen[text] = true
		return twice
	})
}

func (sv *save) unlink(l *links, owner any, typ engine.PropertyType, members []any) error {
	for chunk := range slices.Chunk(members, bulkRows) {
		b := newBuilder(sv.store.traits)
		b.add("DELETE FROM ", l.quoted, " WHERE ", l.owner, " = ")
		b.bind(owner)
		b.add(" AND ")
		sv.store.in(b, l.item, typ, chunk)
		if _, err := sv.w.execute(b); err != nil {
			return err
		}
	}
	return nil
}

// link adds members, in order; what is a member already stays where it is.
func (sv *save) link(l *links, owner any, members []any) error {
	pairs := make([][2]any, len(members))
	for i, m := range members {
		pairs[i] = [2]any{owner, m}
	}
	return sv.linkPairs(l, pairs)
}

// linkPairs adds pairs of owner and member.
func (sv *save) linkPairs(l *links, pairs [][2]any) error {
	for len(pairs) > 0 {
		n := powerOfTwo(min(len(pairs), bulkRows))
		b := newBuilder(sv.store.traits)
		b.add("INSERT INTO ", l.quoted, " (", l.owner, ", ", l.item, ") VALUES ")
		for i, pair := range pairs[:n] {
			b.add([]string{"(", ", ("}[min(i, 1)])
			b.bind(pair[0])
			b.add(", ")
			b.bind(pair[1])
			b.add(")")
		}
		b.add(" ON CONFLICT (", ownerColumn, ", ", itemColumn, ") DO NOTHING")
		if _, err := sv.w.execute(b); err != nil {
			return err
		}
		pairs = pairs[n:]
	}
	return nil
}

// relateBack changes who points at the owner: that is where such a collection
// is kept.
func (sv *save) relateBack(owner pending, m memberChange) error {
	p := m.property
	value := keyOf(owner.item)
	if p.Binding != nil {
		value = owner.item.Values[owner.item.Class.Property(p.Binding.Name).Index]
	}
	if value == nil {
		if len(m.add) == 0 {
			return nil // nothing can point here
		}
		e := engine.Errorf(engine.Invalid, "required", "attribute %s must have a value before %s can have members", engine.Quote(p.Binding.Name), engine.Quote(p.Name))
		e.Class, e.Attribute = owner.entry.plan.class.FullName, p.Binding.Name
		return e
	}
	known, ids, remove := knownKeys(m)
	pointing, err := sv.pointing(p, value, append(slices.Clone(known), remove...), m.replace)
	if err != nil {
		return err
	}
	// Who leaves does so first: the reference may be unique.
	if err := sv.clearBack(p, value, pointing, known, remove, m.replace); err != nil {
		return err
	}
	_, err = sv.members(owner.entry, m, func(v engine.Values, c *engine.Class) {
		v[c.Property(p.Back.Name).Index] = value
	})
	if err != nil {
		return err
	}
	var joining, staying []any
	for _, key := range distinct(ids) {
		switch here, there := pointing[engine.ValueText(key)]; {
		case !there:
			return sv.noMember(p, engine.ValueText(key)) // it has no place to keep that
		case here:
			staying = append(staying, key)
		default:
			joining = append(joining, key)
		}
	}
	if err := sv.admitStaying(p, staying); err != nil {
		return err
	}
	return sv.setBack(p, value, joining)
}

// knownKeys are the keys of members as far as they are known before these are
// written, those of them that were given as ids, and those of who leaves.
func knownKeys(m memberChange) (known, ids, remove []any) {
	target := m.property.Target
	for _, member := range m.add {
		switch member := member.(type) {
		case string:
			if key, ok := target.KeyValues(member); ok {
				known, ids = append(known, key[0]), append(ids, key[0])
			}
		case *entry:
			if member.key != nil {
				known = append(known, member.key[0])
			}
		}
	}
	for _, id := range m.remove {
		if key, ok := target.KeyValues(id); ok {
			remove = append(remove, key[0])
		}
	}
	return known, ids, remove
}

// pointing tells of items of p's target class whether they point at value:
// of those asked for, and, if all is set, of all that do.
func (sv *save) pointing(p *engine.Property, value any, asked []any, all bool) (map[string]bool, error) {
	target := sv.store.plans[p.Target]
	back := target.table.byName[p.Back.Name]
	found := map[string]bool{}
	look := func(where func(b *builder)) error {
		b := newBuilder(sv.store.traits)
		b.add("SELECT ", target.table.id.quoted, ", ", back.quoted, " FROM ", target.table.quoted, " WHERE ")
		where(b)
		if target.condition != "" {
			b.add(" AND ", target.condition)
		}
		return sv.w.visitRows(b, 2, func(row []any) {
			here := row[1] != nil && engine.ValueText(read(back.typ, row[1])) == engine.ValueText(value)
			found[engine.ValueText(read(target.table.id.typ, row[0]))] = here
		})
	}
	if all {
		if err := look(func(b *builder) { b.add(back.quoted, " = "); b.bind(value) }); err != nil {
			return nil, err
		}
	}
	for chunk := range slices.Chunk(asked, bulkRows) {
		if err := look(func(b *builder) { sv.store.in(b, target.table.id.quoted, target.table.id.typ, chunk) }); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// clearBack makes items that are members no longer point nowhere.
func (sv *save) clearBack(p *engine.Property, value any, pointing map[string]bool, members, remove []any, replace bool) error {
	leaving := map[string]bool{}
	for _, key := range remove {
		leaving[engine.ValueText(key)] = true
	}
	if replace {
		for id := range pointing {
			leaving[id] = true
		}
	}
	for _, key := range members {
		delete(leaving, engine.ValueText(key))
	}
	var gone []any
	for _, id := range slices.Sorted(maps.Keys(leaving)) {
		if key, ok := p.Target.KeyValues(id); ok && pointing[id] {
			gone = append(gone, key[0])
		}
	}
	gone, err := sv.leaving(sv.store.plans[p.Target], gone, engine.MayRead)
	if err != nil || len(gone) == 0 {
		return err
	}
	if !p.Back.Nullable {
		id := engine.ValueText(gone[0])
		e := engine.Errorf(engine.Invalid, "required", "object %s cannot leave %s: its attribute %s must have a value",
			engine.Quote(id), engine.Quote(p.Name), engine.Quote(p.Back.Name))
		e.Class, e.ID, e.Attribute = p.Target.FullName, id, p.Name
		return e
	}
	return sv.setBack(p, nil, gone)
}

// setBack makes items point at value.
func (sv *save) setBack(p *engine.Property, value any, ids []any) error {
	target := sv.store.plans[p.Target]
	v := engine.NewValues(p.Target)
	v[p.Target.Property(p.Back.Name).Index] = value
	p.Target.Stamp(v, sv.generate(), false)
	if err := sv.admitMembers(p, ids); err != nil {
		return err
	}
	for chunk := range slices.Chunk(ids, bulkRows) {
		if err := sv.note(target, chunk, &sv.former); err != nil {
			return err
		}
		b := newBuilder(sv.store.traits)
		sv.setAll(b, target, v)
		b.add(" WHERE ")
		sv.store.in(b, target.table.id.quoted, target.table.id.typ, chunk)
		if _, err := sv.w.execute(b); err != nil {
			given := func(name string) any { return v[p.Target.Property(name).Index] }
			return within(p.Name, sv.store.refused(target, err, given))
		}
		if err := sv.note(target, chunk, &sv.written); err != nil {
			return err
		}
	}
	return nil
}

// note adds the items that have the keys to others, when something is cached
// of them or depends on them.
func (sv *save) note(p *plan, keys []any, items *[]*engine.Item) error {
	if !p.caching.any {
		return nil
	}
	found, err := sv.store.locked(sv.w, p.table, keys)
	*items = append(*items, found...)
	return err
}
