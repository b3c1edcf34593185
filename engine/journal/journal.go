// Package journal keeps what writes change of items of classes that say
// "journaling": the change log of iondv-data.md section 4.4. It owns the form of
// the records. Which writes leave one, and that each is stored in their
// transaction, is engine/store's. What the records tell is not for those who use
// services: it may be hidden from them.
package journal

import (
	"context"

	"restsrv/engine"
)

// Class returns the system class of the records. Open the store with it beside
// the classes of the application. Each call builds a new one.
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
	Put    = "PUT"   // members have joined a collection of the item
	Eject  = "EJECT" // members have left it
)

// Types are the types of records.
func Types() []string { return []string{Create, Update, Delete, Put, Eject} }

// Journal is engine.Journal.
type Journal struct{ class *engine.Class }

var _ engine.Journal = Journal{}

// New returns the Journal whose records are of a class that Class has built.
func New(class *engine.Class) Journal { return Journal{class} }

// Class is engine.Journal's.
func (j Journal) Class() *engine.Class { return j.class }

// Record is engine.Journal's. Of a new item data has the values, of one that was
// deleted base, of one that was changed both, as far as they differ; of a
// collection data has the ids of the members that have joined or left it. Who
// changed an item and when is no change by itself. References and files are
// their ids. Of passwords there is nothing, and of calculated attributes.
func (j Journal) Record(ctx context.Context, c engine.Change) engine.Values {
	var d difference
	kind, at := d.of(c)
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

// difference is what a record has of a change.
type difference struct {
	base, data object
}

// of finds the difference that a change makes, its type, "" for none, and the
// item that it is told of.
func (d *difference) of(c engine.Change) (kind string, at *engine.Item) {
	switch {
	case c.Collection != nil:
		d.data.members(c.Collection, c.Members)
		if c.Left {
			return Eject, c.Is
		}
		return Put, c.Is
	case c.Was == nil:
		d.data.values(c.Is)
		return Create, c.Is
	case c.Is == nil:
		d.base.values(c.Was)
		return Delete, c.Was
	case d.between(c.Was, c.Is):
		return Update, c.Is
	}
	return "", nil
}

// between finds out what has changed of an item, and whether anything has.
func (d *difference) between(was, is *engine.Item) (changed bool) {
	if was.Class != is.Class {
		d.base.text("_class", was.Class.FullName)
		d.data.text("_class", is.Class.FullName)
		changed = true
		for _, p := range was.Class.Properties {
			if is.Class.Property(p.Name) == nil && told(p) && was.Values[p.Index] != nil {
				d.base.value(p, was.Values[p.Index])
				d.data.value(p, nil)
			}
		}
	}
	for i, p := range is.Class.Properties {
		var before any
		if q := was.Class.Property(p.Name); q != nil {
			before = was.Values[q.Index]
		}
		if !p.Stored() || p.Formula != nil || given(before) == given(is.Values[i]) {
			continue
		}
		changed = changed || p.Name != is.Class.ChangeTracker && p.Name != is.Class.EditorTracker
		if told(p) {
			d.base.value(p, before)
			d.data.value(p, is.Values[i])
		}
	}
	return changed
}

// given is a value, nil for one that was not given.
func given(v any) any {
	if v == engine.Absent {
		return nil
	}
	return v
}

// told reports whether records have values of a property.
func told(p *engine.Property) bool {
	return p.Stored() && p.Formula == nil && p.Type != engine.Password
}
