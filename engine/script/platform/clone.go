package platform

import (
	"reflect"

	"github.com/dop251/goja"
)

// Limits of one structuredClone.
const (
	maxCloneDepth = 512
	maxCloneParts = 2_000_000
)

// structuredClone copies a value deeply. It runs in Go, so that the limit on the call depth of scripts does not
// limit the nesting of values.
func structuredClone(p *Platform) goja.Value {
	return p.function("structuredClone", func(call goja.FunctionCall) goja.Value {
		if len(call.Arguments) == 0 {
			p.fail("TypeError", "ERR_MISSING_ARGS", "The \"value\" argument must be specified")
		}
		if o, ok := call.Argument(1).(*goja.Object); ok {
			if t, ok := o.Get("transfer").(*goja.Object); ok && t.Get("length").ToInteger() > 0 {
				panic(p.domException("DataCloneError", "structuredClone: transfer is not supported; leave it out to have a copy"))
			}
		}
		c := cloner{p: p, done: map[*goja.Object]goja.Value{}}
		return c.value(call.Argument(0))
	})
}

type cloner struct {
	p     *Platform
	done  map[*goja.Object]goja.Value
	depth int
	parts int
}

func (c *cloner) refuse(what string) {
	panic(c.p.domException("DataCloneError", what+" could not be cloned."))
}

func (c *cloner) value(v goja.Value) goja.Value {
	if c.parts++; c.parts > maxCloneParts {
		panic(c.p.domException("DataCloneError", "structuredClone: the value has more than "+decimal(maxCloneParts)+" parts"))
	}
	switch v := v.(type) {
	case *goja.Symbol:
		c.refuse("Symbol(" + v.String() + ")")
	case *goja.Object:
		if known := c.done[v]; known != nil {
			return known
		}
		if c.depth++; c.depth > maxCloneDepth {
			panic(c.p.domException("DataCloneError", "structuredClone: the value is nested deeper than "+decimal(maxCloneDepth)+" levels"))
		}
		defer func() { c.depth-- }()
		return c.object(v)
	}
	return v
}

// construct creates an object of a built-in class and remembers it as the copy of from.
func (c *cloner) construct(from *goja.Object, class string, args ...goja.Value) *goja.Object {
	o, err := c.p.js.New(c.p.js.GlobalObject().Get(class), args...)
	must(err)
	c.done[from] = o
	return o
}

func (c *cloner) object(o *goja.Object) goja.Value {
	t, js := o.ExportType(), c.p.js
	switch name := o.ClassName(); {
	case name == "Array":
		list := js.NewArray()
		c.done[o] = list
		_ = list.Set("length", o.Get("length"))
		c.properties(o, list)
		return list
	case name == "Date":
		return c.construct(o, "Date", o.ToNumber())
	case name == "RegExp":
		return c.construct(o, "RegExp", o.Get("source"), o.Get("flags"))
	case name == "Error":
		return c.error(o)
	case name == "Number" || name == "String" || name == "Boolean":
		return c.remember(o, js.ToValue(o.Export()).ToObject(js))
	case t == mapType:
		return c.mapOf(o)
	case t == setType && name == "Object":
		return c.setOf(o)
	case t == bufferType:
		b, _ := c.p.bytes(o)
		return c.remember(o, c.p.arrayBuffer(append(c.p.allocate(int64(len(b)), "structuredClone")[:0], b...)))
	case t != nil && t.Kind() == reflect.Slice && name == "Object":
		return c.view(o, "length")
	}
	return c.plain(o)
}

func (c *cloner) remember(from *goja.Object, v goja.Value) goja.Value {
	c.done[from] = v
	return v
}

// unclonable lists classes whose objects have a state that cannot be copied.
var unclonable = map[string]bool{
	"WeakMap": true, "WeakSet": true, "WeakRef": true, "Generator": true, "Array Iterator": true, "Map Iterator": true, "Set Iterator": true,
	"AbortSignal": true, "AbortController": true, "EventTarget": true, "Event": true, "URL": true, "URLSearchParams": true, "Headers": true, "Request": true,
	"Response": true, "FormData": true, "Blob": true, "File": true, "TextEncoder": true, "TextDecoder": true, "Crypto": true, "process": true,
}

// plain copies the properties of an object of any other class. The copy is a plain object.
func (c *cloner) plain(o *goja.Object) goja.Value {
	if _, ok := goja.AssertFunction(o); ok {
		c.refuse("A function")
	}
	tag := ""
	if v := o.GetSymbol(goja.SymToStringTag); v != nil && goja.IsString(v) {
		tag = v.String()
	}
	switch t := o.ExportType(); {
	case t == promiseType:
		c.refuse("A Promise")
	case t == proxyType:
		c.refuse("A Proxy")
	case tag == "DataView":
		return c.view(o, "byteLength")
	case unclonable[tag]:
		c.refuse("An object of the class " + tag)
	}
	copied := c.p.js.NewObject()
	c.done[o] = copied
	c.properties(o, copied)
	return copied
}

func (c *cloner) properties(from, to *goja.Object) {
	for _, k := range from.Keys() {
		_ = to.DefineDataProperty(k, c.value(from.Get(k)), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
}

// view copies a typed array or DataView together with its whole buffer.
func (c *cloner) view(o *goja.Object, length string) goja.Value {
	buffer := c.value(o.Get("buffer"))
	return c.construct(o, o.GetSymbol(goja.SymToStringTag).String(), buffer, o.Get("byteOffset"), o.Get(length))
}

func (c *cloner) mapOf(o *goja.Object) goja.Value {
	copied := c.construct(o, "Map")
	set, _ := goja.AssertFunction(copied.Get("set"))
	var pairs []*goja.Object
	c.p.js.ForOf(o, func(v goja.Value) bool {
		pairs = append(pairs, v.(*goja.Object))
		return len(pairs) <= maxCloneParts
	})
	for _, pair := range pairs {
		_, err := set(copied, c.value(pair.Get("0")), c.value(pair.Get("1")))
		must(err)
	}
	return copied
}

func (c *cloner) setOf(o *goja.Object) goja.Value {
	copied := c.construct(o, "Set")
	add, _ := goja.AssertFunction(copied.Get("add"))
	var values []goja.Value
	c.p.js.ForOf(o, func(v goja.Value) bool {
		values = append(values, v)
		return len(values) <= maxCloneParts
	})
	for _, v := range values {
		_, err := add(copied, c.value(v))
		must(err)
	}
	return copied
}

// error copies the class, message, stack and cause of an error. Properties that a script added are not copied.
func (c *cloner) error(o *goja.Object) goja.Value {
	class := "Error"
	switch name := o.Get("name"); {
	case name == nil:
	case name.String() == "EvalError", name.String() == "RangeError", name.String() == "ReferenceError", name.String() == "SyntaxError",
		name.String() == "TypeError", name.String() == "URIError":
		class = name.String()
	}
	copied := c.construct(o, class, o.Get("message"))
	for _, name := range []string{"stack", "cause"} {
		if v := o.Get(name); v != nil && !goja.IsUndefined(v) {
			_ = copied.DefineDataProperty(name, c.value(v), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		}
	}
	return copied
}
