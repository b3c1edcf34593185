package engine

import (
	"strconv"
	"strings"
	"time"
)

// maxDigits is the maximum number of digits of a number in an expression. All
// databases compute numbers of this length exactly.
const maxDigits = 8000

// parseOperand reads an argument: "$path", an object that is a function, or a
// literal.
func (p filterParser) parseOperand(v any, depth int) (operand, error) {
	switch v := v.(type) {
	case string:
		switch {
		case v == "$$now":
			return operand{expr: p.queryTime(nil)}, nil
		case v == "$$today":
			return operand{expr: p.queryTime(Today)}, nil
		case strings.HasPrefix(v, "$$"):
			return p.accountValue(v)
		case len(v) > 1 && v[0] == '$':
			return p.findAttribute(p.class, v[1:])
		}
	case ownerValue:
		return p.ofOwner(string(v))
	case Fields:
		if len(v) != 1 {
			return operand{}, badFilter("found an object where a value was expected; a function has one name and an array, such as {\"upper\":[\"$name\"]}")
		}
		args, ok := v[0].Value.([]any)
		if !ok {
			return operand{}, badFilter("found an object where a value was expected; function %s takes an array", Quote(v[0].Name))
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
		e, err := p.parseCall(v[0].Name, args, depth+1)
		return operand{expr: e}, err
	}
	return operand{literal: v}, nil
}

// accountValue returns the value of a variable of the account.
func (p filterParser) accountValue(name string) (operand, error) {
	if p.variable == nil {
		return operand{}, badFilter("unknown variable %s: known are $$now and $$today", Quote(name))
	}
	v, ok := p.variable(name[2:])
	if !ok {
		return operand{}, badFilter("the account has no value for %s", Quote(name))
	}
	return operand{literal: v}, nil
}

// queryTime returns the time of the query, or the midnight before it.
func (p filterParser) queryTime(what any) *Expr {
	e := &Expr{Op: OpNow, Type: DateTime, Value: what}
	if !p.now.IsZero() {
		e.Value = p.instant(what)
	}
	return e
}

func (p filterParser) instant(what any) Instant {
	return InstantOf(p.now).orMidnight(what)
}

// orMidnight returns the instant itself, or the midnight (UTC) before it if what is
// Today.
func (i Instant) orMidnight(what any) Instant {
	if what != Today {
		return i
	}
	const day = Instant(24 * time.Hour / time.Millisecond)
	return i - ((i%day)+day)%day
}

// At returns the value of an OpNow in a query made at that time.
func (e *Expr) At(now Instant) Instant {
	if i, ok := e.Value.(Instant); ok {
		return i
	}
	return now.orMidnight(e.Value)
}

// constantDate resolves {"date":["2020-01-01"]} and {"now":[]} where only a
// constant is allowed. It returns any other value unchanged.
func (p filterParser) constantDate(v any) (any, error) {
	if _, ok := v.(Fields); !ok {
		return v, nil
	}
	o, err := p.parseOperand(v, maxFilterDepth-1)
	switch {
	case err != nil:
		return nil, err
	case o.expr == nil:
		return o.literal, nil
	case o.expr.Op == OpValue:
		return o.expr.Value, nil
	case o.expr.Op == OpNow && !p.now.IsZero():
		return o.expr.Value, nil
	}
	return nil, badFilter("a list takes values, found %s", describeOperand(o))
}

// parseDate reads {"date":[..]}: the time of the query, "today", or a date.
func (p filterParser) parseDate(args []any, depth int) (*Expr, error) {
	if len(args) == 0 {
		return p.queryTime(nil), nil
	}
	if len(args) == 1 && (args[0] == "today" || args[0] == "now") {
		return p.queryTime(map[any]any{"today": Today}[args[0]]), nil
	}
	if len(args) != 1 {
		return nil, badFilter("date takes one date, found %d arguments", len(args))
	}
	return p.dateArgument("date", args[0], depth)
}

// parseArguments reads the arguments of a function that takes from least to most of
// them.
func (p filterParser) parseArguments(name string, args []any, least, most, depth int) ([]operand, error) {
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
func numberArgument(name string, o operand) (*Expr, error) {
	if o.expr == nil {
		if o.literal == nil {
			return Constant(DecimalNum, nil), nil
		}
		if s, ok := numberText(o.literal); ok {
			if d, ok := ParseDecimal(s); ok {
				return Constant(DecimalNum, d), nil
			}
		}
		return nil, badFilter("%s takes numbers, found %s", name, describeValue(o.literal))
	}
	if !o.expr.Type.numeric() {
		return nil, badFilter("%s takes numbers, found %s", name, describeOperand(o))
	}
	return toNumber(o.expr), nil
}

// textArgument converts an operand that is text to a text expression.
func textArgument(name string, o operand) (*Expr, error) {
	if o.expr == nil {
		if o.literal == nil {
			return Constant(String, nil), nil
		}
		if s, ok := castText(o.literal); ok {
			return Constant(String, s), nil
		}
		return nil, badFilter("%s takes text, found %s", name, describeValue(o.literal))
	}
	if !o.expr.Type.Textual() {
		return nil, badFilter("%s takes text, found %s", name, describeOperand(o))
	}
	return o.expr, nil
}

func (p filterParser) dateArgument(name string, v any, depth int) (*Expr, error) {
	o, err := p.parseOperand(v, depth)
	if err != nil {
		return nil, err
	}
	if o.expr == nil {
		if o.literal == nil {
			return Constant(DateTime, nil), nil
		}
		if i, ok := castInstant(o.literal); ok {
			return Constant(DateTime, i), nil
		}
		return nil, badFilter("%s takes an ISO 8601 date or date-time, found %s", name, describeValue(o.literal))
	}
	if o.expr.Type != DateTime {
		return nil, badFilter("%s takes a date, found %s", name, describeOperand(o))
	}
	return o.expr, nil
}

// literalInt reads an argument that must be a literal integer.
func literalInt(name string, v any, limit int64) (int64, error) {
	n, ok := castInt(v)
	if !ok || n < -limit || n > limit {
		return 0, badFilter("%s takes a whole number from %d to %d here, found %s", name, -limit, limit, describeValue(v))
	}
	return n, nil
}

// checkDigits refuses expressions with numbers that could grow too long.
func checkDigits(e *Expr) (*Expr, error) {
	if e.digits > maxDigits {
		return nil, badFilter("%s could make numbers of more than %d digits here", e.Op, maxDigits)
	}
	return e, nil
}
