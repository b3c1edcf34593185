package engine

import (
	"cmp"
	"slices"
	"strings"
)

// Describe returns a class in the shape of a class file, as metaRepo and the
// service meta show it (iondv-data.md sections 1.2 and 6.2): as it was written,
// its own attributes ordered by orderNumber. A short file is completed by what a
// full one says. In a view, what the view lacks is missing.
func (c *Class) Describe() Fields {
	said := slices.Clone(c.Told(c.Source))
	own := []any{}
	for _, d := range c.declarations() {
		own = append(own, c.describe(d))
	}
	said = said.With("properties", own)
	for _, f := range c.Source {
		switch f.Name {
		case "semantic":
			said = said.With(f.Name, c.toldSemantic(f.Value))
		case "creationTracker", "changeTracker", "creatorTracker", "editorTracker":
			if c.Conceals(f.Value) {
				said = said.With(f.Name, "")
			}
		}
	}
	said = said.complete(Fields{
		{"isStruct", c.Struct}, {"key", Texts(c.Key)}, {"semantic", c.toldSemantic(c.Semantic)}, {"name", c.Name}, {"version", c.Version},
		{"caption", c.Caption}, {"ancestor", nameOrNil(c.Ancestor)}, {"container", textOrNil(c.Container)}, {"journaling", c.Journaling},
		{"compositeIndexes", c.describeIndexes()},
	})
	if v, _ := said.Get("namespace"); (v == nil || v == "") && c.Namespace != "" {
		said = said.With("namespace", c.Namespace)
	}
	return said
}

// DescribeProperties returns all attributes of a class, inherited ones and the
// parts of structs too, as class files describe them, with their definitionClass
// and mode.
func (c *Class) DescribeProperties() []any {
	structs := map[string]declaration{}
	for at := c; at != nil; at = at.Ancestor {
		for _, d := range at.declarations() {
			if _, overridden := structs[d.name]; d.property == nil && !overridden {
				structs[d.name] = d
			}
		}
	}
	all := []any{}
	for _, p := range c.Properties {
		if c.Lacks(p) {
			continue
		}
		for i, r := range p.Name { // the structs that it is part of stand before their first part
			if whole, ok := structs[p.Name[:i]]; ok && r == '$' {
				delete(structs, whole.name)
				all = append(all, c.describe(whole).complete(Fields{{"definitionClass", p.Definition}, {"mode", int64(0)}}))
			}
		}
		said := c.describe(declaration{p.Name, p.Source, p, p.OrderNumber})
		said = said.With("type", int64(p.Type))
		all = append(all, said.complete(Fields{{"definitionClass", p.Definition}, {"mode", int64(p.Mode)}}))
	}
	return all
}

// declaration is an attribute that a class declares itself.
type declaration struct {
	name     string
	said     Fields    // as written, nil for what the server adds
	property *Property // nil for a struct, whose parts are properties
	order    int
}

// declarations are the attributes that a class declares itself, in their order,
// without what the view lacks.
func (c *Class) declarations() (all []declaration) {
	for _, p := range c.Properties {
		if p.Source == nil && (c.Source == nil || p.Definition == c.FullName) && !c.Lacks(p) {
			all = append(all, declaration{p.Name, nil, p, p.OrderNumber})
		}
	}
	v, _ := c.Source.Get("properties")
	list, _ := v.([]any)
	for _, v := range list {
		said, _ := v.(Fields)
		v, _ := said.Get("name")
		name, _ := v.(string)
		p := c.Base().byName[name]
		switch {
		case p != nil:
			if !c.Lacks(p) {
				all = append(all, declaration{name, said, p, p.OrderNumber})
			}
		default:
			if parts, known := c.structure(name); parts == 0 || known > 0 {
				all = append(all, declaration{name, said, nil, c.structOrder(name)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b declaration) int { return cmp.Compare(a.order, b.order) })
	return all
}

// structOrder is the orderNumber of a struct attribute, which its parts have.
func (c *Class) structOrder(name string) int {
	for _, p := range c.Properties {
		if strings.HasPrefix(p.Name, name+"$") {
			return p.OrderNumber
		}
	}
	return 0
}

// describe is what a class file says of an attribute.
func (c *Class) describe(d declaration) Fields {
	said := slices.Clone(c.Told(d.said))
	p := d.property
	if p == nil {
		p = &Property{Name: d.name, Caption: d.name, Type: Struct, OrderNumber: d.order}
	}
	said = said.With("name", d.name) // of a part of a struct, with that of the whole
	if v, _ := said.Get("type"); v != nil {
		if name, is := v.(string); is {
			t, _ := TypeByName(name)
			said = said.With("type", int64(t))
		}
	}
	// Who sees a relation knows the attributes that it names.
	for _, other := range []struct {
		field    string
		property *Property
	}{{"backRef", p.Back}, {"backColl", p.Mirror}, {"binding", p.Binding}} {
		if v, _ := d.said.Get(other.field); other.property != nil && v == other.property.Name {
			said = said.With(other.field, v)
		}
	}
	return said.complete(p.Describe())
}

// Describe is an attribute in the words of class files, in the order in which
// they say them, but for what the server compiles: see Class.Describe.
func (p *Property) Describe() Fields {
	refClass, itemsClass := "", ""
	switch {
	case p.Target == nil:
	case p.Type == Collection:
		itemsClass = p.Target.FullName
	default:
		refClass = p.Target.FullName
	}
	return Fields{
		{"orderNumber", int64(p.OrderNumber)}, {"name", p.Name}, {"caption", p.Caption}, {"type", int64(p.Type)},
		{"size", numberOrNil(p.Size)}, {"decimals", int64(p.Decimals)},
		{"allowedFileTypes", listOrNil(Texts(p.FileTypes))}, {"maxFileCount", int64(p.MaxFileCount)},
		{"nullable", p.Nullable}, {"readonly", p.Readonly}, {"indexed", p.Indexed}, {"unique", p.Unique}, {"autoassigned", p.Autoassigned},
		{"hint", textOrNil(p.Hint)}, {"defaultValue", p.Default}, {"refClass", refClass}, {"itemsClass", itemsClass},
		{"backRef", nameOf(p.Back)}, {"backColl", nameOf(p.Mirror)}, {"binding", nameOf(p.Binding)},
		{"semantic", nil}, {"selConditions", nil}, {"selSorting", []any{}}, {"selectionProvider", nil},
		{"indexSearch", p.Search}, {"eagerLoading", p.Eager}, {"formula", nil},
	}
}

// toldSemantic is a display string without what the view lacks.
func (c *Class) toldSemantic(v any) any {
	if !c.Conceals(v) {
		return v
	}
	text, ok := v.(string)
	if !ok {
		return nil
	}
	return strings.Join(slices.DeleteFunc(strings.Split(text, "|"), func(piece string) bool { return c.Conceals(piece) }), "|")
}

func (c *Class) describeIndexes() any {
	var all []any
	for _, x := range c.Indexes {
		all = append(all, Fields{{"properties", Texts(x.Properties)}, {"unique", x.Unique}})
	}
	return listOrNil(all)
}

// complete adds those of the fields that are not there.
func (f Fields) complete(all Fields) Fields {
	for _, one := range all {
		if _, there := f.Get(one.Name); !there {
			f = append(f, one)
		}
	}
	return f
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

func nameOf(p *Property) string {
	if p == nil {
		return ""
	}
	return p.Name
}

func nameOrNil(c *Class) any {
	if c == nil {
		return nil
	}
	return c.FullName
}
