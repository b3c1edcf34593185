// Package describe converts classes to the JSON of class files. Scripts get this JSON from
// metaRepo, and clients get it from the service meta. If an account may not read some attributes,
// the package also removes them from class files, view models and workflows.
package describe

import (
	"cmp"
	"slices"
	"strings"

	"restsrv/engine"
)

// Class returns a class in the format of a class file. The result has the members of the file and
// the members that the file omits; the latter have the values that the server uses. Own
// attributes are ordered by orderNumber. If c is a view, hidden attributes are omitted.
func Class(c *engine.Class) engine.Fields {
	fields := slices.Clone(Redact(c, c.Source))
	own := []any{}
	for _, d := range declarations(c) {
		own = append(own, describeDeclaration(c, d))
	}
	fields = fields.With("properties", own)
	for _, f := range c.Source {
		switch f.Name {
		case "semantic":
			fields = fields.With(f.Name, redactSemantic(c, f.Value))
		case "creationTracker", "changeTracker", "creatorTracker", "editorTracker":
			if c.MentionsHidden(f.Value) {
				fields = fields.With(f.Name, "")
			}
		}
	}
	fields = addMissing(fields, members{
		{"isStruct", c.Struct}, {"key", engine.Texts(c.Key)}, {"semantic", redactSemantic(c, c.Semantic)}, {"name", c.Name}, {"version", c.Version},
		{"caption", c.Caption}, {"ancestor", nameOrNil(c.Ancestor)}, {"container", textOrNil(c.Container)}, {"journaling", c.Journaling},
		{"compositeIndexes", describeIndexes(c)},
	})
	if v, _ := fields.Get("namespace"); (v == nil || v == "") && c.Namespace != "" {
		fields = fields.With("namespace", c.Namespace)
	}
	return fields
}

// Properties returns all attributes of a class in the format of class files. They include
// inherited attributes and the parts of structs. Each attribute has its definitionClass and its
// mode.
func Properties(c *engine.Class) []any {
	structs := map[string]declaration{}
	for at := c; at != nil; at = at.Ancestor {
		for _, d := range declarations(at) {
			if _, overridden := structs[d.name]; d.property == nil && !overridden {
				structs[d.name] = d
			}
		}
	}
	all := []any{}
	for _, p := range c.Properties {
		if c.Hides(p) {
			continue
		}
		for i, r := range p.Name { // a struct precedes the first of its parts
			if whole, ok := structs[p.Name[:i]]; ok && r == '$' {
				delete(structs, whole.name)
				all = append(all, addMissing(describeDeclaration(c, whole), members{{"definitionClass", p.Definition}, {"mode", int64(0)}}))
			}
		}
		fields := describeDeclaration(c, declaration{p.Name, p.Source, p, p.OrderNumber})
		fields = fields.With("type", int64(p.Type))
		all = append(all, addMissing(fields, members{{"definitionClass", p.Definition}, {"mode", int64(p.Mode)}}))
	}
	return all
}

// declaration is an attribute that the class itself declares and does not inherit.
type declaration struct {
	name     string
	fields   engine.Fields    // as written in the file; nil if the server adds the attribute
	property *engine.Property // nil for a struct, because only its parts are properties
	order    int
}

