package js

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// Number is a number in decoded JSON.
type Number = json.Number

const maxSafe = 1 << 53 // JavaScript represents all integers up to this value exactly

// SortedNames returns the keys of m in alphabetical order.
func SortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// FromDecoded converts decoded JSON to a JavaScript value. An integer becomes a BigInt if a Number cannot represent
// it exactly.
func (h *Realm) FromDecoded(v any) goja.Value {
	return h.convertDecoded(v, conversion{exact: true, patience: &Patience{}})
}

// FromJSON converts decoded JSON as JSON.parse does: all numbers become Numbers, even if they lose digits.
func (h *Realm) FromJSON(v any) goja.Value {
	return h.convertDecoded(v, conversion{patience: &Patience{}})
}

// FromBody converts decoded JSON that a client sent. It is like FromDecoded, but drops members named __proto__: if a
// script merged such a body into an object, the merge would change the prototype of all objects.
func (h *Realm) FromBody(v any) goja.Value {
	return h.convertDecoded(v, conversion{exact: true, plainNames: true, patience: &Patience{}})
}

// conversion holds the options for converting decoded JSON to JavaScript.
type conversion struct {
	patience   *Patience
	exact      bool // convert integers to BigInt if a Number cannot represent them exactly
	plainNames bool // drop members named __proto__
}

func (h *Realm) convertDecoded(v any, as conversion) goja.Value {
	as.patience.Check(h)
	switch v := v.(type) {
	case nil:
		return goja.Null()
	case Number:
		return h.convertNumber(string(v), as.exact)
	case []any:
		values := make([]any, len(v))
		for i, e := range v {
			values[i] = h.convertDecoded(e, as)
		}
		return h.JS.NewArray(values...)
	case engine.Fields:
		o := h.JS.NewObject()
		for _, f := range indexesFirst(v) {
			if as.plainNames && f.Name == "__proto__" {
				continue
			}
			h.Put(o, f.Name, h.convertDecoded(f.Value, as))
		}
		return o
	}
	return h.FromValue(v)
}

// convertNumber converts a number in JSON text. See conversion for exact.
func (h *Realm) convertNumber(text string, exact bool) goja.Value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= -maxSafe && n <= maxSafe && text != "-0" {
		return h.JS.ToValue(n)
	}
	if exact && len(text) <= engine.MaxNumber {
		if n, ok := new(big.Int).SetString(text, 10); ok && n.BitLen() > 53 {
			return h.JS.ToValue(n)
		}
	}
	f, _ := strconv.ParseFloat(text, 64)
	return h.JS.ToValue(f)
}

// ExactNumber reports whether a JavaScript Number can represent d without rounding.
func ExactNumber(d engine.Decimal) bool {
	f, err := strconv.ParseFloat(string(d), 64)
	return err == nil && string(engine.AppendFloat(nil, f)) == string(d)
}

// FromValue converts the value of an attribute of an item. A decimal becomes a string and an integer becomes a BigInt
// if a Number cannot represent it exactly. An instant becomes a Date.
func (h *Realm) FromValue(v any) goja.Value {
	switch v := v.(type) {
	case nil:
		return goja.Null()
	case string, bool, float64:
		return h.JS.ToValue(v)
	case int64:
		if v >= -maxSafe && v <= maxSafe {
			return h.JS.ToValue(v)
		}
		return h.JS.ToValue(big.NewInt(v))
	case engine.Decimal:
		if ExactNumber(v) {
			f, _ := strconv.ParseFloat(string(v), 64)
			return h.JS.ToValue(f)
		}
		return h.JS.ToValue(string(v))
	case engine.Instant:
		o, err := h.DateNew(nil, h.JS.ToValue(int64(v)))
		Must(err)
		return o
	case engine.JSONText:
		return h.FromDecoded(v.Decode())
	case *engine.Item:
		return h.Items.ItemObject(v)
	}
	return goja.Undefined()
}

// decoder converts JavaScript values to decoded JSON: the opposite direction of FromDecoded.
type decoder struct {
	h          *Realm
	attributes bool // the outermost object has attributes; it is no file, even if it has a member buffer
	defined    int  // from this depth on, undefined is an error; 0 allows it everywhere
	depth      int  // number of objects around the current value
	err        error
	Patience
}

// ToDecoded converts v to decoded JSON. Dates become engine.Instant, and bytes become *engine.Upload. It may run
// getters and toJSON methods of the script.
func (h *Realm) ToDecoded(v goja.Value) (any, error) {
	return (&decoder{h: h}).decode(v)
}

// ToAttributes converts an object with the attributes of an item. Unlike ToDecoded, it never takes the object itself
// for a file, even if one of the attributes is called buffer and contains bytes.
func (h *Realm) ToAttributes(v goja.Value) (any, error) {
	return (&decoder{h: h, attributes: true}).decode(v)
}

// ToCondition converts the conditions of a query. An undefined member of a condition is an error: if it were dropped,
// the query would return more objects than requested. The conditions may be nested in outer levels of other objects,
// where undefined members are allowed. For {filter: condition}, outer is 1.
func (h *Realm) ToCondition(v goja.Value, outer int) (any, error) {
	return (&decoder{h: h, defined: outer + 1}).decode(v)
}

// rejectUndefined sets an error if v is an undefined member of a condition. name is the name of the member.
func (c *decoder) rejectUndefined(v goja.Value, name string) {
	if c.defined > 0 && c.depth >= c.defined && (v == nil || goja.IsUndefined(v)) {
		c.fail("%q is undefined, which is no condition: leave it out, or write null for what has no value", name)
	}
}

func (c *decoder) decode(v goja.Value) (any, error) {
	out := c.decodeValue(v)
	if c.err != nil {
		return nil, c.err
	}
	return out, nil
}

