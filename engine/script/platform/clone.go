package platform

import (
	"reflect"

	"github.com/dop251/goja"
)

// Limits for one call of structuredClone.
const (
	maxCloneDepth = 512       // nesting depth of the value
	maxCloneParts = 2_000_000 // number of values, including those in objects
)

// structuredClone returns the global function structuredClone, which copies a value deeply. It is written in Go: a
// recursive function in JavaScript would reach the limit on nested calls before the limit on the depth of the value.
func structuredClone(p *Platform) goja.Value {
	return p.newFunction("structuredClone", func(call goja.FunctionCall) goja.Value {
		if len(call.Arguments) == 0 {
			p.fail("TypeError", "ERR_MISSING_ARGS", "The \"value\" argument must be specified")
		}
		if o, ok := call.Argument(1).(*goja.Object); ok {
			if t, ok := o.Get("transfer").(*goja.Object); ok && t.Get("length").ToInteger() > 0 {
				panic(p.domException("DataCloneError", "structuredClone: transfer is not supported; leave it out to have a copy"))
			}
		}
		c := cloner{p: p, done: map[*goja.Object]goja.Value{}}
		return c.cloneValue(call.Argument(0))
	})
}

type cloner struct {
	p     *Platform
	done  map[*goja.Object]goja.Value
	depth int
	parts int
}

func (c *cloner) refuseClone(what string) {
	panic(c.p.domException("DataCloneError", what+" could not be cloned."))
}

func (c *cloner) cloneValue(v goja.Value) goja.Value {
	if c.parts++; c.parts > maxCloneParts {
		panic(c.p.domException("DataCloneError", "structuredClone: the value has more than "+decimal(maxCloneParts)+" parts"))
	}
	switch v := v.(type) {
	case *goja.Symbol:
		c.refuseClone("Symbol(" + v.String() + ")")
	case *goja.Object:
		if known := c.done[v]; known != nil {
			return known
		}
		if c.depth++; c.depth > maxCloneDepth {
			panic(c.p.domException("DataCloneError", "structuredClone: the value is nested deeper than "+decimal(maxCloneDepth)+" levels"))
		}
		defer func() { c.depth-- }()
		return c.cloneObject(v)
	}
	return v
}

// constructCopy creates an object of the built-in class with the given arguments and records it in c.done as the copy
// of from.
func (c *cloner) constructCopy(from *goja.Object, class string, args ...goja.Value) *goja.Object {
	o, err := c.p.js.New(c.p.js.GlobalObject().Get(class), args...)
	must(err)
	c.done[from] = o
	return o
}

func (c *cloner) cloneObject(o *goja.Object) goja.Value {
	t, js := o.ExportType(), c.p.js
	switch name := o.ClassName(); {
	case name == "Array":
		list := js.NewArray()
		c.done[o] = list
		_ = list.Set("length", o.Get("length"))
		c.copyProperties(o, list)
		return list
	case name == "Date":
		return c.constructCopy(o, "Date", o.ToNumber())
	case name == "RegExp":
		return c.constructCopy(o, "RegExp", o.Get("source"), o.Get("flags"))
	case name == "Error":
		return c.cloneError(o)
	case name == "Number" || name == "String" || name == "Boolean":
		return c.rememberCopy(o, js.ToValue(o.Export()).ToObject(js))
	case t == mapType:
		return c.mapOf(o)
	case t == setType && name == "Object":
		return c.setOf(o)
	case t == bufferType:
		b, _ := c.p.bytesOf(o)
		return c.rememberCopy(o, c.p.arrayBuffer(append(c.p.allocate(int64(len(b)), "structuredClone")[:0], b...)))
	case t != nil && t.Kind() == reflect.Slice && name == "Object":
		return c.cloneView(o, "length")
	}
	return c.clonePlain(o)
}

func (c *cloner) rememberCopy(from *goja.Object, v goja.Value) goja.Value {
	c.done[from] = v
	return v
}

