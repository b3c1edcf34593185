package query

import (
	"strconv"
	"strings"

	"restsrv/engine"
)

// maxDigits is the maximum number of digits of a number in an expression. All databases compute numbers up to this
// length exactly.
const maxDigits = 8000

// operandParser parses the arguments of conditions and functions.
type operandParser struct{ parser }

// parseOperand parses an argument: "$path", an object that is a function, or a literal.
func (p operandParser) parseOperand(v any, depth int) (operand, error) {
	switch v := v.(type) {
	case string:
		switch {
		case v == "$$now":
			return operand{expr: p.queryTime(nil)}, nil
		case v == "$$today":
			return operand{expr: p.queryTime(engine.Today)}, nil
		case strings.HasPrefix(v, "$$"):
			return p.accountValue(v)
		case len(v) > 1 && v[0] == '$':
			return p.findAttribute(p.class, v[1:])
		}
	case ownerValue:
		return p.ofOwner(string(v))
	case engine.Fields:
		if len(v) != 1 {
			return operand{}, badFilter("found an object where a value was expected; a function has one name and an array, such as {\"upper\":[\"$name\"]}")
		}
		args, ok := v[0].Value.([]any)
		if !ok {
			return operand{}, badFilter("found an object where a value was expected; function %s takes an array", engine.Quote(v[0].Name))
		}
		if err := p.countNode(depth + 1); err != nil {
			return operand{}, err
		}
		if v[0].Name == "literal" {
			if len(args) != 1 {
				return operand{}, badFilter("literal takes one value")
			}
			return operand{literal: args[0]}, nil
		}
		e, err := functionParser{p}.parseCall(v[0].Name, args, depth+1)
		return operand{expr: e}, err
	}
	return operand{literal: v}, nil
}

// accountValue returns the value of a variable of the account. If the account does not have the variable, the error is
// Invalid.
func (p operandParser) accountValue(name string) (operand, error) {
	if p.variable == nil {
		return operand{}, badFilter("unknown variable %s: known are $$now and $$today", engine.Quote(name))
	}
	v, ok := p.variable(name[2:])
	if !ok {
		return operand{}, badFilter("the account has no value for %s", engine.Quote(name))
	}
	return operand{literal: v}, nil
}

// queryTime returns an expression for the time of the query. If what is engine.Today, it is the last midnight before
// that time.
func (p operandParser) queryTime(what any) *engine.Expr {
	e := &engine.Expr{Op: engine.OpNow, Type: engine.DateTime, Value: what}
	if !p.now.IsZero() {
		e.Value = e.At(engine.InstantOf(p.now))
	}
	return e
}

// constantDate returns the value of {"date":["2020-01-01"]} and {"now":[]}, in places where only a constant is
// allowed. It returns any other value unchanged.
func (p operandParser) constantDate(v any) (any, error) {
	if _, ok := v.(engine.Fields); !ok {
		return v, nil
	}
	o, err := p.parseOperand(v, maxFilterDepth-1)
	switch {
	case err != nil:
		return nil, err
	case o.expr == nil:
		return o.literal, nil
	case o.expr.Op == engine.OpValue:
		return o.expr.Value, nil
	case o.expr.Op == engine.OpNow && !p.now.IsZero():
		return o.expr.Value, nil
	}
	return nil, badFilter("a list takes values, found %s", describeOperand(o))
}

// parseDate parses {"date":[v]}. v is "today", "now" or a date. Without v, the value is the time of the query.
func (p operandParser) parseDate(args []any, depth int) (*engine.Expr, error) {
	if len(args) == 0 {
		return p.queryTime(nil), nil
	}
	if len(args) == 1 && (args[0] == "today" || args[0] == "now") {
		return p.queryTime(map[any]any{"today": engine.Today}[args[0]]), nil
	}
	if len(args) != 1 {
		return nil, badFilter("date takes one date, found %d arguments", len(args))
	}
	return p.dateArgument("date", args[0], depth)
}

// parseArguments parses the arguments of a function. It refuses fewer than least or more than most arguments.
func (p operandParser) parseArguments(name string, args []any, least, most, depth int) ([]operand, error) {
	if len(args) < least || len(args) > most {
		return nil, badFilter("%s takes %s, found %d", name, howMany(least, most), len(args))
	}
	all := make([]operand, len(args))
	for i, a := range args {
		var err error
		if all[i], err = p.parseOperand(a, depth); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func howMany(least, most int) string {
	switch {
	case least == most && least == 1:
		return "one argument"
	case least == most:
		return strconv.Itoa(least) + " arguments"
	}
	return strconv.Itoa(least) + " to " + strconv.Itoa(most) + " arguments"
}

// numberArgument converts an operand to a decimal expression.
func numberArgument(name string, o operand) (*engine.Expr, error) {
	if o.expr == nil {
		if o.literal == nil {
			return engine.Constant(engine.DecimalNum, nil), nil
		}
		if s, ok := engine.NumberText(o.literal); ok {
			if d, ok := engine.ParseDecimal(s); ok {
				return engine.Constant(engine.DecimalNum, d), nil
			}
		}
		return nil, badFilter("%s takes numbers, found %s", name, engine.DescribeValue(o.literal))
	}
	if !isNumeric(o.expr.Type) {
		return nil, badFilter("%s takes numbers, found %s", name, describeOperand(o))
	}
	return toNumber(o.expr), nil
}

// textArgument converts an operand to a text expression. The operand must be text.
func textArgument(name string, o operand) (*engine.Expr, error) {
	if o.expr == nil {
		if o.literal == nil {
			return engine.Constant(engine.String, nil), nil
		}
		if s, ok := engine.CastText(o.literal); ok {
			return engine.Constant(engine.String, s), nil
		}
		return nil, badFilter("%s takes text, found %s", name, engine.DescribeValue(o.literal))
	}
	if !o.expr.Type.Textual() {
		return nil, badFilter("%s takes text, found %s", name, describeOperand(o))
	}
	return o.expr, nil
}

// dateArgument parses an argument that should be a date. A text is converted to a date if it has the form of ISO 8601.
func (p operandParser) dateArgument(name string, v any, depth int) (*engine.Expr, error) {
	o, err := p.parseOperand(v, depth)
	if err != nil {
		return nil, err
	}
	if o.expr == nil {
		if o.literal == nil {
			return engine.Constant(engine.DateTime, nil), nil
		}
		if i, ok := engine.CastInstant(o.literal); ok {
			return engine.Constant(engine.DateTime, i), nil
		}
		return nil, badFilter("%s takes an ISO 8601 date or date-time, found %s", name, engine.DescribeValue(o.literal))
	}
	if o.expr.Type != engine.DateTime {
		return nil, badFilter("%s takes a date, found %s", name, describeOperand(o))
	}
	return o.expr, nil
}

// literalInt parses an argument that must be a literal integer.
func literalInt(name string, v any, limit int64) (int64, error) {
	n, ok := engine.CastInt(v)
	if !ok || n < -limit || n > limit {
		return 0, badFilter("%s takes a whole number from %d to %d here, found %s", name, -limit, limit, engine.DescribeValue(v))
	}
	return n, nil
}

// checkDigits refuses an expression if its numbers could become too long.
func checkDigits(e *engine.Expr) (*engine.Expr, error) {
	if e.Digits > maxDigits {
		return nil, badFilter("%s could make numbers of more than %d digits here", e.Op, maxDigits)
	}
	return e, nil
}
