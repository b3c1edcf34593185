package meta

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

var (
	propertyFields = []string{
		"name", "caption", "type", "size", "decimals", "orderNumber", "nullable", "readonly", "indexed", "unique",
		"autoassigned", "defaultValue", "formula", "selectionProvider",
		"mode", "allowedFileTypes", "maxFileCount", "hint", "refClass", "itemsClass", "allowedSubclasses", "backRef",
		"backColl", "binding", "semantic", "selConditions", "selSorting", "indexSearch", "eagerLoading", "cached",
	}
	unsupportedPropertyFields = []unsupported{
		{"formula", "calculated attributes are"}, {"selectionProvider", "selection lists are"},
	}

	// envelopeNames are what an item's JSON says besides its attributes.
	envelopeNames = []string{"_id", "_creator", "_editor", "_class", "_classVer", "__string", "__class", "__classTitle"}

	// types in the order of their numbers, for messages.
	scalarTypes = []engine.PropertyType{
		engine.String, engine.Text, engine.HTML, engine.URL, engine.Int, engine.Real, engine.DecimalNum,
		engine.DateTime, engine.Boolean, engine.Password, engine.GUID, engine.User,
	}
	otherTypes = []engine.PropertyType{
		engine.Image, engine.File, engine.Reference, engine.Collection, engine.Set, engine.Struct, engine.Custom,
		engine.Period, engine.Geo, engine.FileList, engine.Schedule,
	}
)

func (d *draft) parseProperty(path string, v any) {
	fields, ok := v.(engine.Fields)
	if !ok {
		d.Fault(path, jsonfile.Describe(v), "an object that describes an attribute")
		return
	}
	o := jsonfile.Object{File: d.File, Path: path, Fields: fields, Faults: d.Faults}
	o.WarnRepeated()
	o.WarnUnknown(propertyFields)
	p := &engine.Property{Name: o.Text("name"), Caption: o.Text("caption"), Definition: d.class.FullName}
	named := checkName(o, "name", p.Name) && d.checkUnique(o, p.Name)
	if p.Caption == "" {
		p.Caption = p.Name
	}
	a := &attribute{property: p, path: path, assigning: o.Value("autoassigned") != nil}
	p.Type, a.typed = parseType(o)
	p.Nullable = o.Flag("nullable", d.inline)
	p.Readonly = o.Flag("readonly", false)
	p.Indexed = o.Flag("indexed", false)
	p.Unique = o.Flag("unique", false)
	p.Autoassigned = o.Flag("autoassigned", false)
	if n, ok := o.Whole("size", 0, math.MaxInt32); ok {
		p.Size = int(n)
	}
	if n, ok := o.Whole("decimals", 0, math.MaxInt32); ok {
		p.Decimals = int(n)
	}
	if n, ok := o.Whole("orderNumber", math.MinInt32, math.MaxInt32); ok {
		p.OrderNumber, a.numbered = int(n), true
	}
	refuse(o, unsupportedPropertyFields)
	if a.typed && p.Type.Scalar() {
		checkAutoassigned(o, p)
		checkUniqueFlag(o, p)
		parseDefault(o, p)
	}
	if named {
		d.own = append(d.own, a)
	}
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
			o.Fault(o.At("name"), engine.Quote(name)+" again", "another name: "+a.path+" has it")
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
		o.Fault(o.Path, "no type", "a type: "+typeNames(scalarTypes))
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
	switch {
	case !ok:
		o.Fault(o.At("type"), jsonfile.Describe(v), expectedType(v))
	case !t.Scalar():
		o.Fault(o.At("type"), jsonfile.Describe(v), "another type: attribute type "+t.String()+" ("+typeNumber(t)+") is not supported yet; supported: "+typeNames(scalarTypes))
	}
	return t, ok
}

func expectedType(v any) string {
	if s, ok := v.(string); ok {
		names := strings.Split(typeNames(append(append([]engine.PropertyType(nil), scalarTypes...), otherTypes...)), ", ")
		if near := jsonfile.Nearest(s, names); near != "" {
			return engine.Quote(near)
		}
	}
	return "the number or the name of a type: " + typeNames(scalarTypes)
}

func typeNames(types []engine.PropertyType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return strings.Join(names, ", ")
}

func typeNumber(t engine.PropertyType) string {
	return engine.ValueText(int64(t))
}

func checkAutoassigned(o jsonfile.Object, p *engine.Property) {
	if !p.Autoassigned {
		return
	}
	switch p.Type {
	case engine.String, engine.GUID, engine.DateTime:
	case engine.Int:
		o.Fault(o.At("autoassigned"), "true for an int", "false: counters are not supported yet; supported: string, guid, datetime")
	default:
		o.Fault(o.At("autoassigned"), "true for type "+p.Type.String(), "false: a value can be assigned to string, guid and datetime only")
	}
}

// checkUniqueFlag drops what has no effect, as the ancestor does silently.
func checkUniqueFlag(o jsonfile.Object, p *engine.Property) {
	switch p.Type {
	case engine.Text, engine.HTML, engine.Password:
		if p.Unique {
			o.Warn(o.At("unique"), "true for type "+p.Type.String(), "false: it has no effect on this type")
			p.Unique = false
		}
	}
}

// call is the old text form of a formula, next(counter).
var call = regexp.MustCompile(`^\s*[A-Za-z]\w*\(.*\)\s*$`)

func parseDefault(o jsonfile.Object, p *engine.Property) {
	v := o.Value("defaultValue")
	if v == nil || v == "" {
		return
	}
	s, _ := v.(string)
	_, object := v.(engine.Fields)
	switch path := o.At("defaultValue"); {
	case object || call.MatchString(s):
		o.Fault(path, jsonfile.Describe(v), "a plain value: formulas are not supported yet")
	case strings.HasPrefix(s, "$$"):
		o.Fault(path, jsonfile.Describe(v), "a plain value: variables are not supported yet")
	default:
		if _, err := p.Cast(v); err != nil {
			o.Fault(path, jsonfile.Describe(v), "a value of type "+p.Type.String())
			return
		}
		p.Default = v
	}
}
