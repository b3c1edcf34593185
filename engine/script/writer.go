package script

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

// writer writes the JSON of a result like JSON.stringify, with these
// differences: a BigInt is written as a number, items are written in the form
// of crud without converting them to JavaScript, and size and depth are
// limited. It must run inside goja's Try, because getters and toJSON may throw.
type writer struct {
	h     *host
	key   string // key of the current value, "" for the outermost
	buf   []byte
	depth int
	rows  uint64 // number of items written
	patience
	size int // maximum number of bytes
	deep int // maximum depth
}

// errResult is the reason why a result cannot be sent.
type errResult string

func (e errResult) Error() string { return string(e) }

// value appends v. It returns false if v has no JSON, such as undefined or a
// function.
func (w *writer) value(v goja.Value) bool {
	w.check(w.h)
	switch {
	case v == nil || goja.IsUndefined(v):
		return false
	case goja.IsString(v):
		w.text(v)
	case goja.IsNumber(v):
		w.number(v.ToFloat())
	case goja.IsNull(v):
		w.buf = append(w.buf, "null"...)
	case goja.IsBigInt(v):
		w.buf = append(w.buf, v.String()...)
	default:
		if o, ok := v.(*goja.Object); ok {
			return w.object(o)
		}
		b, ok := v.Export().(bool)
		if !ok {
			return false // a symbol
		}
		w.buf = strconv.AppendBool(w.buf, b)
	}
	w.bound()
	return true
}

// text appends a string. It escapes unpaired surrogates, which UTF-8 cannot
// represent.
func (w *writer) text(v goja.Value) {
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

// bound panics if the result is too large.
func (w *writer) bound() {
	if len(w.buf) > w.size {
		panic(errResult(fmt.Sprintf("the result is larger than %d bytes", w.size)))
	}
}

func (w *writer) number(f float64) {
	switch {
	case f == math.Trunc(f) && math.Abs(f) < maxSafe:
		w.buf = strconv.AppendInt(w.buf, int64(f), 10)
	case math.IsNaN(f) || math.IsInf(f, 0):
		w.buf = append(w.buf, "null"...)
	default:
		w.buf = engine.AppendFloat(w.buf, f)
	}
}

func (w *writer) object(o *goja.Object) bool {
	if w.depth++; w.depth > w.deep {
		panic(errResult(fmt.Sprintf("the result is cyclic or nested deeper than %d levels", w.deep)))
	}
	defer func() { w.depth-- }()
	switch o.ExportType() {
	case itemType:
		if it := itemOf(o); it != nil && len(it.extra.names) == 0 { // properties that a script has added are part of the result
			w.item(it.item)
			return true
		}
	case listType:
		if l, ok := o.Export().(*jsList); ok {
			w.lazy(&l.lazyArray, func(i int) { w.item(l.items[i]) })
			return true
		}
	case rowsType:
		if l, ok := o.Export().(*jsRows); ok {
			w.lazy(&l.lazyArray, func(i int) { w.row(l.names, l.rows[i]) })
			return true
		}
	case timeType:
		if t, ok := o.Export().(time.Time); ok && w.date(t) {
			return true
		}
	}
	if toJSON := o.Get("toJSON"); toJSON != nil {
		if f, ok := goja.AssertFunction(toJSON); ok {
			v, err := f(o, w.h.js.ToValue(w.key))
			if err != nil {
				panic(rethrow(err))
			}
			return w.plain(v)
		}
	}
	return w.plain(o)
}

// date appends a date like toISOString. It returns false for years with more
// than four digits and before 0.
func (w *writer) date(t time.Time) bool {
	i := engine.InstantOf(t)
	if y := i.Time().Year(); y < 0 || y > 9999 {
		return false
	}
	w.buf = engine.AppendValue(w.buf, i)
	return true
}

// lazy appends an array. raw writes the elements that no script has accessed.
func (w *writer) lazy(l *lazyArray, raw func(i int)) {
	w.buf = append(w.buf, '[')
	for i := 0; i < l.Len(); i++ {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		switch {
		case l.objects == nil || l.objects[i] == nil:
			raw(i)
		case !w.value(l.objects[i]):
			w.buf = append(w.buf, "null"...)
		}
		w.bound()
	}
	w.buf = append(w.buf, ']')
}

// row appends a row in the form of the object that scripts see.
func (w *writer) row(names []string, row []any) {
	w.rows++
	w.buf = append(w.buf, '{')
	for j, name := range names {
		if j > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(engine.AppendString(w.buf, name), ':')
		if d, ok := row[j].(engine.Decimal); ok && !exactNumber(d) {
			w.buf = engine.AppendString(w.buf, string(d))
			continue
		}
		w.buf = engine.AppendValue(w.buf, row[j])
	}
	w.buf = append(w.buf, '}')
}

// item appends an item. The size is limited by engine.MaxAnswer.
func (w *writer) item(it *engine.Item) {
	w.buf = it.AppendJSON(w.buf)
	w.rows++
	w.size = min(w.size, engine.MaxAnswer)
	w.bound()
}

// plain appends a value after its toJSON was called.
func (w *writer) plain(v goja.Value) bool {
	o, ok := v.(*goja.Object)
	if !ok {
		return w.value(v)
	}
	switch o.ClassName() {
	case "Array":
		w.array(o)
		return true
	case "Function":
		return false
	case "Object", "Error", "Arguments":
		if _, callable := goja.AssertFunction(o); callable {
			return false
		}
		w.members(o)
		return true
	}
	b, err := o.MarshalJSON() // boxed values, raw JSON and other rare types
	if err != nil {
		panic(rethrow(err))
	}
	w.buf = append(w.buf, b...)
	return len(b) > 0
}

func (w *writer) array(o *goja.Object) {
	w.buf = append(w.buf, '[')
	n := int(o.Get("length").ToInteger())
	for i := range n {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.key = w.h.index(i)
		if !w.value(o.Get(w.key)) {
			w.buf = append(w.buf, "null"...)
		}
		if len(w.buf) > w.size {
			panic(errResult(fmt.Sprintf("the result is larger than %d bytes", w.size)))
		}
	}
	w.buf = append(w.buf, ']')
}

func (w *writer) members(o *goja.Object) {
	w.buf = append(w.buf, '{')
	first := true
	for _, k := range o.Keys() {
		before := len(w.buf)
		if !first {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(engine.AppendString(w.buf, k), ':')
		w.key = k
		if !w.value(o.Get(k)) {
			w.buf = w.buf[:before]
			continue
		}
		first = false
	}
	w.buf = append(w.buf, '}')
}
