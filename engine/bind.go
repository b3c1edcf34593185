package engine

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Handling says how to treat input that is valid but suspicious, such as unknown names:
// Lenient warns, Strict refuses.
type Handling bool

// The two kinds of handling.
const (
	Lenient Handling = false
	Strict  Handling = true
)

// Limits of nested input.
const (
	maxNesting = 32    // depth of objects within objects
	maxNested  = 10000 // nested objects in one input
)

// Bind casts an input object to values of the class. The value of a reference, or a member of a collection, may be
// given as an object: it becomes a *Record of the target class. A name with a dot, such as "town.name", also gives a
// *Record for the reference town. It changes the object that the reference points at now. The parts of a struct
// attribute may be given as an object.
// In lenient handling, unknown names are returned in input order with the path to them;
// in strict handling they are an error. System names and calculated attributes are
// ignored, so that a client can send an answer back. The error is Invalid and names the
// attribute.
func (c *Class) Bind(in Fields, h Handling) (v Values, unknown []string, err error) {
	b := binding{handling: h}
	s := scope{binding: &b, class: c}
	if v, err = s.bindFields(in); err != nil {
		return nil, nil, err
	}
	return v, b.unknown, nil
}

// BindFitting casts an input object like Bind, in lenient handling, but it leaves out values that cannot be cast. For
// each such value it calls misfit with the error, and the value stays Absent. If a key value cannot be cast, the
// whole object is left out; for the outermost object, BindFitting returns the error instead. It also returns an error
// if there are too many values.
func (c *Class) BindFitting(in Fields, misfit func(*Error)) (v Values, unknown []string, err error) {
	b := binding{handling: Lenient, misfit: misfit}
	s := scope{binding: &b, class: c}
	if v, err = s.bindFields(in); err != nil {
		return nil, nil, err
	}
	return v, b.unknown, nil
}

// binding is the state of one call of Bind.
type binding struct {
	handling Handling
	misfit   func(*Error) // called with the error of a value that is left out; if nil, the error is returned
	unknown  []string
	objects  int // nested objects so far

	passwords, uploads int // so far
}

// scope is the state for one object of the input.
type scope struct {
	*binding
	class  *Class
	path   string // path to the object with a trailing dot; "" for the outermost object
	depth  int
	values Values
	dotted []dotted
}

// dotted holds the values given under names such as "town.name" for the object that a
// reference points at.
type dotted struct {
	property *Property
	fields   Fields
}

func (s *scope) bindFields(in Fields) (Values, error) {
	s.values = NewValues(s.class)
	for _, f := range in {
		var err error
		if p := s.class.byName[f.Name]; p != nil {
			err = s.bindProperty(p, f.Value)
		} else {
			err = s.bindOther(f)
		}
		if err != nil {
			if err = s.leaveOut(err); err != nil {
				return nil, err
			}
		}
	}
	for _, d := range s.dotted {
		if err := s.leaveOut(s.bindDotted(d)); err != nil {
			return nil, err
		}
	}
	return s.values, nil
}

// leaveOut decides what to do with the error of a value. If misfit is set, leaveOut usually passes the error to it
// and returns nil, so that only the value is left out. It returns the error itself if misfit is nil, if the value
// belongs to the key, or if the input has too many or too deeply nested objects.
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

// bindProperty casts in and sets the value of p. Input for calculated attributes is
// ignored.
func (s *scope) bindProperty(p *Property, in any) error {
	if p.Nowhere && p.Formula != nil {
		if list, ok := in.([]any); in == nil || ok && len(list) == 0 {
			return nil
		}
		e := Errorf(Invalid, "virtual", "attribute %s is always empty, since what it refers to does not exist: it cannot be given", Quote(p.Name))
		e.Attribute = p.Name
		return s.locateError(e)
	}
	if p.Formula != nil {
		return nil // ignored, because clients send back the objects that they read
	}
	fields, object := in.(Fields)
	switch {
	case p.Type == Reference && p.Back != nil:
		if in == nil {
			return nil // ignored for the same reason
		}
		return s.bindVirtual(p)
	case p.Type == Reference && object:
		value, err := s.bindRecord(p, fields, p.Name+".")
		if err == nil {
			s.values[p.Index] = value
		}
		return err
	case p.Type == Collection:
		return s.setLinks(p, in)
	}
	value, err := p.castInput(in)
	if err != nil {
		return s.locateError(err.(*Error))
	}
	if s.handling == Strict {
		if err := p.checkStrict(value); err != nil {
			return s.locateError(err)
		}
	}
	if err := s.countCost(p, value); err != nil {
		return s.locateError(err)
	}
	s.values[p.Index] = value
	return nil
}

