package shared

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/wire"
)

// A shared value is an immutable tree of these Go values: nil for null, absent, bool, float64, string, *big.Int,
// moment, []byte, []any and engine.Fields.

// absent stands for undefined.
type absent struct{}

// moment is a Date in milliseconds since 1970; NaN if the Date is invalid.
type moment float64

// copier converts a JavaScript value to a shared value.
type copier struct {
	h     *Binding
	bytes int // approximate size of the copy
	depth int
	js.Patience
}

const maxSharedDepth = 64

// shareValue converts a JavaScript value to a shared value and returns its approximate size. It must be called inside
// a turn. If a part of the value cannot be stored, it throws a TypeError that names the part.
func (h *Binding) shareValue(v goja.Value) (value any, bytes int) {
	c := copier{h: h}
	value = c.copyValue(v)
	return value, c.bytes
}

func (c *copier) throwUnsupported(what string) {
	panic(c.h.JS.NewTypeError("shared: " + what + " cannot be stored: store what JSON can say, Dates, BigInts and bytes"))
}

func (c *copier) copyValue(v goja.Value) any {
	c.Check(c.h.Realm)
	if c.bytes += 16; c.bytes > c.h.Limits.Shared {
		panic(c.h.RangeError("shared: the value is larger than all that may be stored, %d bytes", c.h.Limits.Shared))
	}
	switch {
	case v == nil || goja.IsUndefined(v):
		return absent{}
	case goja.IsNull(v):
		return nil
	case goja.IsString(v):
		s := v.String()
		c.bytes += len(s)
		return s
	case goja.IsNumber(v):
		return v.ToFloat()
	case goja.IsBigInt(v):
		n, _ := v.Export().(*big.Int)
		c.bytes += n.BitLen() / 8
		return new(big.Int).Set(n)
	}
	o, ok := v.(*goja.Object)
	if !ok {
		if b, ok := v.Export().(bool); ok {
			return b
		}
		c.throwUnsupported("a symbol")
	}
	if c.depth++; c.depth > maxSharedDepth {
		c.throwUnsupported(fmt.Sprintf("what is cyclic or nested deeper than %d levels", maxSharedDepth))
	}
	defer func() { c.depth-- }()
	return c.copyObject(o)
}

func (c *copier) copyObject(o *goja.Object) any {
	if js.IsStored(o) {
		return c.copyItems(o)
	}
	if o.ExportType() == js.TimeType {
		return moment(o.ToFloat())
	}
	if b, ok := js.BytesOf(o); ok {
		c.bytes += len(b)
		return bytes.Clone(b)
	}
	switch name := o.ClassName(); name {
	case "Array":
		n := int(o.Get("length").ToInteger())
		c.h.TooMuch(float64(n), c.h.Limits.Elements, "shared: elements")
		list := make([]any, 0, min(n, 1024))
		for i := range n {
			list = append(list, c.copyValue(o.Get(c.h.IndexText(i))))
		}
		return list
	case "Object":
		return c.copyPlain(o)
	default:
		c.throwUnsupported(withArticle(name))
	}
	return nil
}

// copyItems converts an item or an array of items. The result has the members that the item has in JSON.
func (c *copier) copyItems(o *goja.Object) any {
	w := js.NewWriter(c.h.Realm, c.h.Limits.Shared, maxSharedDepth)
	defer func() {
		if bad, ok := recover().(js.ResultError); ok {
			panic(c.h.RangeError("shared: %s", string(bad)))
		}
	}()
	w.WriteValue(o)
	decoded, err := wire.Decode(w.Bytes())
	js.Must(err)
	return c.copyValue(c.h.FromDecoded(decoded))
}

func withArticle(name string) string {
	if name != "" && bytes.IndexByte([]byte("AEIOU"), name[0]) >= 0 {
		return "an " + name
	}
	return "a " + name
}

