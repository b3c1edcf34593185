package sandbox

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"restsrv/engine/script/transpile"
)

// RestoreAwaits replaces each transpile.AwaitMark in the body of a module by the operator await, and makes the function
// asynchronous.
func RestoreAwaits(f *ast.FunctionLiteral) {
	f.Async = true
	rewriteExpressions(reflect.ValueOf(f.Body), func(e ast.Expression) ast.Expression {
		start := e.Idx0()
		for i := range len(transpile.AwaitMark) {
			u, ok := e.(*ast.UnaryExpression)
			if !ok || u.Postfix || u.Operator != markOperators[i%2] {
				return nil
			}
			e = u.Operand
		}
		return &ast.AwaitExpression{Await: start, Argument: e}
	})
}

// markOperators are the operators that alternate in transpile.AwaitMark.
var markOperators = [2]token.Token{token.BITWISE_NOT, token.MINUS}
