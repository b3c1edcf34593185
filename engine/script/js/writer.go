package js

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// Writer writes a value as JSON like JSON.stringify, with these differences: it writes a BigInt as a number, and it
// limits the size and the depth. It writes items in the format of the CRUD service, without making JavaScript objects
// for their values. It must run inside goja's Try, because getters and toJSON may throw.
type Writer struct {
	h     *Realm
	key   string // key of the current value in its object or array; "" for the outermost value
	buf   []byte
	depth int    // number of objects and arrays around the current value
	Rows  uint64 // number of items written
	Patience
	Pending string // key of the first promise in the value; "" if there is none
	size    int    // maximum number of bytes
	deep    int    // maximum depth
}

// NewWriter returns a writer. size is the maximum number of bytes of the JSON, deep the maximum nesting depth.
func NewWriter(h *Realm, size, deep int) *Writer { return &Writer{h: h, size: size, deep: deep} }

// Reset prepares the writer for another value of at most size bytes. It reuses the memory of the last result.
func (w *Writer) Reset(size int) {
	*w = Writer{h: w.h, buf: w.buf[:0], size: size, deep: w.deep}
}

// Bytes returns the JSON text written so far. It is valid until the next Reset.
func (w *Writer) Bytes() []byte { return w.buf }

// jsonWriter is implemented by Go values behind objects that write their own JSON. If WriteJSON returns false, the
// object is written like any other.
type jsonWriter interface{ WriteJSON(w *Writer) bool }

// ResultError is the reason why a result of a script cannot be sent to the client.
type ResultError string

// Error implements error.
func (e ResultError) Error() string { return string(e) }

// WriteValue appends the JSON of v. It returns false if v has no JSON: undefined, a symbol or a function.
func (w *Writer) WriteValue(v goja.Value) bool {
	w.Check(w.h)
	switch {
	case v == nil || goja.IsUndefined(v):
		return false
	case goja.IsString(v):
		w.writeText(v)
	case goja.IsNumber(v):
		w.writeNumber(v.ToFloat())
	case goja.IsNull(v):
		w.buf = append(w.buf, "null"...)
	case goja.IsBigInt(v):
		w.buf = append(w.buf, v.String()...)
	default:
		if o, ok := v.(*goja.Object); ok {
			return w.writeObject(o)
		}
		b, ok := v.Export().(bool)
		if !ok {
			return false // a symbol
		}
		w.buf = strconv.AppendBool(w.buf, b)
	}
	w.checkSize()
	return true
}

// writeText appends a string. It writes unpaired surrogates as escape sequences, because UTF-8 cannot represent them.
func (w *Writer) writeText(v goja.Value) {
	s := v.String()
	half, ok := v.(goja.String)
	if !ok || !strings.Contains(s, "\ufffd") {
		w.buf = engine.AppendString(w.buf, s)
		return
	}
	var units []uint16
	w.buf = append(w.buf, '"')
	flush := func() {
		quoted := engine.AppendString(nil, string(utf16.Decode(units)))
		w.buf, units = append(w.buf, quoted[1:len(quoted)-1]...), units[:0]
	}
	for i := range half.Length() {
		c := half.CharAt(i)
		pair := i+1 < half.Length() && utf16.DecodeRune(rune(c), rune(half.CharAt(i+1))) != '\ufffd' ||
			i > 0 && utf16.DecodeRune(rune(half.CharAt(i-1)), rune(c)) != '\ufffd'
		if !utf16.IsSurrogate(rune(c)) || pair {
			units = append(units, c)
			continue
		}
		flush()
		w.buf = fmt.Appendf(w.buf, "\\u%04x", c)
	}
	flush()
	w.buf = append(w.buf, '"')
}

// checkSize panics if the result is too large.
func (w *Writer) checkSize() {
	if len(w.buf) > w.size {
		panic(ResultError(fmt.Sprintf("the result is larger than %d bytes", w.size)))
	}
}

func (w *Writer) writeNumber(f float64) {
	switch {
	case f == math.Trunc(f) && math.Abs(f) < maxSafe:
		w.buf = strconv.AppendInt(w.buf, int64(f), 10)
	case math.IsNaN(f) || math.IsInf(f, 0):
		w.buf = append(w.buf, "null"...)
	default:
		w.buf = engine.AppendFloat(w.buf, f)
	}
}

