package meta

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// attribute is a property while it is read and linked.
type attribute struct {
	jsonfile.Object        // what describes it; for a part of a structure that of the structure's own attribute
	home            *draft // that it is part of: names of classes are meant in its namespace
	property        *engine.Property
	at              jsonfile.Object // where it stands in its class
	numbered        bool            // orderNumber was given
	assigning       bool            // autoassigned was given
	typed           bool            // the type is one of class metadata
	prefix          string          // of a part of a structure: "attribute$"

	target     string // name of the class it points at, or of a structure
	backRef    string
	backColl   string
	binding    string
	subclasses []string
}

var (
	propertyFields = []string{
		"name", "caption", "type", "size", "decimals", "orderNumber", "nullable", "readonly", "indexed", "unique",
		"autoassigned", "defaultValue", "formula", "selectionProvider",
		"mode", "allowedFileTypes", "maxFileCount", "hint", "refClass", "itemsClass", "allowedSubclasses", "backRef",
		"backColl", "binding", "semantic", "selConditions", "selSorting", "indexSearch", "eagerLoading", "cached",
	}

	// envelopeNames are what an item's JSON says besides its attributes.
	envelopeNames = []string{"_id", "_creator", "_editor", "_class", "_classVer", "__string", "__class", "__classTitle"}

	// allTypes are in the order of their numbers, for messages.
	allTypes = []engine.PropertyType{
		engine.String, engine.Text, engine.HTML, engine.URL, engine.Image, engine.File, engine.Int, engine.Real,
		engine.DecimalNum, engine.DateTime, engine.Boolean, engine.Password, engine.GUID, engine.Reference,
		engine.Collection, engine.Set, engine.Struct, engine.Custom, engine.User, engine.Period, engine.Geo,
		engine.FileList, engine.Schedule,
	}
)

func (d *draft) parseProperty(path string, v any, types userTypes) {
	fields, ok := v.(engine.Fields)
	if !ok {
		d.Fault(path, jsonfile.Describe(v), "an object that describes an attribute")
		return
	}
	o := d.Within(path, fields)
	o.WarnRepeated()
	o.WarnUnknown(propertyFields)
	p := &engine.Property{Name: o.Text("name"), Caption: o.Text("caption"), Hint: o.Text("hint"), Definition: d.class.FullName, Source: fields}
	named := checkName(o, "name", p.Name) && d.checkUnique(o, p.Name)
	if p.Caption == "" {
		p.Caption = p.Name
	}
	a := &attribute{Object: o, home: d, at: o, property: p, assigning: o.Value("autoassigned") != nil}
	p.Type, a.typed = parseType(o)
	a.parseFlags(d.inline)
	a.parseNumbers()
	p.FileTypes = parseFileTypes(o)
	types.apply(a)
	a.parseRelation()
	if a.typed {
		checkAutoassigned(o, p)
		checkUniqueFlag(o, p)
		checkLiteral(a)
	}
	if named {
		d.own = append(d.own, a)
	}
}

func (a *attribute) parseFlags(inline bool) {
	p := a.property
	p.Nullable = a.Flag("nullable", inline)
	p.Readonly = a.Flag("readonly", false)
	p.Indexed = a.Flag("indexed", false)
	p.Unique = a.Flag("unique", false)
	p.Autoassigned = a.Flag("autoassigned", false)
	p.Search = a.Flag("indexSearch", false)
	p.Eager = a.Flag("eagerLoading", false)
	p.Cached = a.Flag("cached", false)
	if p.Type == engine.Collection || !empty(a.Value("formula")) {
		p.Nullable = true // the server makes the value: none is required of the client
	}
}

func (a *attribute) parseNumbers() {
	p := a.property
	for _, n := range []struct {
		field    string
		min, max int64
		to       *int
	}{
		{"size", 0, math.MaxInt32, &p.Size},
		{"decimals", 0, math.MaxInt32, &p.Decimals},
		{"mode", 0, 2, &p.Mode},
		{"maxFileCount", 0, math.MaxInt32, &p.MaxFileCount},
		{"orderNumber", math.MinInt32, math.MaxInt32, &p.OrderNumber},
	} {
		if v, ok := a.Whole(n.field, n.min, n.max); ok {
			*n.to = int(v)
			a.numbered = a.numbered || n.field == "orderNumber"
		}
	}
}

