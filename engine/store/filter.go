package store

import (
	"restsrv/engine"
)

// filter writes f, or its opposite when negated. SQL's logic has three
// values and NOT NULL is NULL, so a null would be lost on both sides: the not
// is therefore carried down to the comparisons, each of which knows what null
// means to it. What is left of NULL stands under AND and OR only, where it
// counts as false.
func (p *plan) filter(b *builder, f *engine.Filter, negated bool) {
	switch f.Op {
	case engine.OpAnd:
		p.join(b, f.Args, negated, false)
	case engine.OpOr:
		p.join(b, f.Args, negated, true)
	case engine.OpNot: // none of Args
		p.join(b, f.Args, !negated, true)
	case engine.OpConst:
		constant(b, f.Value == true != negated)
	case engine.OpEmpty:
		p.empty(b, f.Property, negated)
	case engine.OpIn:
		p.in(b, f, negated)
	case engine.OpMatch:
		if negated {
			b.add("NOT ")
		}
		b.add(b.dialect.Match(p.name(f.Property), f.Pattern, b.placeholder))
	default:
		p.compare(b, f, negated)
	}
}

func constant(b *builder, value bool) {
	if value {
		b.add("1 = 1")
		return
	}
	b.add("1 = 0")
}

// name is the qualified column, which no alias of a result column can shadow.
func (p *plan) name(property *engine.Property) string {
	return p.table.quoted + "." + p.table.byName[property.Name].quoted
}

// join writes args joined by AND, or by OR when any is enough; negated turns
// both the word and each of them. The tree is balanced: databases limit its
// depth.
func (p *plan) join(b *builder, args []*engine.Filter, negated, any bool) {
	switch n := len(args); n {
	case 0:
		constant(b, any == negated) // all of none holds, any of none does not
	case 1:
		p.filter(b, args[0], negated)
	default:
		b.add("(")
		p.join(b, args[:n/2], negated, any)
		b.add([]string{" AND ", " OR "}[boolToInt(any != negated)])
		p.join(b, args[n/2:], negated, any)
		b.add(")")
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *plan) empty(b *builder, property *engine.Property, negated bool) {
	name := p.name(property)
	switch textual := property.Type.Textual(); {
	case textual && negated:
		b.add(name, " <> ''")
	case textual:
		b.add("(", name, " IS NULL OR ", name, " = '')")
	case negated:
		b.add(name, " IS NOT NULL")
	default:
		b.add(name, " IS NULL")
	}
}

func (p *plan) in(b *builder, f *engine.Filter, negated bool) {
	if len(f.List) == 0 {
		constant(b, negated)
		return
	}
	name := p.name(f.Property)
	list := make([]any, len(f.List))
	for i, v := range f.List {
		list[i] = encode(v)
	}
	among := b.dialect.In(name, f.Property.Type, list, b.placeholder)
	if negated {
		b.add("(", name, " IS NULL OR NOT ", among, ")")
		return
	}
	b.add(among)
}

// opposite is the comparison that holds where the other does not, nulls apart.
func opposite(op engine.Op) engine.Op {
	switch op {
	case engine.OpEq:
		return engine.OpNe
	case engine.OpNe:
		return engine.OpEq
	case engine.OpLt:
		return engine.OpGte
	case engine.OpLte:
		return engine.OpGt
	case engine.OpGt:
		return engine.OpLte
	}
	return engine.OpLt
}

func symbol(op engine.Op) string {
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

// comparable names two columns so that every database compares them alike: a
// whole number beside a real one as a real one.
func (p *plan) comparable(left, right *engine.Property) (string, string) {
	names := []string{p.name(left), p.name(right)}
	for i, property := range []*engine.Property{left, right} {
		if left.Type != right.Type && property.Type == engine.Int {
			names[i] = "CAST(" + names[i] + " AS DOUBLE PRECISION)"
		}
	}
	return names[0], names[1]
}

func (p *plan) compare(b *builder, f *engine.Filter, negated bool) {
	op := f.Op
	if negated {
		op = opposite(op)
	}
	name := p.name(f.Property)
	equality := op == engine.OpEq || op == engine.OpNe
	switch {
	case f.Other == nil && f.Value == nil && equality: // null itself
		b.add(name, []string{" IS NULL", " IS NOT NULL"}[boolToInt(op == engine.OpNe)])
	case f.Other == nil && f.Value == nil: // an order with null never holds
		constant(b, negated)
	case f.Other != nil && equality:
		name, other := p.comparable(f.Property, f.Other)
		b.add(name, []string{" IS NOT DISTINCT FROM ", " IS DISTINCT FROM "}[boolToInt(op == engine.OpNe)], other)
	case f.Other != nil:
		name, other := p.comparable(f.Property, f.Other)
		if negated {
			b.add("(", name, " IS NULL OR ", other, " IS NULL OR ", name, symbol(op), other, ")")
			return
		}
		b.add(name, symbol(op), other)
	case op == engine.OpNe:
		b.add("(", name, " IS NULL OR ", name, " <> ")
		b.bind(f.Value)
		b.add(")")
	case negated && !equality:
		b.add("(", name, " IS NULL OR ", name, symbol(op))
		b.bind(f.Value)
		b.add(")")
	default:
		b.add(name, symbol(op))
		b.bind(f.Value)
	}
}
