package engine

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Values are the values of one item, one per property, at Property.Index.
// A value is nil for null, else by type:
//
//	textual types  string
//	Int            int64
//	Real           float64
//	DecimalNum     Decimal
//	DateTime       Instant
//	Boolean        bool
//	Reference      the key of the item it points at: as Property.ValueType says
//	Set, Custom, Period, Geo, Schedule, Image, File, FileList
//	               JSONText
//	Collection     always nil: Item.Links has what was loaded
//
// In input, Absent marks a property that was not given; a reference may be a
// *Record, to save first, and a collection is *Links.
type Values []any

// JSONText is a value that is kept as compact JSON text, its members in the order
// given. Files are kept as descriptors (see File).
type JSONText string

// Links is the input of a collection: how its members change.
type Links struct {
	Replace bool  // Add is all there is to be
	Add     []any // each the id of an item (string), or a *Record to save and link
	Remove  []string
}

type absent struct{}

// Absent is the value of a property that the input did not name.
var Absent any = absent{}

// NewValues returns Values for c with every property Absent.
func NewValues(c *Class) Values {
	v := make(Values, len(c.Properties))
	for i := range v {
		v[i] = Absent
	}
	return v
}

// Field is one named value of a decoded JSON object.
type Field struct {
	Name  string
	Value any
}

// Fields is a decoded JSON object in the order received. Decoded JSON is made
// of nil, bool, string, json.Number, []any and Fields.
type Fields []Field

// Get returns the last value of that name.
func (f Fields) Get(name string) (any, bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Name == name {
			return f[i].Value, true
		}
	}
	return nil, false
}

// Decimal is an exact decimal number in canonical text: no exponent, no
// leading or trailing zeros beyond the needed ones, "-0" never.
type Decimal string

// maxDecimalDigits bounds a decimal on both sides of its point.
const maxDecimalDigits = 1000

// ParseDecimal returns the canonical form of a JSON number.
func ParseDecimal(s string) (Decimal, bool) {
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

// Compare orders two decimals as numbers: -1, 0 or 1.
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

// Instant is a moment as milliseconds since 1970-01-01T00:00:00Z.
type Instant int64

// instantLimits keep every instant within the years 0000 to 9999 of ISO 8601.
const (
	minInstant = Instant(-62167219200000)
	maxInstant = Instant(253402300799999)
)

// InstantOf cuts t to milliseconds.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMilli()) }

// Time returns the instant in UTC.
func (i Instant) Time() time.Time { return time.UnixMilli(int64(i)).UTC() }

// String is ISO 8601 in UTC with milliseconds: 2020-01-02T03:04:05.000Z.
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

// ParseInstant reads ISO 8601: a date (midnight UTC) or a date and time, in
// UTC when no offset is given. Anything below a millisecond is cut.
func ParseInstant(s string) (Instant, bool) {
	for _, layout := range instantLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			i := InstantOf(t)
			return i, i >= minInstant && i <= maxInstant
		}
	}
	return 0, false
}

// truncate cuts an instant to the unit of a datetime's size.
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

// MaxGUID is the longest guid in characters; any text up to it is one.
const MaxGUID = 255

// Cast turns a decoded JSON value, a query parameter or a value from a script
// into the property's own type, without loss, or says why it cannot: the
// error is Invalid with reason "type". A password stays plain text.
func (p *Property) Cast(v any) (any, error) {
	switch v.(type) {
	case nil:
		return nil, nil
	case absent:
		return v, nil
	}
	switch p.Type {
	case Int:
		if n, ok := castInt(v); ok {
			return n, nil
		}
	case Real:
		if f, ok := castReal(v); ok {
			return f, nil
		}
	case DecimalNum:
		if s, ok := numberText(v); ok {
			if d, ok := ParseDecimal(s); ok {
				return d, nil
			}
		}
	case DateTime:
		if i, ok := castInstant(v); ok {
			return i.truncate(p.Size), nil
		}
	case Boolean:
		switch v {
		case true, "true":
			return true, nil
		case false, "false":
			return false, nil
		}
	default:
		if !p.Type.Textual() {
			break
		}
		s, ok := castText(v)
		if ok && (p.Type != GUID || utf8.RuneCountInString(s) <= MaxGUID) {
			if _, same := v.(string); same {
				return v, nil // as it is: another interface would be another allocation
			}
			return s, nil
		}
	}
	e := Errorf(Invalid, "type", "attribute %s takes %s, found %s", Quote(p.Name), p.expects(), describe(v))
	e.Attribute = p.Name
	return nil, e
}

func (p *Property) expects() string {
	switch p.Type {
	case Int:
		return "a whole number of 64 bits (int)"
	case Real:
		return "a number (real)"
	case DecimalNum:
		return "a decimal number (decimal)"
	case DateTime:
		return "an ISO 8601 date or date-time (datetime)"
	case Boolean:
		return "true or false (boolean)"
	case GUID:
		return "text of at most 255 characters (guid)"
	}
	return "text (" + p.Type.String() + ")"
}

// describe names a value that did not fit, shortly.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return Quote(v)
	case []any:
		return "an array"
	case Fields:
		return "an object"
	}
	return ValueText(v)
}

func castText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, utf8.ValidString(v) && strings.IndexByte(v, 0) < 0
	case bool:
		return strconv.FormatBool(v), true
	}
	return numberText(v)
}

// numberText returns the text of a number, or of text that may be one.
func numberText(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return string(v), true
	case string:
		return v, true
	case Decimal:
		return string(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", false
		}
		return string(AppendFloat(nil, v)), true
	}
	return "", false
}

func castInt(v any) (int64, bool) {
	if n, ok := v.(int64); ok {
		return n, true
	}
	s, ok := numberText(v)
	if !ok {
		return 0, false
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && s[0] != '+' {
		return n, true
	}
	d, ok := ParseDecimal(s)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(string(d), 10, 64)
	return n, err == nil
}

func castReal(v any) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	s, ok := numberText(v)
	if !ok || strings.Trim(s, "+-.0123456789eE") != "" || strings.HasPrefix(s, "+") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

func castInstant(v any) (Instant, bool) {
	switch v := v.(type) {
	case Instant:
		return v, true
	case time.Time:
		i := InstantOf(v)
		return i, i >= minInstant && i <= maxInstant
	case string:
		return ParseInstant(v)
	}
	if f, ok := castReal(v); ok && f >= float64(minInstant) && f <= float64(maxInstant) {
		return Instant(math.Floor(f)), true
	}
	return 0, false
}
