package platform

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// shape describes how to print an object, depending on its kind.
type shape struct {
	class    string // name of the constructor; "" if the object has none
	prefix   string // text before the opening bracket
	open     string // opening bracket
	close    string
	elements func(level int) []string // texts of contents that are not properties, such as entries of a Map; may be nil
	keys     []string                 // names of the properties to print
	symbols  []*goja.Symbol
	bare     bool // if there are no contents, print only the prefix, without brackets
	list     bool
}

// briefName returns the text that is printed instead of the contents of an object, if the object is nested too
// deeply.
func (s *shape) briefName() string {
	if s.list && s.class == "" {
		return "Array"
	}
	if s.class == "" {
		return "Object: null prototype"
	}
	return s.class
}

func decimal(n int) string { return strconv.Itoa(n) }

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return decimal(n) + " " + what
}

// shapeOf returns the shape of an object. level is the number of objects around it.
func (i *inspector) shapeOf(o *goja.Object, level int) *shape {
	s := &shape{class: i.className(o), open: "{", close: "}"}
	s.keys = o.Keys()
	for _, symbol := range o.Symbols() {
		if d := i.propertyDescriptor(o, symbol); d != nil && d.Get("enumerable").ToBoolean() {
			s.symbols = append(s.symbols, symbol)
		}
	}
	t := o.ExportType()
	switch name := o.ClassName(); {
	case name == "Array":
		i.arrayShape(o, s)
	case t == mapType:
		i.mapShape(o, s)
	case t == setType && name == "Object":
		i.setShape(o, s)
	case t == promiseType:
		i.promiseShape(o, s)
	case t == bufferType:
		i.bufferShape(o, s)
	case t != nil && t.Kind() == reflect.Slice && name == "Object":
		i.typedShape(o, s)
	case name == "Error":
		i.errorShape(o, s)
	case name == "Date" || name == "RegExp" || name == "Number" || name == "String" || name == "Boolean":
		i.valueShape(o, s, name)
	default:
		if _, ok := goja.AssertFunction(o); ok {
			i.functionShape(o, s)
			break
		}
		i.plainShape(o, s)
	}
	if i.o.Sorted {
		slices.Sort(s.keys)
	}
	return s
}

// className returns the name of the constructor of an object, or "" if it has none.
func (i *inspector) className(o *goja.Object) (name string) {
	i.p.js.Try(func() {
		proto := o.Prototype()
		if proto == nil {
			return
		}
		if c, ok := proto.Get("constructor").(*goja.Object); ok {
			if n := c.Get("name"); n != nil && goja.IsString(n) {
				name = n.String()
			}
		}
	})
	return name
}

// tagOf returns the property Symbol.toStringTag of an object, or "" if it is not a string.
func (i *inspector) tagOf(o *goja.Object) (tag string) {
	i.p.js.Try(func() {
		if v := o.GetSymbol(goja.SymToStringTag); v != nil && goja.IsString(v) {
			tag = v.String()
		}
	})
	return tag
}

// setTitle sets the prefix to the name of the class and the size, such as "Map(2) ". ordinary is the name of the
// kind of object, such as "Map". It is used if the object has no class, as in "[Map: null prototype] ".
func (s *shape) setTitle(ordinary, size string) {
	name := s.class
	if name == "" {
		name = "[" + ordinary + ": null prototype]"
	}
	s.prefix = name + size + " "
}

func (i *inspector) plainShape(o *goja.Object, s *shape) {
	tag := i.tagOf(o)
	switch {
	case o.ClassName() == "Arguments":
		s.prefix, s.open, s.close, s.list = "[Arguments] ", "[", "]", true
		i.elementsOf(o, s)
		return
	case s.class == "" || s.class != "Object":
		s.setTitle("Object", "")
	}
	if tag != "" && tag != s.class {
		if s.prefix == "" {
			s.prefix = "Object "
		}
		s.prefix += "[" + tag + "] "
	}
	if tag == "WeakMap" || tag == "WeakSet" || tag == "WeakRef" {
		s.elements = func(int) []string { return []string{"<items unknown>"} }
	}
}

