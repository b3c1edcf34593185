package sqlquery

import (
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// expr returns the text of an expression and binds its values.
func (b *Builder) expr(src *Source, e *engine.Expr) string {
	switch e.Op {
	case engine.OpPath:
		return b.PathValue(src, e.Path)
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
	return callFunction(b, e, args)
}

func callFunction(b *Builder, e *engine.Expr, args []string) string {
	switch e.Op {
	case engine.OpNumber:
		if e.Args[0].Type == engine.Real {
			return b.Dialect.Function(sqldb.DecimalOfReal, args...)
		}
		return b.Dialect.Function(sqldb.DecimalOfInt, args...)
	case engine.OpIfNull:
		if len(args) == 1 {
			return args[0]
		}
		return "coalesce(" + strings.Join(args, ", ") + ")"
	case engine.OpSubstr:
		cut, _ := e.Value.(engine.Span)
		return b.Dialect.Function(sqldb.Substr, args[0], b.Placeholder(cut.Start), b.Placeholder(cut.Length))
	case engine.OpRound:
		return b.Dialect.Function(sqldb.Round, args[0], b.Placeholder(e.Value))
	case engine.OpPart:
		part, _ := e.Value.(engine.DatePart)
		return b.Dialect.Function(sqldb.Function(part), args[0])
	case engine.OpDateAdd:
		return b.Dialect.Function(sqldb.DateAdd, args...)
	case engine.OpConcat:
		return b.Dialect.Function(sqldb.Concat, args...)
	}
	f := sqldb.Function(e.Op)
	text := args[0]
	if len(args) == 1 && e.Op != engine.OpAdd && e.Op != engine.OpMul {
		return b.Dialect.Function(f, text)
	}
	for _, a := range args[1:] {
		text = b.Dialect.Function(f, text, a)
	}
	return text
}

// value writes a constant with its type.
func (b *Builder) value(t engine.PropertyType, v any) string {
	ph := b.Placeholder(v)
	switch {
	case t == engine.DecimalNum:
		return b.Dialect.Function(sqldb.DecimalValue, ph)
	case t == engine.Int || t == engine.DateTime:
		return b.Dialect.Function(sqldb.IntValue, ph)
	case t == engine.Real:
		return b.Dialect.Function(sqldb.RealValue, ph)
	case t == engine.Boolean:
		return b.Dialect.Function(sqldb.BooleanValue, ph)
	}
	return b.Dialect.Function(sqldb.TextValue, ph)
}

func (b *Builder) caseExpr(src *Source, e *engine.Expr) string {
	text := "CASE"
	for i, c := range e.Conds {
		text += " WHEN " + b.Capture(func() { b.Filter(src, c, false) })
		text += " THEN " + b.expr(src, e.Args[i])
	}
	return text + " ELSE " + b.expr(src, e.Args[len(e.Args)-1]) + " END"
}

func (b *Builder) sizeExpr(src *Source, e *engine.Expr) string {
	switch e.Type {
	case engine.Collection:
		return b.memberCount(src, e.Path)
	case engine.Set:
		return b.Dialect.Function(sqldb.SetSize, b.expr(src, e))
	}
	return b.Dialect.Function(sqldb.Length, b.expr(src, e))
}

func (b *Builder) textOf(src *Source, e *engine.Expr) string {
	switch e.Type {
	case engine.DateTime:
		return b.formatDate(src, e, isoPieces)
	case engine.Boolean:
		return "CASE WHEN " + b.expr(src, e) + " THEN 'true' ELSE '' END"
	}
	return b.Dialect.Function(sqldb.TextOfDecimal, b.expr(src, e))
}

// isoPieces is the format in which JSON contains dates.
var isoPieces = []engine.FormatPiece{
	{Part: engine.Year, Width: 4}, {Literal: "-"}, {Part: engine.Month, Width: 2}, {Literal: "-"}, {Part: engine.Day, Width: 2},
	{Literal: "T"}, {Part: engine.Hour, Width: 2}, {Literal: ":"}, {Part: engine.Minute, Width: 2}, {Literal: ":"},
	{Part: engine.Second, Width: 2}, {Literal: "."}, {Part: engine.Millisecond, Width: 3}, {Literal: "Z"},
}

// formatDate writes a date as text. If the format has several parts, the date is computed once, in a table of one row,
// and each part uses the result.
func (b *Builder) formatDate(src *Source, date *engine.Expr, pieces []engine.FormatPiece) string {
	alias := b.newAlias()
	at := alias + "." + sqldb.QuoteName("at")
	parts := make([]string, 0, len(pieces)+1)
	for _, p := range pieces {
		if p.Part == "" {
			parts = append(parts, sqldb.QuoteText(p.Literal))
			continue
		}
		parts = append(parts, b.Dialect.Function(sqldb.Format, at, string(p.Part), []string{"0", "1", "2", "3", "4"}[p.Width]))
	}
	text := "''"
	if len(parts) > 0 {
		text = strings.Join(parts, " || ")
	}
	return "(SELECT CASE WHEN " + at + " IS NOT NULL THEN " + text + " END FROM (SELECT " + b.expr(src, date) + " AS " + sqldb.QuoteName("at") + ") AS " + alias + ")"
}

// comparableExpr returns the text of an expression, like expr, in a form that compares and sorts as its type requires:
// decimals by number, texts by bytes.
func (b *Builder) comparableExpr(src *Source, e *engine.Expr) string {
	text := b.expr(src, e)
	switch {
	case e.Op == engine.OpPath || e.Op == engine.OpValue && e.Type.Textual():
		return text
	case e.Type == engine.DecimalNum:
		return b.Dialect.Function(sqldb.Ordered, text)
	case e.Type.Textual():
		return b.Dialect.Function(sqldb.Bytewise, text)
	}
	return text
}
