package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"sort"
	"strconv"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// number is a number of decoded JSON.
type number = json.Number

const maxSafe = 1 << 53 // whole numbers up to it are exact in JavaScript

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// put sets an own property; "__proto__" is a name like any other.
func (h *host) put(o *goja.Object, name string, v goja.Value) {
	if name == "__proto__" {
		_ = o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
		return
	}
	_ = o.Set(name, v)
}

// fromDecoded makes the JavaScript value of decoded JSON. Whole numbers that
// JavaScript would round become BigInt.
func (h *host) fromDecoded(v any) goja.Value {
	return h.decoded(v, conversion{exact: true, patience: &patience{}})
}

// fromJSON does it as JSON.parse: all numbers are Numbers.
func (h *host) fromJSON(v any) goja.Value { return h.decoded(v, conversion{patience: &patience{}}) }

// fromBody does it for what a client sent, without names that are __proto__:
// scripts that merge a body into an object of theirs would change the
// prototype of all objects.
func (h *host) fromBody(v any) goja.Value {
	return h.decoded(v, conversion{exact: true, plainNames: true, patience: &patience{}})
}

// conversion is how decoded JSON becomes JavaScript values.
type conversion struct {
	patience   *patience
	exact      bool // whole numbers that JavaScript would round become BigInt
	plainNames bool // members named __proto__ are left out
}

func (h *host) decoded(v any, as conversion) goja.Value {
	as.patience.check(h)
	switch v := v.(type) {
	case nil:
		return goja.Null()
	case number:
		return h.number(string(v), as.exact)
	case []any:
		values := make([]any, len(v))
		for i, e := range v {
			values[i] = h.decoded(e, as)
		}
		return h.js.NewArray(values...)
	case engine.Fields:
		o := h.js.NewObject()
		for _, f := range indexesFirst(v) {
			if as.plainNames && f.Name == "__proto__" {
				continue
			}
			h.put(o, f.Name, h.decoded(f.Value, as))
		}
		return o
	}
	return h.fromValue(v)
}

// number makes a number of its JSON text.
func (h *host) number(text string, exact bool) goja.Value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= -maxSafe && n <= maxSafe && text != "-0" {
		return h.js.ToValue(n)
	}
	if exact && len(text) <= engine.MaxNumber {
		if n, ok := new(big.Int).SetString(text, 10); ok && n.BitLen() > 53 {
			return h.js.ToValue(n)
		}
	}
	f, _ := strconv.ParseFloat(text, 64)
	return h.js.ToValue(f)
}

// exactNumber reports whether a decimal is a number in JavaScript.
func exactNumber(d engine.Decimal) bool {
	f, err := strconv.ParseFloat(string(d), 64)
	return err == nil && string(engine.AppendFloat(nil, f)) == string(d)
}

// fromValue makes the JavaScript value of an item's value: decisions.md
// section 2, "Values".
func (h *host) fromValue(v any) goja.Value {
	switch v := v.(type) {
	case nil:
		return goja.Null()
	case string, bool, float64:
		return h.js.ToValue(v)
	case int64:
		if v >= -maxSafe && v <= maxSafe {
			return h.js.ToValue(v)
		}
		return h.js.ToValue(big.NewInt(v))
	case engine.Decimal:
		if exactNumber(v) {
			f, _ := strconv.ParseFloat(string(v), 64)
			return h.js.ToValue(f)
		}
		return h.js.ToValue(string(v))
	case engine.Instant:
		o, err := h.dateNew(nil, h.js.ToValue(int64(v)))
		must(err)
		return o
	case engine.JSONText:
		return h.fromDecoded(v.Decode())
	case *engine.Item:
		return h.item(v)
	}
	return goja.Undefined()
}

// decoder turns what a script passes to a repository into decoded JSON.
type decoder struct {
	h          *host
	attributes bool // the outermost object is no file, whatever its attributes are called
	defined    int  // what is deeper must not be undefined, 0 if it may be
	depth      int
	err        error
	patience
}

// toDecoded returns v as decoded JSON, with engine.Instant for dates. It may
// run getters and toJSON.
func (h *host) toDecoded(v goja.Value) (any, error) {
	return (&decoder{h: h}).decoded(v)
}

// toAttributes is toDecoded for the data of an item.
func (h *host) toAttributes(v goja.Value) (any, error) {
	return (&decoder{h: h, attributes: true}).decoded(v)
}

// toCondition is toDecoded for what narrows a query. There undefined is a mistake:
// the condition left out would find more than was asked for. outer counts the
// levels around the conditions, whose members may be undefined.
func (h *host) toCondition(v goja.Value, outer int) (any, error) {
	return (&decoder{h: h, defined: outer + 1}).decoded(v)
}

// missing refuses an undefined member of conditions.
func (c *decoder) missing(v goja.Value, name string) {
	if c.defined > 0 && c.depth >= c.defined && (v == nil || goja.IsUndefined(v)) {
		c.fail("%q is undefined, which is no condition: leave it out, or write null for what has no value", name)
	}
}

