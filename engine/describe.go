package engine

import (
	"cmp"
	"slices"
	"strings"
)

// Describe returns a class in the format of a class file, as metaRepo and the
// service meta publish it. The result has the members of the file and those that
// the file omits, with the values that the server uses. Own attributes are ordered
// by orderNumber. If c is a view, hidden attributes are omitted.
func (c *Class) Describe() Fields {
	said := slices.Clone(c.Redact(c.Source))
	own := []any{}
	for _, d := range declarations(c) {
		own = append(own, describeDeclaration(c, d))
	}
	said = said.With("properties", own)
	for _, f := range c.Source {
		switch f.Name {
		case "semantic":
			said = said.With(f.Name, redactSemantic(c, f.Value))
		case "creationTracker", "changeTracker", "creatorTracker", "editorTracker":
			if c.MentionsHidden(f.Value) {
				said = said.With(f.Name, "")
			}
		}
	}
	said = said.addMissing(Fields{
		{"isStruct", c.Struct}, {"key", Texts(c.Key)}, {"semantic", redactSemantic(c, c.Semantic)}, {"name", c.Name}, {"version", c.Version},
		{"caption", c.Caption}, {"ancestor", nameOrNil(c.Ancestor)}, {"container", textOrNil(c.Container)}, {"journaling", c.Journaling},
		{"compositeIndexes", describeIndexes(c)},
	})
	if v, _ := said.Get("namespace"); (v == nil || v == "") && c.Namespace != "" {
		said = said.With("namespace", c.Namespace)
	}
	return said
}

// DescribeProperties returns all attributes of a class in the format of class
// files, including inherited ones and the parts of structs, with their
// definitionClass and mode.
func (c *Class) DescribeProperties() []any {
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
				all = append(all, describeDeclaration(c, whole).addMissing(Fields{{"definitionClass", p.Definition}, {"mode", int64(0)}}))
			}
		}
		said := describeDeclaration(c, declaration{p.Name, p.Source, p, p.OrderNumber})
		said = said.With("type", int64(p.Type))
		all = append(all, said.addMissing(Fields{{"definitionClass", p.Definition}, {"mode", int64(p.Mode)}}))
	}
	return all
}

// declaration is an attribute that the class declares itself, in contrast to an
// inherited one.
type declaration struct {
	name     string
	said     Fields    // as written in the file; nil if the server adds the attribute
	property *Property // nil for a struct, because only its parts are properties
	order    int
}

