package query

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/suggest"
)

// functionParser parses functions of expressions.
type functionParser struct{ operandParser }

// functionNames are the functions of expressions, except the functions for parts of a date.
var functionNames = []string{
	"date", "now", "literal", "if", string(engine.OpAdd), string(engine.OpSub), string(engine.OpMul), string(engine.OpDiv), string(engine.OpMod), string(engine.OpAbs), string(engine.OpRound),
	string(engine.OpConcat), string(engine.OpSubstr), string(engine.OpUpper), string(engine.OpLower), string(engine.OpSize), string(engine.OpCase),
	string(engine.OpIfNull), string(engine.OpDateAdd), "dateDiff", string(engine.OpFormat), "dateFormat",
}

// dateParts are the functions for parts of a date.
var dateParts = []string{string(engine.Year), string(engine.Month), string(engine.Day), string(engine.Hour), string(engine.Minute), string(engine.Second)}

// isFunction reports whether name is a function of expressions.
func isFunction(name string) bool { return slices.Contains(functionNames, name) || datePart(name) }

func datePart(name string) bool { return slices.Contains(dateParts, name) }

func isAggregate(name string) bool {
	switch engine.AggregateFunction(name) {
	case engine.CountOf, engine.SumOf, engine.AvgOf, engine.MinOf, engine.MaxOf:
		return true
	}
	return false
}

// parseCall parses {"name":[args]} in a place where a value is expected.
func (p functionParser) parseCall(name string, args []any, depth int) (*engine.Expr, error) {
	switch engine.Op(name) {
	case "now":
		if len(args) != 0 {
			return nil, badFilter("now takes no arguments")
		}
		return p.queryTime(nil), nil
	case "date":
		return p.parseDate(args, depth)
	case engine.OpAdd, engine.OpSub, engine.OpMul, engine.OpDiv, engine.OpMod:
		return p.parseArithmetic(engine.Op(name), args, depth)
	case engine.OpAbs, engine.OpRound:
		return p.parseRounding(engine.Op(name), args, depth)
	case engine.OpConcat:
		return p.parseConcat(args, depth)
	case engine.OpUpper, engine.OpLower, engine.OpSubstr:
		return p.textFunction(engine.Op(name), args, depth)
	case engine.OpSize:
		return p.parseSize(args, depth)
	case "if", engine.OpCase:
		return p.parseCases(name, args, depth)
	case engine.OpIfNull:
		return p.ifNull(args, depth)
	case engine.OpDateAdd:
		return p.dateAdd(args, depth)
	case "dateDiff":
		return p.dateDiff(args, depth)
	case engine.OpFormat, "dateFormat":
		return p.parseFormat(name, args, depth)
	}
	switch {
	case datePart(name):
		if len(args) != 1 {
			return nil, badFilter("%s takes one argument, found %d", name, len(args))
		}
		date, err := p.dateArgument(name, args[0], depth)
		if err != nil {
			return nil, err
		}
		return &engine.Expr{Op: engine.OpPart, Type: engine.Int, Args: []*engine.Expr{date}, Value: engine.DatePart(name), Digits: 4}, nil
	case isCondition(name):
		f, err := conditionParser{p}.parseFunction(name, args, depth)
		if err != nil {
			return nil, err
		}
		return &engine.Expr{Op: engine.OpCase, Type: engine.Boolean, Conds: []*engine.Filter{f}, Args: []*engine.Expr{engine.Constant(engine.Boolean, true), engine.Constant(engine.Boolean, false)}}, nil
	case isAggregate(name):
		return nil, badFilter("%s is for aggregations: it cannot be part of a filter", name)
	}
	return nil, badFilter("unknown function %s%s", engine.Quote(name), suggest.DidYouMean(name, slices.Concat(functionNames, dateParts, conditionNames)))
}

func (p functionParser) parseArithmetic(op engine.Op, args []any, depth int) (*engine.Expr, error) {
	least, most := 2, 2
	if op == engine.OpAdd || op == engine.OpMul {
		least, most = 1, maxArguments
	}
	operands, err := p.parseArguments(string(op), args, least, most, depth)
	if err != nil {
		return nil, err
	}
	e := &engine.Expr{Op: op, Type: engine.DecimalNum}
	for _, o := range operands {
		arg, err := numberArgument(string(op), o)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
		switch op {
		case engine.OpMul, engine.OpDiv:
			e.Digits += arg.Digits
		default:
			e.Digits = max(e.Digits, arg.Digits)
		}
	}
	switch op {
	case engine.OpAdd, engine.OpSub:
		e.Digits += 2 // up to fifty arguments can carry into two more digits
	case engine.OpDiv:
		e.Digits += engine.QuotientDigits
	}
	return checkDigits(e)
}