func (c *decoder) decoded(v goja.Value) (any, error) {
	out := c.value(v)
	if c.err != nil {
		return nil, c.err
	}
	return out, nil
}

var timeType = reflect.TypeFor[time.Time]()

const maxArgumentDepth = 64

func (c *decoder) value(v goja.Value) any {
	c.check(c.h)
	switch {
	case v == nil || goja.IsUndefined(v) || goja.IsNull(v):
		return nil
	case goja.IsString(v):
		return v.String()
	case goja.IsNumber(v):
		return c.number(v.ToFloat())
	case goja.IsBigInt(v):
		return number(v.String())
	}
	if o, ok := v.(*goja.Object); ok {
		return c.object(o)
	}
	if b, ok := v.Export().(bool); ok {
		return b
	}
	c.fail("a symbol is no value")
	return nil
}

func (c *decoder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = engine.Errorf(engine.Invalid, "type", format, args...)
	}
}

func (c *decoder) number(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) <= maxSafe {
		return int64(f)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		c.fail("%v is no value that can be stored or compared", f)
		return nil
	}
	return f
}

func (c *decoder) object(o *goja.Object) any {
	if c.err != nil {
		return nil
	}
	if c.depth++; c.depth > maxArgumentDepth {
		c.fail("the value is cyclic or nested deeper than %d levels", maxArgumentDepth)
		return nil
	}
	defer func() { c.depth-- }()
	if it := itemOf(o); it != nil {
		return it.item.ID
	}
	if u := c.upload(o); u != nil && (c.depth > 1 || !c.attributes) {
		return u
	}
	switch o.ExportType() {
	case timeType:
		t, ok := o.Export().(time.Time)
		if !ok {
			c.fail("an invalid Date is no value")
			return nil
		}
		return engine.InstantOf(t)
	}
	switch o.ClassName() {
	case "Array":
		return c.array(o)
	case "Function":
		c.fail("a function is no value")
		return nil
	case "Number", "String", "Boolean":
		if f, ok := goja.AssertFunction(o.Get("valueOf")); ok {
			v, err := f(o)
			must(err)
			return c.value(v)
		}
	}
	if f, ok := goja.AssertFunction(o.Get("toJSON")); ok {
		v, err := f(o)
		if err != nil {
			panic(rethrow(err))
		}
		return c.value(v)
	}
	return c.fields(o)
}

// upload reads what stands for a file: bytes, and an object with a buffer.
// Everything else is nil.
func (c *decoder) upload(o *goja.Object) *engine.Upload {
	if part := partOf(o); part != nil {
		return part.upload()
	}
	if b, ok := bytesOf(o); ok {
		return &engine.Upload{Content: bytes.NewReader(bytes.Clone(b))}
	}
	if o.ClassName() != "Object" {
		return nil
	}
	buffer, ok := o.Get("buffer").(*goja.Object)
	if !ok {
		return nil
	}
	b, ok := bytesOf(buffer)
	if !ok {
		return nil
	}
	u := &engine.Upload{Content: bytes.NewReader(bytes.Clone(b))}
	describeUpload(u, o)
	return u
}

// describeUpload takes name, and mime or mimeType, of an object.
func describeUpload(u *engine.Upload, o *goja.Object) {
	for _, name := range []string{"mime", "mimeType", "name"} {
		v := o.Get(name)
		switch {
		case v == nil || !goja.IsString(v):
		case name == "name":
			u.File.Name = v.String()
		default:
			u.File.MimeType = v.String()
		}
	}
}

func (c *decoder) array(o *goja.Object) any {
	n := int(o.Get("length").ToInteger())
	if n > c.h.v.gen.limits.Elements {
		c.fail("the array has too many elements")
		return nil
	}
	list := make([]any, 0, min(n, 1024))
	for i := range n {
		v := o.Get(c.h.index(i))
		c.missing(v, c.h.index(i))
		list = append(list, c.value(v))
	}
	return list
}

func (c *decoder) fields(o *goja.Object) any {
	keys := o.Keys()
	fields := make(engine.Fields, 0, len(keys))
	for _, k := range keys {
		v := o.Get(k)
		if v == nil || goja.IsUndefined(v) {
			c.missing(v, k)
			continue
		}
		fields = append(fields, engine.Field{Name: k, Value: c.value(v)})
	}
	return fields
}

// index returns the text of an array index without making it each time.
func (h *host) index(i int) string {
	if i >= 1024 {
		return strconv.Itoa(i)
	}
	for n := len(h.indexes); n <= i; n++ {
		h.indexes = append(h.indexes, strconv.Itoa(n))
	}
	return h.indexes[i]
}

// describeValue names a value in a message, shortly.
func describeValue(v goja.Value) string {
	switch {
	case v == nil || goja.IsUndefined(v):
		return "nothing"
	case goja.IsString(v):
		return engine.Quote(v.String())
	case goja.IsNumber(v), goja.IsNull(v), goja.IsBigInt(v):
		return v.String()
	}
	if o, ok := v.(*goja.Object); ok {
		return fmt.Sprintf("an object (%s)", o.ClassName())
	}
	return "a value of another kind"
}