// TimeType is the ExportType of a JavaScript Date.
var TimeType = reflect.TypeFor[time.Time]()

const maxArgumentDepth = 64

func (c *decoder) decodeValue(v goja.Value) any {
	c.Check(c.h)
	switch {
	case v == nil || goja.IsUndefined(v) || goja.IsNull(v):
		return nil
	case goja.IsString(v):
		return v.String()
	case goja.IsNumber(v):
		return c.decodeNumber(v.ToFloat())
	case goja.IsBigInt(v):
		return Number(v.String())
	}
	if o, ok := v.(*goja.Object); ok {
		return c.decodeObject(o)
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

func (c *decoder) decodeNumber(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) <= maxSafe {
		return int64(f)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		c.fail("%v is no value that can be stored or compared", f)
		return nil
	}
	return f
}

func (c *decoder) decodeObject(o *goja.Object) any {
	if c.err != nil {
		return nil
	}
	if c.depth++; c.depth > maxArgumentDepth {
		c.fail("the value is cyclic or nested deeper than %d levels", maxArgumentDepth)
		return nil
	}
	defer func() { c.depth-- }()
	v := c.standsFor(o)
	if _, file := v.(*engine.Upload); v != nil && (!file || c.depth > 1 || !c.attributes) {
		return v
	}
	switch o.ExportType() {
	case TimeType:
		t, ok := o.Export().(time.Time)
		if !ok {
			c.fail("an invalid Date is no value")
			return nil
		}
		return engine.InstantOf(t)
	}
	switch o.ClassName() {
	case "Array":
		return c.decodeArray(o)
	case "Function":
		c.fail("a function is no value")
		return nil
	case "Number", "String", "Boolean":
		if f, ok := goja.AssertFunction(o.Get("valueOf")); ok {
			v, err := f(o)
			Must(err)
			return c.decodeValue(v)
		}
	}
	if f, ok := goja.AssertFunction(o.Get("toJSON")); ok {
		v, err := f(o)
		if err != nil {
			panic(Rethrow(err))
		}
		return c.decodeValue(v)
	}
	return c.decodeFields(o)
}

// standsFor returns the single value that replaces the object o: its id if o is an item, or a file if o contains
// bytes. It returns nil for any other object.
func (c *decoder) standsFor(o *goja.Object) any {
	if native, ok := nativeOf(o).(decodable); ok {
		if v := native.Decoded(); v != nil {
			return v
		}
	}
	if u := decodeUpload(o); u != nil {
		return u
	}
	return nil
}

// decodeUpload converts an object that stands for a file: an array of bytes, or an object whose member buffer is one.
// It returns nil for any other object.
func decodeUpload(o *goja.Object) *engine.Upload {
	if b, ok := BytesOf(o); ok {
		return &engine.Upload{Content: bytes.NewReader(bytes.Clone(b))}
	}
	if o.ClassName() != "Object" {
		return nil
	}
	buffer, ok := o.Get("buffer").(*goja.Object)
	if !ok {
		return nil
	}
	b, ok := BytesOf(buffer)
	if !ok {
		return nil
	}
	u := &engine.Upload{Content: bytes.NewReader(bytes.Clone(b))}
	DescribeUpload(u, o)
	return u
}

// DescribeUpload sets the file name and the MIME type of u from the members name and mime (or mimeType) of o.
func DescribeUpload(u *engine.Upload, o *goja.Object) {
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

func (c *decoder) decodeArray(o *goja.Object) any {
	n := int(o.Get("length").ToInteger())
	if n > c.h.Limits.Elements {
		c.fail("the array has too many elements")
		return nil
	}
	list := make([]any, 0, min(n, 1024))
	for i := range n {
		v := o.Get(c.h.IndexText(i))
		c.rejectUndefined(v, c.h.IndexText(i))
		list = append(list, c.decodeValue(v))
	}
	return list
}

func (c *decoder) decodeFields(o *goja.Object) any {
	keys := o.Keys()
	fields := make(engine.Fields, 0, len(keys))
	for _, k := range keys {
		v := o.Get(k)
		if v == nil || goja.IsUndefined(v) {
			c.rejectUndefined(v, k)
			continue
		}
		fields = append(fields, engine.Field{Name: k, Value: c.decodeValue(v)})
	}
	return fields
}

// DescribeValue returns a short description of a value for error messages.
func DescribeValue(v goja.Value) string {
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

// indexesFirst returns fields in the order in which JavaScript lists properties: first the names that are array
// indexes, in ascending order, then the others in the given order. If an object had another order, goja would sort
// its properties when a script first lists them. That takes quadratic time and cannot be interrupted.
func indexesFirst(fields engine.Fields) engine.Fields {
	n := 0
	for _, f := range fields {
		if isIndex(f.Name) {
			n++
		}
	}
	if n < 2 && (n == 0 || isIndex(fields[0].Name)) {
		return fields
	}
	sorted := slices.Clone(fields)
	slices.SortStableFunc(sorted, func(a, b engine.Field) int {
		switch first, second := isIndex(a.Name), isIndex(b.Name); {
		case first && second:
			return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
		case first:
			return -1
		case second:
			return 1
		}
		return 0
	})
	return sorted
}

// lastIndex is the largest array index.
const lastIndex = "4294967294"

// isIndex reports whether a name is an array index.
func isIndex(name string) bool {
	switch n := len(name); {
	case n == 0, n > 1 && name[0] == '0', n > len(lastIndex), n == len(lastIndex) && name > lastIndex:
		return false
	}
	for i := range len(name) {
		if name[i] < '0' || name[i] > '9' {
			return false
		}
	}
	return true
}
