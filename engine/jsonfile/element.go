package jsonfile

import (
	"encoding/json"

	"restsrv/engine"
)

// Where returns the place of the object for messages: its file and its JSON path.
func (o Object) Where() string {
	if o.Path == "" {
		return o.File
	}
	return o.File + ": " + o.Path
}

// Element returns element i of the array in the field name. If the element is not an object, it
// adds a fault, and ok is false.
func (o Object) Element(name string, i int) (element Object, ok bool) {
	v := o.List(name)[i]
	element = o.Within(Element(o.At(name), i), nil)
	if element.Fields, ok = v.(engine.Fields); !ok {
		o.Fault(element.Path, Describe(v), "an object")
	}
	return element, ok
}

// Name reads a name. It also accepts a number, since YAML decodes an unquoted name of digits as a
// number. It returns "" for other types.
func (o Object) Name(name string) string {
	if n, ok := o.Value(name).(json.Number); ok {
		return string(n)
	}
	return o.Text(name)
}
