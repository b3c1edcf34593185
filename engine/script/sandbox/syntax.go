package sandbox

import (
	"regexp"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"

	"restsrv/engine/script/js"
)

// The names of the guards for syntax that is not a method call, such as [...list]. Files are rewritten to call the
// guards, which are global functions. The names are not valid identifiers, so no variable of a script can have the
// same name.
const (
	spreadGuard = "..."
	arrayGuard  = "Array("
	regexpGuard = "RegExp("
)

// AwaitMark is the name of a global function that files call with the operand of each await expression. It returns its
// argument. The position of the call is that of the await expression.
const AwaitMark = "await "

// rewritten matches source texts that may contain the guarded syntax.
var rewritten = regexp.MustCompile(`\.\.\.|\b(?:Array|RegExp|Set|Map)\s*\(`)

// guardSyntax changes e to call the guards: for spread elements, for the length in new Array(n), for the elements in
// new Set(list), and for the text in new RegExp(text).
func guardSyntax(e ast.Expression) {
	switch e := e.(type) {
	case *ast.ArrayLiteral:
		guardSpread(e.Value)
	case *ast.CallExpression:
		guardSpread(e.ArgumentList)
		guardArguments(e.Callee, e.ArgumentList)
	case *ast.NewExpression:
		guardSpread(e.ArgumentList)
		guardArguments(e.Callee, e.ArgumentList)
	}
}

// guardSpread changes each ...x in a list to call a guard for x. Spread in an object literal needs no guard, because
// it does not iterate.
func guardSpread(list []ast.Expression) {
	for _, e := range list {
		if s, ok := e.(*ast.SpreadElement); ok {
			s.Expression = guardOne(spreadGuard, s.Expression)
		}
	}
}

func guardArguments(callee ast.Expression, list []ast.Expression) {
	name, ok := callee.(*ast.Identifier)
	if !ok || len(list) == 0 {
		return
	}
	if _, spread := list[0].(*ast.SpreadElement); spread {
		return
	}
	switch {
	case name.Name == "Array" && len(list) == 1:
		list[0] = guardOne(arrayGuard, list[0])
	case name.Name == "Set" || name.Name == "Map":
		list[0] = guardOne(spreadGuard, list[0])
	case name.Name == "RegExp":
		list[0] = guardOne(regexpGuard, list[0])
	}
}

func guardOne(name string, e ast.Expression) ast.Expression {
	return &ast.CallExpression{
		Callee:          &ast.Identifier{Name: unistring.String(name), Idx: e.Idx0()},
		LeftParenthesis: e.Idx0(), ArgumentList: []ast.Expression{e}, RightParenthesis: e.Idx1(),
	}
}

// markAwait returns the operand of an await expression as a call of AwaitMark.
func markAwait(a *ast.AwaitExpression) ast.Expression {
	return &ast.CallExpression{
		Callee:          &ast.Identifier{Name: AwaitMark, Idx: a.Await},
		LeftParenthesis: a.Await, ArgumentList: []ast.Expression{a.Argument}, RightParenthesis: a.Argument.Idx1(),
	}
}

// SyntaxGuards returns the guards that guardSyntax inserts, by name. A guard throws if its argument is too large.
// Otherwise it returns the argument, or an equivalent value.
func (h *Guards) SyntaxGuards() map[string]func() goja.Value {
	pass := func(name string, check func(goja.Value)) func() goja.Value {
		return func() goja.Value {
			return h.NewFunction(name, func(call goja.FunctionCall) goja.Value {
				v := call.Argument(0)
				check(v)
				return v
			})
		}
	}
	return map[string]func() goja.Value{
		spreadGuard: func() goja.Value {
			return h.NewFunction("spread", func(call goja.FunctionCall) goja.Value { return h.iterableFor(call.Argument(0)) })
		},
		arrayGuard: pass("Array", func(v goja.Value) {
			if goja.IsNumber(v) {
				h.TooMuch(v.ToFloat(), h.Limits.Elements, "elements of an array")
			}
		}),
		regexpGuard: pass("RegExp", h.checkPattern),
	}
}

// manyElements is the number of elements above which an iteration checks the time limit of the turn. goja iterates
// slowly over an Array, Set or Map and cannot be interrupted meanwhile.
const manyElements = 4096

// iterableFor returns the value that a script should iterate over instead of v: v itself, or for a large Array, Set
// or Map the result of patientIterable.
func (h limiter) iterableFor(v goja.Value) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok {
		h.TooLong(v, "spread")
		return v
	}
	size := "length"
	switch o.ClassName() {
	case "Array":
	case "Set", "Map":
		size = "size"
	default:
		return v
	}
	if n := o.Get(size); n == nil || n.ToFloat() <= manyElements {
		return v
	}
	return h.patientIterable(o)
}

// patientIterable returns an iterable over the elements of o. It checks the time limit of the turn after every
// 1024 elements.
func (h limiter) patientIterable(o *goja.Object) *goja.Object {
	wrapped := h.JS.NewObject()
	_ = wrapped.DefineDataPropertySymbol(goja.SymIterator, h.NewFunction("[Symbol.iterator]", func(goja.FunctionCall) goja.Value {
		iterate, ok := goja.AssertFunction(o.GetSymbol(goja.SymIterator))
		if !ok {
			panic(h.JS.NewTypeError("object is not iterable"))
		}
		iterator, err := iterate(o)
		if err != nil {
			panic(js.Rethrow(err))
		}
		inner, _ := iterator.(*goja.Object)
		var next goja.Callable
		if inner != nil {
			next, ok = goja.AssertFunction(inner.Get("next"))
		}
		if inner == nil || !ok {
			panic(h.JS.NewTypeError("object is not iterable"))
		}
		var p js.Patience
		outer := h.JS.NewObject()
		h.Method(outer, "next", func(goja.FunctionCall) goja.Value {
			p.Check(h.Realm)
			v, err := next(inner)
			if err != nil {
				panic(js.Rethrow(err))
			}
			return v
		})
		return outer
	}), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	return wrapped
}
