package engine

import "time"

// Expr is a value computed from an item: an attribute, a constant, or a function of other
// values. It has been checked: every attribute exists, and every argument has the type
// that its function takes. A function of null is null unless its comment says otherwise.
// Numbers are computed exactly, as decimals. A real counts as the decimal number in its
// JSON.
type Expr struct {
	Op    Op
	Type  PropertyType // of the value; Collection means the ids of the members
	Path  []*Property  // OpPath: the references and collections that lead to the attribute, then the attribute
	Value any          // OpValue: the constant. Other operators: a constant parameter, such as the Span of OpSubstr
	Args  []*Expr
	Conds []*Filter // OpCase: one for each of Args except the last

	Digits int // for numbers: the maximum number of digits before and after the point
}

// The operators of expressions. OpOwner, which is declared with the operators of filters, is an operator of expressions
// too. It occurs only in filters for the members of a collection. There it stands for the value of Path in the owner,
// which is the item that has the collection. Filter.ForOwner replaces it by an OpValue.
const (
	OpPath   Op = "path"
	OpValue  Op = "value"
	OpNow    Op = "now"    // the time of the query, the midnight before it, or an Instant, depending on Value; see At
	OpNumber Op = "number" // an int, a real or the milliseconds of a date as a decimal
	OpText   Op = "text"   // any value as text; null and false are ""

	OpAdd   Op = "add"
	OpSub   Op = "sub"
	OpMul   Op = "mul"
	OpDiv   Op = "div" // rounded half away from zero to QuotientDigits; null if the divisor is 0
	OpMod   Op = "mod" // remainder of the integer division, with the sign of the dividend; null if the divisor is 0
	OpAbs   Op = "abs"
	OpFloor Op = "floor"
	OpRound Op = "round" // half away from zero; Value is the number of digits (int64), negative for digits before the point

	OpConcat Op = "concat" // null counts as ""
	OpSubstr Op = "substr" // Value is a Span, in characters
	OpUpper  Op = "upper"
	OpLower  Op = "lower"
	OpSize   Op = "size" // number of characters of a text, elements of a set, or members of a collection

	OpCase   Op = "case"   // the first of Args whose condition holds, or else the last
	OpIfNull Op = "ifNull" // the first of Args that is not null

	OpDateAdd Op = "dateAdd" // a date plus a number of milliseconds, truncated to an integer; null outside the years 0 to 9999
	OpPart    Op = "part"    // Value is the DatePart, in UTC
	OpFormat  Op = "format"  // Value is []FormatPiece
)

// Today as the Value of OpNow stands for the last midnight (UTC) before the time of the
// query.
const Today = "today"

// QuotientDigits is the maximum number of digits after the point of a quotient.
const QuotientDigits = 20

// Span selects a part of a text. A negative Start counts from the end. A negative Length
// selects the rest of the text.
type Span struct{ Start, Length int64 }

// DatePart is a part of a date.
type DatePart string

// The parts of dates. Months and days begin with 1.
const (
	Year        DatePart = "year"
	Month       DatePart = "month"
	Day         DatePart = "day"
	Hour        DatePart = "hour"
	Minute      DatePart = "minute"
	Second      DatePart = "second"
	Millisecond DatePart = "millisecond"
)

// FormatPiece is a part of a date, padded to at least Width digits, or literal text if
// Part is "".
type FormatPiece struct {
	Part    DatePart
	Width   int
	Literal string
}

// ClassName and ItemID can be the last element of a path, although no class has them.
// ClassName is the full name of the item's class. ItemID is the item's id, for a key with
// several properties.
var (
	ClassName = &Property{Name: "__class", Type: String}
	ItemID    = &Property{Name: "_id", Type: String}
)

// Attribute returns the expression for the value at the end of a path.
func Attribute(path ...*Property) *Expr {
	e := &Expr{Op: OpPath, Path: path}
	switch last := path[len(path)-1]; last.Type {
	case Reference:
		e.Type = last.ValueType()
	default:
		e.Type = last.Type
	}
	switch e.Type {
	case Int:
		e.Digits = 19
	case Real:
		e.Digits = 350
	case DecimalNum:
		e.Digits = maxDecimalDigits
	}
	return e
}

// Constant returns the expression for the value v of type t. v has the form that Values
// describes.
func Constant(t PropertyType, v any) *Expr {
	e := &Expr{Op: OpValue, Type: t, Value: v}
	if d, ok := v.(Decimal); ok {
		e.Digits = len(d)
	}
	if _, ok := v.(int64); ok {
		e.Digits = 19
	}
	return e
}

// JSON reports whether values of the type are stored as JSONText.
func (t PropertyType) JSON() bool {
	switch t {
	case Set, Custom, Period, Geo, Schedule, Image, File, FileList:
		return true
	}
	return false
}

// Single reports whether an item has at most one value at the end of the path, since no
// step of the path is a collection.
func Single(path []*Property) bool {
	for _, p := range path {
		if p.Type == Collection {
			return false
		}
	}
	return true
}

// At returns the value of an OpNow in a query that is made at the time now.
func (e *Expr) At(now Instant) Instant {
	if i, ok := e.Value.(Instant); ok {
		return i
	}
	return now.orMidnight(e.Value)
}

// orMidnight returns the instant itself or, if value is Today, the midnight (UTC) before
// it.
func (i Instant) orMidnight(value any) Instant {
	if value != Today {
		return i
	}
	const day = Instant(24 * time.Hour / time.Millisecond)
	return i - ((i%day)+day)%day
}