// copyPlain converts an object that is not an instance of a class. If the object has a method toJSON, the result of
// that method is stored.
func (c *copier) copyPlain(o *goja.Object) any {
	if f, ok := goja.AssertFunction(o.Get("toJSON")); ok {
		v, err := f(o)
		if err != nil {
			panic(js.Rethrow(err))
		}
		return c.copyValue(v)
	}
	if p := o.Prototype(); p != nil && p != c.h.PrototypeOf("Object") {
		name := "an instance of a class"
		if f, ok := o.Get("constructor").(*goja.Object); ok {
			if s := f.Get("name"); s != nil && s.String() != "" {
				name = "an instance of " + s.String()
			}
		}
		c.throwUnsupported(name)
	}
	keys := o.Keys()
	fields := make(engine.Fields, 0, len(keys))
	for _, k := range keys {
		c.bytes += 32 + len(k)
		v := o.Get(k)
		if f, ok := v.(*goja.Object); ok && f.ClassName() == "Function" {
			c.throwUnsupported("a function (" + engine.Quote(k) + ")")
		}
		fields = append(fields, engine.Field{Name: k, Value: c.copyValue(v)})
	}
	return fields
}

// unshareValue converts a shared value to a new JavaScript value. Changes of that value do not affect the store.
func (h *Binding) unshareValue(v any) goja.Value {
	switch v := v.(type) {
	case nil:
		return goja.Null()
	case absent:
		return goja.Undefined()
	case *big.Int:
		return h.JS.ToValue(new(big.Int).Set(v))
	case moment:
		o, err := h.DateNew(nil, h.JS.ToValue(float64(v)))
		js.Must(err)
		return o
	case []byte:
		return h.NewBytes(bytes.Clone(v))
	case []any:
		values := make([]any, len(v))
		for i, e := range v {
			values[i] = h.unshareValue(e)
		}
		return h.JS.NewArray(values...)
	case engine.Fields:
		o := h.JS.NewObject()
		for _, f := range v { // in the property order of the original object
			h.Put(o, f.Name, h.unshareValue(f.Value))
		}
		return o
	}
	return h.JS.ToValue(v)
}

// sameValue reports whether two shared values are equal. It compares all their parts; numbers follow the rules of
// Object.is, except that 0 equals -0.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	case moment:
		b, ok := b.(moment)
		return ok && sameValue(float64(a), float64(b))
	case *big.Int:
		b, ok := b.(*big.Int)
		return ok && a.Cmp(b) == 0
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameValue(a[i], b[i]) {
				return false
			}
		}
		return true
	case engine.Fields:
		b, ok := b.(engine.Fields)
		if !ok || len(a) != len(b) {
			return false
		}
		for _, f := range a {
			if other, there := b.Get(f.Name); !there || !sameValue(f.Value, other) {
				return false
			}
		}
		return true
	}
	return a == b
}

// readTTL reads an argument with the lifetime of an entry: a number of milliseconds, or {ttl: milliseconds}.
func (h *Binding) readTTL(v goja.Value) time.Duration { return h.readMilliseconds(v, "ttl") }

// readMilliseconds reads an argument with a duration: a number of milliseconds, or an object such as {ttl:
// milliseconds}, where name is "ttl". It returns 0 if the argument is missing.
func (h *Binding) readMilliseconds(v goja.Value, name string) time.Duration {
	if o, ok := v.(*goja.Object); ok {
		for _, k := range o.Keys() {
			if k != name {
				panic(h.JS.NewTypeError("shared: there is no option " + engine.Quote(k) + " here, but " + engine.Quote(name)))
			}
		}
		v = o.Get(name)
	}
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return 0
	}
	ms := math.NaN()
	if goja.IsNumber(v) {
		ms = v.ToFloat()
	}
	if !(ms > 0 && ms <= 1e12) {
		panic(h.JS.NewTypeError("shared: " + name + " is a number of milliseconds above 0, found " + js.DescribeValue(v)))
	}
	return time.Duration(ms * float64(time.Millisecond))
}
