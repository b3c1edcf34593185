package engine

import (
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Values are the values of one item, one per property, at Property.Index. A null
// value is nil. Other values have a Go type by property type:
//
//	textual types  string
//	Int            int64
//	Real           float64
//	DecimalNum     Decimal
//	DateTime       Instant
//	Boolean        bool
//	Reference      the key of the target, with the type Property.ValueType
//	Set, Custom, Period, Geo, Schedule, Image, File, FileList
//	               JSONText
//	Collection     always nil: Item.Links has the loaded members
//
// In input, Absent marks a property that was not given. A reference may be a
// *Record, which is saved first. A collection is *Links. A file is *Upload, and a
// list of files is []*Upload, until attachment.Files.Accept has stored them.
type Values []any

// JSONText is a value that is stored as compact JSON text, with members in the
// given order. Files are stored as descriptors (see StoredFile).
type JSONText string

// Links is the input of a collection: the changes of its members.
type Links struct {
	Replace bool  // Add lists all members
	Add     []any // each is the id of an item (string), or a *Record to save and link
	Remove  []string
}

type absent struct{}

// Absent is the value of a property that is not in the input.
var Absent any = absent{}

// NewValues returns Values for c with every property Absent.
func NewValues(c *Class) Values {
	v := make(Values, len(c.Properties))
	for i := range v {
		v[i] = Absent
	}
	return v
}

// Field is a named value of a decoded JSON object.
type Field struct {
	Name  string
	Value any
}

// Fields is a decoded JSON object with its members in the order received. Decoded
// JSON consists of nil, bool, string, json.Number, []any and Fields.
type Fields []Field

// Get returns the last value with that name.
func (f Fields) Get(name string) (any, bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Name == name {
			return f[i].Value, true
		}
	}
	return nil, false
}

// With sets a field and returns the fields. It replaces an existing field in its
// place, which changes f.
func (f Fields) With(name string, value any) Fields {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Name == name {
			f[i].Value = value
			return f
		}
	}
	return append(f, Field{name, value})
}

// Texts returns a list of texts as decoded JSON.
func Texts(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// Decimal is an exact decimal number in canonical form: without an exponent,
// without unnecessary leading and trailing zeros, and never "-0".
type Decimal string

// maxDecimalDigits is the maximum number of digits of a decimal on each side of the
// point.
const maxDecimalDigits = 1000

// MaxNumber is the maximum length of a number in text or JSON, in characters. It is
// sufficient for every Decimal. There is a limit because the time to convert a
// number grows with the square of its length.
const MaxNumber = 2*maxDecimalDigits + 100

// ParseDecimal returns the canonical form of a JSON number. ok is also false for a
// number of more than MaxNumber characters.
func ParseDecimal(s string) (Decimal, bool) {
	if len(s) > MaxNumber {
		return "", false
	}
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		n, err := strconv.Atoi(s[i+1:])
		if err != nil || n > maxDecimalDigits || n < -maxDecimalDigits {
			return "", false
		}
		mantissa, exponent = s[:i], n
	}
	negative := strings.HasPrefix(mantissa, "-")
	mantissa = strings.TrimPrefix(mantissa, "-")
	whole, fraction, pointed := strings.Cut(mantissa, ".")
	if whole == "" || pointed && fraction == "" || !digits(whole) || !digits(fraction) {
		return "", false
	}
	for ; exponent > 0; exponent-- {
		if fraction == "" {
			fraction = "0"
		}
		whole, fraction = whole+fraction[:1], fraction[1:]
	}
	for ; exponent < 0; exponent++ {
		if whole == "" {
			whole = "0"
		}
		whole, fraction = whole[:len(whole)-1], whole[len(whole)-1:]+fraction
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if len(whole) > maxDecimalDigits || len(fraction) > maxDecimalDigits {
		return "", false
	}
	if whole == "" {
		whole = "0"
	}
	d := whole
	if fraction != "" {
		d += "." + fraction
	}
	if negative && d != "0" {
		d = "-" + d
	}
	return Decimal(d), true
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Compare compares two decimals as numbers. The result is -1, 0 or 1.
func (d Decimal) Compare(e Decimal) int {
	if d == e {
		return 0
	}
	a, aok := new(big.Rat).SetString(string(d))
	b, bok := new(big.Rat).SetString(string(e))
	if !aok || !bok {
		return strings.Compare(string(d), string(e))
	}
	return a.Cmp(b)
}

// Instant is a time in milliseconds since 1970-01-01T00:00:00Z.
type Instant int64

// Limits of an instant: the years 0000 to 9999 of ISO 8601.
const (
	minInstant = Instant(-62167219200000)
	maxInstant = Instant(253402300799999)
)

// InstantOf truncates t to milliseconds.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMilli()) }

// Time returns the instant in UTC.
func (i Instant) Time() time.Time { return time.UnixMilli(int64(i)).UTC() }

// String returns the instant in ISO 8601, in UTC with milliseconds:
// 2020-01-02T03:04:05.000Z.
func (i Instant) String() string { return string(i.append(nil)) }

func (i Instant) append(b []byte) []byte {
	return i.Time().AppendFormat(b, "2006-01-02T15:04:05.000Z")
}

var instantLayouts = []string{
	time.RFC3339Nano,
	"2006-01-02",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04",
	"2006-01-02T15:04Z07:00",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04",
	"2006-01-02T15:04:05.999999999Z0700",
}

// ParseInstant reads ISO 8601: a date (midnight UTC) or a date and time, in UTC if
// there is no offset. It truncates the time to milliseconds.
func ParseInstant(s string) (Instant, bool) {
	for _, layout := range instantLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			i := InstantOf(t)
			return i, i >= minInstant && i <= maxInstant
		}
	}
	return 0, false
}

// truncate truncates an instant to the unit of a datetime's size.
func (i Instant) truncate(size int) Instant {
	units := [...]Instant{0, 1000, 60_000, 3_600_000, 86_400_000}
	if size < 1 || size >= len(units) {
		return i
	}
	rest := i % units[size]
	if rest < 0 {
		rest += units[size]
	}
	return i - rest
}

// Valid reports whether the instant is within the years 0 to 9999.
func (i Instant) Valid() bool { return i >= minInstant && i <= maxInstant }

// Part returns a part of the instant in UTC.
func (i Instant) Part(p DatePart) int64 {
	t := i.Time()
	switch p {
	case Year:
		return int64(t.Year())
	case Month:
		return int64(t.Month())
	case Day:
		return int64(t.Day())
	case Hour:
		return int64(t.Hour())
	case Minute:
		return int64(t.Minute())
	case Second:
		return int64(t.Second())
	}
	return int64(t.Nanosecond() / 1_000_000)
}
