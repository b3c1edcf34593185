package access

import (
	"strings"
	"sync"

	"restsrv/engine"
	"restsrv/engine/inputs"
)

// attribute is a property together with its copies in the classes that inherit
// it. The owner is the topmost class, which declares it.
type attribute struct {
	owner      *engine.Class
	name       string
	key        bool // set if it is part of the key of some class, so that ids contain its value
	properties []*engine.Property

	value, label, shown *part
}

// part is one element of the JSON of an item: the value of an attribute, its label or its
// displayed form, or the display string of the items of a class.
type part struct {
	attribute *attribute // set if the part is the value of an attribute
	users     []*part    // parts that are computed from this one
}

// schema holds the attributes of all classes. It also records which parts are computed from which
// other parts.
type schema struct {
	meta     engine.MetaRepository
	of       map[*engine.Property]*attribute
	named    map[string][]*attribute
	displays map[*engine.Class]*part // display strings of items of the class and of its descendants
	computed map[*engine.Class]*part // the result of Class.Label, without the rest of the display string
	anything *part                   // an input of each part whose inputs are not known
}

// schemaOf returns a function that builds the schema at its first call.
func schemaOf(meta engine.MetaRepository) func() *schema {
	return sync.OnceValue(func() *schema {
		s := &schema{meta: meta, of: map[*engine.Property]*attribute{}, named: map[string][]*attribute{},
			displays: map[*engine.Class]*part{}, computed: map[*engine.Class]*part{}, anything: &part{}}
		var all []*attribute
		for _, c := range meta.Classes() {
			all = s.addAttributes(all, c)
		}
		for _, a := range all {
			s.named[a.name] = append(s.named[a.name], a)
		}
		for _, a := range all {
			s.relateParts(a)
		}
		for _, c := range meta.Classes() {
			s.displayPart(c)
		}
		return s
	})
}

// addAttributes appends the attributes of a class to all. It appends the attributes of the
// ancestors first.
func (s *schema) addAttributes(all []*attribute, c *engine.Class) []*attribute {
	if c.Ancestor != nil {
		all = s.addAttributes(all, c.Ancestor)
	}
	for _, p := range c.Properties {
		if s.of[p] != nil {
			continue
		}
		a := s.inheritedAttribute(c, p.Name)
		if a == nil {
			a = &attribute{owner: c, name: p.Name, label: &part{}, shown: &part{}}
			a.value = &part{attribute: a}
			all = append(all, a)
		}
		a.properties = append(a.properties, p)
		s.of[p] = a
	}
	for _, p := range c.KeyProperties() {
		s.of[p].key = true
	}
	return all
}

func (s *schema) inheritedAttribute(c *engine.Class, name string) *attribute {
	if c.Ancestor == nil {
		return nil
	}
	if p := c.Ancestor.Property(name); p != nil {
		return s.of[p]
	}
	return nil
}

// relateParts records for each part of an attribute from which other parts it is computed.
func (s *schema) relateParts(a *attribute) {
	a.value.addUser(a.shown)
	a.label.addUser(a.shown)
	for _, p := range a.properties {
		var made, labelled, shown inputs.Set
		made.AddFormula(p.Formula, s.meta.Class)
		for _, same := range []*engine.Property{p.Back, p.Mirror, p.Binding} { // these properties show the same links
			if same != nil {
				made.AddValue(same)
			}
		}
		made.AddCondition(p.Conditions)
		for _, by := range p.Sorting {
			made.AddValue(by.Path()...)
		}
		if p.Selection != nil {
			for _, row := range p.Selection.Rows {
				labelled.AddFormula(row.Condition, s.meta.Class)
			}
		}
		if p.Target != nil && p.Display == nil {
			shown.AddDisplay(p.Target)
		}
		shown.AddSemantic(p.Display)
		s.recordInputs(a.value, &made)
		s.recordInputs(a.label, &labelled)
		s.recordInputs(a.shown, &shown)
	}
}

