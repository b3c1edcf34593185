// Package journal records the changes of items of classes with "journaling". It defines the form of the records.
// Package engine/store decides when a write is recorded, and stores each record in the transaction of its write.
// Services cannot read the records, because the records may contain data that is hidden from the callers of the
// services.
package journal

import (
	"context"

	"restsrv/engine"
)

// Class returns the system class of the records. The store must be opened with this class in addition to the classes
// of the application. Each call returns a new class.
func Class() *engine.Class {
	property, indexed := engine.SystemProperty, engine.SystemIndexed
	key := property("key", engine.GUID)
	key.Autoassigned = true
	return engine.SystemClass("#change",
		key,
		indexed("timestamp", engine.DateTime),
		property("type", engine.String),
		property("className", engine.String),
		property("classVersion", engine.String),
		indexed("id", engine.String),
		property("base", engine.Custom),
		property("data", engine.Custom),
		property("author", engine.String),
		property("authorName", engine.String),
		property("authorIp", engine.String),
	)
}

// The types of records.
const (
	Create = "CREATE"
	Update = "UPDATE"
	Delete = "DELETE"
	Put    = "PUT"   // members were added to a collection of the item
	Eject  = "EJECT" // members were removed from a collection of the item
)

// Types returns the types of records.
func Types() []string { return []string{Create, Update, Delete, Put, Eject} }

// Journal implements engine.Journal.
type Journal struct{ class *engine.Class }

var _ engine.Journal = Journal{}

// New returns a Journal. Its records belong to class, which must be a result of Class.
func New(class *engine.Class) Journal { return Journal{class} }

// Class implements engine.Journal.
func (j Journal) Class() *engine.Class { return j.class }

// Record implements engine.Journal. The attributes base and data of the record contain:
//   - for a new item, its values in data
//   - for a deleted item, its values in base
//   - for a changed item, the values that differ, before the change in base and after it in data
//   - for a collection, the ids of the members that were added or removed, in data
//
// If only the editor and the time of the change differ, the change is not recorded. References and files are recorded
// as ids. Passwords and calculated attributes are not recorded.
func (j Journal) Record(ctx context.Context, c engine.Change) engine.Values {
	var d difference
	kind, at := d.computeChange(c)
	if kind == "" {
		return nil
	}
	class := at.Class.Base()
	v := make(engine.Values, len(j.class.Properties))
	set := func(name string, value any) { v[j.class.Property(name).Index] = value }
	text := func(name, value string) {
		if value != "" {
			set(name, value)
		}
	}
	set("timestamp", c.At)
	set("type", kind)
	set("className", class.FullName)
	text("classVersion", class.Version)
	set("id", at.ID)
	if c.Was != nil {
		set("base", d.base.json())
	}
	if c.Is != nil {
		set("data", d.data.json())
	}
	if a := engine.AccountFrom(ctx); a != nil {
		text("author", a.ID)
		text("authorName", a.Name)
	}
	if address := engine.CallerFrom(ctx).Address; address.IsValid() {
		text("authorIp", address.String())
	}
	return v
}

// difference holds the values of a change for a record.
type difference struct {
	base, data object
}

// computeChange computes the values that a change affects. It returns the type of the
// record and the item that the record concerns. The type is "" if there is no change.
func (d *difference) computeChange(c engine.Change) (kind string, at *engine.Item) {
	switch {
	case c.Collection != nil:
		d.data.addMembers(c.Collection, c.Members)
		if c.Left {
			return Eject, c.Is
		}
		return Put, c.Is
	case c.Was == nil:
		d.data.addValues(c.Is)
		return Create, c.Is
	case c.Is == nil:
		d.base.addValues(c.Was)
		return Delete, c.Was
	case d.compareItems(c.Was, c.Is):
		return Update, c.Is
	}
	return "", nil
}

// compareItems computes the difference of two versions of an item, and reports
// whether they differ.
func (d *difference) compareItems(was, is *engine.Item) (changed bool) {
	if was.Class != is.Class {
		d.base.addText("_class", was.Class.FullName)
		d.data.addText("_class", is.Class.FullName)
		changed = true
		for _, p := range was.Class.Properties {
			if is.Class.Property(p.Name) == nil && isRecorded(p) && was.Values[p.Index] != nil {
				d.base.addValue(p, was.Values[p.Index])
				d.data.addValue(p, nil)
			}
		}
	}
	for i, p := range is.Class.Properties {
		var before any
		if q := was.Class.Property(p.Name); q != nil {
			before = was.Values[q.Index]
		}
		if !p.Stored() || p.Formula != nil || givenValue(before) == givenValue(is.Values[i]) {
			continue
		}
		changed = changed || p.Name != is.Class.ChangeTracker && p.Name != is.Class.EditorTracker
		if isRecorded(p) {
			d.base.addValue(p, before)
			d.data.addValue(p, is.Values[i])
		}
	}
	return changed
}

// givenValue returns a value, or nil if it is Absent.
func givenValue(v any) any {
	if v == engine.Absent {
		return nil
	}
	return v
}

// isRecorded reports whether values of a property are recorded.
func isRecorded(p *engine.Property) bool {
	return p.Stored() && p.Formula == nil && p.Type != engine.Password
}
