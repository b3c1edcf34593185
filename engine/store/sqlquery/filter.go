package sqlquery

import (
	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// Filter writes the condition f, or its opposite if negated is true. A condition in SQL may be null, which counts as
// false, so its opposite is written as IS NOT TRUE.
func (b *Builder) Filter(src *Source, f *engine.Filter, negated bool) {
	switch f.Op {
	case engine.OpAnd:
		b.writeAll(src, f.Args, negated, false)
	case engine.OpOr:
		b.writeAll(src, f.Args, negated, true)
	case engine.OpNot: // means that all of Args are false
		b.writeAll(src, f.Args, !negated, true)
	case engine.OpConst:
		writeConstant(b, f.Value != negated)
	case engine.OpOwner: // the owner is unknown here, so the condition is false
		writeConstant(b, false)
	case engine.OpSearch:
		b.addNegated(negated, b.Capture(func() { b.writeSearch(src, f.Pattern) }))
	case engine.OpNe:
		eq := *f
		eq.Op = engine.OpEq
		b.Filter(src, &eq, !negated)
	case engine.OpIn, engine.OpHas:
		if len(f.List) == 0 {
			writeConstant(b, negated)
			return
		}
		fallthrough
	default:
		if f.Op == engine.OpEq && negated && f.Right.Op == engine.OpValue && f.Right.Value == nil && f.Left.Op == engine.OpPath && engine.Single(f.Left.Path) {
			b.Add(b.expr(src, f.Left), " IS NOT NULL")
			return
		}
		b.writeQuantified(negated, func() { b.writeCondition(src, f) })
	}
}

func writeConstant(b *Builder, value bool) {
	if value {
		b.Add("1 = 1")
		return
	}
	b.Add("1 = 0")
}

// writeAll writes args joined by AND, or by OR if any is true. If negated is true, it writes the opposite, by
// exchanging AND and OR and negating each argument. Databases limit the depth of conditions, so the result is a
// balanced tree.
func (b *Builder) writeAll(src *Source, args []*engine.Filter, negated, any bool) {
	switch n := len(args); n {
	case 0:
		writeConstant(b, any == negated) // an empty AND is true, an empty OR is false
	case 1:
		b.Filter(src, args[0], negated)
	default:
		b.Add("(")
		b.writeAll(src, args[:n/2], negated, any)
		b.Add([]string{" AND ", " OR "}[boolToInt(any != negated)])
		b.writeAll(src, args[n/2:], negated, any)
		b.Add(")")
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writeCondition writes a condition other than and, or, and not. If f is a condition on a collection, it can contain
// any condition on the members.
func (b *Builder) writeCondition(src *Source, f *engine.Filter) {
	switch f.Op {
	case engine.OpEmpty:
		b.writeEmpty(src, f.Left)
	case engine.OpIn:
		b.writeIn(src, f)
	case engine.OpHas:
		b.Add(b.Dialect.Function(sqldb.SetHas, b.expr(src, f.Left), b.Placeholder(string(engine.AppendValue(nil, f.List)))))
	case engine.OpLike:
		left := b.expr(src, f.Left)
		b.Add(b.Dialect.Match(left, f.Pattern, b.Placeholder))
	case engine.OpIncludes:
		left := b.expr(src, f.Left)
		b.Add(b.Dialect.Function(sqldb.Includes, left, b.expr(src, f.Right)))
	case engine.OpReached:
		b.Add(reachedCondition(b, src, f))
	case engine.OpContains:
		var inner *engine.Filter
		if len(f.Args) > 0 {
			inner = f.Args[0]
		}
		b.Add(b.someMember(src, f.Left.Path, inner))
	default:
		b.writeComparison(src, f)
	}
}

func (b *Builder) writeEmpty(src *Source, e *engine.Expr) {
	if e.Type == engine.Collection {
		b.Add("NOT ", b.someMember(src, e.Path, nil))
		return
	}
	text := b.comparableExpr(src, e)
	none := "''"
	switch {
	case e.Type == engine.Set || e.Type == engine.FileList:
		none = "'[]'"
	case !e.Type.Textual():
		b.Add(text, " IS NULL")
		return
	}
	b.Add("coalesce(", text, ", ", none, ") = ", none)
}

func (b *Builder) writeIn(src *Source, f *engine.Filter) {
	list := make([]any, len(f.List))
	for i, v := range f.List {
		list[i] = sqldb.Encode(v)
	}
	left := b.comparableExpr(src, f.Left)
	b.Add(b.Dialect.In(left, f.Left.Type, list, b.Placeholder))
}

func operatorSymbol(op engine.Op) string {
	switch op {
	case engine.OpEq:
		return " = "
	case engine.OpLt:
		return " < "
	case engine.OpLte:
		return " <= "
	case engine.OpGt:
		return " > "
	}
	return " >= "
}

func (b *Builder) writeComparison(src *Source, f *engine.Filter) {
	left := b.comparableExpr(src, f.Left)
	switch constant := f.Right.Op == engine.OpValue; {
	case constant && f.Right.Value == nil && f.Op == engine.OpEq:
		b.Add(left, " IS NULL")
	case constant && f.Right.Value == nil: // a comparison with null is always false
		b.Add("1 = 0")
	case constant && f.Left.Op != engine.OpValue && f.Left.Op != engine.OpNow:
		b.Add(left, operatorSymbol(f.Op))
		b.Bind(f.Right.Value)
	case constant || f.Op != engine.OpEq:
		b.Add(left, operatorSymbol(f.Op), b.comparableExpr(src, f.Right))
	default:
		b.Add(left, b.Clauses.Same, b.comparableExpr(src, f.Right))
	}
}
