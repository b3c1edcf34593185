package store

import (
	"strings"

	"restsrv/engine"
)

// Function is a function of expressions that every dialect must write. Unless its comment says
// otherwise, a function of null is null. No argument value causes an error, and all databases give
// the same results. Decimals are in the form in which ColumnType stores them. The arguments are
// written in order.
type Function string

// The functions with their arguments.
const (
	TextValue    Function = "text value"    // placeholder: a text that is not compared with a column
	DecimalValue Function = "decimal value" // placeholder, as are the next three
	IntValue     Function = "int value"
	RealValue    Function = "real value"
	BooleanValue Function = "boolean value"

	DecimalOfInt  Function = "decimal of int"
	DecimalOfReal Function = "decimal of real" // the number in its JSON form
	TextOfDecimal Function = "text of decimal" // canonical form
	Ordered       Function = "ordered"         // a computed decimal, converted so that it compares as a number
	Bytewise      Function = "bytewise"        // a computed text, converted so that it compares by its bytes

	Add   Function = "add" // two decimals, as are the next four; exact
	Sub   Function = "sub"
	Mul   Function = "mul"
	Div   Function = "div" // like engine.Decimal.Div; null if the divisor is 0
	Mod   Function = "mod" // like engine.Decimal.Mod
	Abs   Function = "abs"
	Floor Function = "floor"
	Round Function = "round" // decimal, placeholder for the number of digits
	Sum   Function = "sum"   // the sum of decimals over many rows; null if there are no rows

	Concat      Function = "concat" // any number of texts; null counts as ""
	Substr      Function = "substr" // text, placeholder for the start (from 0; from the end if negative) and for the length (all if negative)
	Upper       Function = "upper"  // full Unicode mapping, independent of language
	Lower       Function = "lower"
	Length      Function = "length"       // in characters
	Includes    Function = "includes"     // two texts: the condition that the upper case of the first contains the upper case of the second
	IncludesAny Function = "includes any" // a text, then further texts: the condition that one of the further texts includes the first

	SetSize Function = "set size" // JSON array
	SetHas  Function = "set has"  // JSON array, placeholder for a JSON array: the condition that they have a common element

	DateAdd Function = "date add" // instant, decimal of milliseconds; the sum is truncated to a whole number, and null outside the years 0 to 9999
	Format  Function = "format"   // a date part (engine.DatePart) of an instant as text: instant, the part, its width; see formatDate
)

// expr returns the text of an expression and binds its values.
func (b *builder) expr(src *source, e *engine.Expr) string {
	switch e.Op {
	case engine.OpPath:
		return b.pathValue(src, e.Path)
	case engine.OpValue:
		return b.value(e.Type, e.Value)
	case engine.OpOwner:
		return b.value(e.Type, nil)
	case engine.OpNow:
		return b.value(engine.DateTime, e.At(b.now))
	case engine.OpCase:
		return b.caseExpr(src, e)
	case engine.OpSize:
		return b.sizeExpr(src, e.Args[0])
	case engine.OpText:
		return b.textOf(src, e.Args[0])
	case engine.OpFormat:
		pieces, _ := e.Value.([]engine.FormatPiece)
		return b.formatDate(src, e.Args[0], pieces)
	}
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = b.expr(src, a)
	}
	return b.callFunction(e, args)
}

func (b *builder) callFunction(e *engine.Expr, args []string) string {
	switch e.Op {
	case engine.OpNumber:
		if e.Args[0].Type == engine.Real {
			return b.dialect.Function(DecimalOfReal, args...)
		}
		return b.dialect.Function(DecimalOfInt, args...)
	case engine.OpIfNull:
		if len(args) == 1 {
			return args[0]
		}
		return "coalesce(" + strings.Join(args, ", ") + ")"
	case engine.OpSubstr:
		cut, _ := e.Value.(engine.Span)
		return b.dialect.Function(Substr, args[0], b.placeholder(cut.Start), b.placeholder(cut.Length))
	case engine.OpRound:
		return b.dialect.Function(Round, args[0], b.placeholder(e.Value))
	case engine.OpPart:
		part, _ := e.Value.(engine.DatePart)
		return b.dialect.Function(Function(part), args[0])
	case engine.OpDateAdd:
		return b.dialect.Function(DateAdd, args...)
	case engine.OpConcat:
		return b.dialect.Function(Concat, args...)
	}
	f := Function(e.Op)
	text := args[0]
	if len(args) == 1 && e.Op != engine.OpAdd && e.Op != engine.OpMul {
		return b.dialect.Function(f, text)
	}
	for _, a := range args[1:] {
		text = b.dialect.Function(f, text, a)
	}
	return text
}

