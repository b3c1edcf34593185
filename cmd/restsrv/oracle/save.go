package oracle

import (
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
)

// record is an object in a request, before it is saved.
type record struct {
	class   *engine.Class
	id      string // from "_id"; "" if not given
	version string
	strict  bool
	place   func(values map[string]any) // for a member of a collection: sets its reference to the owner; otherwise nil
	// values holds the given values of stored attributes. The value of a reference may be a *record.
	values  map[string]any
	changes []change // changes of collections
}

// change is a change of a collection.
type change struct {
	property *engine.Property
	replace  bool
	add      []any // ids, or *record for objects to save
	remove   []string
}

// mode determines how a record finds the object that it changes.
type mode int

const (
	creating  mode = iota // crud creates an object
	updating              // crud changes an object, which must exist
	accepting             // acceptor creates an object or changes the existing one
	nested                // an object within another object: created or changed
)

// pending is an object with collections that are still to be changed.
type pending struct {
	object *Object
	record *record
}

// saving is the execution of one request that writes.
type saving struct {
	*World
	later    []pending
	moves    []move      // changes of ids by the current record
	awaited  []*awaited  // members that do not exist yet
	expected []reference // references to check at the end of the request
	touched  []*Object   // written objects
}

// move is a change of an object's id. root is the root of its class tree.
type move struct {
	root     *engine.Class
	from, to string
}

type reference struct {
	property *engine.Property
	id       string
	strict   bool
}

// save saves a record and its nested records: first the objects in its references, then its own
// attributes, then its collections. Later records of the request see the result, as if each record
// was a request.
func (s *saving) save(r *record, m mode) *Object {
	s.moves = nil
	o := s.write(r, m)
	for len(s.later) > 0 {
		next := s.later[0]
		s.later = s.later[1:]
		for _, c := range next.record.changes {
			if c.property.Back != nil {
				s.changeReferences(next.object, c, next.record.strict)
			} else {
				s.changeLinks(next.object, c, next.record.strict)
			}
		}
	}
	return o
}

// write saves a record without its collections, which are added to s.later.
func (s *saving) write(r *record, m mode) *Object {
	if r.class.Abstract {
		refuse(400, "abstract")
	}
	if m != updating {
		completeKey(r)
	} else if s.findObject(r, m) == nil {
		refuse(404, "not-found")
	}
	s.redirectRecord(r)
	values := map[string]any{}
	for _, p := range r.class.Properties {
		v, given := r.values[p.Name]
		if inner, ok := v.(*record); ok {
			o := s.write(inner, nested)
			if !p.Allows(o.Class) {
				refuse(400, "subclass")
			}
			v = o.ID()
		}
		if given {
			values[p.Name] = v
		}
	}
	if r.place != nil {
		r.place(values)
	}
	s.redirectRecord(r)
	for name, v := range values {
		if p := r.class.Property(name); p.Type == engine.Reference && v != nil {
			values[name] = s.currentID(p.Target, v.(string))
			s.expected = append(s.expected, reference{p, values[name].(string), r.strict})
		}
	}
	o := s.findObject(r, m)
	if o == nil {
		o = s.insert(r, values)
	} else {
		s.update(o, r, values, m)
	}
	if len(r.changes) > 0 {
		s.later = append(s.later, pending{o, r})
	}
	s.touched = append(s.touched, o)
	s.joinAwaiting(o, r)
	return o
}

// currentID returns the id of an object after the changes of ids that the current record has
// made. The parameter id is the id of the object before these changes.
func (s *saving) currentID(c *engine.Class, id string) string {
	for _, m := range s.moves {
		if m.root == c.Root() && m.from == id {
			id = m.to
		}
	}
	return id
}

// redirectRecord changes the id of a record if the current request has changed the id of the
// object that the record names (see currentID).
func (s *saving) redirectRecord(r *record) {
	key := idOf(r.class, r.values)
	id := r.id
	if id == "" {
		id = key
	}
	if now := s.currentID(r.class, id); id != "" && now != id {
		if r.id = now; key == id {
			for _, name := range r.class.Key {
				delete(r.values, name)
			}
		}
	}
}