// unclonable lists the classes whose objects cannot be copied, because their state is not accessible.
var unclonable = map[string]bool{
	"WeakMap": true, "WeakSet": true, "WeakRef": true, "Generator": true, "Array Iterator": true, "Map Iterator": true, "Set Iterator": true,
	"AbortSignal": true, "AbortController": true, "EventTarget": true, "Event": true, "URL": true, "URLSearchParams": true, "Headers": true, "Request": true,
	"Response": true, "FormData": true, "Blob": true, "File": true, "TextEncoder": true, "TextDecoder": true, "Crypto": true, "CryptoKey": true, "SubtleCrypto": true, "KeyObject": true, "process": true,
}

// clonePlain copies the properties of an object that belongs to no built-in class. The copy is a plain object.
func (c *cloner) clonePlain(o *goja.Object) goja.Value {
	if _, ok := goja.AssertFunction(o); ok {
		c.refuseClone("A function")
	}
	tag := ""
	if v := o.GetSymbol(goja.SymToStringTag); v != nil && goja.IsString(v) {
		tag = v.String()
	}
	switch t := o.ExportType(); {
	case t == promiseType:
		c.refuseClone("A Promise")
	case t == proxyType:
		c.refuseClone("A Proxy")
	case tag == "DataView":
		return c.cloneView(o, "byteLength")
	case unclonable[tag]:
		c.refuseClone("An object of the class " + tag)
	}
	copied := c.p.js.NewObject()
	c.done[o] = copied
	c.copyProperties(o, copied)
	return copied
}

func (c *cloner) copyProperties(from, to *goja.Object) {
	for _, k := range from.Keys() {
		_ = to.DefineDataProperty(k, c.cloneValue(from.Get(k)), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
}

// cloneView copies a typed array or a DataView, and with it the whole buffer that it shows. length is the name of
// the property that contains the length of the view.
func (c *cloner) cloneView(o *goja.Object, length string) goja.Value {
	buffer := c.cloneValue(o.Get("buffer"))
	return c.constructCopy(o, o.GetSymbol(goja.SymToStringTag).String(), buffer, o.Get("byteOffset"), o.Get(length))
}

func (c *cloner) mapOf(o *goja.Object) goja.Value {
	copied := c.constructCopy(o, "Map")
	set, _ := goja.AssertFunction(copied.Get("set"))
	var pairs []*goja.Object
	c.p.js.ForOf(o, func(v goja.Value) bool {
		pairs = append(pairs, v.(*goja.Object))
		return len(pairs) <= maxCloneParts
	})
	for _, pair := range pairs {
		_, err := set(copied, c.cloneValue(pair.Get("0")), c.cloneValue(pair.Get("1")))
		must(err)
	}
	return copied
}

func (c *cloner) setOf(o *goja.Object) goja.Value {
	copied := c.constructCopy(o, "Set")
	add, _ := goja.AssertFunction(copied.Get("add"))
	var values []goja.Value
	c.p.js.ForOf(o, func(v goja.Value) bool {
		values = append(values, v)
		return len(values) <= maxCloneParts
	})
	for _, v := range values {
		_, err := add(copied, c.cloneValue(v))
		must(err)
	}
	return copied
}

// cloneError copies the class, message, stack and cause of an error. It does not copy properties that a script has
// added.
func (c *cloner) cloneError(o *goja.Object) goja.Value {
	class := "Error"
	switch name := o.Get("name"); {
	case name == nil:
	case name.String() == "EvalError", name.String() == "RangeError", name.String() == "ReferenceError", name.String() == "SyntaxError",
		name.String() == "TypeError", name.String() == "URIError":
		class = name.String()
	}
	copied := c.constructCopy(o, class, o.Get("message"))
	for _, name := range []string{"stack", "cause"} {
		if v := o.Get(name); v != nil && !goja.IsUndefined(v) {
			_ = copied.DefineDataProperty(name, c.cloneValue(v), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		}
	}
	return copied
}