// castInput converts the input of a client to a value of the property. If the property has files, the result is an
// upload, or nil for null.
func (p *Property) castInput(in any) (any, error) {
	if !p.Type.IsFile() || in == nil {
		return p.Cast(in)
	}
	value, ok, why := p.castFile(in)
	if !ok {
		return nil, p.misfitError(in, why)
	}
	return value, nil
}

// setLinks binds the value of a collection. An array replaces the members. Null changes
// nothing, because answers contain null for collections that were not loaded.
func (s *scope) setLinks(p *Property, in any) error {
	switch {
	case in == nil:
		return nil
	case p.Target == nil:
		return s.locateError(p.misfitError(in, ""))
	}
	var nested error
	l, err := p.castMembers(in, func(i int, e any) (any, error) {
		var m any
		m, nested = s.bindRecord(p, e.(Fields), p.Name+"["+strconv.Itoa(i)+"].")
		if nested != nil {
			return nil, Errorf(Invalid, "", "") // nested has the details
		}
		return m, nil
	})
	switch {
	case nested != nil:
		return nested
	case err != nil:
		return s.locateError(p.misfitError(in, err.Message))
	}
	s.values[p.Index] = l
	return nil
}

// bindRecord binds in, an object that the input has as the value of reference p or as a member of collection p. It
// returns a *Record. If the object contains only an id, it returns the id instead, as a value of p. step is the part
// of the path from the outer object to this one.
func (s *scope) bindRecord(p *Property, in Fields, step string) (any, error) {
	c, fault := s.class.nestedClass(p, in)
	if fault != nil {
		return nil, s.locateError(fault)
	}
	r := &Record{Class: c.Base(), Version: c.Version, Handling: s.handling}
	if v, _ := in.Get("_id"); v != nil && v != "" {
		if r.ID = c.idOf(v); r.ID == "" {
			return nil, s.locateError(p.misfitError(v, "no object of class "+c.FullName+" can have this _id"))
		}
	}
	if v, ok := in.Get("_classVer"); ok {
		r.Version, _ = v.(string)
	}
	var err error
	if r.Values, err = s.bindNested(c, in, step); err != nil {
		return nil, err
	}
	if r.ID == "" || anyGiven(r.Values) {
		return r, nil
	}
	if p.Type == Collection {
		return r.ID, nil
	}
	return p.Cast(r.ID)
}

func anyGiven(v Values) bool {
	return slices.ContainsFunc(v, func(value any) bool {
		_, not := value.(absent)
		return !not
	})
}

// bindNested binds an object inside the current one. step is the part of the path that
// leads to it.
func (s *scope) bindNested(c *Class, in Fields, step string) (Values, error) {
	inner := scope{binding: s.binding, class: c, path: s.path + step, depth: s.depth + 1}
	if inner.depth > maxNesting {
		return nil, s.locateError(Errorf(Invalid, "depth", "objects are nested deeper than %d levels", maxNesting))
	}
	if s.objects++; s.objects > maxNested {
		return nil, s.locateError(Errorf(Invalid, "too-many", "more than %d objects are nested in one", maxNested))
	}
	return inner.bindFields(in)
}

// nestedClass returns the class of an object that is given for p, a property of c: the
// class that the object names, or else the target class of p.
func (c *Class) nestedClass(p *Property, in Fields) (*Class, *Error) {
	if p.Target == nil {
		return nil, p.misfitError(in, "")
	}
	for _, member := range []string{"_class", "__class"} {
		v, _ := in.Get(member)
		if v == nil || v == "" {
			continue
		}
		for _, d := range Family(p.Target) {
			if (v == d.FullName || v == d.Name) && p.Allows(d) {
				return c.InSameViews(d), nil
			}
		}
		e := Errorf(Invalid, "class", "attribute %s takes no object of class %s", Quote(p.Name), DescribeValue(v))
		e.Attribute = p.Name
		return nil, e
	}
	return c.TargetOf(p), nil
}

// bindOther binds a value with a name that no property has. That is the name of a struct attribute, a name with a
// dot, a system name, which is ignored, or an unknown name.
func (s *scope) bindOther(f Field) error {
	if s.class.hasStruct(f.Name) {
		return s.bindStruct(f.Name, f.Value)
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
		return s.locateError(UnknownAttribute(s.class, name))
	}
	s.unknown = append(s.unknown, s.path+name)
	return nil
}

