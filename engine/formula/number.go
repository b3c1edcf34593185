package formula

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"restsrv/engine"
)

// Numbers are int64, engine.Decimal or float64. Sums, differences and products
// of the first two are exact: int64 when all operands are and it fits, else a
// decimal. With a float64 operand everything is float64, as in JavaScript.
// There is no NaN and no infinity: null stands for them.

// maxFraction is how many digits a quotient of decimals has behind its point
// when it has no end, or one further off.
const maxFraction = 20

// number is what a value counts as: null and "" are 0, true is 1, a time its
// milliseconds. ok is false where JavaScript has NaN.
func number(v any) (n any, ok bool) {
	switch v := v.(type) {
	case nil:
		return int64(0), true
	case bool:
		if v {
			return int64(1), true
		}
		return int64(0), true
	case int64, engine.Decimal:
		return v, true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case engine.Instant:
		return int64(v), true
	case string:
		s := strings.TrimSpace(v)
		if s == "" {
			return int64(0), true
		}
		return parseNumber(strings.TrimPrefix(s, "+"))
	}
	return nil, false
}

// parseNumber reads a number as JSON writes it, as int64 if it is one, else as
// a decimal.
func parseNumber(s string) (any, bool) {
	d, ok := engine.ParseDecimal(s)
	if !ok {
		return nil, false
	}
	if n, err := strconv.ParseInt(string(d), 10, 64); err == nil {
		return n, true
	}
	return d, true
}

func float(n any) float64 {
	switch n := n.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	case engine.Decimal:
		f, _ := strconv.ParseFloat(string(n), 64) // out of range is infinite, and found by finite
		return f
	}
	return math.NaN()
}

func finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return f
}

func rational(n any) *big.Rat {
	switch n := n.(type) {
	case int64:
		return new(big.Rat).SetInt64(n)
	case engine.Decimal:
		if r, ok := new(big.Rat).SetString(string(n)); ok {
			return r
		}
	}
	return new(big.Rat)
}

// decimal is a rational as int64 when whole is asked for and it fits, else as a
// decimal: exact if it has an end within places digits, else rounded to them.
func decimal(r *big.Rat, whole bool, places int) any {
	if whole && r.IsInt() && r.Num().IsInt64() {
		return r.Num().Int64()
	}
	digits, exact := r.FloatPrec()
	if !exact || digits > places {
		digits = places
	}
	if d, ok := engine.ParseDecimal(r.FloatString(digits)); ok {
		return d
	}
	return nil
}

// exactPlaces keeps every digit that a decimal may have.
const exactPlaces = 1000

// arithmetic is one of add, sub, mul and div of two numbers.
type arithmetic struct {
	ints   func(a, b int64) (any, bool) // ok is false when the exact way must be gone
	exact  func(r, a, b *big.Rat) bool  // false when there is no result
	floats func(a, b float64) float64
	places int
}

var (
	adding = arithmetic{
		ints: func(a, b int64) (any, bool) {
			c := a + b
			return c, (c > a) == (b > 0)
		},
		exact:  func(r, a, b *big.Rat) bool { r.Add(a, b); return true },
		floats: func(a, b float64) float64 { return a + b },
		places: exactPlaces,
	}
	subtracting = arithmetic{
		ints: func(a, b int64) (any, bool) {
			c := a - b
			return c, (c < a) == (b > 0)
		},
		exact:  func(r, a, b *big.Rat) bool { r.Sub(a, b); return true },
		floats: func(a, b float64) float64 { return a - b },
		places: exactPlaces,
	}
	multiplying = arithmetic{
		ints: func(a, b int64) (any, bool) {
			const limit = 1 << 31
			return a * b, -limit < a && a < limit && -limit < b && b < limit
		},
		exact:  func(r, a, b *big.Rat) bool { r.Mul(a, b); return true },
		floats: func(a, b float64) float64 { return a * b },
		places: exactPlaces,
	}
	// dividing ints gives an int when it comes out even, else a float64, as in
	// JavaScript.
	dividing = arithmetic{
		ints: func(a, b int64) (any, bool) {
			switch {
			case b == 0:
				return nil, true
			case b != -1 && a%b == 0:
				return a / b, true
			case b == -1:
				return nil, false
			}
			return finite(float64(a) / float64(b)), true
		},
		exact: func(r, a, b *big.Rat) bool {
			if b.Sign() == 0 {
				return false
			}
			r.Quo(a, b)
			return true
		},
		floats: func(a, b float64) float64 { return a / b },
		places: maxFraction,
	}
)

// of computes with two values; nil when one of them is no number.
func (op arithmetic) of(a, b any) any {
	x, ok := number(a)
	if !ok {
		return nil
	}
	y, ok := number(b)
	if !ok {
		return nil
	}
	_, xFloat := x.(float64)
	_, yFloat := y.(float64)
	if xFloat || yFloat {
		return finite(op.floats(float(x), float(y)))
	}
	i, xInt := x.(int64)
	j, yInt := y.(int64)
	if xInt && yInt {
		if n, ok := op.ints(i, j); ok {
			return n
		}
	}
	r := new(big.Rat)
	if !op.exact(r, rational(x), rational(y)) {
		return nil
	}
	return decimal(r, xInt && yInt, op.places)
}

// fold computes from the left. A value that is no number makes the whole null.
func (op arithmetic) fold(start any, values []any) any {
	result := start
	for _, v := range values {
		if _, ok := number(v); !ok {
			return nil
		}
		if result = op.of(result, v); result == nil {
			return nil
		}
	}
	return result
}

func compareNumbers(a, b any) int {
	i, aInt := a.(int64)
	j, bInt := b.(int64)
	if aInt && bInt {
		switch {
		case i < j:
			return -1
		case i > j:
			return 1
		}
		return 0
	}
	_, aFloat := a.(float64)
	_, bFloat := b.(float64)
	if !aFloat && !bFloat {
		return rational(a).Cmp(rational(b))
	}
	switch x, y := float(a), float(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// round rounds half away from zero, to places digits behind the point (before
// it, when negative). A float64 is rounded as the decimal it is written as.
func round(v any, places int) any {
	n, ok := number(v)
	if !ok || v == nil {
		return nil
	}
	var r *big.Rat
	f, isFloat := n.(float64)
	if isFloat {
		d, ok := engine.ParseDecimal(string(engine.AppendFloat(nil, f)))
		if !ok {
			return nil
		}
		r = rational(d)
	} else {
		r = rational(n)
	}
	shift := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(places, -places))), nil))
	if places < 0 {
		shift.Inv(shift)
	}
	r.Mul(r, shift)
	whole, _ := new(big.Rat).SetString(r.FloatString(0)) // rounds half away from zero
	whole.Quo(whole, shift)
	_, isInt := n.(int64)
	result := decimal(whole, isInt, exactPlaces)
	if isFloat && result != nil {
		return finite(float(result))
	}
	return result
}
