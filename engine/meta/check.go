package meta

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// checkDraft checks the fields of a class that name attributes of this class.
func (l *linker) checkDraft(d *draft) {
	d.checkTrackers()
	d.checkContainer()
	d.checkIndexes()
	d.checkDependencies()
}

// checkTrackers checks creationTracker, changeTracker, creatorTracker and editorTracker. Each of them names an
// attribute in which the server records the time or the account of the creation or of the last change. If the
// attribute is missing or has an unsuitable type, the tracker is removed. A fault is reported only in the class that
// declares the tracker, not in its descendants.
func (d *draft) checkTrackers() {
	c := d.class
	for _, t := range []struct {
		field string
		name  *string
		time  bool
	}{
		{"creationTracker", &c.CreationTracker, true}, {"changeTracker", &c.ChangeTracker, true},
		{"creatorTracker", &c.CreatorTracker, false}, {"editorTracker", &c.EditorTracker, false},
	} {
		if *t.name == "" {
			continue
		}
		report := func(rule *mistake.Rule, found, expected string) {
			if !isEmpty(d.Value(t.field)) {
				d.Report(rule, d.At(t.field), found, expected)
			}
		}
		p := c.Property(*t.name)
		unknown := engine.Quote(*t.name) + ", which no attribute has as its name"
		switch {
		case p == nil && d.leftOut(*t.name):
		case p == nil && t.time:
			report(mistake.TrackerUnknown, unknown, jsonfile.Choice(*t.name, attributeNames(c)))
		case p == nil:
			report(mistake.TrackerAccount, unknown, jsonfile.Choice(*t.name, attributeNames(c)))
		case t.time && p.Type == engine.DateTime && p.Stored():
			continue
		case t.time && p.Type.Textual() && p.Type != engine.Password && p.Type != engine.User && p.Stored() && !p.Nowhere && !slices.Contains(c.Key, p.Name):
			report(mistake.TrackerText, engine.Quote(*t.name)+" of type "+p.Type.String(), "an attribute of type datetime")
			continue
		case t.time:
			report(mistake.TrackerType, engine.Quote(*t.name)+" of type "+p.Type.String(), "an attribute of type datetime")
		case p.ValueType().Textual() && p.Type != engine.Password && p.Stored():
			continue
		default:
			report(mistake.TrackerAccount, engine.Quote(*t.name)+" of type "+p.Type.String(), "an attribute of type user or of another text type")
		}
		*t.name = ""
	}
}

// checkContainer removes the field container, with a warning, if it does not name a reference of the class. A warning
// suffices, because only forms use the field.
func (d *draft) checkContainer() {
	name := d.class.Container
	if name == "" {
		return
	}
	if p := d.class.Property(name); p == nil || p.Type != engine.Reference {
		d.Warn(d.At("container"), engine.Quote(name), "a reference of the class: it has no effect")
		d.class.Container = ""
	}
}

// checkIndexes removes an index if one of its attributes is missing or cannot be
// indexed.
func (d *draft) checkIndexes() {
	kept := d.class.Indexes[:0]
	for i, index := range d.class.Indexes {
		ok := true
		for _, name := range index.Properties {
			p := d.class.Property(name)
			switch {
			case p == nil && d.leftOut(name):
				ok = false
			case p == nil:
				d.Report(mistake.IndexUnknown, d.indexAt[i], engine.Quote(name)+", which no attribute has as its name", jsonfile.Choice(name, attributeNames(d.class)))
				ok = false
			case !isIndexable(p.Type) || !p.Stored():
				d.Warn(d.indexAt[i], engine.Quote(name)+" of type "+p.Type.String(), "attributes whose values can be compared: this index is left out")
				ok = false
			}
		}
		if ok {
			kept = append(kept, index)
		}
	}
	d.class.Indexes = kept
}

// leftOut reports whether the class file declares an attribute with this name that was left out because of a mistake.
func (d *draft) leftOut(name string) bool {
	list, _ := d.Value("properties").([]any)
	for i, v := range list {
		fields, _ := v.(engine.Fields)
		given, _ := fields.Get("name")
		if out, ok := d.resolved[i]; ok && out == nil && given == name {
			return true
		}
	}
	return false
}

// checkDependencies checks cacheDependencies, a list of paths such as customer.region. It removes a path if a step of
// the path is not a reference or a collection.
func (d *draft) checkDependencies() {
	c := d.class
	kept := c.Dependencies[:0]
	for i, path := range c.Dependencies {
		if name, at := followPath(c, path); at != nil {
			d.Report(mistake.DependencyUnknown, d.dependencyAt[i], engine.Quote(strings.Join(path, ".")), "a path of references: "+engine.Quote(name)+" is none of class "+at.FullName)
			continue
		}
		kept = append(kept, path)
	}
	c.Dependencies = kept
}

// followPath follows a path of references and collections. If a step is neither, it returns the name of this step, and
// at is the class in which the step was looked for. If the whole path exists, at is nil.
func followPath(c *engine.Class, path []string) (name string, at *engine.Class) {
	for _, name := range path {
		p := c.Property(name)
		if p == nil || p.Target == nil {
			return name, c
		}
		c = p.Target
	}
	return "", nil
}

// inheritDependencies adds the dependencies of all ancestors of c.
func inheritDependencies(c *engine.Class) {
	for a := c.Ancestor; a != nil; a = a.Ancestor {
		for _, path := range a.Dependencies {
			if !slices.ContainsFunc(c.Dependencies, func(own []string) bool { return slices.Equal(own, path) }) {
				c.Dependencies = append(c.Dependencies, path)
			}
		}
	}
}
