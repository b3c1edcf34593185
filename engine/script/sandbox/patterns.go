package sandbox

import (
	"math/big"
	"reflect"
	"regexp"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"restsrv/engine/script/js"
	"restsrv/engine/script/transpile"
)

// patternNames matches source texts that may create a regular expression from a string.
var patternNames = regexp.MustCompile(`\bRegExp\b`)

// patternFlags are the flags that goja does not support and rejects.
const patternFlags = "dv"

// ExplainMessage adds an explanation to an error message of goja if the cause is an unsupported flag of a regular
// expression. It returns other messages unchanged.
func ExplainMessage(message string) string {
	flags, ok := strings.CutPrefix(message, "Invalid flags supplied to RegExp constructor ")
	if ok && strings.ContainsAny(flags, patternFlags) {
		return message + ": the flags d and v of regular expressions are not supported"
	}
	return message
}

// RewritePatterns rewrites those regular expressions in a program that goja would interpret differently from other
// engines (see transpile.Pattern). patterns maps each rewritten expression to its original text.
func RewritePatterns(prg *ast.Program, text string) (patterns map[string]string, at file.Idx, err error) {
	if !transpile.MayBeWrong(text) {
		return nil, 0, nil
	}
	rewriteExpressions(reflect.ValueOf(prg.Body), func(e ast.Expression) ast.Expression {
		p, ok := e.(*ast.RegExpLiteral)
		if !ok || err != nil {
			return nil
		}
		written := p.Pattern
		if p.Pattern, err = transpile.Pattern(written, p.Flags); err != nil {
			at = p.Idx
		} else if p.Pattern != written {
			if patterns == nil {
				patterns = map[string]string{}
			}
			patterns[p.Pattern] = written
		}
		return nil
	})
	return patterns, at, err
}

// maxPatterns is the maximum number of rewritten patterns whose original text a VM stores. For further patterns, the
// property source returns the rewritten text.
const maxPatterns = 1000

// patterns maps rewritten regular expressions of one VM back to the texts that the scripts contain.
type patterns struct {
	written map[string]string // original text by rewritten text
	shown   bool              // the getter of the property source has been replaced
}

// rememberPattern stores the original text of a regular expression that was rewritten. written is the original text,
// and turned is the rewritten one. The property source of the regular expression then returns the original text.
func (h *Guards) rememberPattern(turned, written string) {
	if len(h.patterns.written) >= maxPatterns {
		return
	}
	if h.patterns.written == nil {
		h.patterns.written = map[string]string{}
	}
	h.patterns.written[turned] = written
	if h.patterns.shown {
		return
	}
	h.patterns.shown = true
	proto := h.PrototypeOf("RegExp")
	original := h.getterOf(proto, "source")
	getter := h.NewFunction("get source", func(call goja.FunctionCall) goja.Value {
		v, err := original(call.This)
		if err != nil {
			panic(js.Rethrow(err))
		}
		if written, ok := h.patterns.written[v.String()]; ok {
			return h.JS.ToValue(written)
		}
		return v
	})
	_ = proto.DefineAccessorProperty("source", getter, nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
	h.Method(proto, "toString", func(call goja.FunctionCall) goja.Value {
		o := call.This.ToObject(h.JS)
		return h.JS.ToValue("/" + o.Get("source").String() + "/" + o.Get("flags").String())
	})
}

// getterOf returns the getter of a property of o.
func (h limiter) getterOf(o *goja.Object, name string) goja.Callable {
	describe, _ := goja.AssertFunction(h.JS.Get("Object").(*goja.Object).Get("getOwnPropertyDescriptor"))
	d, err := describe(goja.Undefined(), o, h.JS.ToValue(name))
	js.Must(err)
	f, _ := goja.AssertFunction(d.(*goja.Object).Get("get"))
	return f
}

// KnowPatterns stores the original texts of the patterns in a file that is about to run. The keys of patterns are the
// rewritten texts.
func (h *Guards) KnowPatterns(patterns map[string]string) {
	for turned, written := range patterns {
		h.rememberPattern(turned, written)
	}
}

// guardPatterns replaces RegExp by a constructor that first rewrites its pattern, as RewritePatterns does.
func (h *Guards) guardPatterns() {
	global := h.JS.GlobalObject()
	original := global.Get("RegExp").(*goja.Object)
	plain, _ := goja.AssertFunction(original)
	construct, _ := goja.AssertConstructor(original)
	turn := func(args []goja.Value) []goja.Value {
		if len(args) < 2 || !goja.IsString(args[0]) || !goja.IsString(args[1]) {
			return args
		}
		written := args[0].String()
		turned, err := transpile.Pattern(written, args[1].String())
		if err != nil {
			o, e := h.JS.New(h.JS.Get("SyntaxError"), h.JS.ToValue("Invalid regular expression: "+err.Error()))
			js.Must(e)
			panic(o)
		}
		if turned == written {
			return args
		}
		h.rememberPattern(turned, written)
		return append([]goja.Value{h.JS.ToValue(turned)}, args[1:]...)
	}
	var wrapper *goja.Object
	wrapper = h.JS.ToValue(func(call goja.ConstructorCall) *goja.Object {
		var v goja.Value
		var err error
		switch target := call.NewTarget; {
		case target == nil:
			v, err = plain(goja.Undefined(), turn(call.Arguments)...)
		case target == wrapper:
			v, err = construct(original, turn(call.Arguments)...)
		default:
			v, err = construct(target, turn(call.Arguments)...)
		}
		if err != nil {
			panic(js.Rethrow(err))
		}
		return v.(*goja.Object)
	}).(*goja.Object)
	h.inheritProperties(original, wrapper)
	_ = global.DefineDataProperty("RegExp", wrapper, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// rewriteExpressions calls replace for every expression in the syntax tree v, inner expressions first. If replace
// returns an expression, it takes the place of the original; if it returns nil, the original stays.
func rewriteExpressions(v reflect.Value, replace func(ast.Expression) ast.Expression) {
	r := rewriter{replace, map[any]bool{}}
	r.walk(v)
}

type rewriter struct {
	replace func(ast.Expression) ast.Expression
	seen    map[any]bool
}

func (w *rewriter) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		w.walk(v.Elem())
		if e, ok := v.Interface().(ast.Expression); ok && v.CanSet() {
			if changed := w.replace(e); changed != nil {
				v.Set(reflect.ValueOf(changed))
			}
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*file.File]() || v.Type() == reflect.TypeFor[*big.Int]() || w.seen[v.Interface()] {
			return
		}
		w.seen[v.Interface()] = true
		w.walk(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			w.walk(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	}
}
