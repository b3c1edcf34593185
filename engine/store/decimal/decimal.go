// Package decimal computes with exact decimals. SQLite has no decimal numbers, so it
// calls these functions when it evaluates the expressions of filters and aggregations.
// PostgreSQL computes the same results with numeric.
package decimal

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"restsrv/engine"
)

// scaled is a decimal as an integer and its number of digits after the point.
type scaled struct {
	digits big.Int
	scale  int
}

func scaledOf(d engine.Decimal) (s scaled) {
	whole, fraction, _ := strings.Cut(string(d), ".")
	s.digits.SetString(whole+fraction, 10) // cannot fail: a Decimal is canonical
	s.scale = len(fraction)
	return s
}

func tenTo(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// to returns the number as an integer with scale digits after the point. scale
// must not be less than the scale of s.
func (s *scaled) to(scale int) *big.Int {
	if scale == s.scale {
		return &s.digits
	}
	return new(big.Int).Mul(&s.digits, tenTo(scale-s.scale))
}

func decimalOf(n *big.Int, scale int) engine.Decimal {
	digits := new(big.Int).Abs(n).String()
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	whole, fraction := digits[:len(digits)-scale], strings.TrimRight(digits[len(digits)-scale:], "0")
	if fraction != "" {
		whole += "." + fraction
	}
	if n.Sign() < 0 {
		whole = "-" + whole
	}
	return engine.Decimal(whole)
}

// Add returns d + e exactly.
func Add(d, e engine.Decimal) engine.Decimal {
	a, b := scaledOf(d), scaledOf(e)
	scale := max(a.scale, b.scale)
	return decimalOf(new(big.Int).Add(a.to(scale), b.to(scale)), scale)
}

// Sub returns d - e exactly.
func Sub(d, e engine.Decimal) engine.Decimal {
	a, b := scaledOf(d), scaledOf(e)
	scale := max(a.scale, b.scale)
	return decimalOf(new(big.Int).Sub(a.to(scale), b.to(scale)), scale)
}

// Mul returns d × e exactly.
func Mul(d, e engine.Decimal) engine.Decimal {
	a, b := scaledOf(d), scaledOf(e)
	return decimalOf(new(big.Int).Mul(&a.digits, &b.digits), a.scale+b.scale)
}

// guardDigits is the number of extra digits of a quotient that are computed and
// then rounded away.
const guardDigits = 2

// Div returns d / e, truncated to guardDigits digits more than QuotientDigits and then
// rounded to QuotientDigits, half away from zero. ok is false if e is 0.
func Div(d, e engine.Decimal) (quotient engine.Decimal, ok bool) {
	a, b := scaledOf(d), scaledOf(e)
	if b.digits.Sign() == 0 {
		return "", false
	}
	const scale = engine.QuotientDigits + guardDigits
	n := new(big.Int).Mul(&a.digits, tenTo(scale+b.scale))
	n.Quo(n, new(big.Int).Mul(&b.digits, tenTo(a.scale)))
	return Round(decimalOf(n, scale), engine.QuotientDigits), true
}

// Mod returns the remainder of the integer division d / e, with the sign of d.
// ok is false if e is 0.
func Mod(d, e engine.Decimal) (rest engine.Decimal, ok bool) {
	a, b := scaledOf(d), scaledOf(e)
	if b.digits.Sign() == 0 {
		return "", false
	}
	scale := max(a.scale, b.scale)
	return decimalOf(new(big.Int).Rem(a.to(scale), b.to(scale)), scale), true
}

// Abs returns d without its sign.
func Abs(d engine.Decimal) engine.Decimal { return engine.Decimal(strings.TrimPrefix(string(d), "-")) }

// Floor returns the greatest integer that is not greater than d.
func Floor(d engine.Decimal) engine.Decimal {
	a := scaledOf(d)
	n := new(big.Int)
	n.DivMod(&a.digits, tenTo(a.scale), new(big.Int))
	return decimalOf(n, 0)
}

// Round rounds d to that many digits after the point, half away from zero. If digits is negative, it rounds to tens,
// hundreds and so on: Round("1250", -2) is 1300.
func Round(d engine.Decimal, digits int) engine.Decimal {
	a := scaledOf(d)
	if digits >= a.scale {
		return d
	}
	step := tenTo(a.scale - digits)
	half := new(big.Int).Quo(step, big.NewInt(2))
	if a.digits.Sign() < 0 {
		half.Neg(half)
	}
	n := new(big.Int).Add(&a.digits, half)
	n.Quo(n, step)
	if digits < 0 {
		return decimalOf(n.Mul(n, tenTo(-digits)), 0)
	}
	return decimalOf(n, digits)
}

// OfReal returns the decimal value of a real: the shortest decimal that is
// nearer to it than to any other real. The JSON of a real is the same, unless
// the real is large and its JSON is equally near to another real.
func OfReal(f float64) engine.Decimal {
	text := engine.AppendFloat(nil, f)
	for n := 1; math.Abs(f) >= 1<<50 && n < 18 && isMidway(f, string(text)); n++ {
		if next := strconv.FormatFloat(f, 'e', n, 64); !isMidway(f, next) {
			if back, err := strconv.ParseFloat(next, 64); err == nil && back == f {
				text = []byte(next)
			}
		}
	}
	d, ok := engine.ParseDecimal(strings.Replace(string(text), "e+", "e", 1))
	if !ok {
		return "0" // stored reals are neither infinite nor too small for a decimal
	}
	return d
}

// isMidway reports whether the number is halfway between f and a neighboring
// real.
func isMidway(f float64, text string) bool {
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		return false
	}
	for _, to := range []float64{math.Inf(1), math.Inf(-1)} {
		middle := new(big.Rat)
		if middle.SetFloat64(math.Nextafter(f, to)) == nil {
			continue
		}
		middle.Add(middle, new(big.Rat).SetFloat64(f))
		if middle.Quo(middle, big.NewRat(2, 1)).Cmp(exact) == 0 {
			return true
		}
	}
	return false
}
