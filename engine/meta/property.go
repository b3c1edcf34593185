package meta

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/suggest"
)

// attribute is a property together with its description, while the description is being read and linked.
type attribute struct {
	jsonfile.Object        // the description; for a part of a structure, it is in the file of the structure
	home            *draft // the draft that contains the description; names of classes in the description get its namespace
	property        *engine.Property
	at              jsonfile.Object // the entry in the class; for a part of a structure, this is the entry of the struct attribute
	numbered        bool            // orderNumber is given in the file
	assigning       bool            // autoassigned is given in the file
	typed           bool            // type is given in the file and valid
	prefix          string          // for a part of a structure, the name of the struct attribute and "$"
	position        int             // index in the array properties, -1 if the server has added the attribute

	target     string // name of the target class or of the structure
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

	// envelopeNames are the fields in the JSON of an item that are not attributes.
	envelopeNames = []string{"_id", "_creator", "_editor", "_class", "_classVer", "__string", "__class", "__classTitle"}

	// allTypes holds the types in the order of their numbers, for use in messages.
	allTypes = []engine.PropertyType{
		engine.String, engine.Text, engine.HTML, engine.URL, engine.Image, engine.File, engine.Int, engine.Real,
		engine.DecimalNum, engine.DateTime, engine.Boolean, engine.Password, engine.GUID, engine.Reference,
		engine.Collection, engine.Set, engine.Struct, engine.Custom, engine.User, engine.Period, engine.Geo,
		engine.FileList, engine.Schedule,
	}
)

// parseProperties reads the attributes that a class declares.
func (d *draft) parseProperties(types userTypes) {
	if list, ok := d.Value("properties").([]any); ok || d.inline && d.Value("properties") == nil {
		counts := attributesThatCount(list)
		for i, v := range list {
			if !d.parseProperty(i, v, counts, types) {
				d.replaceEntry(i, nil)
			}
		}
		return
	}
	path, found := d.Path, "no properties"
	if v := d.Value("properties"); v != nil {
		path, found = d.At("properties"), jsonfile.Describe(v)
	}
	d.Report(mistake.PropertiesMissing, path, found, "an array of attributes")
}

// attributesThatCount returns, for each name, the position of the attribute that the server uses if several attributes
// have this name. This is the attribute with the highest orderNumber. If the numbers are equal or one is missing, it
// is the last attribute.
func attributesThatCount(list []any) map[string]int {
	counts := map[string]int{}
	orders := map[string]json.Number{}
	for i, v := range list {
		fields, _ := v.(engine.Fields)
		given, _ := fields.Get("name")
		name, _ := given.(string)
		given, _ = fields.Get("orderNumber")
		order, numbered := given.(json.Number)
		if other, also := orders[name]; also && numbered {
			a, errA := other.Float64()
			b, errB := order.Float64()
			if errA == nil && errB == nil && a > b {
				continue
			}
		}
		counts[name] = i
		if delete(orders, name); numbered {
			orders[name] = order
		}
	}
	return counts
}

// parseProperty reads the attribute at a position of the array properties. ok is false if the attribute is left out.
// counts is the result of attributesThatCount.
func (d *draft) parseProperty(position int, v any, counts map[string]int, types userTypes) (ok bool) {
	path := jsonfile.Element(d.At("properties"), position)
	fields, ok := v.(engine.Fields)
	if !ok {
		d.Report(mistake.AttributeShape, path, jsonfile.Describe(v), "an object that describes an attribute")
		return false
	}
	o := d.Within(path, fields)
	name, named := validName(o, mistake.AttributeName)
	switch {
	case !named:
		return false
	case slices.Contains(envelopeNames, name):
		o.Report(mistake.AttributeName, o.At("name"), engine.Quote(name), "a name that the JSON of items does not use itself")
		return false
	case counts[name] != position:
		other := jsonfile.Element(d.At("properties"), counts[name])
		o.Report(mistake.AttributeTwice, o.At("name"), engine.Quote(name)+", the name of "+other+" too, which counts", "each name once")
		return false
	}
	o.WarnRepeated()
	o.WarnUnknown(propertyFields)
	p := &engine.Property{Name: name, Caption: o.Text("caption"), Hint: o.Text("hint"), Definition: d.class.FullName, Source: fields}
	if p.Caption == "" {
		p.Caption = p.Name
	}
	a := &attribute{Object: o, home: d, at: o, property: p, assigning: o.Value("autoassigned") != nil, position: position}
	a.parseType()
	a.parseFlags(d.inline)
	a.parseNumbers()
	p.FileTypes = parseFileTypes(o)
	types.applyType(a)
	a.parseRelation()
	if a.typed {
		checkAutoassigned(o, p)
		checkUniqueFlag(o, p)
	}
	d.own = append(d.own, a)
	return true
}

// replaceEntry sets the entry of properties at a position in the description of the class by the service meta. If
// fields is nil, the description leaves out the entry.
func (d *draft) replaceEntry(position int, fields engine.Fields) {
	if d.resolved == nil {
		d.resolved = map[int]engine.Fields{}
	}
	d.resolved[position] = fields
}