func (p functionParser) parseRounding(op engine.Op, args []any, depth int) (*engine.Expr, error) {
	most := 1
	digits := int64(0)
	if op == engine.OpRound && len(args) == 2 {
		var err error
		if digits, err = literalInt("round", args[1], 100); err != nil {
			return nil, err
		}
		most = 2
	}
	if len(args) < 1 || len(args) > most {
		return nil, badFilter("%s takes a number, found %d arguments", op, len(args))
	}
	o, err := p.parseOperand(args[0], depth)
	if err != nil {
		return nil, err
	}
	arg, err := numberArgument(string(op), o)
	if err != nil {
		return nil, err
	}
	e := &engine.Expr{Op: op, Type: engine.DecimalNum, Args: []*engine.Expr{arg}, Digits: arg.Digits}
	if op == engine.OpRound {
		e.Value = digits
		e.Digits += 101
	}
	return checkDigits(e)
}

func (p functionParser) parseConcat(args []any, depth int) (*engine.Expr, error) {
	operands, err := p.parseArguments("concat", args, 1, maxArguments, depth)
	if err != nil {
		return nil, err
	}
	e := &engine.Expr{Op: engine.OpConcat, Type: engine.String}
	for _, o := range operands {
		arg, err := concatArgument(o)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
	}
	if n := countTexts(e); n > maxArguments {
		return nil, badFilter("concat joins at most %d texts, those within others included, found %d", maxArguments, n)
	}
	return e, nil
}

// countTexts returns the maximum number of texts that are concatenated to compute the value.
func countTexts(e *engine.Expr) int {
	n := 0
	for _, a := range e.Args {
		if e.Op == engine.OpConcat {
			n += countTexts(a)
		} else {
			n = max(n, countTexts(a))
		}
	}
	return max(n, 1)
}

func concatArgument(o operand) (*engine.Expr, error) {
	if o.expr == nil {
		return textArgument("concat", o)
	}
	if t := o.expr.Type; t.JSON() || t == engine.Collection {
		return nil, badFilter("concat takes plain values, found %s", describeOperand(o))
	}
	return toText(o.expr), nil
}

func (p functionParser) textFunction(op engine.Op, args []any, depth int) (*engine.Expr, error) {
	e := &engine.Expr{Op: op, Type: engine.String}
	switch {
	case op == engine.OpSubstr && (len(args) == 2 || len(args) == 3):
		cut := engine.Span{Length: -1}
		var err error
		if cut.Start, err = literalInt("substr", args[1], 1_000_000); err != nil {
			return nil, err
		}
		if len(args) == 3 {
			if cut.Length, err = literalInt("substr", args[2], 1_000_000); err != nil {
				return nil, err
			}
			cut.Length = max(cut.Length, 0)
		}
		e.Value = cut
	case op == engine.OpSubstr:
		return nil, badFilter("substr takes a text, a start and perhaps a length, found %d arguments", len(args))
	case len(args) != 1:
		return nil, badFilter("%s takes one argument, found %d", op, len(args))
	}
	o, err := p.parseOperand(args[0], depth)
	if err != nil {
		return nil, err
	}
	arg, err := textArgument(string(op), o)
	if err != nil {
		return nil, err
	}
	e.Args = []*engine.Expr{arg}
	return e, nil
}

func (p functionParser) parseSize(args []any, depth int) (*engine.Expr, error) {
	operands, err := p.parseArguments("size", args, 1, 1, depth)
	if err != nil {
		return nil, err
	}
	o := operands[0]
	if o.expr == nil {
		if o.expr, err = textArgument("size", o); err != nil {
			return nil, err
		}
	}
	if t := o.expr.Type; !t.Textual() && t != engine.Set && t != engine.Collection {
		return nil, badFilter("size takes a text, a set or a collection, found %s", describeOperand(o))
	}
	return &engine.Expr{Op: engine.OpSize, Type: engine.Int, Args: []*engine.Expr{o.expr}, Digits: 19}, nil
}

