package script

import (
	"regexp"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// The guards of what is no call of a method: they are put into the source as
// calls of global functions of these names, which no variable of a script can
// have.
const (
	spreadGuard = "..."
	arrayGuard  = "Array("
	regexpGuard = "RegExp("
)

// rewritten finds what a source text has of it.
var rewritten = regexp.MustCompile(`\.\.\.|\b(?:Array|RegExp|Set|Map)\s*\(`)

// guardSyntax puts the guards around what is spread, the length of a new
// array and the text of a new pattern.
func guardSyntax(e ast.Expression) {
	switch e := e.(type) {
	case *ast.SpreadElement:
		e.Expression = guardOne(spreadGuard, e.Expression)
	case *ast.CallExpression:
		guardArguments(e.Callee, e.ArgumentList)
	case *ast.NewExpression:
		guardArguments(e.Callee, e.ArgumentList)
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

// syntaxGuards are the functions that guardSyntax calls. They return what they
// get.
func (h *host) syntaxGuards() map[string]func() goja.Value {
	pass := func(name string, check func(goja.Value)) func() goja.Value {
		return func() goja.Value {
			return h.native(name, func(call goja.FunctionCall) goja.Value {
				v := call.Argument(0)
				check(v)
				return v
			})
		}
	}
	return map[string]func() goja.Value{
		spreadGuard: pass("spread", func(v goja.Value) { h.listable(v, "spread") }),
		arrayGuard: pass("Array", func(v goja.Value) {
			if goja.IsNumber(v) {
				h.tooMuch(v.ToFloat(), h.v.gen.limits.Elements, "elements of an array")
			}
		}),
		regexpGuard: pass("RegExp", h.checkPattern),
	}
}
