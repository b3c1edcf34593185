package engine

// Expr is a value computed from an item: an attribute, a constant, or a
// function of others. It was checked when it was made: every attribute exists
// and every argument has the type its function takes. A function of null is
// null unless its comment says otherwise. Numbers are computed exactly, as
// decimals; a real counts as the number that its JSON shows.
type Expr struct {
	Op    Op
	Type  PropertyType // of the value; Collection stands for the ids of its members
	Path  []*Property  // OpPath: references and collections, then the attribute
	Value any          // OpValue: the constant; else what a function has besides Args
	Args  []*Expr
	Conds []*Filter // OpCase: one for each of Args but the last

	digits int // at most so many digits before and behind the point; of numbers
}

// The operators of expressions. OpOwner is one too: the value of Path of the owner of
// a collection, of which Filter.ForOwner makes an OpValue.
const (
	OpPath   Op = "path"
	OpValue  Op = "value"
	OpNow    Op = "now"    // Value if set, else the time of the query; Of says what of it
	OpNumber Op = "number" // an int, a real or the milliseconds of a date as a decimal
	OpText   Op = "text"   // anything as text; null and false are ""

	OpAdd   Op = "add"
	OpSub   Op = "sub"
	OpMul   Op = "mul"
	OpDiv   Op = "div" // rounded half away from zero to QuotientDigits; null when the divisor is 0
	OpMod   Op = "mod" // what division to a whole number leaves, with the sign of the dividend; null when the divisor is 0
	OpAbs   Op = "abs"
	OpFloor Op = "floor"
	OpRound Op = "round" // half away from zero; Value is how many digits (int64), negative ones before the point

	OpConcat Op = "concat" // null is ""
	OpSubstr Op = "substr" // Value is a Span, in characters
	OpUpper  Op = "upper"
	OpLower  Op = "lower"
	OpSize   Op = "size" // characters of a text, elements of a set, members of a collection

	OpCase   Op = "case"   // the first of Args whose condition holds, else the last
	OpIfNull Op = "ifNull" // the first of Args that is not null

	OpDateAdd Op = "dateAdd" // a date and a number of milliseconds, cut to a whole one; null outside the years 0 to 9999
	OpPart    Op = "part"    // Value is a DatePart of the date in UTC
	OpFormat  Op = "format"  // Value is []FormatPiece
)

// Today as the Value of OpNow stands for the midnight (UTC) before the time of
// the query.
const Today = "today"

// QuotientDigits is how many digits behind the point a quotient has at most.
const QuotientDigits = 20

// Span says which part of a text to take. A negative Start counts from the end;
// a negative Length takes all that is left.
type Span struct{ Start, Length int64 }

// DatePart is a part of a date.
type DatePart string

// The parts of dates. Months and days count from 1.
const (
	Year        DatePart = "year"
	Month       DatePart = "month"
	Day         DatePart = "day"
	Hour        DatePart = "hour"
	Minute      DatePart = "minute"
	Second      DatePart = "second"
	Millisecond DatePart = "millisecond"
)

// FormatPiece is a part of a date with at least Width digits, or literal text
// when Part is "".
type FormatPiece struct {
	Part    DatePart
	Width   int
	Literal string
}

// ClassName stands at the end of a path for the full name of the item's class,
// ItemID for the text form of a key of several properties.
var (
	ClassName = &Property{Name: "__class", Type: String}
	ItemID    = &Property{Name: "_id", Type: String}
)

// Attribute is the value at the end of a path.
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
		e.digits = 19
	case Real:
		e.digits = 350
	case DecimalNum:
		e.digits = maxDecimalDigits
	}
	return e
}

// Constant is a value of the type, as Values has it.
func Constant(t PropertyType, v any) *Expr {
	e := &Expr{Op: OpValue, Type: t, Value: v}
	if d, ok := v.(Decimal); ok {
		e.digits = len(d)
	}
	if _, ok := v.(int64); ok {
		e.digits = 19
	}
	return e
}

// numeric reports whether values of the type are numbers.
func (t PropertyType) numeric() bool { return t == Int || t == Real || t == DecimalNum }

// JSON reports whether values of the type are kept as JSONText.
func (t PropertyType) JSON() bool {
	switch t {
	case Set, Custom, Period, Geo, Schedule, Image, File, FileList:
		return true
	}
	return false
}

// number makes a decimal of a number, or of the milliseconds of a date.
func number(e *Expr) *Expr {
	if e.Type == DecimalNum {
		return e
	}
	return &Expr{Op: OpNumber, Type: DecimalNum, Args: []*Expr{e}, digits: max(e.digits, 19)}
}

// text makes text of anything.
func text(e *Expr) *Expr {
	if e.Type.Textual() {
		return e
	}
	if e.Type == Int || e.Type == Real {
		e = number(e)
	}
	return &Expr{Op: OpText, Type: String, Args: []*Expr{e}}
}

// comparable makes two values comparable, or reports that they are not.
func comparable(a, b *Expr) (x, y *Expr, ok bool) {
	switch {
	case a.Type.Textual() && b.Type.Textual():
		return a, b, true
	case a.Type.numeric() && b.Type.numeric():
		if a.Type == b.Type {
			return a, b, true
		}
		return number(a), number(b), true
	case a.Type == b.Type:
		return a, b, a.Type != Collection
	}
	return nil, nil, false
}

// Single reports whether an item has one value at the end of the path: no step
// of it is a collection.
func Single(path []*Property) bool {
	for _, p := range path {
		if p.Type == Collection {
			return false
		}
	}
	return true
}

// single reports whether every attribute in the expression is one value.
func (e *Expr) single() bool {
	if e.Op == OpPath && !Single(e.Path) {
		return false
	}
	if e.Op == OpSize && e.Args[0].Type == Collection {
		return Single(e.Args[0].Path[:len(e.Args[0].Path)-1])
	}
	for _, a := range e.Args {
		if !a.single() {
			return false
		}
	}
	return true
}
