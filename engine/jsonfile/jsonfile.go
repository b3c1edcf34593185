// Package jsonfile reads hand-written JSON files field by field, and collects the mistakes in them
// as engine.Fault. It defines how fields are read, how JSON paths are written, and how messages
// describe the found and the expected value. It also decodes YAML into the equivalent JSON, and is
// the only package that uses the YAML library.
//
// Use engine/wire to decode JSON text, and to read JSON that programs send. This package does not
// know any particular file: the names, ranges and defaults of its fields belong to the package that
// reads it.
package jsonfile

import (
	"encoding/json"
	"slices"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/mistake"
	"restsrv/engine/suggest"
)

// Object reads one JSON object field by field and collects its faults. A field that is null
// counts as absent. A field of the wrong type is a fault and counts as absent. If several fields
// have the same name, the last one counts. The zero Object is an empty object; any other Object
// must have Faults set.
type Object struct {
	File    string // name of the file in faults
	Path    string // JSON path of the object in the file, "" if it is the whole file
	Fields  engine.Fields
	Faults  *engine.Faults // list to which faults are added
	Lenient bool           // a value of the wrong type is a mistake with a rule instead of a fatal fault
}

// Within returns an Object with other fields in the same file. path is their JSON path.
func (o Object) Within(path string, fields engine.Fields) Object {
	o.Path, o.Fields = path, fields
	return o
}

// At returns the JSON path of a field.
func (o Object) At(name string) string { return Member(o.Path, name) }

// Fault adds a fatal fault. path is the JSON path of the wrong value. found and expected describe
// the value, as in engine.Fault.
func (o Object) Fault(path, found, expected string) {
	*o.Faults = append(*o.Faults, engine.Fault{File: o.File, Path: path, Found: found, Expected: expected})
}

// Warn adds a warning, which does not prevent the start of the server.
func (o Object) Warn(path, found, expected string) {
	*o.Faults = append(*o.Faults, engine.Fault{File: o.File, Path: path, Found: found, Expected: expected, Level: engine.Warning})
}

// Report adds a fault with a rule. The caller should then do what the Resolution of the rule says.
func (o Object) Report(rule *mistake.Rule, path, found, expected string) {
	*o.Faults = append(*o.Faults, engine.Fault{
		File: o.File, Path: path, Found: found, Expected: expected,
		Level: rule.Level, Code: rule.Code, Resolution: rule.Resolution,
	})
}

// reportType adds a fault for a field of the wrong type. It uses the rule if the Object is lenient.
func (o Object) reportType(rule *mistake.Rule, name, expected string) {
	if o.Lenient {
		o.Report(rule, o.At(name), Describe(o.Value(name)), expected)
	} else {
		o.Fault(o.At(name), Describe(o.Value(name)), expected)
	}
}

// Value returns the decoded value of a field, or nil if the field is absent.
func (o Object) Value(name string) any {
	v, _ := o.Fields.Get(name)
	return v
}

// Text reads a text. It returns "" if the field is absent or has another type.
func (o Object) Text(name string) string {
	v := o.Value(name)
	s, ok := v.(string)
	if !ok && v != nil {
		o.reportType(mistake.NotText, name, "text")
	}
	return s
}

// Flag reads true or false. It returns def if the field is absent or has another type. A lenient
// Object instead converts a value of another type to a boolean as JavaScript does.
func (o Object) Flag(name string, def bool) bool {
	v := o.Value(name)
	if v == nil {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		o.reportType(mistake.NotFlag, name, "true or false")
		if o.Lenient {
			return IsTruthy(v)
		}
		return def
	}
	return b
}

// Whole reads a whole number from min to max. ok is false if the field is absent or does not hold
// such a number.
func (o Object) Whole(name string, min, max int64) (n int64, ok bool) {
	v := o.Value(name)
	if v == nil {
		return 0, false
	}
	if number, is := v.(json.Number); is {
		cast, err := (&engine.Property{Type: engine.Int}).Cast(number)
		if n, is := cast.(int64); is && err == nil && n >= min && n <= max {
			return n, true
		}
	}
	o.reportType(mistake.NotNumber, name, "a whole number from "+strconv.FormatInt(min, 10)+" to "+strconv.FormatInt(max, 10))
	return 0, false
}

// List reads an array. It returns nil if the field is absent or has another type.
func (o Object) List(name string) []any {
	v := o.Value(name)
	list, ok := v.([]any)
	if !ok && v != nil {
		o.reportType(mistake.NotArray, name, "an array")
	}
	return list
}

// Child reads an object. If the field is absent or has another type, ok is false and the child is
// empty.
func (o Object) Child(name string) (child Object, ok bool) {
	v := o.Value(name)
	fields, ok := v.(engine.Fields)
	if !ok && v != nil {
		o.reportType(mistake.NotObject, name, "an object")
	}
	return o.Within(o.At(name), fields), ok
}

// IsTruthy converts a JSON value to a boolean as JavaScript does.
func IsTruthy(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		return v != ""
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	}
	return v != nil
}

// WarnRepeated adds a warning for each repeated field name, since only the last field with a name
// counts.
func (o Object) WarnRepeated() {
	seen := make(map[string]bool, len(o.Fields))
	for _, f := range o.Fields {
		if seen[f.Name] {
			o.Warn(o.At(f.Name), "the name "+engine.Quote(f.Name)+" again", "each name once: only the last one counts")
		}
		seen[f.Name] = true
	}
}

// WarnUnknown adds a warning for each field with a name that is not in known.
func (o Object) WarnUnknown(known []string) {
	for _, f := range o.Fields {
		if slices.Contains(known, f.Name) {
			continue
		}
		expected := "a name that has a meaning here: it is ignored"
		if near := suggest.Nearest(f.Name, known); near != "" {
			expected = engine.Quote(near)
		}
		o.Warn(o.At(f.Name), "unknown name "+engine.Quote(f.Name), expected)
	}
}
