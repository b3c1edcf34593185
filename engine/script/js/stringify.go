package js

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/dop251/goja"
)

// restsrv replaces JSON.stringify, because that of goja does not limit the depth and the size of the result.

// Stringify implements JSON.stringify(value, replacer, space) with limits for size and depth.
func (h *Realm) Stringify(call goja.FunctionCall) goja.Value {
	limits := h.Limits
	w := Writer{h: h, size: limits.Text, deep: limits.Depth}
	defer func() {
		x := recover()
		if bad, ok := x.(ResultError); ok {
			panic(h.JS.NewTypeError("JSON.stringify: " + string(bad)))
		}
		if x != nil {
			panic(x)
		}
	}()
	v := call.Argument(0)
	if r := h.newReplacer(call.Argument(1)); r != nil {
		root := h.JS.NewObject()
		h.Put(root, "", v)
		v = r.replaceValue(root, "", v)
	}
	if !w.WriteValue(v) {
		return goja.Undefined()
	}
	if gap := indentOf(call.Argument(2)); gap != "" {
		if len(w.buf) > 0 && (w.buf[0] == '[' || w.buf[0] == '{') {
			return h.JS.ToValue(h.indentJSON(w.buf, gap))
		}
	}
	return h.JS.ToValue(string(w.buf))
}

// indentJSON adds line breaks to JSON text. gap is the indentation of one level.
func (h *Realm) indentJSON(text []byte, gap string) string {
	// First compute the size of the result, to check the limit before allocating: each value is on its own line with
	// the indentation of its depth.
	size, depth, quoted := len(text), 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			size += 1 + depth*len(gap)
		case c == '}' || c == ']':
			depth--
			size += 1 + depth*len(gap)
		case c == ',':
			size += 1 + depth*len(gap)
		}
	}
	h.TooMuch(float64(size), h.Limits.Text, "JSON.stringify")
	var out bytes.Buffer
	out.Grow(size)
	Must(json.Indent(&out, text, "", gap))
	return out.String()
}

// indentOf returns the indentation of one level for the third argument of JSON.stringify, a number or a text.
func indentOf(v goja.Value) string {
	if o, ok := v.(*goja.Object); ok {
		switch o.ClassName() {
		case "Number":
			v = o.ToNumber()
		case "String":
			v = o.ToString()
		}
	}
	switch {
	case goja.IsNumber(v):
		return strings.Repeat(" ", int(max(0, min(10, v.ToFloat()))))
	case goja.IsString(v):
		if r := []rune(v.String()); len(r) > 10 {
			return string(r[:10])
		}
		return v.String()
	}
	return ""
}

// replacer applies the second argument of JSON.stringify to a value. The argument is either a function, which returns
// the replacement of each member, or a list with the names of the members that stay in the result.
type replacer struct {
	h     *Realm
	f     goja.Callable   // the function; nil for a list
	names map[string]bool // names in the list; nil for a function
	order []string        // the same names in the order of the list
	depth int
}

// newReplacer returns the replacer for the second argument of JSON.stringify, or nil if the argument is neither a
// function nor an array.
func (h *Realm) newReplacer(v goja.Value) *replacer {
	if f, ok := goja.AssertFunction(v); ok {
		return &replacer{h: h, f: f}
	}
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Array" {
		return nil
	}
	r := &replacer{h: h, names: map[string]bool{}}
	h.TooLong(o, "JSON.stringify")
	for i := range int(o.Get("length").ToInteger()) {
		n := o.Get(h.IndexText(i))
		if !goja.IsString(n) && !goja.IsNumber(n) {
			if b, ok := n.(*goja.Object); !ok || b.ClassName() != "String" && b.ClassName() != "Number" {
				continue
			}
		}
		if name := n.String(); !r.names[name] {
			r.names[name] = true
			r.order = append(r.order, name)
		}
	}
	return r
}

func (r *replacer) replaceValue(holder *goja.Object, key string, v goja.Value) goja.Value {
	h := r.h
	if r.depth++; r.depth > h.Limits.Depth {
		panic(ResultError("the value is cyclic or nested too deep"))
	}
	defer func() { r.depth-- }()
	if o, ok := v.(*goja.Object); ok {
		if toJSON, ok := goja.AssertFunction(o.Get("toJSON")); ok {
			v = r.callFunction(toJSON, o, h.JS.ToValue(key))
		}
	}
	if r.f != nil {
		v = r.callFunction(r.f, holder, h.JS.ToValue(key), v)
	}
	o, ok := v.(*goja.Object)
	if !ok {
		return v
	}
	switch o.ClassName() {
	case "Array":
		n := int(o.Get("length").ToInteger())
		h.TooMuch(float64(n), h.Limits.Elements, "JSON.stringify")
		list := make([]any, 0, min(n, 1024))
		for i := range n {
			e := r.replaceValue(o, h.IndexText(i), o.Get(h.IndexText(i)))
			if e == nil {
				e = goja.Undefined()
			}
			list = append(list, e)
		}
		return h.JS.NewArray(list...)
	case "Object", "Error", "Arguments":
		if _, callable := goja.AssertFunction(o); callable {
			return goja.Undefined()
		}
		return r.replaceMembers(o)
	}
	return v
}

func (r *replacer) replaceMembers(o *goja.Object) goja.Value {
	names := r.order
	if r.f != nil {
		names = o.Keys()
	}
	made := r.h.JS.NewObject()
	for _, k := range names {
		v := o.Get(k)
		if v == nil && r.f == nil {
			continue
		}
		if v == nil {
			v = goja.Undefined()
		}
		if v = r.replaceValue(o, k, v); v != nil && !goja.IsUndefined(v) {
			r.h.Put(made, k, v)
		}
	}
	return made
}

func (r *replacer) callFunction(f goja.Callable, this goja.Value, args ...goja.Value) goja.Value {
	v, err := f(this, args...)
	if err != nil {
		panic(Rethrow(err))
	}
	return v
}

// TooManyValues reports whether JSON text has more than most values. The count is approximate: it is the number of
// commas and opening brackets outside of strings. The JSON is not validated.
func TooManyValues(json []byte, most int) bool {
	n, quoted := 0, false
	for i := 0; i < len(json); i++ {
		switch c := json[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
			if c == '\\' {
				i++
			}
		case c == ',', c == '[', c == '{':
			if n++; n > most {
				return true
			}
		}
	}
	return false
}