func (i *inspector) arrayShape(o *goja.Object, s *shape) {
	s.open, s.close, s.list = "[", "]", true
	if s.class != "Array" {
		s.setTitle("Array", "("+o.Get("length").String()+")")
	}
	i.elementsOf(o, s)
}

// elementsOf makes s print the elements of an array by index. It removes the indexes from the properties to print.
func (i *inspector) elementsOf(o *goja.Object, s *shape) {
	var rest []string
	var present []int // in ascending order
	for _, k := range s.keys {
		if n, err := strconv.ParseUint(k, 10, 32); err == nil && strconv.FormatUint(n, 10) == k {
			present = append(present, int(n))
		} else {
			rest = append(rest, k)
		}
	}
	s.keys = rest
	n := int(o.Get("length").ToInteger())
	if n == 0 {
		return
	}
	s.elements = func(level int) []string {
		var parts []string
		at := 0
		for _, index := range append(present, n) {
			if len(parts) >= i.o.Elements || i.left < 0 {
				break
			}
			if holes := index - at; holes > 0 {
				parts = append(parts, "<"+plural(holes, "empty item")+">")
				at = index
			}
			if index == n || len(parts) >= i.o.Elements {
				break
			}
			parts = append(parts, i.inspectNested(o.Get(decimal(index)), level))
			at++
		}
		return i.appendMore(parts, n-at)
	}
}

// appendMore appends a text such as "... 3 more items" for n parts that are not printed.
func (i *inspector) appendMore(parts []string, n int) []string {
	if n > 0 {
		parts = append(parts, "... "+plural(n, "more item"))
	}
	return parts
}

// inspectNested returns the text for a value inside an object of the given level.
func (i *inspector) inspectNested(v goja.Value, level int) string {
	i.indent += 2
	s := i.inspectValue(v, level+1)
	i.indent -= 2
	return s
}

func (i *inspector) mapShape(o *goja.Object, s *shape) {
	s.setTitle("Map", "("+o.Get("size").String()+")")
	s.elements = func(level int) []string {
		var parts []string
		n := int(o.Get("size").ToInteger())
		i.p.js.ForOf(o, func(pair goja.Value) bool {
			p := pair.(*goja.Object)
			parts = append(parts, i.inspectNested(p.Get("0"), level)+" => "+i.inspectNested(p.Get("1"), level))
			return len(parts) < i.o.Elements && i.left >= 0
		})
		return i.appendMore(parts, n-len(parts))
	}
}

func (i *inspector) setShape(o *goja.Object, s *shape) {
	s.setTitle("Set", "("+o.Get("size").String()+")")
	s.elements = func(level int) []string {
		var parts []string
		n := int(o.Get("size").ToInteger())
		i.p.js.ForOf(o, func(v goja.Value) bool {
			parts = append(parts, i.inspectNested(v, level))
			return len(parts) < i.o.Elements && i.left >= 0
		})
		return i.appendMore(parts, n-len(parts))
	}
}

func (i *inspector) promiseShape(o *goja.Object, s *shape) {
	s.setTitle("Promise", "")
	s.elements = func(level int) []string {
		p := o.Export().(*goja.Promise)
		switch p.State() {
		case goja.PromiseStatePending:
			return []string{"<pending>"}
		case goja.PromiseStateRejected:
			return []string{"<rejected> " + i.inspectNested(p.Result(), level)}
		}
		return []string{i.inspectNested(p.Result(), level)}
	}
}

func (i *inspector) bufferShape(o *goja.Object, s *shape) {
	s.setTitle("ArrayBuffer", "")
	s.elements = func(int) []string {
		b, _ := i.p.bytesOf(o)
		return []string{"[Uint8Contents]: <" + i.formatHex(b) + ">", "byteLength: " + decimal(len(b))}
	}
}

