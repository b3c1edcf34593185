package oracle

import (
	"slices"

	"restsrv/engine"
)

// side is one of the two ends of a relation that is stored as a list of links. Two collections
// may share this list: region.fans contains persons, and person.liked contains regions.
type side struct {
	table    string
	reversed bool // the objects with the collection are the members of the links, not the owners
}

func sideOf(p *engine.Property) side {
	own := p.Definition + "#" + p.Name
	if p.Mirror != nil {
		if other := p.Mirror.Definition + "#" + p.Mirror.Name; other < own {
			return side{other, true}
		}
	}
	return side{own, false}
}

func (s side) linkOf(owner, member string) link {
	if s.reversed {
		return link{member, owner}
	}
	return link{owner, member}
}

// linkedIDs returns the ids in the collection p of the object with the id owner, in the order in
// which they were linked. An id may belong to no object.
func (w *World) linkedIDs(p *engine.Property, owner string) (ids []string) {
	s := sideOf(p)
	for _, l := range w.links[s.table] {
		if s.reversed {
			l = link{l.member, l.owner}
		}
		if l.owner == owner {
			ids = append(ids, l.member)
		}
	}
	return ids
}

// Members returns the objects in collection p of o. If the collection is the other side of a
// reference, these are the objects that refer to o, in the order of their creation. Otherwise they
// are the objects that are linked with o.
func (w *World) Members(o *Object, p *engine.Property) (found []*Object) {
	if p.Back != nil {
		for _, m := range w.Objects(p.Target) {
			if m.Values[p.Back.Name] == o.ID() {
				found = append(found, m)
			}
		}
		return found
	}
	for _, id := range w.linkedIDs(p, o.ID()) {
		if m := w.Object(p.Target, id); m != nil {
			found = append(found, m)
		}
	}
	return found
}

func (w *World) removeLink(p *engine.Property, owner, member string) {
	s := sideOf(p)
	gone := s.linkOf(owner, member)
	w.links[s.table] = slices.DeleteFunc(w.links[s.table], func(l link) bool { return l == gone })
}