func (w *Writer) writeObject(o *goja.Object) bool {
	if w.depth++; w.depth > w.deep {
		panic(ResultError(fmt.Sprintf("the result is cyclic or nested deeper than %d levels", w.deep)))
	}
	defer func() { w.depth-- }()
	switch native := nativeOf(o).(type) {
	case jsonWriter:
		if native.WriteJSON(w) {
			return true
		}
	case nil:
		if o.ExportType() == TimeType {
			if t, ok := o.Export().(time.Time); ok && w.writeDate(t) {
				return true
			}
		}
	}
	if toJSON := o.Get("toJSON"); toJSON != nil {
		if f, ok := goja.AssertFunction(toJSON); ok {
			v, err := f(o, w.h.JS.ToValue(w.key))
			if err != nil {
				panic(Rethrow(err))
			}
			return w.writePlain(v)
		}
	}
	return w.writePlain(o)
}

// writeDate appends a date in the format of toISOString. For a year that is negative or has more than four digits, it
// writes nothing and returns false.
func (w *Writer) writeDate(t time.Time) bool {
	i := engine.InstantOf(t)
	if y := i.Time().Year(); y < 0 || y > 9999 {
		return false
	}
	w.buf = engine.AppendValue(w.buf, i)
	return true
}

// WriteLazy appends the array l. It calls raw to write those elements that no script has accessed, so that no
// JavaScript objects are made for them.
func (w *Writer) WriteLazy(l *LazyArray, raw func(i int)) {
	w.buf = append(w.buf, '[')
	for i := 0; i < l.Len(); i++ {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		switch {
		case l.objects == nil || l.objects[i] == nil:
			raw(i)
		case !w.WriteValue(l.objects[i]):
			w.buf = append(w.buf, "null"...)
		}
		w.checkSize()
	}
	w.buf = append(w.buf, ']')
}

// WriteRow appends a result row of a query as an object, with the values that a script would see in it.
func (w *Writer) WriteRow(names []string, row []any) {
	w.Rows++
	w.buf = append(w.buf, '{')
	for j, name := range names {
		if j > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(engine.AppendString(w.buf, name), ':')
		if d, ok := row[j].(engine.Decimal); ok && !ExactNumber(d) {
			w.buf = engine.AppendString(w.buf, string(d))
			continue
		}
		w.buf = engine.AppendValue(w.buf, row[j])
	}
	w.buf = append(w.buf, '}')
}

// WriteItem appends an item. From then on, the size of the whole JSON is also limited by engine.MaxAnswer.
func (w *Writer) WriteItem(it *engine.Item) {
	w.buf = it.AppendJSON(w.buf)
	w.Rows++
	w.size = min(w.size, engine.MaxAnswer)
	w.checkSize()
}

// writePlain appends any value. If it is an object, its method toJSON is not called. writePlain returns false if the
// value has no JSON.
func (w *Writer) writePlain(v goja.Value) bool {
	o, ok := v.(*goja.Object)
	if !ok {
		return w.WriteValue(v)
	}
	switch o.ClassName() {
	case "Array":
		w.writeArray(o)
		return true
	case "Function":
		return false
	case "Object", "Error", "Arguments":
		if _, callable := goja.AssertFunction(o); callable {
			return false
		}
		w.writeMembers(o)
		return true
	}
	b, err := o.MarshalJSON() // boxed values, raw JSON and other rare types
	if err != nil {
		panic(Rethrow(err))
	}
	w.buf = append(w.buf, b...)
	return len(b) > 0
}

func (w *Writer) writeArray(o *goja.Object) {
	w.buf = append(w.buf, '[')
	n := int(o.Get("length").ToInteger())
	for i := range n {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.key = w.h.IndexText(i)
		if !w.WriteValue(o.Get(w.key)) {
			w.buf = append(w.buf, "null"...)
		}
		if len(w.buf) > w.size {
			panic(ResultError(fmt.Sprintf("the result is larger than %d bytes", w.size)))
		}
	}
	w.buf = append(w.buf, ']')
}

func (w *Writer) writeMembers(o *goja.Object) {
	key := w.key
	w.buf = append(w.buf, '{')
	first := true
	for _, k := range o.Keys() {
		before := len(w.buf)
		if !first {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(engine.AppendString(w.buf, k), ':')
		w.key = k
		if !w.WriteValue(o.Get(k)) {
			w.buf = w.buf[:before]
			continue
		}
		first = false
	}
	if first && w.Pending == "" {
		if _, ok := PromiseOf(o); ok { // has no members of its own, unless a script has added some
			w.Pending = key
		}
	}
	w.buf = append(w.buf, '}')
}
