package sandbox

import (
	"errors"
	"math/big"
	"reflect"
	"regexp"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"restsrv/engine/script/js"
)

const (
	// maxBits is the maximum length of the result of one operator on two BigInts, in bits: about 300,000 decimal
	// digits. goja cannot be interrupted while it computes a result, and longer ones take seconds.
	maxBits   = 1 << 20
	maxDigits = 200_000 // digits of a string that is converted to a BigInt
)

var bigintNames = regexp.MustCompile(`BigInt|\b[0-9][0-9a-zA-Z_]*n\b`)

// bigintGrowth matches operators that can make a BigInt grow. It is used for source text that is compiled at run
// time.
var bigintGrowth = regexp.MustCompile(`\*\*|<<|>>`)

// bigintOperators are the operators that can return a BigInt much longer than their operands. Each has a guard: a
// global function with the operator as its name, such as "**". No variable of a script can have such a name.
var bigintOperators = map[token.Token]string{token.EXPONENT: "**", token.SHIFT_LEFT: "<<", token.SHIFT_RIGHT: ">>", token.MULTIPLY: "*"}

// preludeOperators is a JavaScript expression: a list of pairs of an operator and a function that applies it.
const preludeOperators = "[['**', (a, b) => a ** b], ['<<', (a, b) => a << b], ['>>', (a, b) => a >> b], ['*', (a, b) => a * b]]"

// operatorRewriter replaces the operators in a program by calls of their guards: a ** b becomes a call of "**" with a
// and b.
type operatorRewriter struct {
	need Needs
	bad  *ast.AssignExpression // first assignment that cannot be rewritten, or nil
}

// GuardOperators rewrites a program that may use BigInts or the syntax described in syntax.go, and await. It returns false and
// the position of an assignment such as f().x **= 2: the rewritten assignment would evaluate f() twice.
func GuardOperators(program *ast.Program, n Needs) (at file.Idx, ok bool) {
	if !n.Bigints && !n.Syntax && !n.awaits {
		return 0, true
	}
	w := operatorRewriter{need: n}
	rewriteExpressions(reflect.ValueOf(program.Body), w.replaceOperator)
	if w.bad != nil {
		return w.bad.Idx0(), false
	}
	return 0, true
}

// replaceOperator returns the replacement of an expression, or nil to keep it.
func (w *operatorRewriter) replaceOperator(e ast.Expression) ast.Expression {
	if w.need.Syntax {
		guardSyntax(e)
	}
	if a, ok := e.(*ast.AwaitExpression); ok {
		a.Argument = markAwait(a)
	}
	if !w.need.Bigints {
		return nil
	}
	switch e := e.(type) {
	case *ast.BinaryExpression:
		if name, ok := bigintOperators[e.Operator]; ok {
			return guardCall(name, e.Left, e.Right)
		}
	case *ast.AssignExpression:
		name, ok := bigintOperators[e.Operator]
		if !ok {
			return nil
		}
		if !isRepeatable(e.Left) {
			if e.Operator != token.MULTIPLY { // a product grows slowly and needs no guard
				w.bad = e
			}
			return nil
		}
		return &ast.AssignExpression{Operator: token.ASSIGN, Left: e.Left, Right: guardCall(name, e.Left, e.Right)}
	}
	return nil
}

func guardCall(name string, left, right ast.Expression) ast.Expression {
	return &ast.CallExpression{
		Callee:          &ast.Identifier{Name: unistring.String(name), Idx: left.Idx0()},
		LeftParenthesis: left.Idx0(), ArgumentList: []ast.Expression{left, right}, RightParenthesis: right.Idx1(),
	}
}

// isRepeatable reports whether e can be evaluated twice with the same result.
func isRepeatable(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.Identifier, *ast.ThisExpression, *ast.NumberLiteral, *ast.StringLiteral:
		return true
	case *ast.DotExpression:
		return isRepeatable(e.Left)
	case *ast.PrivateDotExpression:
		return isRepeatable(e.Left)
	case *ast.BracketExpression:
		return isRepeatable(e.Left) && isRepeatable(e.Member)
	}
	return false
}

// ErrOperator is the error for an assignment that cannot be rewritten.
var ErrOperator = errors.New("an operator assignment with ** or a shift takes a plain name on its left where BigInts are used: write a = a ** b")

// guardBigints limits the length of the BigInts that one operator or one built-in function can create.
func (h *Guards) guardBigints() {
	list := h.RunPrelude(preludeOperators)
	global := h.JS.GlobalObject()
	for i := range len(bigintOperators) {
		pair := list.(*goja.Object).Get(h.IndexText(i)).(*goja.Object)
		name := pair.Get("0").String()
		original, _ := goja.AssertFunction(pair.Get("1"))
		f := h.NewFunction(name, func(call goja.FunctionCall) goja.Value {
			h.checkOperator(name, asBigint(call.Argument(0)), asBigint(call.Argument(1)))
			v, err := original(goja.Undefined(), call.Arguments...)
			if err != nil {
				panic(js.Rethrow(err))
			}
			return v
		})
		_ = global.DefineDataProperty(name, f, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
	}
	h.guardBigintFunction(global)
}

// asBigint returns the value of v if v is a primitive BigInt, otherwise nil.
func asBigint(v goja.Value) *big.Int {
	if _, ok := v.(*goja.Object); ok || v == nil {
		return nil
	}
	n, _ := v.Export().(*big.Int)
	return n
}

// checkOperator throws if the result of x and y with the given operator would be too long. If x or y is nil, an
// operand is not a BigInt; checkOperator then does nothing, because the operator itself throws the error.
func (h limiter) checkOperator(name string, x, y *big.Int) {
	if x == nil || y == nil || x.Sign() == 0 {
		return
	}
	n, _ := y.Float64()
	bits := float64(x.BitLen())
	switch name {
	case "**":
		bits = (bits - 1) * n // powers of 1 and -1 do not grow
	case "<<":
		bits += n
	case ">>":
		bits -= n
	case "*":
		bits += float64(y.BitLen())
	}
	h.TooMuch(bits, maxBits, "bits of a BigInt")
}

// guardBigintFunction wraps the function BigInt and its static methods.
func (h *Guards) guardBigintFunction(global *goja.Object) {
	original := global.Get("BigInt").(*goja.Object)
	for _, name := range []string{"asIntN", "asUintN"} {
		h.guardMethod(original, name, func(call goja.FunctionCall) {
			h.TooMuch(call.Argument(0).ToFloat(), maxBits, "bits of a BigInt")
		})
	}
	h.guardMethod(global, "BigInt", func(call goja.FunctionCall) {
		if s, ok := call.Argument(0).(goja.String); ok {
			h.TooMuch(float64(s.Length()), maxDigits, "digits of a BigInt")
		}
	})
	wrapper := global.Get("BigInt").(*goja.Object)
	proto := original.Get("prototype").(*goja.Object)
	_ = wrapper.Set("prototype", proto)
	_ = wrapper.SetPrototype(original)
	_ = proto.DefineDataProperty("constructor", wrapper, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
