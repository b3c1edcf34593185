package meta

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

type linkState int

const (
	unlinked linkState = iota
	linking
	linked
	broken // the class is left out
)

// linker connects drafts: it finds ancestors, structures and the targets of relations. After
// linking, each draft holds a complete class.
type linker struct {
	drafts  []*draft
	byName  map[string]*draft
	faults  *engine.Faults
	choices []choice

	thumbnails []engine.ThumbnailKind // of images
	dropped    []func()               // see dropField
	edits      map[string]edits       // by file; see addEdit
}

func newLinker(drafts []*draft, faults *engine.Faults) *linker {
	l := &linker{drafts: drafts, byName: make(map[string]*draft, len(drafts)), faults: faults}
	for _, d := range drafts {
		l.byName[d.class.FullName] = d
	}
	return l
}

// choice is a fault with a text that lists the valid names. Classes and attributes in the list may be left out later.
// Therefore updateChoices writes the list again at the end.
type choice struct {
	fault int // index in the faults
	name  string
	known func() []string
}

// reportChoice reports a name that is not valid. The text of the fault lists the valid names, which known returns. The
// parameters path and found are as in engine.Fault.
func (l *linker) reportChoice(o jsonfile.Object, rule *mistake.Rule, path, found, name string, known func() []string) {
	before := len(*l.faults)
	if l.report(o, rule, path, found, jsonfile.Choice(name, known())); len(*l.faults) > before {
		l.choices = append(l.choices, choice{before, name, known})
	}
}

// updateChoices writes the lists of valid names in the texts of all choices again.
func (l *linker) updateChoices() {
	for _, c := range l.choices {
		(*l.faults)[c.fault].Expected = jsonfile.Choice(c.name, c.known())
	}
}

// classNames returns the full names of the classes that are not left out.
func (l *linker) classNames() (names []string) {
	for _, d := range l.drafts {
		if d.state != broken {
			names = append(names, d.class.FullName)
		}
	}
	return names
}

// fullName returns the full name for the name of a class in a field of d. A name without a namespace gets the
// namespace of d.
func (d *draft) fullName(name string) string {
	if strings.Contains(name, "@") {
		return name
	}
	return engine.FullName(name, d.class.Namespace)
}

// lookupClass finds the class that a field of d names. If the class does not exist, lookupClass reports rule as a
// mistake at path. If the class exists but is left out, it returns nil without a report, because the reason is already
// reported.
func (l *linker) lookupClass(d *draft, rule *mistake.Rule, o jsonfile.Object, path, written string) *draft {
	name := d.fullName(written)
	found := l.byName[name]
	switch {
	case found == nil:
		l.reportChoice(o, rule, path, engine.Quote(written)+", a class that does not exist", name, l.classNames)
	case found.state == broken:
		return nil
	}
	return found
}

// findAncestors finds the ancestor of each class. A class is left out if its ancestor does not exist, or if it
// descends from itself. Its descendants are then left out too.
func (l *linker) findAncestors() {
	for _, d := range l.drafts {
		if d.ancestor == "" {
			continue
		}
		d.parent = l.byName[d.fullName(d.ancestor)]
		if d.parent == nil {
			l.reportChoice(d.Object, mistake.AncestorMissing, d.At("ancestor"), engine.Quote(d.ancestor)+", a class that does not exist", d.fullName(d.ancestor), l.classNames)
			d.state = broken
		}
	}
	for _, d := range l.drafts {
		if circle := d.findCircle(); circle != nil && d.state != broken {
			names := make([]string, len(circle))
			for i, c := range circle {
				names[i], c.state = c.class.FullName, broken
			}
			d.Report(mistake.AncestorCircle, d.At("ancestor"), "a circle: "+strings.Join(append(names, d.class.FullName), " -> "), "an ancestor that does not descend from this class")
		}
	}
	for _, d := range l.drafts {
		met := map[*draft]bool{}
		for a := d.parent; a != nil && !met[a] && d.state != broken; a = a.parent {
			met[a] = true
			if a.state == broken {
				d.state = broken
			}
		}
	}
}

// findCircle returns the classes from d through its ancestors back to d, or nil if d does
// not descend from itself.
func (d *draft) findCircle() []*draft {
	circle := []*draft{d}
	for a := d.parent; a != nil && a != d; a = a.parent {
		if slices.Contains(circle, a) {
			return nil // a circle without d
		}
		circle = append(circle, a)
		if a.parent == d {
			return circle
		}
	}
	if d.parent == d {
		return circle
	}
	return nil
}

// linkAncestors completes the class of d. After it has linked the ancestor and the structures, it adds their
// attributes, and inherits the key, display string and trackers. chain contains the names of the classes that are
// waiting for d, so that circles can be reported.
func (l *linker) linkAncestors(d *draft, chain []string) {
	if d.state != unlinked {
		return
	}
	d.state = linking
	chain = append(chain, d.class.FullName)
	if d.parent != nil {
		if l.linkAncestors(d.parent, chain); d.parent.state == broken {
			d.state = broken
			return
		}
		d.class.Ancestor = d.parent.class
	}
	l.expandStructures(d, chain)
	l.inheritLabels(d)
	d.inheritKey()
	d.flattenProperties()
	d.state = linked
	keys{l}.checkKey(d)
	d.checkAttributeCase()
}

// inheritLabels copies the display string and the trackers of the ancestor that the class does not declare itself.
func (l *linker) inheritLabels(d *draft) {
	c, a := d.class, d.class.Ancestor
	if a == nil {
		return
	}
	if c.Semantic == "" && d.label == nil {
		c.Semantic = a.Semantic
		d.label, d.labelled = l.byName[a.FullName].label, l.byName[a.FullName].labelled
	}
	for _, tracker := range []struct{ own, inherited *string }{
		{&c.CreationTracker, &a.CreationTracker}, {&c.ChangeTracker, &a.ChangeTracker},
		{&c.CreatorTracker, &a.CreatorTracker}, {&c.EditorTracker, &a.EditorTracker},
	} {
		if *tracker.own == "" {
			*tracker.own = *tracker.inherited
		}
	}
}

// flattenProperties sets the properties of the class: first those of the ancestor, then its own. An own property
// replaces an inherited one with the same name. A property without orderNumber gets the number of the previous
// property in the file.
func (d *draft) flattenProperties() {
	c := d.class
	order := 0
	if c.Ancestor != nil {
		for i, p := range c.Ancestor.Properties {
			inherited := *p
			c.Properties = append(c.Properties, &inherited)
			if i == 0 || p.OrderNumber > order {
				order = p.OrderNumber
			}
		}
	}
own:
	for _, a := range d.own {
		p := a.property
		for i, inherited := range c.Properties {
			if inherited.Name == p.Name {
				if !a.numbered {
					p.OrderNumber = inherited.OrderNumber
				}
				d.keepKeyType(a, inherited)
				c.Properties[i] = p
				continue own
			}
		}
		if a.numbered {
			order = p.OrderNumber
		}
		p.OrderNumber = order
		c.Properties = append(c.Properties, p)
	}
}

func (d *draft) property(name string) *engine.Property {
	for _, p := range d.class.Properties {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// isKeyless reports whether the class is a structure without a key. Such a class has no items; it only describes parts
// of other classes.
func (d *draft) isKeyless() bool {
	root := d.class.Root()
	return root.Struct && len(root.Key) == 0 && !d.keyGiven
}