// completeKey sets key attributes that are not given from the _id of a record. If the key has
// several attributes and the _id has another number of parts, it sets none of them.
func completeKey(r *record) {
	if r.id == "" {
		return
	}
	key, parts := r.class.KeyProperties(), []string{r.id}
	if len(key) > 1 {
		if parts = strings.Split(r.id, engine.IDSeparator); len(parts) != len(key) {
			return
		}
	}
	for i, p := range key {
		if _, given := r.values[p.Name]; !given {
			r.values[p.Name] = cast(p, parts[i])
		}
	}
}

// findObject returns the object that a record changes, or nil if the object is new. If the
// record has an _id, findObject searches for it; otherwise it searches for the key attributes.
// It compares each attribute of a composite key. All classes of a tree share their keys.
func (s *saving) findObject(r *record, m mode) *Object {
	switch {
	case m == creating:
		return nil
	case m == updating:
		return s.Object(r.class, r.id)
	}
	root, id := r.class.Root(), r.id
	if id == "" {
		if id = idOf(r.class, r.values); id == "" {
			return nil
		}
	}
	o := s.Object(root, id)
	if o != nil && len(r.class.Key) > 1 && idOf(r.class, r.values) == id {
		// Different keys such as (a_b, c) and (a, b_c) have the same id. The second object with this
		// id cannot be created: see insert.
		for _, name := range r.class.Key {
			if r.values[name] != o.Values[name] {
				return nil
			}
		}
	}
	if o != nil && m == nested && !isBelow(o.Class, r.class) {
		return nil // insert reports that the key is used
	}
	return o
}

// insert creates an object with defaults, generated keys and numbers.
func (s *saving) insert(r *record, values map[string]any) *Object {
	c := r.class
	o := &Object{Class: c, Values: map[string]any{}, Creator: account, Version: r.version}
	for _, p := range c.Properties {
		if v, given := values[p.Name]; given && isStored(p) {
			o.Values[p.Name] = v
		}
	}
	s.setDefaults(o)
	s.checkObject(o, nil)
	s.objects = append(s.objects, o)
	return o
}

// setDefaults sets the attributes of a new object that are not given.
func (s *saving) setDefaults(o *Object) {
	for _, p := range o.Class.Properties {
		if !isStored(p) {
			continue
		}
		v, given := o.Values[p.Name]
		s.raiseCounter(o.Class, p, v)
		if given {
			continue
		}
		switch {
		case p.Computed != nil:
			v = s.Formulas[p.Definition+"."+p.Name](s.World, o)
		case p.Default != nil && p.Default != "":
			v = cast(p, literalValue(p.Default))
		case p.Autoassigned && p.Type == engine.Int:
			v = s.Next(counterOf(o.Class, p))
		case p.Autoassigned:
			v = s.newToken()
		}
		o.Values[p.Name] = v
	}
}

func counterOf(c *engine.Class, p *engine.Property) string { return c.Root().FullName + "." + p.Name }

// raiseCounter raises the counter of a generated number if a request gives a higher number. It
// ignores numbers above 2^52, because a request must not use up the range of a counter.
func (s *saving) raiseCounter(c *engine.Class, p *engine.Property, v any) {
	if n, ok := v.(int64); ok && p.Autoassigned && n <= 1<<52 {
		s.counters[counterOf(c, p)] = max(s.counters[counterOf(c, p)], n)
	}
}

// Next returns the next number of a counter.
func (w *World) Next(counter string) int64 {
	w.counters[counter]++
	return w.counters[counter]
}

// checkObject refuses o if a required value is missing, or if another object has the same key or
// the same value of a unique attribute. If o replaces a stored object, except is the stored
// object, which does not count as another object. If o is new, except is nil.
func (s *saving) checkObject(o *Object, except *Object) {
	for _, p := range o.Class.Properties {
		if isStored(p) && o.Values[p.Name] == nil && (!p.Nullable || slices.Contains(o.Class.Key, p.Name)) {
			refuse(400, "required")
		}
	}
	id := o.ID()
	if id == "" {
		refuse(400, "required")
	}
	for _, other := range s.Objects(o.Class.Root()) {
		if other == except {
			continue
		}
		if other.ID() == id {
			refuse(400, "duplicate")
		}
		for _, p := range o.Class.Properties {
			if q := other.Class.Property(p.Name); p.Unique && q != nil && o.Values[p.Name] != nil && o.Values[p.Name] == other.Values[p.Name] {
				refuse(400, "duplicate")
			}
		}
	}
}