// formatHex returns bytes in hexadecimal digits, separated by spaces. It prints at most 50 bytes.
func (i *inspector) formatHex(b []byte) string {
	const shown = 50
	n := min(len(b), shown)
	s := i.countText(strings.TrimSpace(fmt.Sprintf("% x", b[:n])))
	if len(b) > n {
		s += " ... " + plural(len(b)-n, "more byte")
	}
	return s
}

func (i *inspector) typedShape(o *goja.Object, s *shape) {
	b, _ := i.p.bytesOf(o)
	if s.class == "Buffer" {
		s.prefix, s.bare, s.keys = strings.TrimRight("<Buffer "+i.formatHex(b), " ")+">", true, nil
		return
	}
	s.setTitle(i.tagOf(o), "("+o.Get("length").String()+")")
	s.open, s.close, s.list, s.keys = "[", "]", true, nil
	n := int(o.Get("length").ToInteger())
	if n == 0 {
		return
	}
	s.elements = func(level int) []string {
		var parts []string
		for at := 0; at < n && at < i.o.Elements && i.left >= 0; at++ {
			parts = append(parts, i.inspectNested(o.Get(decimal(at)), level))
		}
		return i.appendMore(parts, n-len(parts))
	}
}

// errorShape makes s print the stack of an error, followed by its other properties.
func (i *inspector) errorShape(o *goja.Object, s *shape) {
	s.bare = true
	s.prefix = strings.ReplaceAll(i.p.host.Describe(o), "\n\t", "\n"+strings.Repeat(" ", i.indent+4))
	s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return k == "stack" || k == "message" || k == "name" })
	for _, name := range []string{"cause", "errors"} {
		if !slices.Contains(s.keys, name) && slices.Contains(o.GetOwnPropertyNames(), name) {
			s.keys = append(s.keys, name)
		}
	}
	if len(s.keys) > 0 {
		s.prefix += " "
	}
}

func (i *inspector) valueShape(o *goja.Object, s *shape, name string) {
	s.bare = true
	switch name {
	case "Date":
		s.prefix = "Invalid Date"
		if f := o.ToFloat(); f == f {
			s.prefix = i.callText(o, "toISOString")
		}
	case "RegExp":
		s.prefix = o.String()
	default:
		s.prefix = "[" + name + ": "
		if name == "String" {
			s.prefix += i.quoteText(o.String()) + "]"
			s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return k != "" && k[0] >= '0' && k[0] <= '9' })
		} else {
			s.prefix += o.String() + "]"
		}
	}
	if len(s.keys) > 0 {
		s.prefix += " "
	}
}

// callText calls the method with the given name and returns the result as a string. It returns "" if there is no such
// method.
func (i *inspector) callText(o *goja.Object, method string) string {
	f, ok := goja.AssertFunction(o.Get(method))
	if !ok {
		return ""
	}
	v, err := f(o)
	must(err)
	return v.String()
}

func (i *inspector) functionShape(o *goja.Object, s *shape) {
	s.bare = true
	name := ""
	if n := o.Get("name"); n != nil && goja.IsString(n) {
		name = n.String()
	}
	kind := s.class
	if kind == "" {
		kind = "Function"
	}
	if o.ExportType() == classType {
		s.prefix = "[class " + cmpOr(name, "(anonymous)")
		if super := o.Prototype(); super != nil {
			if n := super.Get("name"); n != nil && n.String() != "" {
				s.prefix += " extends " + n.String()
			}
		}
		s.prefix += "]"
	} else if name == "" {
		s.prefix = "[" + kind + " (anonymous)]"
	} else {
		s.prefix = "[" + kind + ": " + name + "]"
	}
	if len(s.keys) > 0 {
		s.prefix += " "
	}
}

var classType = reflect.TypeFor[func(goja.ConstructorCall) *goja.Object]()

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
