package platform

import (
	"math"
	"reflect"
	"strings"

	"github.com/dop251/goja"
)

// InspectOptions are the options for printing a value.
type InspectOptions struct {
	Depth    int  // number of levels of nested objects to print; util.inspect prints 2 by default
	Width    int  // maximum length of a line, if parts can be wrapped; default 80
	OneLine  bool // no line breaks, except those in strings and stack traces
	Sorted   bool // sort the property names
	Elements int  // number of elements to print of each array, Map and Set; default 100
	Chars    int  // number of characters to print of each string; default 10,000
	Size     int  // approximate maximum size of the whole output in bytes; default 1 MiB
	Plain    bool // do not call custom inspect methods

	options goja.Value // the options that the script has given; custom inspect methods receive them
}

// maxInspectDepth is the maximum of InspectOptions.Depth, because inspecting is recursive.
const maxInspectDepth = 100

func (o InspectOptions) withDefaults() InspectOptions {
	for _, d := range []struct {
		to  *int
		def int
	}{{&o.Width, 80}, {&o.Elements, 100}, {&o.Chars, 10_000}, {&o.Size, 1 << 20}} {
		if *d.to <= 0 {
			*d.to = d.def
		}
	}
	if o.Depth > maxInspectDepth {
		o.Depth = maxInspectDepth
	}
	return o
}

// Inspect returns a text for a value in the format of Node's util.inspect, up to a limited size. It may call
// functions of the script, such as custom inspect methods, and these may throw.
func (p *Platform) Inspect(v goja.Value, o InspectOptions) string {
	i := p.newInspector(o)
	return i.inspectValue(v, 0)
}

// InspectWith returns a text of one line and about size bytes for a value. options are options of util.inspect that a
// script has given.
func (p *Platform) InspectWith(v, options goja.Value, size int) string {
	o := inspectOptions(options)
	o.Size, o.OneLine = size, true
	return p.Inspect(v, o)
}

// inspectNative returns the Go functions for the file modules/util.js: inspect(value, options) and format(options,
// ...values).
func inspectNative(p *Platform) goja.Value {
	return p.newNatives(natives{
		"inspect": func(call goja.FunctionCall) goja.Value {
			return p.js.ToValue(p.Inspect(call.Argument(0), inspectOptions(call.Argument(1))))
		},
		"format": func(call goja.FunctionCall) goja.Value {
			if len(call.Arguments) == 0 {
				return p.js.ToValue("")
			}
			return p.js.ToValue(p.Format(call.Arguments[1:], inspectOptions(call.Argument(0))))
		},
	})
}

// inspectOptions converts the options argument of util.inspect.
func inspectOptions(v goja.Value) InspectOptions {
	o := InspectOptions{Depth: 2}
	in, ok := v.(*goja.Object)
	if !ok {
		return o
	}
	o.options = in
	number := func(name string, to *int, endless int) {
		n := in.Get(name)
		switch {
		case n == nil || goja.IsUndefined(n):
		case goja.IsNull(n) || n.ToFloat() > math.MaxInt32:
			*to = endless
		default:
			*to = max(0, int(n.ToInteger()))
		}
	}
	number("depth", &o.Depth, maxInspectDepth)
	number("breakLength", &o.Width, math.MaxInt32)
	number("maxArrayLength", &o.Elements, math.MaxInt32)
	number("maxStringLength", &o.Chars, math.MaxInt32)
	o.OneLine = o.Width == math.MaxInt32
	if v := in.Get("sorted"); v != nil {
		o.Sorted = v.ToBoolean()
	}
	if v := in.Get("customInspect"); v != nil {
		o.Plain = !v.ToBoolean()
	}
	return o
}

// inspector prints one value with the objects in it.
type inspector struct {
	p        *Platform
	o        InspectOptions
	left     int            // number of bytes that may still be printed
	seen     []*goja.Object // the objects around the current value
	circular []*goja.Object // objects that contain themselves; their indexes plus 1 are printed as references
	indent   int            // columns by which lines are indented
	deepest  int            // level of the object that was printed last

	describe goja.Callable // Object.getOwnPropertyDescriptor
	custom   *goja.Symbol
}

func (p *Platform) newInspector(o InspectOptions) *inspector {
	o = o.withDefaults()
	i := &inspector{p: p, o: o, left: o.Size, custom: p.inspectSymbol()}
	i.describe, _ = goja.AssertFunction(p.js.Get("Object").(*goja.Object).Get("getOwnPropertyDescriptor"))
	return i
}

// inspectSymbol returns the symbol nodejs.util.inspect.custom. It is the key of custom inspect methods in objects.
func (p *Platform) inspectSymbol() *goja.Symbol {
	if p.inspectSym == nil {
		symbol := p.js.Get("Symbol").(*goja.Object)
		find, _ := goja.AssertFunction(symbol.Get("for"))
		v, err := find(symbol, p.js.ToValue("nodejs.util.inspect.custom"))
		must(err)
		p.inspectSym, _ = v.(*goja.Symbol)
	}
	return p.inspectSym
}

