package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/read"
	"restsrv/engine/store/table"
)

// deep contains the parts of a record that are not values of its own row.
type deep struct {
	records []nested       // records that are values of references
	members []memberChange // changes of collections
}

// nested is a record that was given as the value of a reference. It is saved before the outer record.
type nested struct {
	property *engine.Property
	entry    *entry
	follow   bool // without a key, the record changes the item to which the stored reference leads (engine.Record.Follow)
}

// memberChange describes a change of a collection. A reference that is stored in another class (Property.Back) counts
// as a collection with one member.
type memberChange struct {
	property *engine.Property
	replace  bool  // the added members replace all others
	add      []any // ids (string) and records (*entry), in the given order
	remove   []string
}

// unfold moves the values that do not belong to the row of the item from e.given to e.deep.
func (sv *nesting) unfold(e *entry) error {
	d := &e.plan.Duties
	for _, p := range d.Derived {
		e.given[p.Index] = engine.Absent
	}
	for _, p := range d.References {
		r, ok := e.given[p.Index].(*engine.Record)
		if !ok {
			continue
		}
		inner, err := sv.prepareInner(e, p, r)
		if err != nil {
			return withinAttribute(p.Name, err)
		}
		e.ensureDeep().records = append(e.deep.records, nested{p, inner, r.Follow})
		e.alone = true
	}
	for _, p := range d.Collections {
		v := e.given[p.Index]
		e.given[p.Index] = engine.Absent
		m, changes, err := sv.memberChange(e, p, v)
		if err != nil {
			return err
		}
		if changes {
			e.ensureDeep().members = append(e.deep.members, m)
		}
	}
	return nil
}

func (e *entry) ensureDeep() *deep {
	if e.deep == nil {
		e.deep = &deep{}
	}
	return e.deep
}

// memberChange converts the value v, which was given for p, to a memberChange. p is a collection, or a reference that
// is stored in another class. changes is false if the value is absent or is the null of a collection: responses
// contain null for a collection that was not loaded, and clients may send the response back.
func (sv *nesting) memberChange(e *entry, p *engine.Property, v any) (m memberChange, changes bool, err error) {
	m.property = p
	links, ok := v.(*engine.Links)
	switch {
	case ok:
		m.replace, m.remove = links.Replace, links.Remove
	case v == engine.Absent, v == nil && p.Type == engine.Collection:
		return m, false, nil
	default:
		links, m.replace = &engine.Links{}, true
		if r, ok := v.(*engine.Record); ok {
			links.Add = []any{r}
		} else if v != nil {
			links.Add = []any{engine.ValueText(v)}
		}
	}
	for i, member := range links.Add {
		r, ok := member.(*engine.Record)
		if !ok {
			m.add = append(m.add, engine.ValueText(member))
			continue
		}
		inner, err := sv.prepareInner(e, p, r)
		if err != nil {
			return m, false, withinAttribute(memberPlace(p, i), err)
		}
		m.add = append(m.add, inner)
	}
	return m, true, nil
}

// memberPlace returns the name of the member with index i of a collection, for error messages.
func memberPlace(p *engine.Property, i int) string {
	if p.Type != engine.Collection {
		return p.Name
	}
	return fmt.Sprintf("%s[%d]", p.Name, i)
}

// prepareInner prepares a record that was given as the value or a member of p.
func (sv *nesting) prepareInner(outer *entry, p *engine.Property, r *engine.Record) (*entry, error) {
	if !p.Allows(r.Class.Base()) {
		return nil, notAllowed(p, r.Class, r.ID)
	}
	e, err := sv.prepareEntry(r, true)
	if err != nil {
		return nil, err
	}
	e.handling = e.handling || outer.handling
	if e.version == "" {
		e.version = r.Class.Version
	}
	return &e, nil
}

func notAllowed(p *engine.Property, c *engine.Class, id string) *engine.Error {
	e := engine.Errorf(engine.Invalid, "subclass", "attribute %s may not point at an object of class %s", engine.Quote(p.Name), c.FullName)
	e.Class, e.ID = c.FullName, id
	return e
}

// inMark begins an error message about a nested record, such as: in "town": ...
const inMark = `in "`

// withinAttribute adds to an error the attribute in which it occurred. For a nested record, name is the path of
// attributes to the record.
func withinAttribute(name string, err error) error {
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != engine.Invalid && e.Code != engine.NotFound {
		return err
	}
	if name == "" {
		return err
	}
	c := *e
	c.Code = engine.Invalid // if the body names a missing object, the body is invalid
	if rest, deeper := strings.CutPrefix(c.Message, inMark); deeper {
		c.Message = inMark + name + "." + rest
	} else {
		c.Message = inMark + name + `": ` + c.Message
	}
	if c.Attribute != "" {
		name += "." + c.Attribute
	}
	c.Attribute = name
	return conns.KeepMark(err, &c)
}