// setField replaces the value of a field by the value that the server uses. The service meta describes the attribute
// with the new value.
func (a *attribute) setField(d *draft, field string, value any) {
	a.Fields = slices.Clone(a.Fields).With(field, value)
	a.property.Source = a.Fields
	if a.prefix == "" && a.position >= 0 {
		d.replaceEntry(a.position, a.Fields)
	}
}

// setType changes the type of an attribute.
func (a *attribute) setType(d *draft, t engine.PropertyType) {
	a.property.Type = t
	a.setField(d, "type", json.Number(strconv.Itoa(int(t))))
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
	if p.Type == engine.Collection || !isEmpty(a.Value("formula")) {
		p.Nullable = true // the server generates the value, so clients need not send a value
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
		if floor, ok := a.orderFraction(n.field); ok {
			a.Report(mistake.OrderFraction, a.At(n.field), jsonfile.Describe(a.Value(n.field)), "a whole number")
			*n.to, a.numbered = floor, true
		} else if v, ok := a.Whole(n.field, n.min, n.max); ok {
			*n.to = int(v)
			a.numbered = a.numbered || n.field == "orderNumber"
		}
	}
}

// orderFraction returns the number in a field, rounded down. ok is true if the field is orderNumber and the number has
// a fraction; otherwise, ok is false.
func (a *attribute) orderFraction(field string) (floor int, ok bool) {
	n, _ := a.Value(field).(json.Number)
	if field != "orderNumber" || n == "" {
		return 0, false
	}
	f, err := n.Float64()
	if err != nil || f == math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int(math.Floor(f)), true
}

// parseFileTypes reads the allowed file extensions: an array, or a text with separators such as "pdf, png".
func parseFileTypes(o jsonfile.Object) []string {
	s, ok := o.Value("allowedFileTypes").(string)
	if !ok {
		return readTexts(o, "allowedFileTypes", "the extension of a file, such as pdf")
	}
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
}

// parseRelation reads the fields of references, collections and structures that name other classes. For other types,
// it only checks that the values of these fields are text.
func (a *attribute) parseRelation() {
	a.backRef, a.backColl, a.binding = a.Text("backRef"), a.Text("backColl"), a.Text("binding")
	a.subclasses = readTexts(a.Object, "allowedSubclasses", "the name of a class")
	switch a.property.Type {
	case engine.Reference, engine.Struct, engine.Collection:
		a.target, _ = a.Value(a.targetField()).(string) // a value that is not text is reported by findTarget or findStructure
	default:
		a.Text("refClass")
		a.Text("itemsClass")
	}
	if a.property.Type == engine.Reference && a.backRef != "" {
		a.property.Nullable = true // nullable, because the attribute has no stored value
	}
}

// targetField returns the name of the field that contains the name of the target class.
func (a *attribute) targetField() string {
	if a.property.Type == engine.Collection {
		return "itemsClass"
	}
	return "refClass"
}

// parseType reads the type of an attribute. If the type is missing or unknown, the attribute accepts any JSON.
func (a *attribute) parseType() {
	v := a.Value("type")
	if a.property.Type, a.typed = typeOf(v); a.typed {
		return
	}
	if v == nil {
		a.Report(mistake.TypeMissing, a.Path, "no type", "a type: "+typeNames(allTypes))
	} else {
		a.Report(mistake.TypeUnknown, a.At("type"), jsonfile.Describe(v), expectedType(v))
	}
	a.setType(a.home, engine.Custom)
}

// typeOf returns the type with a number or a name. ok is false if there is no such type.
func typeOf(v any) (t engine.PropertyType, ok bool) {
	switch v := v.(type) {
	case string:
		return engine.TypeByName(v)
	case json.Number:
		n, err := (&engine.Property{Type: engine.Int}).Cast(v)
		if n, is := n.(int64); is && err == nil && n >= 0 && n <= 1000 {
			t = engine.PropertyType(n)
			return t, t.Known()
		}
	}
	return 0, false
}

func expectedType(v any) string {
	if s, ok := v.(string); ok {
		if near := suggest.Nearest(s, strings.Split(typeNames(allTypes), ", ")); near != "" {
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
		o.Report(mistake.AutoassignedType, o.At("autoassigned"), "true for type "+p.Type.String(), "an attribute of type string, guid, int or datetime")
		p.Autoassigned, p.Optional = false, true
	}
}

// checkUniqueFlag removes the flag unique, with a warning, if the flag has no effect on the type. IONDV ignores the
// flag without a message.
func checkUniqueFlag(o jsonfile.Object, p *engine.Property) {
	if p.Unique && !isIndexable(p.Type) {
		o.Warn(o.At("unique"), "true for type "+p.Type.String(), "false: it has no effect on this type")
		p.Unique = false
	}
}

// isIndexable reports whether values of the type can be unique and can be used in indexes.
func isIndexable(t engine.PropertyType) bool {
	switch t {
	case engine.Text, engine.HTML, engine.Password:
		return false
	}
	return t.Scalar() || t == engine.Reference
}