// declarations returns the attributes that the class itself declares, in their
// order, without hidden ones.
func declarations(c *Class) (all []declaration) {
	for _, p := range c.Properties {
		if p.Source == nil && (c.Source == nil || p.Definition == c.FullName) && !c.Hides(p) {
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
			if !c.Hides(p) {
				all = append(all, declaration{name, said, p, p.OrderNumber})
			}
		default:
			if parts, known := countParts(c, name); parts == 0 || known > 0 {
				all = append(all, declaration{name, said, nil, structOrder(c, name)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b declaration) int { return cmp.Compare(a.order, b.order) })
	return all
}

// structOrder returns the orderNumber of a struct attribute, which its parts
// share.
func structOrder(c *Class, name string) int {
	for _, p := range c.Properties {
		if strings.HasPrefix(p.Name, name+"$") {
			return p.OrderNumber
		}
	}
	return 0
}

// describeDeclaration returns an attribute in the format of class files.
func describeDeclaration(c *Class, d declaration) Fields {
	said := slices.Clone(c.Redact(d.said))
	p := d.property
	if p == nil {
		p = &Property{Name: d.name, Caption: d.name, Type: Struct, OrderNumber: d.order}
	}
	said = said.With("name", d.name) // a part of a struct has the name of the struct as prefix
	if v, _ := said.Get("type"); v != nil {
		if name, is := v.(string); is {
			t, _ := TypeByName(name)
			said = said.With("type", int64(t))
		}
	}
	// An account that can read a relation may know the attributes that the
	// relation names.
	for _, other := range []struct {
		field    string
		property *Property
	}{{"backRef", p.Back}, {"backColl", p.Mirror}, {"binding", p.Binding}} {
		if v, _ := d.said.Get(other.field); other.property != nil && v == other.property.Name {
			said = said.With(other.field, v)
		}
	}
	return said.addMissing(p.Describe())
}

// Describe returns an attribute in the format and order of class files. The members
// that the server compiles, such as formula, are nil: Class.Describe takes them from
// the file.
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

// redactSemantic returns a display string without the parts that mention hidden
// attributes.
func redactSemantic(c *Class, v any) any {
	if !c.MentionsHidden(v) {
		return v
	}
	text, ok := v.(string)
	if !ok {
		return nil
	}
	return strings.Join(slices.DeleteFunc(strings.Split(text, "|"), func(piece string) bool { return c.MentionsHidden(piece) }), "|")
}

func describeIndexes(c *Class) any {
	var all []any
	for _, x := range c.Indexes {
		all = append(all, Fields{{"properties", Texts(x.Properties)}, {"unique", x.Unique}})
	}
	return listOrNil(all)
}

// addMissing appends the fields of all to f, except those that f has already by name.
func (f Fields) addMissing(all Fields) Fields {
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

// Class files, view models and workflows mention attributes by name. If an attribute
// is hidden in a view of a class, all mentions of it must be hidden too: parts
// of forms and lists that show the attribute are omitted, and so is any other
// text that mentions it.

// partLists are the members of view models and workflows that are lists of
// objects. Each object is redacted by itself.
var partLists = map[string]bool{
	"tabs": true, "columns": true, "fields": true, "fullFields": true, "shortFields": true, "commands": true, "states": true, "transitions": true,
}

// plainMembers are the members of descriptions that do not name attributes, are captions,
// or are checked elsewhere. They are kept, whatever words they contain.
var plainMembers = map[string]bool{
	"caption": true, "hint": true, "title": true, "description": true, "confirmMessage": true, "name": true, "id": true, "code": true,
	"type": true, "itemType": true, "section": true, "namespace": true, "classname": true, "className": true, "path": true, "url": true,
	"wfClass": true, "startState": true, "finishState": true, "property": true, "mask": true, "maskName": true, "validators": true,
	"version": true, "metaVersion": true,
	"key": true, "ancestor": true, "refClass": true, "itemsClass": true, "allowedSubclasses": true, "allowedFileTypes": true,
}

// Redact returns said, a description of c or of a part of it, without the attributes
// that are hidden in c. The caller must not change the result, because it is said
// itself if no attribute is hidden.
func (c *Class) Redact(said Fields) Fields {
	if c == nil || c.Base() == c {
		return said
	}
	return redactFields(c, c, said)
}

// redactFields returns said without the attributes that are hidden in c. said is one object of a description of c. It
// may have nested parts, such as the columns of a list; these name attributes of the class inner.
func redactFields(c, inner *Class, said Fields) Fields {
	kept := make(Fields, len(said))
	for i, f := range said {
		list, isList := f.Value.([]any)
		switch {
		case isList && partLists[f.Name]:
			f.Value = redactParts(c, inner, list)
		case plainMembers[f.Name]:
		case isList:
			some := []any{}
			for _, e := range list {
				if !c.MentionsHidden(e) {
					some = append(some, e)
				}
			}
			f.Value = some
		case c.MentionsHidden(f.Value):
			f.Value = nil
		}
		kept[i] = f
	}
	return kept
}

func redactParts(c, inner *Class, list []any) []any {
	kept := []any{}
	for _, e := range list {
		part, ok := e.(Fields)
		if !ok {
			continue
		}
		v, _ := part.Get("property")
		name, _ := v.(string)
		owner := inner
		if !hasAttribute(inner, name) {
			owner = c
		}
		if next, knows := leadsBy(owner, name); knows {
			kept = append(kept, redactFields(c, next, part))
		}
	}
	return kept
}

// hasAttribute reports whether a class has an attribute or a struct attribute with
// that name, hidden or not.
func hasAttribute(c *Class, name string) bool {
	parts, _ := countParts(c, name)
	return parts > 0 || c.Base().Path(name) != nil
}

// leadsBy reports whether the view c shows an attribute. name is the attribute or a path to it; knows is true if it
// is visible. A name that is no attribute is visible unless it mentions a hidden attribute. next is the class whose
// attributes the nested parts name: the class to which name leads if it is a reference or a collection, otherwise c.
func leadsBy(c *Class, name string) (next *Class, knows bool) {
	if name == "" {
		return c, true
	}
	if parts, known := countParts(c, name); parts > 0 {
		return c, known > 0
	}
	if c.Base().Path(name) == nil {
		return c, !c.MentionsHidden(name)
	}
	next = c
	for _, p := range c.Path(name) {
		knows = true
		if to := next.TargetOf(p); to != nil {
			next = to
		}
	}
	return next, knows
}

// countParts returns the number of parts of the struct attribute with that name, and the
// number of known parts, which are not hidden in c.
func countParts(c *Class, name string) (parts, known int) {
	for _, p := range c.Properties {
		if strings.HasPrefix(p.Name, name+"$") {
			if parts++; !c.Hides(p) {
				known++
			}
		}
	}
	return parts, known
}