// parseFileTypes takes an array of extensions, or text that lists them.
func parseFileTypes(o jsonfile.Object) []string {
	s, ok := o.Value("allowedFileTypes").(string)
	if !ok {
		return texts(o, "allowedFileTypes", "the extension of a file, such as pdf")
	}
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
}

// parseRelation reads what references, collections and structures say of other
// classes. Other types leave these fields empty, or are warned of.
func (a *attribute) parseRelation() {
	refClass, itemsClass := a.Text("refClass"), a.Text("itemsClass")
	a.backRef, a.backColl, a.binding = a.Text("backRef"), a.Text("backColl"), a.Text("binding")
	a.subclasses = texts(a.Object, "allowedSubclasses", "the name of a class")
	field := ""
	switch a.property.Type {
	case engine.Reference, engine.Struct:
		a.target, field = refClass, "refClass"
	case engine.Collection:
		a.target, field = itemsClass, "itemsClass"
	}
	if field != "" && a.typed && empty(a.Value(field)) {
		a.Fault(a.Path, "no "+field, "the name of the class that attribute "+engine.Quote(a.property.Name)+" points at")
	}
	if a.property.Type == engine.Reference && a.backRef != "" {
		a.property.Nullable = true // nothing is stored in it
	}
}

// targetField is the field that names the class an attribute points at.
func (a *attribute) targetField() string {
	if a.property.Type == engine.Collection {
		return "itemsClass"
	}
	return "refClass"
}

// checkUnique refuses a name that the class, the envelope of items or, but for
// letter case, another attribute has already.
func (d *draft) checkUnique(o jsonfile.Object, name string) bool {
	if slices.Contains(envelopeNames, name) {
		o.Fault(o.At("name"), engine.Quote(name), "a name that the JSON of items does not use itself")
		return false
	}
	for _, a := range d.own {
		switch other := a.property.Name; {
		case other == name:
			o.Fault(o.At("name"), engine.Quote(name)+" again", "another name: "+a.at.Path+" has it")
			return false
		case strings.EqualFold(other, name):
			o.Fault(o.At("name"), engine.Quote(name), "a name that differs from "+engine.Quote(other)+" in more than letter case")
			return false
		}
	}
	return true
}

// parseType reads a type's number or name; ok is false when it is neither.
func parseType(o jsonfile.Object) (t engine.PropertyType, ok bool) {
	v := o.Value("type")
	switch v := v.(type) {
	case nil:
		o.Fault(o.Path, "no type", "a type: "+typeNames(allTypes))
		return 0, false
	case string:
		t, ok = engine.TypeByName(v)
	case json.Number:
		n, err := (&engine.Property{Type: engine.Int}).Cast(v)
		if n, is := n.(int64); is && err == nil && n >= 0 && n <= 1000 {
			t = engine.PropertyType(n)
			ok = t.Known()
		}
	}
	if !ok {
		o.Fault(o.At("type"), jsonfile.Describe(v), expectedType(v))
	}
	return t, ok
}

func expectedType(v any) string {
	if s, ok := v.(string); ok {
		if near := jsonfile.Nearest(s, strings.Split(typeNames(allTypes), ", ")); near != "" {
			return engine.Quote(near)
		}
	}
	return "the number or the name of a type: " + typeNames(allTypes)
}

func typeNames(types []engine.PropertyType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return strings.Join(names, ", ")
}

func checkAutoassigned(o jsonfile.Object, p *engine.Property) {
	if !p.Autoassigned {
		return
	}
	switch p.Type {
	case engine.String, engine.GUID, engine.DateTime, engine.Int:
	default:
		o.Warn(o.At("autoassigned"), "true for type "+p.Type.String(), "false: a value can be assigned to string, guid, int and datetime only")
		p.Autoassigned = false
	}
}

// checkUniqueFlag drops what has no effect, as the ancestor does silently.
func checkUniqueFlag(o jsonfile.Object, p *engine.Property) {
	if p.Unique && !indexable(p.Type) {
		o.Warn(o.At("unique"), "true for type "+p.Type.String(), "false: it has no effect on this type")
		p.Unique = false
	}
}

// indexable reports whether values of the type can be unique and keys of
// indexes.
func indexable(t engine.PropertyType) bool {
	switch t {
	case engine.Text, engine.HTML, engine.Password:
		return false
	}
	return t.Scalar() || t == engine.Reference
}
