package formula

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"restsrv/engine"
)

// Numbers are int64, engine.Decimal or float64:
//   - Sums, differences and products of int64 and decimals are exact. The result is an int64 if all operands are int64
//     and the result fits, and otherwise a decimal.
//   - If an operand is a float64, the result is a float64, as in JavaScript.
//   - The result is null instead of NaN or infinity.

// maxFraction is the maximum number of decimal places of a quotient of decimals. Quotients with more places are
// rounded.
const maxFraction = 20

// toNumber converts a value to a number. null and "" become 0, true becomes 1, and a time becomes its milliseconds
// since
//  1970. ok is false if JavaScript would return NaN.
func toNumber(v any) (n any, ok bool) {
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

// parseNumber parses a JSON number. It returns an int64 if the number fits, and otherwise a decimal.
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

func toFloat(n any) float64 {
	switch n := n.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	case engine.Decimal:
		f, _ := strconv.ParseFloat(string(n), 64) // infinite if out of range; finiteOrNil rejects it
		return f
	}
	return math.NaN()
}

func finiteOrNil(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return f
}

func toRational(n any) *big.Rat {
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

// toDecimal converts r to a number of a formula. The result is an int64 if whole is true and r is a whole number that
// fits into an int64. Otherwise it is a decimal, rounded to the number of decimal places in the parameter places.
func toDecimal(r *big.Rat, whole bool, places int) any {
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

// exactPlaces is greater than the number of decimal places of any decimal, so results with exactPlaces are not
// rounded.
const exactPlaces = 1000

// arithmetic is addition, subtraction, multiplication or division of two numbers.
type arithmetic struct {
	ints   func(a, b int64) (any, bool) // used for two int64; false if the result must be computed by exact
	exact  func(r, a, b *big.Rat) bool  // used for int64 and decimals; false if there is no result
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
	// The quotient of two int64 is an int64 if there is no remainder, and otherwise a float64, as in JavaScript.
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
			return finiteOrNil(float64(a) / float64(b)), true
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

// of applies the operation to a and b. It returns nil if a or b is not a number.
func (op arithmetic) of(a, b any) any {
	x, ok := toNumber(a)
	if !ok {
		return nil
	}
	y, ok := toNumber(b)
	if !ok {
		return nil
	}
	_, xFloat := x.(float64)
	_, yFloat := y.(float64)
	if xFloat || yFloat {
		return finiteOrNil(op.floats(toFloat(x), toFloat(y)))
	}
	i, xInt := x.(int64)
	j, yInt := y.(int64)
	if xInt && yInt {
		if n, ok := op.ints(i, j); ok {
			return n
		}
	}
	r := new(big.Rat)
	if !op.exact(r, toRational(x), toRational(y)) {
		return nil
	}
	return toDecimal(r, xInt && yInt, op.places)
}

// fold applies the operation to start and the first value, then to the result and the second value, and so on. It
// returns nil if a value is not a number.
func (op arithmetic) fold(start any, values []any) any {
	result := start
	for _, v := range values {
		if _, ok := toNumber(v); !ok {
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
		return toRational(a).Cmp(toRational(b))
	}
	switch x, y := toFloat(a), toFloat(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// roundNumber rounds half away from zero to the given number of decimal places. If places is negative, it rounds to
// tens, hundreds and so on. For a float64, the shortest decimal form is rounded: 1.005 becomes 1.01, although the
// binary value is slightly smaller than 1.005.
func roundNumber(v any, places int) any {
	n, ok := toNumber(v)
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
		r = toRational(d)
	} else {
		r = toRational(n)
	}
	shift := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(places, -places))), nil))
	if places < 0 {
		shift.Inv(shift)
	}
	r.Mul(r, shift)
	whole, _ := new(big.Rat).SetString(r.FloatString(0)) // rounds half away from zero
	whole.Quo(whole, shift)
	_, isInt := n.(int64)
	result := toDecimal(whole, isInt, exactPlaces)
	if isFloat && result != nil {
		return finiteOrNil(toFloat(result))
	}
	return result
}
