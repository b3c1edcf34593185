package jsonfile

import (
	"encoding/json"

	"restsrv/engine"
)

// Where names the object in a message: its file, and where in that it stands.
func (o Object) Where() string {
	if o.Path == "" {
		return o.File
	}
	return o.File + ": " + o.Path
}

// Element reads an element of an array that must be an object; ok is false, and
// the fault told, when it is none.
func (o Object) Element(name string, i int) (element Object, ok bool) {
	v := o.List(name)[i]
	element = o.Within(Element(o.At(name), i), nil)
	if element.Fields, ok = v.(engine.Fields); !ok {
		o.Fault(element.Path, Describe(v), "an object")
	}
	return element, ok
}

// Name reads text, or a number as YAML makes one of digits; "" when there is
// neither.
func (o Object) Name(name string) string {
	if n, ok := o.Value(name).(json.Number); ok {
		return string(n)
	}
	return o.Text(name)
}
