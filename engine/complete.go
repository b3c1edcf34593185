package engine

import (
	"slices"
	"strings"
)

// Generate supplies the values that the server generates.
type Generate struct {
	GUID    func() string
	Now     func() Instant
	Account *Account // account that writes; nil for the server itself

	// Functions that need the transaction of the write. If one is nil, the
	// properties that need it stay Absent, and a second call of Complete fills
	// them.
	Formula func(p *Property) (any, error)   // evaluates p.Computed
	Next    func(p *Property) (int64, error) // returns the next number of a counter
}

// Complete prepares the values of an insert. If a property is Absent, Complete sets its default or its generated
// value, or null if it has neither. If a property must have a value and has none, the error is Invalid with reason
// "required", unless the property is Optional.
func (c *Class) Complete(v Values, g Generate) error {
	for i, p := range c.Properties {
		if v[i] != Absent {
			continue
		}
		value, err := p.initialValue(g)
		if err != nil {
			return err
		}
		if value == nil && p.Optional && !slices.Contains(c.key, p) {
			continue // so that Check accepts it
		}
		v[i] = value
	}
	if err := c.Check(v); err != nil {
		return err
	}
	for i, p := range c.Properties {
		if v[i] == Absent && p.Optional && (p.Computed == nil || g.Formula != nil) {
			v[i] = nil
		}
	}
	return nil
}

// initialValue returns the value that a property gets if an insert omits it.
func (p *Property) initialValue(g Generate) (any, error) {
	switch {
	case p.Formula != nil || p.Back != nil || p.Type == Collection:
		return nil, nil
	case p.Computed != nil:
		if g.Formula == nil {
			return Absent, nil
		}
		v, err := g.Formula(p)
		if err != nil {
			return nil, err
		}
		return p.Cast(v)
	case p.Default != nil && p.Default != "":
		if value, ok := p.defaultVariable(g); ok {
			return value, nil
		}
		return p.Cast(p.Default)
	case !p.Autoassigned:
		return nil, nil
	}
	switch p.Type {
	case String, GUID:
		return g.GUID(), nil
	case DateTime:
		return g.Now().truncate(p.Size), nil
	case Int:
		if g.Next == nil {
			return Absent, nil
		}
		return g.Next(p)
	}
	return nil, nil
}

// defaultVariable returns the value of a default such as $$uid or $$now. It is null if
// the account does not have the value, or if the value does not fit. ok is
// false for other defaults.
func (p *Property) defaultVariable(g Generate) (value any, ok bool) {
	name, _ := p.Default.(string)
	if name == "now" && p.Type == DateTime {
		name = "$$now"
	}
	name, ok = strings.CutPrefix(name, "$$")
	if !ok {
		return nil, false
	}
	var v any
	switch {
	case name == "now":
		v = g.Now()
		if p.Type.Textual() {
			v = g.Now().String()
		}
	case g.Account == nil:
		return nil, true
	case name == "uid" || name == "id":
		v = g.Account.ID
	case name == "name":
		v = g.Account.Name
	}
	value, err := p.Cast(v)
	if err != nil {
		return nil, true
	}
	return value, true
}

// Stamp sets the trackers of a write: the properties for its time and its account
// (CreationTracker and so on). An insert keeps times that are given; an update
// always sets the time of the last change. When an account writes, creator and
// editor are never taken from the input. Stamp must be called before Complete, and
// only for updates that change something.
func (c *Class) Stamp(v Values, g Generate, insert bool) {
	now := func(name string, always bool) {
		p := c.byName[name]
		if p == nil || !always && v[p.Index] != Absent && v[p.Index] != nil {
			return
		}
		if p.Type == DateTime {
			v[p.Index] = g.Now().truncate(p.Size)
		} else if p.Type.Textual() {
			v[p.Index] = g.Now().String()
		}
	}
	who := func(name string) {
		p := c.byName[name]
		if p == nil || g.Account == nil {
			return
		}
		if id, err := p.Cast(g.Account.ID); err == nil {
			v[p.Index] = id
		}
	}
	if insert {
		now(c.CreationTracker, false)
		now(c.ChangeTracker, false)
		who(c.CreatorTracker)
		if c.EditorTracker == c.CreatorTracker {
			return
		}
		if p := c.byName[c.EditorTracker]; p != nil && g.Account != nil {
			v[p.Index] = nil // not edited yet
		}
		return
	}
	c.keepCreator(v, g)
	now(c.ChangeTracker, true)
	who(c.EditorTracker)
}

// keepCreator removes the creator from the values of an update.
func (c *Class) keepCreator(v Values, g Generate) {
	if p := c.byName[c.CreatorTracker]; p != nil && g.Account != nil && c.EditorTracker != c.CreatorTracker {
		v[p.Index] = Absent
	}
}

// Check refuses null for properties that must have a value. It accepts Absent,
// so that it can be used for updates too. It also accepts null for collections
// and for values that the server fills in.
func (c *Class) Check(v Values) error {
	for i, p := range c.Properties {
		if v[i] == nil && !p.Nullable && !c.mayBeNull(p) {
			return c.requiredError(p, "attribute %s of class %s must have a value")
		}
	}
	for _, p := range c.key {
		if v[p.Index] == nil || v[p.Index] == "" {
			return c.requiredError(p, "attribute %s is the key of class %s and must have a value")
		}
	}
	return nil
}

func (c *Class) requiredError(p *Property, format string) error {
	e := Errorf(Invalid, "required", format, Quote(p.Name), c.FullName)
	e.Class, e.Attribute = c.FullName, p.Name
	return e
}

// mayBeNull reports whether Check accepts null for a property, even if the property is declared as not nullable.
func (c *Class) mayBeNull(p *Property) bool {
	if p.Type == Collection || p.Type == Struct || p.Formula != nil || p.Back != nil {
		return true
	}
	switch p.Name {
	case c.CreationTracker, c.ChangeTracker, c.CreatorTracker, c.EditorTracker:
		return true
	}
	return false
}