// changeLinks applies a change to a collection of o that is stored as links. If the change replaces
// the collection, members that are already in the right order keep their links; the other members
// are linked again, at the end.
func (s *saving) changeLinks(o *Object, c change, strict bool) {
	written := map[int]*Object{}
	for i, m := range c.add {
		if r, ok := m.(*record); ok {
			if written[i] = s.write(r, nested); !c.property.Allows(written[i].Class) {
				refuse(400, "subclass")
			}
		}
	}
	var ids []string
	for i, m := range c.add {
		id, given := m.(string)
		if given {
			id = s.currentID(c.property.Target, id)
			s.expected = append(s.expected, reference{c.property, id, strict})
		} else {
			id = written[i].ID()
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	owner := o.ID()
	if c.replace {
		rest := ids
		for _, id := range s.linkedIDs(c.property, owner) {
			if len(rest) > 0 && rest[0] == id {
				rest = rest[1:]
				continue
			}
			s.removeLink(c.property, owner, id)
		}
	}
	for _, id := range c.remove {
		s.removeLink(c.property, owner, s.currentID(c.property.Target, id))
	}
	links := sideOf(c.property)
	for _, id := range ids {
		if l := links.linkOf(owner, id); !slices.Contains(s.links[links.table], l) {
			s.links[links.table] = append(s.links[links.table], l)
		}
	}
}

// changeReferences applies a change to a collection of o that is the other side of a reference. New
// members get a reference to o. In removed members, the reference becomes null.
func (s *saving) changeReferences(o *Object, c change, strict bool) {
	target, back := c.property.Target, c.property.Back
	stay := map[string]bool{}
	for _, added := range c.add {
		switch added := added.(type) {
		case *record:
			id := added.id
			if id == "" {
				id = idOf(added.class, added.values)
			}
			stay[s.currentID(target, id)] = true
		case string:
			stay[s.currentID(target, added)] = true
		}
	}
	leaves := func(id string) bool {
		return !stay[id] && (c.replace || slices.ContainsFunc(c.remove, func(gone string) bool { return s.currentID(target, gone) == id }))
	}
	for _, a := range s.awaited {
		a.dropped = a.dropped || a.owner == o && a.property.Back.Name == back.Name && leaves(a.id)
	}
	for _, m := range s.Members(o, c.property) {
		if leaves(m.ID()) {
			if !back.Nullable {
				refuse(400, "required")
			}
			s.setReference(m, back.Name, nil)
		}
	}
	for _, added := range c.add {
		if r, ok := added.(*record); ok {
			r.place = func(values map[string]any) { values[back.Name] = o.ID() }
			if _, object := r.values[back.Name].(*record); !object {
				r.place(r.values)
			}
			if m := s.write(r, nested); !c.property.Allows(m.Class) {
				refuse(400, "subclass")
			}
		}
	}
	for _, added := range c.add {
		id, given := added.(string)
		if !given {
			continue
		}
		id = s.currentID(target, id)
		s.expected = append(s.expected, reference{c.property, id, strict})
		switch m := s.Object(target, id); {
		case m == nil:
			s.addAwaited(&awaited{o, c.property, id, false})
		case m.Values[back.Name] != o.ID():
			s.setReference(m, back.Name, o.ID())
		}
	}
}

// awaited records that a request has added an id to a collection, but no object has this id yet.
// The collection is the other side of a reference. If a later record of the request creates the
// object, the reference of the object is set to owner, except if the record sets the reference
// itself.
type awaited struct {
	owner    *Object
	property *engine.Property
	id       string
	dropped  bool // a later record has removed the id from the collection or added it to another collection
}

func (s *saving) addAwaited(a *awaited) {
	for _, other := range s.awaited {
		other.dropped = other.dropped || other.id == a.id && other.property.Back.Definition == a.property.Back.Definition && other.property.Back.Name == a.property.Back.Name
	}
	s.awaited = append(s.awaited, a)
}

// joinAwaiting adds object o to the collections that wait for it. r is the record that has written
// o.
func (s *saving) joinAwaiting(o *Object, r *record) {
	s.awaited = slices.DeleteFunc(s.awaited, func(a *awaited) bool {
		if a.id != o.ID() || !isBelow(o.Class, a.property.Target) {
			return false
		}
		if _, given := r.values[a.property.Back.Name]; !given && !a.dropped {
			s.setReference(o, a.property.Back.Name, a.owner.ID())
		}
		return true
	})
}

func (s *saving) settleAwaited() {
	for _, a := range s.awaited {
		m := s.Object(a.property.Target, a.id)
		if m == nil {
			refuse(400, "member") // the object does not exist
		}
		if !a.dropped {
			s.setReference(m, a.property.Back.Name, a.owner.ID())
		}
	}
}

// setReference changes a reference of object m. If the reference is part of its key, the id of m
// changes.
func (s *saving) setReference(m *Object, attribute string, to any) {
	before := m.ID()
	m.Values[attribute] = to
	m.Editor = account
	s.checkObject(m, m)
	s.touched = append(s.touched, m)
	if id := m.ID(); id != before {
		s.followID(m.Class.Root(), before, id)
	}
}

// eachSide calls visit for each end of each list of links at which objects of the class tree root
// can be. table names the list, and id returns the id at that end of a link. If objects of root
// can be at both ends of a list, visit is called once for each end.
func (w *World) eachSide(root *engine.Class, visit func(table string, id func(*link) *string)) {
	owner, member := func(l *link) *string { return &l.owner }, func(l *link) *string { return &l.member }
	seen := map[side]bool{}
	for _, c := range w.classes {
		for _, p := range c.Properties {
			if p.Type != engine.Collection || p.Back != nil || p.Formula != nil {
				continue
			}
			s := sideOf(p)
			if isBelow(c, root) && !seen[s] {
				seen[s] = true
				visit(s.table, map[bool]func(*link) *string{false: owner, true: member}[s.reversed])
			}
			if far := (side{s.table, !s.reversed}); isBelow(p.Target, root) && !seen[far] {
				seen[far] = true
				visit(s.table, map[bool]func(*link) *string{false: member, true: owner}[s.reversed])
			}
		}
	}
}

// followLinks changes the id of an object in all links from the old id to the new id. If a link
// with the new id already exists, only the existing link remains, in its place.
func (s *saving) followLinks(root *engine.Class, from, to string) {
	s.eachSide(root, func(table string, id func(*link) *string) {
		links := slices.Clone(s.links[table])
		s.links[table] = nil
		for _, l := range links {
			moved := l
			if *id(&moved) == from {
				*id(&moved) = to
				if slices.Contains(links, moved) {
					continue
				}
			}
			s.links[table] = append(s.links[table], moved)
		}
	})
}

func (s *saving) dropLinks(root *engine.Class, gone string) {
	s.eachSide(root, func(table string, id func(*link) *string) {
		s.links[table] = slices.DeleteFunc(s.links[table], func(l link) bool { return *id(&l) == gone })
	})
}
