package platform

import (
	"math"
	"reflect"
	"strings"

	"github.com/dop251/goja"
)

// InspectOptions say how values are written for people.
type InspectOptions struct {
	Depth    int  // nested objects shown below the outermost, default 2
	Width    int  // columns of a line, default 80
	OneLine  bool // no line breaks but those of texts and stacks
	Sorted   bool // keys in order
	Elements int  // of each array, Map and Set, default 100
	Chars    int  // of each text, default 10,000
	Size     int  // bytes of the whole, about; default 1 MiB
	Plain    bool // objects do not say themselves how they look

	options goja.Value // of the script, for objects that do
}

// maxInspectDepth bounds the recursion whatever a script asks for.
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

// Inspect writes a value as Node's util.inspect does, bounded in size. Objects
// may run code of the script meanwhile, which may throw.
func (p *Platform) Inspect(v goja.Value, o InspectOptions) string {
	i := p.inspector(o)
	return i.value(v, 0)
}

// InspectWith is Inspect with the options that a script gives, in at most size
// bytes, about.
func (p *Platform) InspectWith(v, options goja.Value, size int) string {
	o := inspectOptions(options)
	o.Size, o.OneLine = size, true
	return p.Inspect(v, o)
}

// inspectNative is what modules get: inspect(value, options) and
// format(options, ...values).
func inspectNative(p *Platform) goja.Value {
	return p.natives(natives{
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

// inspector writes one value.
type inspector struct {
	p        *Platform
	o        InspectOptions
	left     int // bytes
	seen     []*goja.Object
	circular []*goja.Object // those that contain themselves
	indent   int
	deepest  int // level of the object entered last

	describe goja.Callable // Object.getOwnPropertyDescriptor
	custom   *goja.Symbol
}

func (p *Platform) inspector(o InspectOptions) *inspector {
	o = o.withDefaults()
	i := &inspector{p: p, o: o, left: o.Size, custom: p.inspectSymbol()}
	i.describe, _ = goja.AssertFunction(p.js.Get("Object").(*goja.Object).Get("getOwnPropertyDescriptor"))
	return i
}

// inspectSymbol is the key of the method by which an object says how it looks.
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

// take accounts for text that was made.
func (i *inspector) take(s string) string {
	i.left -= len(s)
	return s
}

// value writes any value; level is how deep it is.
func (i *inspector) value(v goja.Value, level int) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case *goja.Object:
		if i.left < 0 {
			return "..."
		}
		return i.object(v, level)
	case *goja.Symbol:
		return i.take("Symbol(" + v.String() + ")")
	}
	if goja.IsString(v) {
		return i.take(i.quoted(v.String()))
	}
	return i.take(primitive(v))
}

// primitive writes what is neither text nor an object.
func primitive(v goja.Value) string {
	if goja.IsBigInt(v) {
		return v.String() + "n"
	}
	if goja.IsNumber(v) && v.ToFloat() == 0 && math.Signbit(v.ToFloat()) {
		return "-0"
	}
	return v.String()
}

// quoted writes a text in the quotes that it does not contain.
func (i *inspector) quoted(s string) string {
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

// object writes an object that may contain others.
func (i *inspector) object(o *goja.Object, level int) string {
	if o.ExportType() == proxyType {
		target := o.Export().(goja.Proxy).Target()
		if target == nil {
			return "<Revoked Proxy>"
		}
		return i.object(target, level)
	}
	if s, ok := i.own(o, level); ok {
		return i.take(s)
	}
	for _, outer := range i.seen {
		if outer == o {
			return i.take("[Circular *" + i.reference(o) + "]")
		}
	}
	s := i.shape(o, level)
	if level > i.o.Depth && (len(s.keys) > 0 || s.elements != nil) {
		return i.take("[" + s.brief() + "]")
	}
	i.seen = append(i.seen, o)
	i.deepest = level
	var parts []string
	if s.elements != nil {
		parts = s.elements(level)
	}
	parts = append(parts, i.properties(o, s, level)...)
	i.seen = i.seen[:len(i.seen)-1]
	for _, c := range i.circular {
		if c == o {
			s.prefix = "<ref *" + i.reference(o) + "> " + s.prefix
			break
		}
	}
	return i.join(s, parts, level)
}

// reference numbers an object that contains itself.
func (i *inspector) reference(o *goja.Object) string {
	for n, c := range i.circular {
		if c == o {
			return decimal(n + 1)
		}
	}
	i.circular = append(i.circular, o)
	return decimal(len(i.circular))
}

// own lets an object say how it looks.
func (i *inspector) own(o *goja.Object, level int) (string, bool) {
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
	again := i.p.function("inspect", func(call goja.FunctionCall) goja.Value {
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
	return i.value(v, level), true
}

var (
	bufferType  = reflect.TypeFor[goja.ArrayBuffer]()
	proxyType   = reflect.TypeFor[goja.Proxy]()
	promiseType = reflect.TypeFor[*goja.Promise]()
	mapType     = reflect.TypeFor[[][2]any]()
	setType     = reflect.TypeFor[[]any]()
)
