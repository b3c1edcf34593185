package engine

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// MaxGUID is the maximum length of a guid in characters. Any text of at most
// this length is valid.
const MaxGUID = 255

// Cast converts v to the type of the property without loss. v is a decoded JSON
// value, a query parameter, or a value from a script or a formula. If v cannot
// be converted, the error is Invalid with reason "type". A password stays plain
// text. Values of collections and files must have been made by Bind; Cast
// returns them unchanged.
func (p *Property) Cast(v any) (any, error) {
	switch v.(type) {
	case nil:
		return nil, nil
	case absent:
		return v, nil
	}
	value, ok, why := p.cast(v)
	if !ok {
		return nil, p.misfitError(v, why)
	}
	return value, nil
}

// misfitError returns the error of Cast for v. why is the rule that v breaks, or "".
func (p *Property) misfitError(v any, why string) *Error {
	e := Errorf(Invalid, "type", "attribute %s takes %s, found %s", Quote(p.Name), p.DescribeExpected(), DescribeValue(v))
	if why != "" {
		e.Message += ": " + why
	}
	e.Attribute = p.Name
	return e
}

func (p *Property) cast(v any) (value any, ok bool, why string) {
	switch p.Type {
	case Int:
		value, ok = boxValue(CastInt(v))
	case Real:
		value, ok = boxValue(castReal(v))
	case DecimalNum:
		if s, isNumber := NumberText(v); isNumber {
			value, ok = boxValue(ParseDecimal(s))
		}
	case DateTime:
		var i Instant
		if i, ok = CastInstant(v); ok {
			value = i.truncate(p.Size)
		}
	case Boolean:
		value, ok = castBoolean(v)
	case Reference:
		value, ok = p.castReference(v)
	case Collection:
		value, ok = castLinks(v)
	case Set, Custom, Period, Geo, Schedule:
		return castJSON(p.Type, v)
	case Image, File, FileList:
		value, ok = castStored(v)
	default:
		if p.Type.Textual() {
			value, ok = p.castTextual(v)
		}
	}
	return value, ok, ""
}

// boxValue returns the result of a cast as an interface value, or nil if ok is false.
func boxValue[T any](v T, ok bool) (any, bool) {
	if !ok {
		return nil, false
	}
	return v, true
}

func castBoolean(v any) (any, bool) {
	switch v {
	case true, "true":
		return true, true
	case false, "false":
		return false, true
	}
	return nil, false
}

func (p *Property) castTextual(v any) (any, bool) {
	s, ok := CastText(v)
	if !ok || p.Type == GUID && utf8.RuneCountInString(s) > MaxGUID {
		return nil, false
	}
	if _, same := v.(string); same {
		return v, true // v is returned unchanged, because boxing s would allocate
	}
	return s, true
}

// DescribeExpected describes the values that the property takes, for error messages.
func (p *Property) DescribeExpected() string {
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
	case Reference:
		return "an object of class " + p.targetName() + " or its id (reference)"
	case Collection:
		return "an array of objects of class " + p.targetName() + ` or their ids, or {"add": [..], "remove": [..]} (collection)`
	case Set:
		return "an array of whole numbers (set)"
	case Period:
		return "an array of two dates, the start and the end (period)"
	case Geo:
		return "GeoJSON (geo)"
	case Schedule:
		return "an object or an array of objects with description, occurs and skipped (schedule)"
	case Custom:
		return "JSON (custom)"
	case File, Image:
		return `a file, as base64, as {"name", "mimeType", "body"} or as the description of a stored one (` + p.Type.String() + ")"
	case FileList:
		return `an array of files, each as base64, as {"name", "mimeType", "body"} or as the description of a stored one (filelist)`
	case Struct:
		return "an object (struct)"
	}
	return "text (" + p.Type.String() + ")"
}

func (p *Property) targetName() string {
	if p.Target == nil {
		return "no"
	}
	return p.Target.FullName
}

// DescribeValue returns a short description of a value for error messages.
func DescribeValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return Quote(v)
	case []any, []*Item, []*Upload:
		return "an array"
	case Fields, *Item, *Record, *Links:
		return "an object"
	case *Upload:
		return "a file"
	case JSONText:
		return Quote(string(v))
	case bool, int64, float64, Decimal, Instant, json.Number:
		return Cut(ValueText(v), 40)
	}
	return "a value of another kind"
}

// CastText converts a plain value to text. ok is false for other values, and for text that
// no database can store.
func CastText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, utf8.ValidString(v) && strings.IndexByte(v, 0) < 0
	case bool:
		return strconv.FormatBool(v), true
	}
	return NumberText(v)
}

// NumberText returns v as text if v is a number or a string. A string is returned
// unchanged, even if it does not contain a number.
func NumberText(v any) (string, bool) {
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

// CastInt converts a number, or its text, to an integer. ok is false if the number is not
// whole or too large.
func CastInt(v any) (n int64, ok bool) {
	if n, ok := v.(int64); ok {
		return n, true
	}
	s, ok := NumberText(v)
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
	s, ok := NumberText(v)
	if !ok || len(s) > MaxNumber || strings.Trim(s, "+-.0123456789eE") != "" || strings.HasPrefix(s, "+") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// CastInstant converts an ISO 8601 date or date-time to an instant. ok is false for other
// values.
func CastInstant(v any) (i Instant, ok bool) {
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