// displayPart returns the part for the display string of items of a class and of its
// descendants.
func (s *schema) displayPart(c *engine.Class) *part {
	if d := s.displays[c]; d != nil {
		return d
	}
	d := &part{}
	s.displays[c] = d
	for _, below := range c.Descendants {
		s.displayPart(below).addUser(d)
	}
	var plain inputs.Set
	plain.AddDisplayString(c)
	s.recordInputs(d, &plain)
	if c.Label != nil {
		var label inputs.Set
		label.AddFormula(c.Label, s.meta.Class)
		for given := range label.Gives {
			label.AddDisplay(given)
		}
		s.computed[c] = &part{}
		s.computed[c].addUser(d)
		s.recordInputs(s.computed[c], &label)
	}
	return d
}

// recordInputs records that p is computed from everything that m mentions.
func (s *schema) recordInputs(p *part, m *inputs.Set) {
	for of := range m.Values {
		if a := s.of[of]; a != nil {
			a.value.addUser(p)
		}
	}
	for of := range m.Shown {
		if a := s.of[of]; a != nil {
			a.shown.addUser(p)
		}
	}
	for c := range m.Display {
		s.displayPart(c).addUser(p)
	}
	for name := range m.Names {
		for _, a := range s.named[name] {
			a.shown.addUser(p)
		}
	}
	if m.Unknown {
		s.anything.addUser(p)
	}
}

func (p *part) addUser(user *part) { p.users = append(p.users, user) }

// partsShowing returns all parts that show the attributes or are computed from them.
// An id cannot be hidden, so attributes of a key are left out.
func (s *schema) partsShowing(attributes []*attribute) map[*part]bool {
	gone := map[*part]bool{}
	if len(attributes) == 0 {
		return gone
	}
	next := []*part{s.anything}
	for _, a := range attributes {
		next = append(next, a.value)
	}
	for len(next) > 0 {
		p := next[len(next)-1]
		next = next[:len(next)-1]
		if gone[p] || p.attribute != nil && p.attribute.key {
			continue
		}
		gone[p] = true
		next = append(next, p.users...)
	}
	return gone
}

// findAttributes returns the attributes that a resource names, and the class in the resource. A
// resource such as a:::person@sample.phone names the attribute phone. If the attribute is a struct,
// the resource names all attributes in it. findAttributes returns no attributes if the resource has
// another form or names an unknown attribute.
func (s *schema) findAttributes(resource string) (c *engine.Class, all []*attribute) {
	name, is := strings.CutPrefix(resource, engine.AttributeResource)
	for i := 0; is && i < len(name); i++ {
		if name[i] != '.' {
			continue
		}
		c, err := s.meta.Class(name[:i])
		if err != nil {
			continue
		}
		wanted := strings.ReplaceAll(name[i+1:], ".", "$")
		for _, p := range c.Properties {
			if p.Name == wanted || strings.HasPrefix(p.Name, wanted+"$") {
				all = append(all, s.of[p])
			}
		}
		return c, all
	}
	return nil, nil
}

// protectedAttributes returns the attributes that resources in the grants name, each with these
// resources. It leaves out attributes of a key, since ids show them. It calls warn for each
// resource without effect.
func (s *schema) protectedAttributes(g *engine.Grants, warn func(resource, why string)) map[*attribute][]string {
	all := map[*attribute][]string{}
	g.Resources(func(resource string) {
		if !strings.HasPrefix(resource, engine.AttributeResource) {
			return
		}
		_, found := s.findAttributes(resource)
		if len(found) == 0 {
			warn(resource, "there is no such attribute")
		}
		for _, a := range found {
			if a.key {
				warn(resource, "an attribute of a key cannot be protected: the id shows it")
				continue
			}
			all[a] = append(all[a], resource)
		}
	})
	return all
}

// withDescendants returns a class and its descendants.
func withDescendants(c *engine.Class) []*engine.Class {
	c = c.Base()
	return append([]*engine.Class{c}, c.Descendants...)
}
