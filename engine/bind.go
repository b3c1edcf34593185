package engine

import (
	"slices"
	"strconv"
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

// The limits of nested input.
const (
	maxNesting = 32    // levels of objects within objects
	maxNested  = 10000 // nested objects in one input
)

// Bind casts an input object to values of the class. An object given for a
// reference or in a collection becomes a *Record of what it points at; so does
// "reference.attribute", which changes what the reference points at now. The
// parts of a struct attribute may be given as an object.
//
// Names it does not know are returned in the order met, with the path to them
// (lenient), or are an error (strict); system names and calculated attributes
// are passed over, so that an answer can be sent back. The error is Invalid and
// names the attribute.
func (c *Class) Bind(in Fields, h Handling) (v Values, unknown []string, err error) {
	b := binding{handling: h}
	s := scope{binding: &b, class: c}
	if v, err = s.bind(in); err != nil {
		return nil, nil, err
	}
	return v, b.unknown, nil
}

// BindFitting is a lenient Bind that leaves out values that cannot be cast. It calls
// misfit with the error of each; the value stays Absent. A key must fit: an object in
// the input with a key value that cannot be cast is left out as a whole, and for the
// outermost one the error is returned, as it is if there are too many values.
func (c *Class) BindFitting(in Fields, misfit func(*Error)) (v Values, unknown []string, err error) {
	b := binding{handling: Lenient, misfit: misfit}
	s := scope{binding: &b, class: c}
	if v, err = s.bind(in); err != nil {
		return nil, nil, err
	}
	return v, b.unknown, nil
}

// binding is one call of Bind.
type binding struct {
	handling Handling
	misfit   func(*Error) // called with the error of a value that is left out; nil returns the error
	unknown  []string
	objects  int // nested ones, so far

	passwords, uploads int // so far
}

// scope is one object of the input.
type scope struct {
	*binding
	class  *Class
	path   string // to the object, with the dot that follows; "" for the outermost
	depth  int
	values Values
	dotted []dotted
}

// dotted is what is given for the object that a reference points at by names
// such as "town.name".
type dotted struct {
	property *Property
	fields   Fields
}

func (s *scope) bind(in Fields) (Values, error) {
	s.values = NewValues(s.class)
	for _, f := range in {
		var err error
		if p := s.class.byName[f.Name]; p != nil {
			err = s.set(p, f.Value)
		} else {
			err = s.other(f)
		}
		if err != nil {
			if err = s.leaveOut(err); err != nil {
				return nil, err
			}
		}
	}
	for _, d := range s.dotted {
		if err := s.leaveOut(s.follow(d)); err != nil {
			return nil, err
		}
	}
	return s.values, nil
}

// leaveOut passes the error of a value to misfit and returns nil. It returns err if
// there is no misfit, and errors of keys and those that are not about one value.
func (s *scope) leaveOut(err error) error {
	if err == nil || s.misfit == nil {
		return err
	}
	e, ok := err.(*Error)
	if !ok || e.Reason == "depth" || e.Reason == "too-many" {
		return err
	}
	for _, p := range s.class.key {
		if e.Attribute == s.path+p.Name {
			return err
		}
	}
	s.misfit(e)
	return nil
}

// set binds what is given for a property.
func (s *scope) set(p *Property, in any) error {
	if p.Nowhere && p.Formula != nil {
		if list, ok := in.([]any); in == nil || ok && len(list) == 0 {
			return nil
		}
		e := Errorf(Invalid, "virtual", "attribute %s is always empty, since what it refers to does not exist: it cannot be given", Quote(p.Name))
		e.Attribute = p.Name
		return s.fault(e)
	}
	if p.Formula != nil {
		return nil // clients send back what they read
	}
	fields, object := in.(Fields)
	switch {
	case p.Type == Reference && p.Back != nil:
		if in == nil {
			return nil // so too
		}
		return s.virtual(p)
	case p.Type == Reference && object:
		value, err := s.record(p, fields, p.Name+".")
		if err == nil {
			s.values[p.Index] = value
		}
		return err
	case p.Type == Collection:
		return s.setLinks(p, in)
	}
	value, err := p.castInput(in)
	if err != nil {
		return s.fault(err.(*Error))
	}
	if s.handling == Strict {
		if err := p.strict(value); err != nil {
			return s.fault(err)
		}
	}
	if err := s.count(p, value); err != nil {
		return s.fault(err)
	}
	s.values[p.Index] = value
	return nil
}

// castInput is Cast, and makes uploads.
func (p *Property) castInput(in any) (any, error) {
	if !p.Type.IsFile() || in == nil {
		return p.Cast(in)
	}
	value, ok, why := p.castFile(in)
	if !ok {
		return nil, p.misfit(in, why)
	}
	return value, nil
}

// setLinks binds a collection: an array replaces it. Null leaves it alone,
// because that is what stands in answers for a collection that was not loaded.
func (s *scope) setLinks(p *Property, in any) error {
	switch {
	case in == nil:
		return nil
	case p.Target == nil:
		return s.fault(p.misfit(in, ""))
	}
	var nested error
	l, err := p.castMembers(in, func(i int, e any) (any, error) {
		var m any
		m, nested = s.record(p, e.(Fields), p.Name+"["+strconv.Itoa(i)+"].")
		if nested != nil {
			return nil, Errorf(Invalid, "", "") // nested says it
		}
		return m, nil
	})
	switch {
	case nested != nil:
		return nested
	case err != nil:
		return s.fault(p.misfit(in, err.Message))
	}
	s.values[p.Index] = l
	return nil
}

// record binds an object given for what p points at: a *Record, or the value
// of the reference when it names a stored object and says nothing else of it.
func (s *scope) record(p *Property, in Fields, step string) (any, error) {
	c, fault := s.class.nestedClass(p, in)
	if fault != nil {
		return nil, s.fault(fault)
	}
	r := &Record{Class: c.Base(), Version: c.Version, Handling: s.handling}
	if v, _ := in.Get("_id"); v != nil && v != "" {
		if r.ID = c.idOf(v); r.ID == "" {
			return nil, s.fault(p.misfit(v, "no object of class "+c.FullName+" can have this _id"))
		}
	}
	if v, ok := in.Get("_classVer"); ok {
		r.Version, _ = v.(string)
	}
	var err error
	if r.Values, err = s.nested(c, in, step); err != nil {
		return nil, err
	}
	if r.ID == "" || given(r.Values) {
		return r, nil
	}
	if p.Type == Collection {
		return r.ID, nil
	}
	return p.Cast(r.ID)
}

func given(v Values) bool {
	return slices.ContainsFunc(v, func(value any) bool {
		_, not := value.(absent)
		return !not
	})
}

// nested binds an object within this one.
func (s *scope) nested(c *Class, in Fields, step string) (Values, error) {
	inner := scope{binding: s.binding, class: c, path: s.path + step, depth: s.depth + 1}
	if inner.depth > maxNesting {
		return nil, s.fault(Errorf(Invalid, "depth", "objects are nested deeper than %d levels", maxNesting))
	}
	if s.objects++; s.objects > maxNested {
		return nil, s.fault(Errorf(Invalid, "too-many", "more than %d objects are nested in one", maxNested))
	}
	return inner.bind(in)
}

// nestedClass is the class that an object given for p, a property of c, is of:
// what it names, or the property's own.
func (c *Class) nestedClass(p *Property, in Fields) (*Class, *Error) {
	if p.Target == nil {
		return nil, p.misfit(in, "")
	}
	for _, member := range []string{"_class", "__class"} {
		v, _ := in.Get(member)
		if v == nil || v == "" {
			continue
		}
		for _, d := range family(p.Target) {
			if (v == d.FullName || v == d.Name) && p.Allows(d) {
				return c.Like(d), nil
			}
		}
		e := Errorf(Invalid, "class", "attribute %s takes no object of class %s", Quote(p.Name), describe(v))
		e.Attribute = p.Name
		return nil, e
	}
	return c.Leads(p), nil
}

// other binds what is given under a name that no property has.
func (s *scope) other(f Field) error {
	if s.class.hasStruct(f.Name) {
		return s.structure(f.Name, f.Value)
	}
	if IsSystemName(f.Name) {
		return nil
	}
	if name, rest, ok := strings.Cut(f.Name, "."); ok {
		p := s.class.byName[name]
		if p != nil && p.Type == Reference && p.Target != nil && p.Back == nil && p.Formula == nil {
			for i, d := range s.dotted {
				if d.property == p {
					s.dotted[i].fields = append(d.fields, Field{rest, f.Value})
					return nil
				}
			}
			s.dotted = append(s.dotted, dotted{p, Fields{{rest, f.Value}}})
			return nil
		}
	}
	return s.unknownName(f.Name)
}

func (s *scope) unknownName(name string) error {
	if s.handling == Strict {
		return s.fault(unknownAttribute(s.class, name))
	}
	s.unknown = append(s.unknown, s.path+name)
	return nil
}

// virtual refuses what the other side of a relation holds.
func (s *scope) virtual(p *Property) error {
	if s.handling == Lenient {
		s.unknown = append(s.unknown, s.path+p.Name)
		return nil
	}
	e := Errorf(Invalid, "virtual", "attribute %s is what %s of class %s says: it cannot be given here", Quote(p.Name), Quote(p.Back.Name), p.targetName())
	e.Attribute = p.Name
	return s.fault(e)
}

// hasStruct reports whether the class has a struct attribute of that name: of
// these only the parts are properties, as "name$part".
func (c *Class) hasStruct(name string) bool {
	for _, p := range c.Properties {
		if len(p.Name) > len(name) && p.Name[len(name)] == '$' && p.Name[:len(name)] == name && !c.Lacks(p) {
			return true
		}
	}
	return false
}

// structure binds the parts of a struct attribute; null clears those that can
// be.
func (s *scope) structure(name string, in any) error {
	fields, ok := in.(Fields)
	if !ok && in != nil {
		return s.fault((&Property{Name: name, Type: Struct}).misfit(in, ""))
	}
	if in == nil {
		for _, p := range s.class.Properties {
			if strings.HasPrefix(p.Name, name+"$") && p.Nullable && p.Stored() && !s.class.Lacks(p) {
				s.values[p.Index] = nil
			}
		}
		return nil
	}
	for _, f := range fields {
		part := Field{name + "$" + f.Name, f.Value}
		var err error
		if p := s.class.byName[part.Name]; p != nil {
			err = s.set(p, part.Value)
		} else if !IsSystemName(f.Name) {
			err = s.other(part)
		}
		if err = s.leaveOut(err); err != nil {
			return err
		}
	}
	return nil
}

// follow binds what dotted names give. It belongs to the object that the
// reference is set to here; else to the one that it points at now.
func (s *scope) follow(d dotted) error {
	p := d.property
	r, nested := s.values[p.Index].(*Record)
	if !nested {
		r = &Record{Class: p.Target, Version: p.Target.Version, Handling: s.handling}
		switch value := s.values[p.Index].(type) {
		case absent:
			r.Follow = true
		case nil:
		default:
			r.ID = ValueText(value)
		}
	}
	v, err := s.nested(s.class.Like(r.Class), d.fields, p.Name+".")
	if err != nil {
		return err
	}
	if nested {
		for i, value := range v {
			if _, not := value.(absent); !not {
				r.Values[i] = value
			}
		}
		return nil
	}
	r.Values = v
	if given(v) {
		s.values[p.Index] = r
	}
	return nil
}

// fault says where an error is.
func (s *scope) fault(e *Error) *Error {
	if e.Class == "" {
		e.Class = s.class.FullName
	}
	if s.path != "" {
		e.Message = "in " + Quote(strings.TrimSuffix(s.path, ".")) + ": " + e.Message
		e.Attribute = s.path + e.Attribute
	}
	return e
}

// strict is what strict handling asks of a value besides its type.
func (p *Property) strict(value any) *Error {
	if s, ok := value.(string); ok && p.Size > 0 && p.Type != GUID && p.Type != Reference && utf8.RuneCountInString(s) > p.Size {
		e := Errorf(Invalid, "size", "attribute %s has at most %d characters, found %d", Quote(p.Name), p.Size, utf8.RuneCountInString(s))
		e.Attribute = p.Name
		return e
	}
	if p.Selection != nil && !p.Selection.conditional() && !p.Selection.has(value) {
		return p.notOffered(value)
	}
	return nil
}

// IsSystemName reports whether a name that is no property belongs to the
// envelope and is therefore ignored in input: _x, __x, x_str.
func IsSystemName(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_str")
}