// writeRecord writes the records that are nested in references of e, and then the row of e itself. It does not write
// collections.
func (sv *nesting) writeRecord(e *entry) (*engine.Item, error) {
	sv.ordering.redirectKey(e)
	before, err := sv.readBefore(e)
	if err != nil {
		return nil, err
	}
	if err := sv.permits.admitEntry(e, before); err != nil {
		return nil, err
	}
	if before != nil && sv.store.layout.Plans[before.Class].AffectsOthers() {
		sv.former = append(sv.former, before)
	}
	v, err := sv.resolveReferences(e, before)
	if err != nil {
		return nil, err
	}
	sv.ordering.redirectKey(e)
	if e.deep != nil && (before == nil && e.how != modify || before != nil && sv.ordering.isDisturbed(before)) { // a nested record may be the item itself
		if before, err = sv.readBefore(e); err != nil {
			return nil, err
		}
		if err = sv.permits.admitEntry(e, before); err != nil {
			return nil, err
		}
	}
	if err := sv.permits.recallOne(e, before); err != nil {
		return nil, err
	}
	if err := sv.permits.checkDoubt(e, v, before); err != nil {
		return nil, err
	}
	own, v, err := sv.rows.ownClass(e, v, before)
	if err != nil {
		return nil, e.hideDoubtful(err)
	}
	it, err := sv.putItem(own, v, before)
	if err != nil || e.nest == nil {
		return it, e.hideDoubtful(err)
	}
	sv.ordering.touchItems(it.Class.Root(), it.ID)
	if e.nest.saved != nil {
		sv.asked = append(sv.asked, innerItem{it, e.nest.saved})
	}
	return it, nil
}

// putItem updates the stored item with the values v, or inserts a new one if before is nil.
func (sv *nesting) putItem(e *entry, v engine.Values, before *engine.Item) (it *engine.Item, err error) {
	may := engine.MayUse
	if before != nil || e.how == modify {
		may = engine.MayWrite
		it, err = sv.rows.changeItem(e, v, before)
	} else {
		it, err = sv.rows.insertOne(e, v)
	}
	if err != nil {
		return nil, err
	}
	sv.permits.deferCheck(may, it)
	return it, sv.rows.afterWrite(e, v, it)
}

// resolveReferences saves the records that are nested in references of e. It returns the values of e with the keys of
// the saved items instead of these records.
func (sv *nesting) resolveReferences(e *entry, before *engine.Item) (engine.Values, error) {
	d := &e.plan.Duties
	if e.deep == nil && !d.HasTrackers() && !d.Late && sv.moves.count == 0 && (e.how == modify || e.how == insert && e.full != nil) {
		return e.given, nil // the values will not be changed
	}
	v := slices.Clone(e.given)
	if e.deep == nil {
		sv.ordering.redirectReferences(e.plan, v)
		return v, nil
	}
	for _, n := range e.deep.records {
		inner := *n.entry
		if n.follow && inner.key == nil && before != nil {
			inner.key, inner.how = pointedKey(n.property, before), lookup
		}
		it, err := sv.writeRecord(&inner)
		if err != nil {
			return nil, withinAttribute(n.property.Name, err)
		}
		if !n.property.Allows(it.Class) {
			return nil, withinAttribute(n.property.Name, notAllowed(n.property, it.Class, it.ID))
		}
		v[n.property.Index] = table.KeyOf(it)
	}
	if e.nest != nil && e.nest.place != nil { // last, so that records nested in a member cannot move the member to another owner
		e.nest.place(v, e.plan.Class)
	}
	sv.ordering.redirectReferences(e.plan, v)
	return v, nil
}

// pointedKey returns the key in reference p of a stored item, or nil if the reference is null.
func pointedKey(p *engine.Property, it *engine.Item) []any {
	at := it.Class.Property(p.Name)
	if at == nil || it.Values[at.Index] == nil || layout.StorageDiffers(at, p) {
		return nil
	}
	return []any{it.Values[at.Index]}
}

// readBefore reads and locks the stored item of an entry. It returns nil if the save can write the entry without
// reading the item, or if this entry cannot change a stored item.
func (sv *nesting) readBefore(e *entry) (*engine.Item, error) {
	if e.key == nil || e.how == modify && !sv.mustInspect(e) {
		return nil, nil
	}
	// The root class finds the item regardless of the item's class.
	p := sv.store.layout.Plans[e.plan.Table.Classes[0]]
	it := &engine.Item{}
	found, err := read.One(sv.w, sv.w.Ctx, p.SQL().Lock, p, it, slices.Clone(e.key))
	if err != nil || !found {
		if err == nil && e.how == modify {
			err = sv.store.table.MissingError(sv.w, e.plan, keyText(e.key), nil)
		}
		return nil, err
	}
	if e.how == lookup && e.plan.Table.HasIDColumn() {
		key := it.Class.KeyProperties()
		if !e.plan.HasKey(e.given, func(part int) any { return it.Values[key[part].Index] }) {
			return nil, table.OtherKey(e.plan, e.given)
		}
	}
	switch {
	case e.plan.HoldsClass(it.Class):
		return it, nil
	case e.how == modify:
		return nil, engine.NoItem(e.plan.Class, keyText(e.key))
	case e.nest != nil:
		return nil, nil // the insert will report that the key is taken
	}
	return it, nil
}

// mustInspect reports whether an update must read the stored item before it changes it.
func (sv *nesting) mustInspect(e *entry) bool {
	if e.handling == engine.Strict && setsReadonly(e.plan, e.given) || !table.InStatement(sv.match) || e.plan.Caching.Watched || e.plan.Duties.Journaled || e.setsDivided() || sv.permits.setsRestricted(e) {
		return true
	}
	if e.deep == nil {
		return false
	}
	return slices.ContainsFunc(e.deep.records, func(n nested) bool { return n.follow && n.entry.key == nil })
}