// bindVirtual handles a value for a virtual reference, which is stored on the other side of the relation. In lenient
// handling, the value is ignored and its name is reported as unknown. In strict handling, the value is an error.
func (s *scope) bindVirtual(p *Property) error {
	if s.handling == Lenient {
		s.unknown = append(s.unknown, s.path+p.Name)
		return nil
	}
	e := Errorf(Invalid, "virtual", "attribute %s is what %s of class %s says: it cannot be given here", Quote(p.Name), Quote(p.Back.Name), p.targetName())
	e.Attribute = p.Name
	return s.locateError(e)
}

// hasStruct reports whether the class has a struct attribute of that name. Only the parts
// of struct attributes are properties, named "name$part".
func (c *Class) hasStruct(name string) bool {
	for _, p := range c.Properties {
		if len(p.Name) > len(name) && p.Name[len(name)] == '$' && p.Name[:len(name)] == name && !c.Hides(p) {
			return true
		}
	}
	return false
}

// bindStruct binds the parts of a struct attribute. Null clears the parts that are
// nullable.
func (s *scope) bindStruct(name string, in any) error {
	fields, ok := in.(Fields)
	if !ok && in != nil {
		return s.locateError((&Property{Name: name, Type: Struct}).misfitError(in, ""))
	}
	if in == nil {
		for _, p := range s.class.Properties {
			if strings.HasPrefix(p.Name, name+"$") && p.Nullable && p.Stored() && !s.class.Hides(p) {
				s.values[p.Index] = nil
			}
		}
		return nil
	}
	for _, f := range fields {
		part := Field{name + "$" + f.Name, f.Value}
		var err error
		if p := s.class.byName[part.Name]; p != nil {
			err = s.bindProperty(p, part.Value)
		} else if !IsSystemName(f.Name) {
			err = s.bindOther(part)
		}
		if err = s.leaveOut(err); err != nil {
			return err
		}
	}
	return nil
}

// bindDotted binds values such as "town.name", which d holds. If the input also sets the reference (town), the values
// belong to the object that it will point at, otherwise to the object that it points at now.
func (s *scope) bindDotted(d dotted) error {
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
	v, err := s.bindNested(s.class.InSameViews(r.Class), d.fields, p.Name+".")
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
	if anyGiven(v) {
		s.values[p.Index] = r
	}
	return nil
}

// locateError adds the class and the path of the object to an error.
func (s *scope) locateError(e *Error) *Error {
	if e.Class == "" {
		e.Class = s.class.FullName
	}
	if s.path != "" {
		e.Message = "in " + Quote(strings.TrimSuffix(s.path, ".")) + ": " + e.Message
		e.Attribute = s.path + e.Attribute
	}
	return e
}

// checkStrict checks the rules that apply to a value only in strict handling: its length and
// its selection list.
func (p *Property) checkStrict(value any) *Error {
	if s, ok := value.(string); ok && p.Size > 0 && p.Type != GUID && p.Type != Reference && utf8.RuneCountInString(s) > p.Size {
		e := Errorf(Invalid, "size", "attribute %s has at most %d characters, found %d", Quote(p.Name), p.Size, utf8.RuneCountInString(s))
		e.Attribute = p.Name
		return e
	}
	if p.Selection != nil && !p.Selection.isConditional() && !p.Selection.has(value) {
		return p.notOffered(value)
	}
	return nil
}

// IsSystemName reports whether a name has the form of the members that answers add to the
// attributes of an item: _x, __x, x_str. In input, such a name is ignored if no property
// has it.
func IsSystemName(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_str")
}

// Limits of input that costs more than its size suggests.
const (
	maxPasswords = 100 // passwords in one input: each one needs a hash

	// MaxUploads is the maximum number of files in one input: each one must be
	// written to the disk.
	MaxUploads = 1000
)

// countCost refuses input that costs far more than its size suggests.
func (s *scope) countCost(p *Property, value any) *Error {
	switch v := value.(type) {
	case string:
		if p.Type == Password {
			s.passwords++
		}
	case *Upload:
		s.uploads++
	case []*Upload:
		s.uploads += len(v)
	}
	var e *Error
	switch {
	case s.passwords > maxPasswords:
		e = Errorf(Invalid, "too-many", "more than %d passwords are given at once", maxPasswords)
	case s.uploads > MaxUploads:
		e = Errorf(Invalid, "too-many", "more than %d files are given at once", MaxUploads)
	default:
		return nil
	}
	e.Attribute = p.Name
	return e
}
