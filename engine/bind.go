package engine

import (
	"strings"
	"unicode/utf8"
)

// Handling says what to do with input that is merely odd (decisions.md
// section 2): Lenient warns, Strict refuses.
type Handling bool

// The two handlings.
const (
	Lenient Handling = false
	Strict  Handling = true
)

// Bind casts an input object to values of the class. Names it does not know
// are returned in the order met (lenient) or are an error (strict); system
// names are passed over. The error is Invalid and names the attribute.
func (c *Class) Bind(in Fields, h Handling) (v Values, unknown []string, err error) {
	v = NewValues(c)
	for _, f := range in {
		p := c.byName[f.Name]
		if p == nil {
			if IsSystemName(f.Name) {
				continue
			}
			if h == Strict {
				return nil, nil, unknownAttribute(c, f.Name)
			}
			unknown = append(unknown, f.Name)
			continue
		}
		if v[p.Index], err = c.bindOne(p, f.Value, h); err != nil {
			return nil, nil, err
		}
	}
	return v, unknown, nil
}

func (c *Class) bindOne(p *Property, in any, h Handling) (any, error) {
	value, err := p.Cast(in)
	if err != nil {
		err.(*Error).Class = c.FullName
		return nil, err
	}
	if s, ok := value.(string); ok && h == Strict && p.Size > 0 && p.Type != GUID && utf8.RuneCountInString(s) > p.Size {
		e := Errorf(Invalid, "size", "attribute %s has at most %d characters, found %d", Quote(p.Name), p.Size, utf8.RuneCountInString(s))
		e.Class, e.Attribute = c.FullName, p.Name
		return nil, e
	}
	return value, nil
}

// IsSystemName reports whether a name that is no property belongs to the
// envelope and is therefore ignored in input: _x, __x, x_str.
func IsSystemName(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_str")
}

// Generate makes the values that the server supplies on insert.
type Generate struct {
	GUID func() string
	Now  func() Instant
}

// Complete fills what an insert leaves out, defaults and generated values, and
// turns the rest of Absent into null. A property that must have a value and
// has none is Invalid with reason "required".
func (c *Class) Complete(v Values, g Generate) error {
	for i, p := range c.Properties {
		if v[i] != Absent {
			continue
		}
		value, err := p.initial(g)
		if err != nil {
			return err
		}
		v[i] = value
	}
	return c.Check(v)
}

func (p *Property) initial(g Generate) (any, error) {
	if p.Default != nil {
		return p.Cast(p.Default)
	}
	if !p.Autoassigned {
		return nil, nil
	}
	switch p.Type {
	case String, GUID:
		return g.GUID(), nil
	case DateTime:
		return g.Now().truncate(p.Size), nil
	}
	return nil, nil
}

// Check refuses null where a property must have a value. Absent passes, so
// that it serves updates too.
func (c *Class) Check(v Values) error {
	for i, p := range c.Properties {
		if v[i] == nil && !p.Nullable {
			e := Errorf(Invalid, "required", "attribute %s of class %s must have a value", Quote(p.Name), c.FullName)
			e.Class, e.Attribute = c.FullName, p.Name
			return e
		}
	}
	for _, p := range c.key {
		if v[p.Index] == nil || v[p.Index] == "" {
			e := Errorf(Invalid, "required", "attribute %s is the key of class %s and must have a value", Quote(p.Name), c.FullName)
			e.Class, e.Attribute = c.FullName, p.Name
			return e
		}
	}
	return nil
}
