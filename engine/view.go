package engine

import (
	"encoding/hex"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Views are the classes of an application as seen by accounts from which some
// of the attributes are hidden. In a view, hidden attributes do not exist:
// lookups by name do not find them, neither in this class nor in targets of its
// references, and answers do not contain them. Relatives of a view are views.
// The properties and their Index are those of the class itself, so that values
// fit both. Code that iterates over Properties must check Hides. Only a Warden
// takes views; other repositories need the class itself, see Class.Base.
type Views struct {
	hides func(*Property) bool
	mu    sync.Mutex
	made  map[*Class]*Class
	names map[*Class]map[string]bool // names that MentionsHidden looks for, by base class
}

// NewViews returns views in which properties are hidden. hides reports whether a property is hidden, and must always
// return the same result for it. Views also hide properties that would reveal a hidden one, see Hides. An attribute
// has a Property in each class that inherits it, and hides is called with any of these.
func NewViews(hides func(*Property) bool) *Views {
	return &Views{hides: hides, made: map[*Class]*Class{}, names: map[*Class]map[string]bool{}}
}

// Hides reports whether the property does not exist in the views. That is the case if it is hidden, or if its Back,
// Binding or Mirror is hidden, because its members would reveal the value of that property. Keys exist in every view,
// because ids contain them.
func (v *Views) Hides(p *Property) bool {
	if v == nil {
		return false
	}
	for _, one := range [...]*Property{p, p.Back, p.Binding, p.Mirror} {
		if one != nil && v.hides(one) {
			return true
		}
	}
	return false
}

// Of returns the view of a class, or c itself if v is nil.
func (v *Views) Of(c *Class) *Class {
	if v == nil || c == nil {
		return c
	}
	c = c.Base()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.makeView(c)
}

// makeView returns the view of a class, and creates it and those of its relatives if
// needed.
func (v *Views) makeView(c *Class) *Class {
	if c == nil {
		return nil
	}
	if seen := v.made[c]; seen != nil {
		return seen
	}
	view := *c
	v.made[c] = &view
	view.base, view.views = c, v
	view.byName = make(map[string]*Property, len(c.byName))
	for _, p := range c.Properties {
		if !slices.Contains(c.key, p) && v.Hides(p) {
			if view.hidden == nil {
				view.hidden = make([]bool, len(c.Properties))
			}
			view.hidden[p.Index] = true
			continue
		}
		view.byName[p.Name] = p
	}
	view.Ancestor = v.makeView(c.Ancestor)
	view.Descendants = make([]*Class, len(c.Descendants))
	for i, d := range c.Descendants {
		view.Descendants[i] = v.makeView(d)
	}
	if view.hidden != nil {
		view.forgetHidden()
	}
	return &view
}

// forgetHidden changes the fields of the view that name properties, such as Container: it empties the names of hidden
// properties. It also removes indexes with hidden properties. The members _creator and _editor in the JSON of an item
// are not affected, because they depend on the trackers of Base.
func (c *Class) forgetHidden() {
	known := func(name *string) {
		if c.byName[*name] == nil {
			*name = ""
		}
	}
	for _, name := range []*string{&c.Container, &c.CreationTracker, &c.ChangeTracker, &c.CreatorTracker, &c.EditorTracker} {
		known(name)
	}
	lacks := func(name string) bool {
		p := c.base.byName[name]
		return p != nil && c.Hides(p)
	}
	c.Indexes = slices.DeleteFunc(slices.Clone(c.Indexes), func(x CompositeIndex) bool {
		return slices.ContainsFunc(x.Properties, lacks)
	})
	c.print = sync.OnceValue(c.viewFingerprint)
}

// viewFingerprint computes the fingerprint of a view, which also depends on its
// hidden properties.
func (c *Class) viewFingerprint() string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(c.base.Fingerprint()))
	for i, p := range c.Properties {
		if c.hidden[i] {
			_, _ = sum.Write(AppendString(nil, p.Name))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Base returns the class of which c is a view, or c itself if it is not a view.
func (c *Class) Base() *Class {
	if c != nil && c.base != nil {
		return c.base
	}
	return c
}

// TargetOf returns the target class of a property of c, in the same views as c, or
// nil if there is none.
func (c *Class) TargetOf(p *Property) *Class { return c.views.Of(p.Target) }

// InSameViews returns another class in the same views as c.
func (c *Class) InSameViews(other *Class) *Class { return c.views.Of(other) }

// Hides reports whether the property is hidden in c. The property may be that
// of a relative.
func (c *Class) Hides(p *Property) bool {
	switch {
	case c.hidden == nil:
		return false
	case p.Index < len(c.Properties) && c.Properties[p.Index] == p:
		return c.hidden[p.Index]
	}
	p = c.base.byName[p.Name]
	return p != nil && c.hidden[p.Index]
}

// MentionsHidden reports whether a part of a class file, which is text or decoded
// JSON, names an attribute that is hidden in this view, or in the views of
// classes that can be reached through references and relatives. Any text that
// contains the name counts.
func (c *Class) MentionsHidden(written any) bool {
	if c.views == nil {
		return false
	}
	names := c.views.hiddenNames(c.Base())
	return len(names) > 0 && mentionsAny(written, names)
}

func mentionsAny(v any, names map[string]bool) bool {
	switch v := v.(type) {
	case string:
		return slices.ContainsFunc(strings.FieldsFunc(v, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), func(word string) bool { return names[word] })
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentionsAny(e, names) })
	case Fields:
		return slices.ContainsFunc(v, func(f Field) bool { return mentionsAny(f.Name, names) || mentionsAny(f.Value, names) })
	}
	return false
}

// hiddenNames returns the names of the properties that are hidden in a class
// and in all classes that can be reached from it. The name of a struct part,
// "struct$part", is returned as two names, because files can mention either.
func (v *Views) hiddenNames(c *Class) map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if names := v.names[c]; names != nil {
		return names
	}
	names := map[string]bool{}
	c.visitReachable(func(at *Class) {
		for _, p := range v.makeView(at).hiddenProperties() {
			for word := range strings.SplitSeq(p.Name, "$") {
				names[word] = true
			}
		}
	})
	v.names[c] = names
	return names
}

// hiddenProperties returns the properties that are hidden in the view.
func (c *Class) hiddenProperties() (all []*Property) {
	for _, p := range c.Properties {
		if c.Hides(p) {
			all = append(all, p)
		}
	}
	return all
}