// countText subtracts the length of s from i.left and returns s.
func (i *inspector) countText(s string) string {
	i.left -= len(s)
	return s
}

// inspectValue returns the text for any value. level is the number of objects around it.
func (i *inspector) inspectValue(v goja.Value, level int) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case *goja.Object:
		if i.left < 0 {
			return "..."
		}
		return i.inspectObject(v, level)
	case *goja.Symbol:
		return i.countText("Symbol(" + v.String() + ")")
	}
	if goja.IsString(v) {
		return i.countText(i.quoteText(v.String()))
	}
	return i.countText(formatPrimitive(v))
}

// formatPrimitive returns the text for a value that is neither a string nor an object.
func formatPrimitive(v goja.Value) string {
	if goja.IsBigInt(v) {
		return v.String() + "n"
	}
	if goja.IsNumber(v) && v.ToFloat() == 0 && math.Signbit(v.ToFloat()) {
		return "-0"
	}
	return v.String()
}

// quoteText returns a string in quotes. If possible, it uses quotes that the string does not contain.
func (i *inspector) quoteText(s string) string {
	more := ""
	if len(s) > i.o.Chars {
		more = "... " + plural(len(s)-i.o.Chars, "more character")
		s = strings.ToValidUTF8(s[:i.o.Chars], "")
	}
	quote := "'"
	if strings.Contains(s, "'") {
		switch {
		case !strings.Contains(s, `"`):
			quote = `"`
		case !strings.Contains(s, "`") && !strings.Contains(s, "${"):
			quote = "`"
		}
	}
	var b strings.Builder
	b.WriteString(quote)
	for _, c := range s {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\\':
			b.WriteString(`\\`)
		case string(c) == quote:
			b.WriteString(`\` + quote)
		case c < ' ' || c == 0x7f:
			const hex = "0123456789ABCDEF"
			b.WriteString(`\x` + string(hex[c>>4]) + string(hex[c&15]))
		default:
			b.WriteRune(c)
		}
	}
	b.WriteString(quote)
	return b.String() + more
}

// inspectObject returns the text for an object with its contents.
func (i *inspector) inspectObject(o *goja.Object, level int) string {
	if o.ExportType() == proxyType {
		target := o.Export().(goja.Proxy).Target()
		if target == nil {
			return "<Revoked Proxy>"
		}
		return i.inspectObject(target, level)
	}
	if s, ok := i.inspectCustom(o, level); ok {
		return i.countText(s)
	}
	for _, outer := range i.seen {
		if outer == o {
			return i.countText("[Circular *" + i.referenceNumber(o) + "]")
		}
	}
	s := i.shapeOf(o, level)
	if level > i.o.Depth && (len(s.keys) > 0 || s.elements != nil) {
		return i.countText("[" + s.briefName() + "]")
	}
	i.seen = append(i.seen, o)
	i.deepest = level
	var parts []string
	if s.elements != nil {
		parts = s.elements(level)
	}
	parts = append(parts, i.inspectProperties(o, s, level)...)
	i.seen = i.seen[:len(i.seen)-1]
	for _, c := range i.circular {
		if c == o {
			s.prefix = "<ref *" + i.referenceNumber(o) + "> " + s.prefix
			break
		}
	}
	return i.joinParts(s, parts, level)
}

// referenceNumber returns the number with which references to an object that contains itself are printed. The first
// call for an object assigns the number.
func (i *inspector) referenceNumber(o *goja.Object) string {
	for n, c := range i.circular {
		if c == o {
			return decimal(n + 1)
		}
	}
	i.circular = append(i.circular, o)
	return decimal(len(i.circular))
}

// inspectCustom returns the result of the custom inspect method of an object. It returns false if the object has no
// such method, or if the option Plain is set.
func (i *inspector) inspectCustom(o *goja.Object, level int) (string, bool) {
	if i.o.Plain {
		return "", false
	}
	how, ok := goja.AssertFunction(o.GetSymbol(i.custom))
	if !ok {
		return "", false
	}
	options := i.o.options
	if options == nil {
		options = i.p.js.NewObject()
	}
	again := i.p.newFunction("inspect", func(call goja.FunctionCall) goja.Value {
		return i.p.js.ToValue(i.p.Inspect(call.Argument(0), inspectOptions(call.Argument(1))))
	})
	v, err := how(o, i.p.js.ToValue(i.o.Depth-level), options, again)
	must(err)
	if goja.IsString(v) {
		return strings.ReplaceAll(v.String(), "\n", "\n"+strings.Repeat(" ", i.indent)), true
	}
	if v == goja.Value(o) {
		return "", false
	}
	return i.inspectValue(v, level), true
}

var (
	bufferType  = reflect.TypeFor[goja.ArrayBuffer]()
	proxyType   = reflect.TypeFor[goja.Proxy]()
	promiseType = reflect.TypeFor[*goja.Promise]()
	mapType     = reflect.TypeFor[[][2]any]()
	setType     = reflect.TypeFor[[]any]()
)