// declarations returns the attributes that the class itself declares, in their order. It leaves
// out hidden attributes.
func declarations(c *engine.Class) (all []declaration) {
	for _, p := range c.Properties {
		if p.Source == nil && (c.Source == nil || p.Definition == c.FullName) && !c.Hides(p) {
			all = append(all, declaration{p.Name, nil, p, p.OrderNumber})
		}
	}
	v, _ := c.Source.Get("properties")
	list, _ := v.([]any)
	for _, v := range list {
		fields, _ := v.(engine.Fields)
		v, _ := fields.Get("name")
		name, _ := v.(string)
		p := c.Base().Property(name)
		switch {
		case p != nil:
			if !c.Hides(p) {
				all = append(all, declaration{name, fields, p, p.OrderNumber})
			}
		default:
			if parts, known := countParts(c, name); parts == 0 || known > 0 {
				all = append(all, declaration{name, fields, nil, structOrder(c, name)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b declaration) int { return cmp.Compare(a.order, b.order) })
	return all
}

// structOrder returns the orderNumber of a struct attribute. All parts of the struct have this
// number.
func structOrder(c *engine.Class, name string) int {
	for _, p := range c.Properties {
		if strings.HasPrefix(p.Name, name+"$") {
			return p.OrderNumber
		}
	}
	return 0
}

// describeDeclaration returns an attribute in the format of class files.
func describeDeclaration(c *engine.Class, d declaration) engine.Fields {
	fields := slices.Clone(Redact(c, d.fields))
	p := d.property
	if p == nil {
		p = &engine.Property{Name: d.name, Caption: d.name, Type: engine.Struct, OrderNumber: d.order}
	}
	fields = fields.With("name", d.name) // a part of a struct has the name of the struct as prefix
	if v, _ := fields.Get("type"); v != nil {
		if name, is := v.(string); is {
			t, _ := engine.TypeByName(name)
			fields = fields.With("type", int64(t))
		}
	}
	// An account that can read a relation is also allowed to know which attributes the relation
	// names.
	for _, other := range []struct {
		field    string
		property *engine.Property
	}{{"backRef", p.Back}, {"backColl", p.Mirror}, {"binding", p.Binding}} {
		if v, _ := d.fields.Get(other.field); other.property != nil && v == other.property.Name {
			fields = fields.With(other.field, v)
		}
	}
	return addMissing(fields, propertyMembers(p))
}

// Property returns an attribute in the format and order of class files. The members
// that the server compiles, such as formula, are nil: Class takes them from the file.
func Property(p *engine.Property) engine.Fields { return propertyMembers(p).fields() }

func propertyMembers(p *engine.Property) members {
	refClass, itemsClass := "", ""
	switch {
	case p.Target == nil:
	case p.Type == engine.Collection:
		itemsClass = p.Target.FullName
	default:
		refClass = p.Target.FullName
	}
	return members{
		{"orderNumber", int64(p.OrderNumber)}, {"name", p.Name}, {"caption", p.Caption}, {"type", int64(p.Type)},
		{"size", numberOrNil(p.Size)}, {"decimals", int64(p.Decimals)},
		{"allowedFileTypes", listOrNil(engine.Texts(p.FileTypes))}, {"maxFileCount", int64(p.MaxFileCount)},
		{"nullable", p.Nullable}, {"readonly", p.Readonly}, {"indexed", p.Indexed}, {"unique", p.Unique}, {"autoassigned", p.Autoassigned},
		{"hint", textOrNil(p.Hint)}, {"defaultValue", p.Default}, {"refClass", refClass}, {"itemsClass", itemsClass},
		{"backRef", nameOf(p.Back)}, {"backColl", nameOf(p.Mirror)}, {"binding", nameOf(p.Binding)},
		{"semantic", nil}, {"selConditions", nil}, {"selSorting", []any{}}, {"selectionProvider", nil},
		{"indexSearch", p.Search}, {"eagerLoading", p.Eager}, {"formula", nil},
	}
}

// redactSemantic returns a display string without the parts that mention hidden
// attributes.
func redactSemantic(c *engine.Class, v any) any {
	if !c.MentionsHidden(v) {
		return v
	}
	text, ok := v.(string)
	if !ok {
		return nil
	}
	return strings.Join(slices.DeleteFunc(strings.Split(text, "|"), func(piece string) bool { return c.MentionsHidden(piece) }), "|")
}

func describeIndexes(c *engine.Class) any {
	var all []any
	for _, x := range c.Indexes {
		all = append(all, members{{"properties", engine.Texts(x.Properties)}, {"unique", x.Unique}}.fields())
	}
	return listOrNil(all)
}

// members are the members of an object of a class file.
type members []struct {
	name  string
	value any
}

func (m members) fields() engine.Fields {
	fields := make(engine.Fields, len(m))
	for i, one := range m {
		fields[i] = engine.Named(one.name, one.value)
	}
	return fields
}

// addMissing appends members to fields, except members with a name that fields already has.
func addMissing(fields engine.Fields, m members) engine.Fields {
	for _, one := range m {
		if _, there := fields.Get(one.name); !there {
			fields = append(fields, engine.Named(one.name, one.value))
		}
	}
	return fields
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func numberOrNil(n int) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

func listOrNil(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

func nameOf(p *engine.Property) string {
	if p == nil {
		return ""
	}
	return p.Name
}

func nameOrNil(c *engine.Class) any {
	if c == nil {
		return nil
	}
	return c.FullName
}
