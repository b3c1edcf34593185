package engine

import "sync"

// Views are the classes of an application as those see them who may not know
// some of the attributes. In a view these do not exist: no lookup by name finds
// them, in this class or where its references lead, and answers leave them out.
// The properties and their Index stay those of the class itself, so that values
// fit both. Repositories other than a Warden are given classes themselves, see
// Class.Base.
type Views struct {
	hides func(*Property) bool
	mu    sync.Mutex
	made  map[*Class]*Class
}

// NewViews makes the views in which the properties are missing that hides says.
// It must not change its mind.
func NewViews(hides func(*Property) bool) *Views {
	return &Views{hides: hides, made: map[*Class]*Class{}}
}

// Of returns the view of a class; c itself when v is nil.
func (v *Views) Of(c *Class) *Class {
	if v == nil || c == nil {
		return c
	}
	c = c.Base()
	v.mu.Lock()
	defer v.mu.Unlock()
	if seen := v.made[c]; seen != nil {
		return seen
	}
	view := *c
	view.base, view.views = c, v
	view.byName = make(map[string]*Property, len(c.byName))
	for _, p := range c.Properties {
		if v.hides(p) && !hasProperty(c.key, p) {
			if view.hidden == nil {
				view.hidden = make([]bool, len(c.Properties))
			}
			view.hidden[p.Index] = true
			continue
		}
		view.byName[p.Name] = p
	}
	v.made[c] = &view
	return &view
}

func hasProperty(all []*Property, p *Property) bool {
	for _, other := range all {
		if other == p {
			return true
		}
	}
	return false
}

// Base is the class that c is a view of, c itself when it is none.
func (c *Class) Base() *Class {
	if c.base != nil {
		return c.base
	}
	return c
}

// Leads is the class that a property of c leads to, in the view that c is of;
// nil for none.
func (c *Class) Leads(p *Property) *Class { return c.views.Of(p.Target) }

// Lacks reports whether the view that c is does not have the property.
func (c *Class) Lacks(p *Property) bool { return c.hidden != nil && c.hidden[p.Index] }