// value writes a constant with its type.
func (b *builder) value(t engine.PropertyType, v any) string {
	ph := b.placeholder(v)
	switch {
	case t == engine.DecimalNum:
		return b.dialect.Function(DecimalValue, ph)
	case t == engine.Int || t == engine.DateTime:
		return b.dialect.Function(IntValue, ph)
	case t == engine.Real:
		return b.dialect.Function(RealValue, ph)
	case t == engine.Boolean:
		return b.dialect.Function(BooleanValue, ph)
	}
	return b.dialect.Function(TextValue, ph)
}

func (b *builder) caseExpr(src *source, e *engine.Expr) string {
	text := "CASE"
	for i, c := range e.Conds {
		text += " WHEN " + b.capture(func() { b.filter(src, c, false) })
		text += " THEN " + b.expr(src, e.Args[i])
	}
	return text + " ELSE " + b.expr(src, e.Args[len(e.Args)-1]) + " END"
}

func (b *builder) sizeExpr(src *source, e *engine.Expr) string {
	switch e.Type {
	case engine.Collection:
		return b.memberCount(src, e.Path)
	case engine.Set:
		return b.dialect.Function(SetSize, b.expr(src, e))
	}
	return b.dialect.Function(Length, b.expr(src, e))
}

func (b *builder) textOf(src *source, e *engine.Expr) string {
	switch e.Type {
	case engine.DateTime:
		return b.formatDate(src, e, isoPieces)
	case engine.Boolean:
		return "CASE WHEN " + b.expr(src, e) + " THEN 'true' ELSE '' END"
	}
	return b.dialect.Function(TextOfDecimal, b.expr(src, e))
}

// isoPieces is the format of dates in JSON.
var isoPieces = []engine.FormatPiece{
	{Part: engine.Year, Width: 4}, {Literal: "-"}, {Part: engine.Month, Width: 2}, {Literal: "-"}, {Part: engine.Day, Width: 2},
	{Literal: "T"}, {Part: engine.Hour, Width: 2}, {Literal: ":"}, {Part: engine.Minute, Width: 2}, {Literal: ":"},
	{Part: engine.Second, Width: 2}, {Literal: "."}, {Part: engine.Millisecond, Width: 3}, {Literal: "Z"},
}

// formatDate writes a date as text. It computes the date once, in a table of one row, however many
// parts the format has.
func (b *builder) formatDate(src *source, date *engine.Expr, pieces []engine.FormatPiece) string {
	alias := b.newAlias()
	at := alias + "." + quoteName("at")
	parts := make([]string, 0, len(pieces)+1)
	for _, p := range pieces {
		if p.Part == "" {
			parts = append(parts, quoteText(p.Literal))
			continue
		}
		parts = append(parts, b.dialect.Function(Format, at, string(p.Part), []string{"0", "1", "2", "3", "4"}[p.Width]))
	}
	text := "''"
	if len(parts) > 0 {
		text = strings.Join(parts, " || ")
	}
	return "(SELECT CASE WHEN " + at + " IS NOT NULL THEN " + text + " END FROM (SELECT " + b.expr(src, date) + " AS " + quoteName("at") + ") AS " + alias + ")"
}

// comparableExpr is expr with a result that compares in the order of its type.
func (b *builder) comparableExpr(src *source, e *engine.Expr) string {
	text := b.expr(src, e)
	switch {
	case e.Op == engine.OpPath || e.Op == engine.OpValue && e.Type.Textual():
		return text
	case e.Type == engine.DecimalNum:
		return b.dialect.Function(Ordered, text)
	case e.Type.Textual():
		return b.dialect.Function(Bytewise, text)
	}
	return text
}
