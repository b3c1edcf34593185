package store

import (
	"restsrv/engine"
)

// filter writes f, or its opposite if negated is true. A condition in SQL may be null, which counts
// as false. So the opposite of a condition is that it IS NOT TRUE.
func (b *builder) filter(src *source, f *engine.Filter, negated bool) {
	switch f.Op {
	case engine.OpAnd:
		b.writeAll(src, f.Args, negated, false)
	case engine.OpOr:
		b.writeAll(src, f.Args, negated, true)
	case engine.OpNot: // true if all of Args are false
		b.writeAll(src, f.Args, !negated, true)
	case engine.OpConst:
		writeConstant(b, f.Value != negated)
	case engine.OpOwner: // the owner is unknown, so the filter finds no item
		writeConstant(b, false)
	case engine.OpSearch:
		b.addNegated(negated, b.capture(func() { b.writeSearch(src, f.Pattern) }))
	case engine.OpNe:
		eq := *f
		eq.Op = engine.OpEq
		b.filter(src, &eq, !negated)
	case engine.OpIn, engine.OpHas:
		if len(f.List) == 0 {
			writeConstant(b, negated)
			return
		}
		fallthrough
	default:
		if f.Op == engine.OpEq && negated && f.Right.Op == engine.OpValue && f.Right.Value == nil && f.Left.Op == engine.OpPath && engine.Single(f.Left.Path) {
			b.add(b.expr(src, f.Left), " IS NOT NULL")
			return
		}
		b.writeQuantified(negated, func() { b.writeCondition(src, f) })
	}
}

func writeConstant(b *builder, value bool) {
	if value {
		b.add("1 = 1")
		return
	}
	b.add("1 = 0")
}

// writeAll writes args joined by AND, or by OR if any is true. negated exchanges the two and negates
// each argument. The result is a balanced tree, because databases limit the depth.
func (b *builder) writeAll(src *source, args []*engine.Filter, negated, any bool) {
	switch n := len(args); n {
	case 0:
		writeConstant(b, any == negated) // an empty AND is true, an empty OR is false
	case 1:
		b.filter(src, args[0], negated)
	default:
		b.add("(")
		b.writeAll(src, args[:n/2], negated, any)
		b.add([]string{" AND ", " OR "}[boolToInt(any != negated)])
		b.writeAll(src, args[n/2:], negated, any)
		b.add(")")
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writeCondition writes a condition that does not consist of other conditions, except for conditions on
// members.
func (b *builder) writeCondition(src *source, f *engine.Filter) {
	switch f.Op {
	case engine.OpEmpty:
		b.writeEmpty(src, f.Left)
	case engine.OpIn:
		b.writeIn(src, f)
	case engine.OpHas:
		b.add(b.dialect.Function(SetHas, b.expr(src, f.Left), b.placeholder(string(engine.AppendValue(nil, f.List)))))
	case engine.OpLike:
		left := b.expr(src, f.Left)
		b.add(b.dialect.Match(left, f.Pattern, b.placeholder))
	case engine.OpIncludes:
		left := b.expr(src, f.Left)
		b.add(b.dialect.Function(Includes, left, b.expr(src, f.Right)))
	case engine.OpReached:
		b.add(b.reachedCondition(src, f))
	case engine.OpContains:
		var inner *engine.Filter
		if len(f.Args) > 0 {
			inner = f.Args[0]
		}
		b.add(b.someMember(src, f.Left.Path, inner))
	default:
		b.writeComparison(src, f)
	}
}

func (b *builder) writeEmpty(src *source, e *engine.Expr) {
	if e.Type == engine.Collection {
		b.add("NOT ", b.someMember(src, e.Path, nil))
		return
	}
	text := b.comparableExpr(src, e)
	none := "''"
	switch {
	case e.Type == engine.Set || e.Type == engine.FileList:
		none = "'[]'"
	case !e.Type.Textual():
		b.add(text, " IS NULL")
		return
	}
	b.add("coalesce(", text, ", ", none, ") = ", none)
}

func (b *builder) writeIn(src *source, f *engine.Filter) {
	list := make([]any, len(f.List))
	for i, v := range f.List {
		list[i] = encode(v)
	}
	left := b.comparableExpr(src, f.Left)
	b.add(b.dialect.In(left, f.Left.Type, list, b.placeholder))
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

func (b *builder) writeComparison(src *source, f *engine.Filter) {
	left := b.comparableExpr(src, f.Left)
	switch constant := f.Right.Op == engine.OpValue; {
	case constant && f.Right.Value == nil && f.Op == engine.OpEq:
		b.add(left, " IS NULL")
	case constant && f.Right.Value == nil: // comparing with null is always false
		b.add("1 = 0")
	case constant && f.Left.Op != engine.OpValue && f.Left.Op != engine.OpNow:
		b.add(left, operatorSymbol(f.Op))
		b.bind(f.Right.Value)
	case constant || f.Op != engine.OpEq:
		b.add(left, operatorSymbol(f.Op), b.comparableExpr(src, f.Right))
	default:
		b.add(left, " IS NOT DISTINCT FROM ", b.comparableExpr(src, f.Right))
	}
}
