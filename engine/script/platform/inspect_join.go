package platform

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// propertyDescriptor returns the result of Object.getOwnPropertyDescriptor, or nil if the property does not exist. In
// contrast to reading the property, this does not call a getter.
func (i *inspector) propertyDescriptor(o *goja.Object, key goja.Value) *goja.Object {
	v, err := i.describe(goja.Undefined(), o, key)
	must(err)
	d, _ := v.(*goja.Object)
	return d
}

var plainKey = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z_0-9]*$`)

// inspectProperties returns the texts for the enumerable properties of an object.
func (i *inspector) inspectProperties(o *goja.Object, s *shape, level int) []string {
	var parts []string
	for n, k := range s.keys {
		if i.left < 0 {
			return i.appendMore(parts, len(s.keys)-n)
		}
		name := k
		if !plainKey.MatchString(k) {
			name = i.quoteText(k)
		}
		if s.bare && (k == "cause" || k == "errors") && o.ClassName() == "Error" {
			name = "[" + k + "]"
		}
		parts = append(parts, i.inspectProperty(o, i.p.js.ToValue(k), name, level))
	}
	for _, symbol := range s.symbols {
		parts = append(parts, i.inspectProperty(o, symbol, "[Symbol("+symbol.String()+")]", level))
	}
	return parts
}

func (i *inspector) inspectProperty(o *goja.Object, key goja.Value, name string, level int) string {
	i.countText(name)
	d := i.propertyDescriptor(o, key)
	if d == nil {
		return name + ": undefined"
	}
	get, set := d.Get("get"), d.Get("set")
	has := func(v goja.Value) bool { return v != nil && !goja.IsUndefined(v) }
	switch {
	case has(get) && has(set):
		return name + ": [Getter/Setter]"
	case has(get):
		return name + ": [Getter]"
	case has(set):
		return name + ": [Setter]"
	}
	return name + ": " + i.inspectNested(d.Get("value"), level)
}

// joinLevels limits the nesting of objects that are printed on one line. An object with more levels inside is printed
// on several lines, even if it would fit on one.
const joinLevels = 3

// joinParts joins the texts of an object's parts, on one line if they fit, otherwise on a line for each part.
func (i *inspector) joinParts(s *shape, parts []string, level int) string {
	if len(parts) == 0 {
		if s.bare {
			return i.countText(s.prefix)
		}
		return i.countText(s.prefix + s.open + s.close)
	}
	i.countText(strings.Repeat("  ", len(parts)))
	if i.o.OneLine {
		return s.prefix + s.open + " " + strings.Join(parts, ", ") + " " + s.close
	}
	if i.deepest-level < joinLevels {
		total := len(parts) + len(parts) + i.indent + len(s.open) + utf8.RuneCountInString(s.prefix) + 10
		broken := strings.Contains(s.prefix, "\n")
		for _, part := range parts {
			total += utf8.RuneCountInString(part)
			broken = broken || strings.Contains(part, "\n")
		}
		if total <= i.o.Width && !broken {
			return s.prefix + s.open + " " + strings.Join(parts, ", ") + " " + s.close
		}
	}
	indent := "\n" + strings.Repeat(" ", i.indent)
	return s.prefix + s.open + indent + "  " + strings.Join(parts, ","+indent+"  ") + indent + s.close
}

// formatter formats the arguments of console.log.
type formatter struct{ *Platform }

// Format returns the line that console.log prints for args. If the first value is a string, directives such as %s in
// it are replaced by the following values. Other strings are printed without quotes.
func (p *Platform) Format(args []goja.Value, o InspectOptions) string {
	o = o.withDefaults()
	f := formatter{p}
	var b strings.Builder
	rest := args
	if len(args) > 1 && goja.IsString(args[0]) && strings.Contains(args[0].String(), "%") {
		rest = f.writeDirectives(&b, args[0].String(), args[1:], o)
	}
	for n, v := range rest {
		if b.Len() > o.Size {
			return b.String()
		}
		if n > 0 || len(rest) < len(args) {
			b.WriteByte(' ')
		}
		f.writeFormatted(&b, v, o)
	}
	return b.String()
}

func (p formatter) writeFormatted(b *strings.Builder, v goja.Value, o InspectOptions) {
	if goja.IsString(v) {
		s := v.String()
		b.WriteString(s[:min(len(s), o.Size+1)])
		return
	}
	o.Size = max(1, o.Size-b.Len())
	b.WriteString(p.Inspect(v, o))
}

// writeDirectives writes s with its directives replaced by values of args. It returns the values that were not used.
func (p formatter) writeDirectives(b *strings.Builder, s string, args []goja.Value, o InspectOptions) []goja.Value {
	for {
		at := strings.IndexByte(s, '%')
		if at < 0 || at+1 == len(s) || b.Len() > o.Size {
			b.WriteString(s)
			return args
		}
		b.WriteString(s[:at])
		letter := s[at+1]
		s = s[at+2:]
		if letter == '%' {
			b.WriteByte('%')
			continue
		}
		if len(args) == 0 || !strings.ContainsRune("sdifjoOc", rune(letter)) {
			b.WriteByte('%')
			b.WriteByte(letter)
			continue
		}
		p.writeDirective(b, letter, args[0], o)
		args = args[1:]
	}
}

func (p formatter) writeDirective(b *strings.Builder, letter byte, v goja.Value, o InspectOptions) {
	o.Size = max(1, o.Size-b.Len())
	_, isObject := v.(*goja.Object)
	_, isSymbol := v.(*goja.Symbol)
	switch letter {
	case 's':
		switch {
		case goja.IsString(v):
			p.writeFormatted(b, v, o)
		case isObject && v.(*goja.Object).ClassName() == "Error":
			b.WriteString(v.String())
		case isObject:
			o.Depth, o.OneLine = 0, true
			b.WriteString(p.Inspect(v, o))
		default:
			b.WriteString(p.Inspect(v, o))
		}
	case 'd', 'i', 'f':
		b.WriteString(p.formatNumber(letter, v, isObject || isSymbol))
	case 'j':
		b.WriteString(p.stringifyJSON(v))
	case 'o':
		o.Depth = 4
		b.WriteString(p.Inspect(v, o))
	case 'O':
		b.WriteString(p.Inspect(v, o))
	case 'c': // a style, which logs do not support
	}
}

func (p formatter) formatNumber(letter byte, v goja.Value, never bool) string {
	switch {
	case goja.IsBigInt(v) && letter != 'f':
		return v.String() + "n"
	case never:
		return "NaN"
	}
	name := map[byte]string{'d': "Number", 'i': "parseInt", 'f': "parseFloat"}[letter]
	f, _ := goja.AssertFunction(p.js.GlobalObject().Get(name))
	n, err := f(goja.Undefined(), v)
	must(err)
	return formatPrimitive(n)
}

// stringifyJSON returns JSON.stringify of a value, or "[Circular]" if that throws.
func (p formatter) stringifyJSON(v goja.Value) (s string) {
	stringify, _ := goja.AssertFunction(p.js.Get("JSON").(*goja.Object).Get("stringify"))
	out, err := stringify(goja.Undefined(), v)
	if _, thrown := err.(*goja.Exception); thrown {
		return "[Circular]"
	}
	must(err)
	return out.String()
}
