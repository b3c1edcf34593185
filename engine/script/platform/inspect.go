package platform

import (
	"math"
	"reflect"
	"strings"

	"github.com/dop251/goja"
)

// InspectOptions control how values are printed.
type InspectOptions struct {
	Depth    int  // the number of levels of nested objects to print; the default of util.inspect is 2
	Width    int  // columns of a line; default 80
	OneLine  bool // no line breaks except those in strings and stacks
	Sorted   bool // sort the keys
	Elements int  // elements of each array, Map and Set; default 100
	Chars    int  // characters of each string; default 10,000
	Size     int  // approximate limit of the whole output in bytes; default 1 MiB
	Plain    bool // do not call custom inspect methods

	options goja.Value // options of the script, passed to custom inspect methods
}

// maxInspectDepth limits the recursion. It applies to larger depths that a script requests, too.
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

// Inspect prints a value in the format of Node's util.inspect, up to a limited size. It may run code of the script,
// such as custom inspect methods, and that code may throw.
func (p *Platform) Inspect(v goja.Value, o InspectOptions) string {
	i := p.newInspector(o)
	return i.inspectValue(v, 0)
}

// InspectWith prints a value on one line with options of a script, in about size bytes at most.
func (p *Platform) InspectWith(v, options goja.Value, size int) string {
	o := inspectOptions(options)
	o.Size, o.OneLine = size, true
	return p.Inspect(v, o)
}

// inspectNative returns the native functions of the module util: inspect(value, options) and format(options,
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

// inspectOptions reads the options of util.inspect.
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

// inspector prints one value.
type inspector struct {
	p        *Platform
	o        InspectOptions
	left     int // remaining bytes
	seen     []*goja.Object
	circular []*goja.Object // objects that contain themselves
	indent   int
	deepest  int // level of the last printed object

	describe goja.Callable // Object.getOwnPropertyDescriptor
	custom   *goja.Symbol
}

func (p *Platform) newInspector(o InspectOptions) *inspector {
	o = o.withDefaults()
	i := &inspector{p: p, o: o, left: o.Size, custom: p.inspectSymbol()}
	i.describe, _ = goja.AssertFunction(p.js.Get("Object").(*goja.Object).Get("getOwnPropertyDescriptor"))
	return i
}

// inspectSymbol returns the symbol nodejs.util.inspect.custom, the key of custom inspect methods.
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

// countText subtracts the length of s from the remaining bytes and returns s.
func (i *inspector) countText(s string) string {
	i.left -= len(s)
	return s
}

// inspectValue prints any value. The level is its nesting depth.
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

// formatPrimitive prints a value that is neither a string nor an object.
func formatPrimitive(v goja.Value) string {
	if goja.IsBigInt(v) {
		return v.String() + "n"
	}
	if goja.IsNumber(v) && v.ToFloat() == 0 && math.Signbit(v.ToFloat()) {
		return "-0"
	}
	return v.String()
}

// quoteText prints a string in quotes. It chooses quotes that the string does not contain, if possible.
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

// inspectObject prints an object and the values in it.
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

// referenceNumber returns the number of an object that contains itself. It assigns a number at the first call.
func (i *inspector) referenceNumber(o *goja.Object) string {
	for n, c := range i.circular {
		if c == o {
			return decimal(n + 1)
		}
	}
	i.circular = append(i.circular, o)
	return decimal(len(i.circular))
}

// inspectCustom calls the custom inspect method of an object. It returns false if the object has none or if such
// methods are disabled.
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
