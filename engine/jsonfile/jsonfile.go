// Package jsonfile reads JSON files that people write, field by field, and
// collects every mistake in them as an engine.Fault: it owns how fields are
// read, how JSON paths are written and how messages name what is there and
// what was meant. It also owns the YAML library, and reads YAML as the JSON it
// stands for. It is not for bytes of JSON (engine/wire decodes them), not for
// JSON that programs send, and knows no file: which names, ranges and defaults
// one has belongs to its reader.
package jsonfile

import (
	"encoding/json"
	"slices"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/mistake"
)

// Object reads one JSON object field by field and collects what is wrong with
// it. A field that is null counts as absent, one of the wrong type is a fault
// and reads as absent; of fields with one name the last counts. The zero Object
// reads as empty; any other needs Faults.
type Object struct {
	File    string // as faults give it
	Path    string // JSON path of the object, "" for the whole file
	Fields  engine.Fields
	Faults  *engine.Faults // where faults are added
	Lenient bool           // values of the wrong type are mistakes with a rule, not fatal
}

// Within returns an Object for fields that stand at the JSON path in the same file.
func (o Object) Within(path string, fields engine.Fields) Object {
	o.Path, o.Fields = path, fields
	return o
}

// At returns the JSON path of a field.
func (o Object) At(name string) string { return Member(o.Path, name) }

// Fault adds a mistake that stands at the JSON path; found and expected are as
// in engine.Fault.
func (o Object) Fault(path, found, expected string) {
	*o.Faults = append(*o.Faults, engine.Fault{File: o.File, Path: path, Found: found, Expected: expected})
}

// Warn is Fault for what does not keep the server from starting.
func (o Object) Warn(path, found, expected string) {
	*o.Faults = append(*o.Faults, engine.Fault{File: o.File, Path: path, Found: found, Expected: expected, Level: engine.Warning})
}

// Report adds a fault for which there is a rule. The caller does what the rule says.
func (o Object) Report(rule *mistake.Rule, path, found, expected string) {
	*o.Faults = append(*o.Faults, engine.Fault{
		File: o.File, Path: path, Found: found, Expected: expected,
		Level: rule.Level, Code: rule.Code, Resolution: rule.Resolution,
	})
}

// mistyped adds the fault that a field has the wrong type.
func (o Object) mistyped(rule *mistake.Rule, name, expected string) {
	if o.Lenient {
		o.Report(rule, o.At(name), Describe(o.Value(name)), expected)
	} else {
		o.Fault(o.At(name), Describe(o.Value(name)), expected)
	}
}

// Value returns what a field holds, as decoded, nil when it is absent.
func (o Object) Value(name string) any {
	v, _ := o.Fields.Get(name)
	return v
}

// Text reads a text, "" when there is none.
func (o Object) Text(name string) string {
	v := o.Value(name)
	s, ok := v.(string)
	if !ok && v != nil {
		o.mistyped(mistake.NotText, name, "text")
	}
	return s
}

// Flag reads true or false. It returns def if the field is absent or has another
// type; a lenient Object converts other types as JavaScript does.
func (o Object) Flag(name string, def bool) bool {
	v := o.Value(name)
	if v == nil {
		return def
	}
	b, ok := v.(bool)
	if !ok {
		o.mistyped(mistake.NotFlag, name, "true or false")
		if o.Lenient {
			return truthy(v)
		}
		return def
	}
	return b
}

// Whole reads a whole number from min to max, both included; ok is false when
// there is none.
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
	o.mistyped(mistake.NotNumber, name, "a whole number from "+strconv.FormatInt(min, 10)+" to "+strconv.FormatInt(max, 10))
	return 0, false
}

// List reads an array, nil when there is none.
func (o Object) List(name string) []any {
	v := o.Value(name)
	list, ok := v.([]any)
	if !ok && v != nil {
		o.mistyped(mistake.NotArray, name, "an array")
	}
	return list
}

// Child reads an object; ok is false when there is none, and the child then
// reads as empty.
func (o Object) Child(name string) (child Object, ok bool) {
	v := o.Value(name)
	fields, ok := v.(engine.Fields)
	if !ok && v != nil {
		o.mistyped(mistake.NotObject, name, "an object")
	}
	return o.Within(o.At(name), fields), ok
}

// truthy converts a JSON value to a flag as JavaScript does.
func truthy(v any) bool {
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

// WarnRepeated warns of names that are given twice, since only the last counts.
func (o Object) WarnRepeated() {
	seen := make(map[string]bool, len(o.Fields))
	for _, f := range o.Fields {
		if seen[f.Name] {
			o.Warn(o.At(f.Name), "the name "+engine.Quote(f.Name)+" again", "each name once: only the last one counts")
		}
		seen[f.Name] = true
	}
}

// WarnUnknown warns of fields that are not among the known ones.
func (o Object) WarnUnknown(known []string) {
	for _, f := range o.Fields {
		if slices.Contains(known, f.Name) {
			continue
		}
		expected := "a name that has a meaning here: it is ignored"
		if near := Nearest(f.Name, known); near != "" {
			expected = engine.Quote(near)
		}
		o.Warn(o.At(f.Name), "unknown name "+engine.Quote(f.Name), expected)
	}
}
