package query

import "restsrv/engine"

// isNumeric reports whether values of the type are numbers.
func isNumeric(t engine.PropertyType) bool {
	return t == engine.Int || t == engine.Real || t == engine.DecimalNum
}

// toNumber converts a number, or the milliseconds of a date, to a decimal.
func toNumber(e *engine.Expr) *engine.Expr {
	if e.Type == engine.DecimalNum {
		return e
	}
	return &engine.Expr{Op: engine.OpNumber, Type: engine.DecimalNum, Args: []*engine.Expr{e}, Digits: max(e.Digits, 19)}
}

// toText converts any value to text.
func toText(e *engine.Expr) *engine.Expr {
	if e.Type.Textual() {
		return e
	}
	if e.Type == engine.Int || e.Type == engine.Real {
		e = toNumber(e)
	}
	return &engine.Expr{Op: engine.OpText, Type: engine.String, Args: []*engine.Expr{e}}
}

// makeComparable converts two expressions to types that can be compared. ok is false if
// there are no such types.
func makeComparable(a, b *engine.Expr) (x, y *engine.Expr, ok bool) {
	switch {
	case a.Type.Textual() && b.Type.Textual():
		return a, b, true
	case isNumeric(a.Type) && isNumeric(b.Type):
		if a.Type == b.Type {
			return a, b, true
		}
		return toNumber(a), toNumber(b), true
	case a.Type == b.Type:
		return a, b, a.Type != engine.Collection
	}
	return nil, nil, false
}

// isSingleValued reports whether every attribute in the expression has a single value.
func isSingleValued(e *engine.Expr) bool {
	if e.Op == engine.OpPath && !engine.Single(e.Path) {
		return false
	}
	if e.Op == engine.OpSize && e.Args[0].Type == engine.Collection {
		return engine.Single(e.Args[0].Path[:len(e.Args[0].Path)-1])
	}
	for _, a := range e.Args {
		if !isSingleValued(a) {
			return false
		}
	}
	return true
}
