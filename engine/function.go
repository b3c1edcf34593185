package engine

import "strings"

// isFunction reports whether name is a function of expressions.
func isFunction(name string) bool {
	switch name {
	case "date", "now", "literal", "if":
		return true
	}
	switch Op(name) {
	case OpAdd, OpSub, OpMul, OpDiv, OpMod, OpAbs, OpRound, OpConcat, OpSubstr, OpUpper, OpLower, OpSize, OpCase,
		OpIfNull, OpDateAdd, "dateDiff", OpFormat, "dateFormat":
		return true
	}
	return datePart(name)
}

func datePart(name string) bool {
	switch DatePart(name) {
	case Year, Month, Day, Hour, Minute, Second:
		return true
	}
	return false
}

func isAggregate(name string) bool {
	switch AggregateFunction(name) {
	case CountOf, SumOf, AvgOf, MinOf, MaxOf:
		return true
	}
	return false
}

// parseCall reads {"name":[args]} where a value is expected.
func (p filterParser) parseCall(name string, args []any, depth int) (*Expr, error) {
	switch Op(name) {
	case "now":
		if len(args) != 0 {
			return nil, badFilter("now takes no arguments")
		}
		return p.queryTime(nil), nil
	case "date":
		return p.parseDate(args, depth)
	case OpAdd, OpSub, OpMul, OpDiv, OpMod:
		return p.parseArithmetic(Op(name), args, depth)
	case OpAbs, OpRound:
		return p.parseRounding(Op(name), args, depth)
	case OpConcat:
		return p.parseConcat(args, depth)
	case OpUpper, OpLower, OpSubstr:
		return p.textFunction(Op(name), args, depth)
	case OpSize:
		return p.parseSize(args, depth)
	case "if", OpCase:
		return p.parseCases(name, args, depth)
	case OpIfNull:
		return p.ifNull(args, depth)
	case OpDateAdd:
		return p.dateAdd(args, depth)
	case "dateDiff":
		return p.dateDiff(args, depth)
	case OpFormat, "dateFormat":
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
		return &Expr{Op: OpPart, Type: Int, Args: []*Expr{date}, Value: DatePart(name), digits: 4}, nil
	case isCondition(name):
		f, err := p.parseFunction(name, args, depth)
		if err != nil {
			return nil, err
		}
		return &Expr{Op: OpCase, Type: Boolean, Conds: []*Filter{f}, Args: []*Expr{Constant(Boolean, true), Constant(Boolean, false)}}, nil
	case isAggregate(name):
		return nil, badFilter("%s is for aggregations: it cannot be part of a filter", name)
	}
	return nil, badFilter("unknown function %s", Quote(name))
}

func (p filterParser) parseArithmetic(op Op, args []any, depth int) (*Expr, error) {
	least, most := 2, 2
	if op == OpAdd || op == OpMul {
		least, most = 1, maxArguments
	}
	operands, err := p.parseArguments(string(op), args, least, most, depth)
	if err != nil {
		return nil, err
	}
	e := &Expr{Op: op, Type: DecimalNum}
	for _, o := range operands {
		arg, err := numberArgument(string(op), o)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
		switch op {
		case OpMul, OpDiv:
			e.digits += arg.digits
		default:
			e.digits = max(e.digits, arg.digits)
		}
	}
	switch op {
	case OpAdd, OpSub:
		e.digits += 2 // up to fifty arguments can carry into two more digits
	case OpDiv:
		e.digits += QuotientDigits
	}
	return checkDigits(e)
}

