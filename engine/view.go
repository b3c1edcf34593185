package engine

import (
	"encoding/hex"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Views are the classes of an application as those see them who may not know
// some of the attributes. In a view these do not exist: no lookup by name finds
// them, in this class or where its references lead, and answers leave them out.
// Relatives of a view are views. The properties and their Index stay those of
// the class itself, so that values fit both; whoever walks through Properties
// asks Lacks. Repositories other than a Warden are given classes themselves,
// see Class.Base.
type Views struct {
	hides func(*Property) bool
	mu    sync.Mutex
	made  map[*Class]*Class
	names map[*Class]map[string]bool // what Conceals looks for, by base
}

// NewViews makes the views in which the properties are missing that hides says,
// and those that are nothing but the other side of one of them. hides must not
// change its mind; it is asked for the Property of each class that has one.
func NewViews(hides func(*Property) bool) *Views {
	return &Views{hides: hides, made: map[*Class]*Class{}, names: map[*Class]map[string]bool{}}
}

// Hides reports whether views lack the property: it is hidden, or shows by its
// members what a hidden one holds. Keys are in every view, because ids show
// them.
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

// Of returns the view of a class; c itself when v is nil.
func (v *Views) Of(c *Class) *Class {
	if v == nil || c == nil {
		return c
	}
	c = c.Base()
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.of(c)
}

// of makes the view of a class, and those of its relatives.
func (v *Views) of(c *Class) *Class {
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
	view.Ancestor = v.of(c.Ancestor)
	view.Descendants = make([]*Class, len(c.Descendants))
	for i, d := range c.Descendants {
		view.Descendants[i] = v.of(d)
	}
	if view.hidden != nil {
		view.forget()
	}
	return &view
}

// forget takes what the view lacks out of what the class says of itself by
// names. The envelope of an item has the trackers of Base.
func (c *Class) forget() {
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
		return p != nil && c.Lacks(p)
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

// Base is the class that c is a view of, c itself when it is none.
func (c *Class) Base() *Class {
	if c != nil && c.base != nil {
		return c.base
	}
	return c
}

// Leads is the class that a property of c leads to, in the view that c is of;
// nil for none.
func (c *Class) Leads(p *Property) *Class { return c.views.Of(p.Target) }

// Like is another class in the view that c is of.
func (c *Class) Like(other *Class) *Class { return c.views.Of(other) }

// Lacks reports whether the view that c is does not have the property, which
// may be that of a relative.
func (c *Class) Lacks(p *Property) bool {
	switch {
	case c.hidden == nil:
		return false
	case p.Index < len(c.Properties) && c.Properties[p.Index] == p:
		return c.hidden[p.Index]
	}
	p = c.base.byName[p.Name]
	return p != nil && c.hidden[p.Index]
}

// Conceals reports whether something of a class file, text or decoded JSON,
// names an attribute that the view lacks, or the views do that its references
// and relatives lead to. It takes any text that holds the name for it.
func (c *Class) Conceals(written any) bool {
	if c.views == nil {
		return false
	}
	names := c.views.hiddenNames(c.Base())
	return len(names) > 0 && mentions(written, names)
}

func mentions(v any, names map[string]bool) bool {
	switch v := v.(type) {
	case string:
		return slices.ContainsFunc(strings.FieldsFunc(v, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), func(word string) bool { return names[word] })
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentions(e, names) })
	case Fields:
		return slices.ContainsFunc(v, func(f Field) bool { return mentions(f.Name, names) || mentions(f.Value, names) })
	}
	return false
}

// hiddenNames are the names of what is hidden in a class and in all that can be
// reached from it; of a part of a struct, each word.
func (v *Views) hiddenNames(c *Class) map[string]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if names := v.names[c]; names != nil {
		return names
	}
	names := map[string]bool{}
	c.reach(func(at *Class) {
		for _, p := range v.of(at).unknown() {
			for word := range strings.SplitSeq(p.Name, "$") {
				names[word] = true
			}
		}
	})
	v.names[c] = names
	return names
}

// unknown are the properties that the view lacks.
func (c *Class) unknown() (all []*Property) {
	for _, p := range c.Properties {
		if c.Lacks(p) {
			all = append(all, p)
		}
	}
	return all
}