// parseCases parses {"if":[condition, a, b]} and {"case":[condition, a, condition, b, .., otherwise]}.
func (p functionParser) parseCases(name string, args []any, depth int) (*engine.Expr, error) {
	if len(args) < 2 || name == "if" && len(args) > 3 || len(args) > maxArguments {
		return nil, badFilter("%s takes a condition and a value, and a value for all others, found %d arguments", name, len(args))
	}
	var conds []*engine.Filter
	var values []any
	for len(args) > 1 {
		if err := p.countNode(depth); err != nil {
			return nil, err
		}
		f, err := conditionParser{p}.parseCondition(args[0], depth+1)
		if err != nil {
			return nil, err
		}
		if f == nil {
			return nil, badFilter("%s takes a condition, found an empty object", name)
		}
		conds, values, args = append(conds, f), append(values, args[1]), args[2:]
	}
	if values = append(values, nil); len(args) == 1 {
		values[len(values)-1] = args[0]
	}
	e, err := p.unifyArguments(name, values, depth)
	if err != nil {
		return nil, err
	}
	e.Op, e.Conds = engine.OpCase, conds
	return e, nil
}

func (p functionParser) ifNull(args []any, depth int) (*engine.Expr, error) {
	if len(args) < 1 || len(args) > maxArguments {
		return nil, badFilter("ifNull takes %s, found %d", howMany(1, maxArguments), len(args))
	}
	e, err := p.unifyArguments("ifNull", args, depth)
	if err != nil {
		return nil, err
	}
	e.Op = engine.OpIfNull
	return e, nil
}

// unifyArguments parses values and returns an expression with the values as its arguments, all converted to one type.
// This is the type of the attributes and functions among the values; literals are cast to it. If all values are
// literals, it is the type of the first literal that is not null.
func (p functionParser) unifyArguments(name string, values []any, depth int) (*engine.Expr, error) {
	operands := make([]operand, len(values))
	var model *engine.Expr
	for i, v := range values {
		o, err := p.parseOperand(v, depth)
		if err != nil {
			return nil, err
		}
		if operands[i] = o; o.expr == nil {
			continue
		}
		if t := o.expr.Type; t == engine.Collection || t.JSON() {
			return nil, badFilter("%s takes plain values, found %s", name, describeOperand(o))
		}
		if model == nil || isNumeric(model.Type) && isNumeric(o.expr.Type) && model.Type != o.expr.Type {
			model = o.expr
			if len(operands) > 1 && isNumeric(model.Type) {
				model = toNumber(model)
			}
		}
	}
	if model == nil {
		model = literalModel(operands)
	}
	e := &engine.Expr{Type: plainType(model.Type)}
	for _, o := range operands {
		arg, err := unifyArgument(name, e.Type, o)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
		e.Digits = max(e.Digits, arg.Digits)
	}
	return e, nil
}

// plainType returns the type to which values are converted for a comparison with a value of type t: String for all
// textual types, DecimalNum for all numbers, otherwise t.
func plainType(t engine.PropertyType) engine.PropertyType {
	switch {
	case t.Textual():
		return engine.String
	case isNumeric(t):
		return engine.DecimalNum
	}
	return t
}

// literalModel returns an expression of the type to which all arguments are cast if all of them are literals (see
// unifyArguments).
func literalModel(operands []operand) *engine.Expr {
	for _, o := range operands {
		switch o.literal.(type) {
		case nil:
			continue
		case bool:
			return &engine.Expr{Type: engine.Boolean}
		case string:
			return &engine.Expr{Type: engine.String}
		}
		return &engine.Expr{Type: engine.DecimalNum}
	}
	return &engine.Expr{Type: engine.String}
}

func unifyArgument(name string, t engine.PropertyType, o operand) (*engine.Expr, error) {
	switch {
	case t == engine.DecimalNum:
		return numberArgument(name, o)
	case t == engine.String:
		return textArgument(name, o)
	case o.expr != nil && o.expr.Type == t:
		return o.expr, nil
	case o.expr == nil:
		typed := engine.Property{Name: name, Type: t}
		v, err := typed.Cast(o.literal)
		if err == nil {
			return engine.Constant(t, v), nil
		}
		return nil, badFilter("%s takes %s here, found %s", name, typed.DescribeExpected(), engine.DescribeValue(o.literal))
	}
	return nil, badFilter("%s takes values of one type (%s), found %s", name, t, describeOperand(o))
}

// parseUnit returns a unit of dateAdd and dateDiff in milliseconds. A month and a year have their average length in
// the Gregorian calendar.
func parseUnit(v any) (int64, error) {
	const day = 86_400_000
	s, ok := v.(string)
	if ok {
		switch strings.TrimSpace(s) {
		case "ms":
			return 1, nil
		case "s":
			return 1000, nil
		case "min":
			return 60_000, nil
		case "h":
			return 3_600_000, nil
		case "d", "":
			return day, nil
		case "m":
			return day * 146097 / 4800, nil
		case "y":
			return day * 146097 / 400, nil
		}
	}
	if v == nil {
		return day, nil
	}
	return 0, badFilter("the unit of a time is ms, s, min, h, d, m or y, found %s", engine.DescribeValue(v))
}