func (p filterParser) parseRounding(op Op, args []any, depth int) (*Expr, error) {
	most := 1
	digits := int64(0)
	if op == OpRound && len(args) == 2 {
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
	e := &Expr{Op: op, Type: DecimalNum, Args: []*Expr{arg}, digits: arg.digits}
	if op == OpRound {
		e.Value = digits
		e.digits += 101
	}
	return checkDigits(e)
}

func (p filterParser) parseConcat(args []any, depth int) (*Expr, error) {
	operands, err := p.parseArguments("concat", args, 1, maxArguments, depth)
	if err != nil {
		return nil, err
	}
	e := &Expr{Op: OpConcat, Type: String}
	for _, o := range operands {
		arg, err := concatArgument(o)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
	}
	if n := e.countTexts(); n > maxArguments {
		return nil, badFilter("concat joins at most %d texts, those within others included, found %d", maxArguments, n)
	}
	return e, nil
}

// countTexts returns the maximum number of texts of which the value is concatenated.
func (e *Expr) countTexts() int {
	n := 0
	for _, a := range e.Args {
		if e.Op == OpConcat {
			n += a.countTexts()
		} else {
			n = max(n, a.countTexts())
		}
	}
	return max(n, 1)
}

func concatArgument(o operand) (*Expr, error) {
	if o.expr == nil {
		return textArgument("concat", o)
	}
	if t := o.expr.Type; t.JSON() || t == Collection {
		return nil, badFilter("concat takes plain values, found %s", describeOperand(o))
	}
	return toText(o.expr), nil
}

func (p filterParser) textFunction(op Op, args []any, depth int) (*Expr, error) {
	e := &Expr{Op: op, Type: String}
	switch {
	case op == OpSubstr && (len(args) == 2 || len(args) == 3):
		cut := Span{Length: -1}
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
	case op == OpSubstr:
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
	e.Args = []*Expr{arg}
	return e, nil
}

func (p filterParser) parseSize(args []any, depth int) (*Expr, error) {
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
	if t := o.expr.Type; !t.Textual() && t != Set && t != Collection {
		return nil, badFilter("size takes a text, a set or a collection, found %s", describeOperand(o))
	}
	return &Expr{Op: OpSize, Type: Int, Args: []*Expr{o.expr}, digits: 19}, nil
}

// parseCases reads {"if":[condition, a, b]} and {"case":[condition, a, condition,
// b, .., otherwise]}.
func (p filterParser) parseCases(name string, args []any, depth int) (*Expr, error) {
	if len(args) < 2 || name == "if" && len(args) > 3 || len(args) > maxArguments {
		return nil, badFilter("%s takes a condition and a value, and a value for all others, found %d arguments", name, len(args))
	}
	var conds []*Filter
	var values []any
	for len(args) > 1 {
		if err := p.countNode(depth); err != nil {
			return nil, err
		}
		f, err := p.parseCondition(args[0], depth+1)
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
	e.Op, e.Conds = OpCase, conds
	return e, nil
}

func (p filterParser) ifNull(args []any, depth int) (*Expr, error) {
	if len(args) < 1 || len(args) > maxArguments {
		return nil, badFilter("ifNull takes %s, found %d", howMany(1, maxArguments), len(args))
	}
	e, err := p.unifyArguments("ifNull", args, depth)
	if err != nil {
		return nil, err
	}
	e.Op = OpIfNull
	return e, nil
}

// unifyArguments returns an expression with arguments of one type: that of the
// expressions among the values, or else that of the literals.
func (p filterParser) unifyArguments(name string, values []any, depth int) (*Expr, error) {
	operands := make([]operand, len(values))
	var model *Expr
	for i, v := range values {
		o, err := p.parseOperand(v, depth)
		if err != nil {
			return nil, err
		}
		if operands[i] = o; o.expr == nil {
			continue
		}
		if t := o.expr.Type; t == Collection || t.JSON() {
			return nil, badFilter("%s takes plain values, found %s", name, describeOperand(o))
		}
		if model == nil || model.Type.numeric() && o.expr.Type.numeric() && model.Type != o.expr.Type {
			model = o.expr
			if len(operands) > 1 && model.Type.numeric() {
				model = toNumber(model)
			}
		}
	}
	if model == nil {
		model = literalModel(operands)
	}
	e := &Expr{Type: plainType(model.Type)}
	for _, o := range operands {
		arg, err := unifyArgument(name, e.Type, o)
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, arg)
		e.digits = max(e.digits, arg.digits)
	}
	return e, nil
}

// plainType returns the type to which all values comparable with t are
// converted.
func plainType(t PropertyType) PropertyType {
	switch {
	case t.Textual():
		return String
	case t.numeric():
		return DecimalNum
	}
	return t
}

func literalModel(operands []operand) *Expr {
	for _, o := range operands {
		switch o.literal.(type) {
		case nil:
			continue
		case bool:
			return &Expr{Type: Boolean}
		case string:
			return &Expr{Type: String}
		}
		return &Expr{Type: DecimalNum}
	}
	return &Expr{Type: String}
}

func unifyArgument(name string, t PropertyType, o operand) (*Expr, error) {
	switch {
	case t == DecimalNum:
		return numberArgument(name, o)
	case t == String:
		return textArgument(name, o)
	case o.expr != nil && o.expr.Type == t:
		return o.expr, nil
	case o.expr == nil:
		typed := Property{Name: name, Type: t}
		v, err := typed.Cast(o.literal)
		if err == nil {
			return Constant(t, v), nil
		}
		return nil, badFilter("%s takes %s here, found %s", name, typed.describeExpected(), describeValue(o.literal))
	}
	return nil, badFilter("%s takes values of one type (%s), found %s", name, t, describeOperand(o))
}

// parseUnit returns a unit of dateAdd and dateDiff in milliseconds. Months and years
// have their average length in the Gregorian calendar.
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
	return 0, badFilter("the unit of a time is ms, s, min, h, d, m or y, found %s", describeValue(v))
}