// update changes an object. Values that are not given stay.
func (s *saving) update(o *Object, r *record, values map[string]any, m mode) {
	if r.strict {
		for name, v := range values {
			if p := o.Class.Property(name); p != nil && p.Readonly && o.Values[name] != v {
				refuse(400, "readonly")
			}
		}
	}
	before := o.ID()
	if m == accepting && !isBelow(o.Class, r.class) {
		s.changeClass(o, r.class, values)
	}
	for name, v := range values {
		o.Values[name] = v
		s.raiseCounter(o.Class, o.Class.Property(name), v)
	}
	o.Editor = account
	if m == accepting && o.Class == r.class {
		o.Version = r.version
	}
	s.checkObject(o, o)
	if id := o.ID(); id != before {
		s.followID(o.Class.Root(), before, id)
	}
}

// changeClass changes the class of object o to c, the class in a record of acceptor. Both
// classes belong to one class tree. The request is refused if o has a value in an attribute that
// c does not have.
func (s *saving) changeClass(o *Object, c *engine.Class, values map[string]any) {
	for _, p := range o.Class.Properties {
		has := isStored(p) && o.Values[p.Name] != nil || p.Type == engine.Collection && p.Back == nil && len(s.linkedIDs(p, o.ID())) > 0
		if q := c.Property(p.Name); has && (q == nil || q.Target != p.Target) {
			refuse(400, "class")
		}
	}
	kept := map[string]any{}
	for _, p := range c.Properties {
		if v, had := o.Values[p.Name]; had && isStored(p) {
			kept[p.Name] = v
		}
	}
	maps.Copy(kept, values)
	o.Class, o.Values = c, kept
	s.setDefaults(o)
}

// followID updates the World after an object has changed its id. It replaces the old id in all
// references and links to the object, and in references of the current request. If such a
// reference is part of a key, the id of the object with the reference changes too, and followID
// handles this change in the same way. References that already contained the new id now point to
// this object.
func (s *saving) followID(root *engine.Class, from, to string) {
	s.moves = append(s.moves, move{root, from, to})
	for i, r := range s.expected {
		if r.property.Target.Root() == root && r.id == from {
			s.expected[i].id = to
		}
	}
	for _, o := range s.objects {
		before := o.ID()
		for _, p := range o.Class.Properties {
			if p.Type == engine.Reference && isStored(p) && p.Target.Root() == root && o.Values[p.Name] == from {
				o.Values[p.Name] = to
				s.touched = append(s.touched, o)
			}
		}
		if id := o.ID(); id != before {
			o.Editor = account
			s.checkObject(o, o)
			s.followID(o.Class.Root(), before, id)
		}
	}
	s.followLinks(root, from, to)
}

// remove deletes an object and its links. References to it keep the id.
func (s *saving) remove(c *engine.Class, id string) {
	o := s.Object(c, id)
	if o == nil {
		refuse(404, "not-found")
	}
	s.objects = slices.DeleteFunc(s.objects, func(other *Object) bool { return other == o })
	s.dropLinks(c.Root(), id)
}

// settleReferences runs at the end of a request. All members of collections must exist. In strict
// handling, the targets of references must exist too. An existing target must have an allowed
// class.
func (s *saving) settleReferences() {
	s.settleAwaited()
	for _, r := range s.expected {
		o := s.Object(r.property.Target.Root(), r.id)
		switch {
		case o == nil && r.strict:
			refuse(400, "dangling")
		case o == nil || r.property.Allows(o.Class):
		case r.strict && !isBelow(o.Class, r.property.Target) && len(r.property.Subclasses) == 0:
			refuse(400, "dangling")
		case isBelow(o.Class, r.property.Target), len(r.property.Subclasses) > 0:
			refuse(400, "subclass")
		}
	}
}
