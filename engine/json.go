package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. It escapes only the characters for
// which JSON requires it. Like JSON.stringify, it does not escape the two line
// separators that JavaScript source does not allow in strings.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	n := plainPrefix(s, highBits)
	b, s = append(b, s[:n]...), s[n:]
	if s == "" {
		return append(b, '"')
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	for {
		n := plainPrefix(s, 0)
		b = append(b, s[:n]...)
		if n == len(s) {
			return append(b, '"')
		}
		b = appendEscape(b, s[n])
		s = s[n+1:]
	}
}

// highBits has the highest bit of each of eight bytes. ASCII has none of these
// bits.
const highBits uint64 = 0x8080808080808080

// plainPrefix returns the number of bytes at the start of s that need no escape. If also is highBits, the prefix ends
// before the first byte that is not ASCII; if also is 0, such bytes are allowed. It reads eight bytes at a time
// because most text needs no escape.
func plainPrefix(s string, also uint64) int {
	const ones = 0x0101010101010101
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		quote, backslash := x^(ones*'"'), x^(ones*'\\')
		if ((x-ones*0x20)&^x|(quote-ones)&^quote|(backslash-ones)&^backslash)&highBits|x&also != 0 {
			break
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c&byte(also) != 0 {
			return i
		}
	}
	return i
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendFloat appends the shortest form of f that parses to the same value,
// written as in JavaScript. f must be finite.
func AppendFloat(b []byte, f float64) []byte {
	if f == 0 {
		return append(b, '0') // also for -0, like JSON.stringify
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	// Write 1e-7 instead of 1e-07.
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-2] == '0' {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// AppendValue appends v as JSON. v is an element of Values or a decoded JSON value.
func AppendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil, absent:
		return append(b, "null"...)
	case string:
		return AppendString(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return AppendFloat(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case Decimal:
		return append(b, v...)
	case Instant:
		return append(v.append(append(b, '"')), '"')
	case JSONText:
		return append(b, v...)
	case json.Number:
		return append(b, v...)
	case *Item:
		return v.AppendJSON(b)
	case []*Item:
		return appendItems(b, v)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendValue(b, e)
		}
		return append(b, ']')
	case Fields:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = AppendValue(append(AppendString(b, f.Name), ':'), f.Value)
		}
		return append(b, '}')
	}
	panic("engine: AppendValue of a type that is not a value")
}

func appendItems(b []byte, items []*Item) []byte {
	b = append(b, '[')
	for i, it := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = it.AppendJSON(b)
	}
	return append(b, ']')
}

// ValueText returns the plain text of a scalar value, as it is used in ids.
func ValueText(v any) string {
	switch v := v.(type) {
	case nil, absent:
		return ""
	case string:
		return v
	}
	switch v := v.(type) {
	case Instant:
		return v.String()
	case JSONText:
		return string(v)
	case Decimal:
		return string(v)
	case json.Number:
		return string(v)
	}
	return string(AppendValue(nil, v))
}

// Limits of a value that is stored as JSON. The depth is one that any reader of an
// answer should be able to handle.
const (
	maxJSONDepth = 64
	maxJSONText  = 16 << 20 // bytes
)

// Decode returns the decoded JSON (see Fields), or nil if the text is not valid
// JSON.
func (j JSONText) Decode() any {
	d := json.NewDecoder(strings.NewReader(string(j)))
	d.UseNumber()
	v, err := decodeJSON(d, 0)
	if err != nil || d.More() {
		return nil
	}
	return v
}

func decodeJSON(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("deeper than %d levels", maxJSONDepth)
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decodeJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		fields := Fields{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			fields = append(fields, Field{name.(string), v}) // the decoder accepts only strings as names
		}
		_, err = d.Token()
		return fields, err
	}
	if n, ok := t.(json.Number); ok && len(n) > MaxNumber {
		return nil, fmt.Errorf("a number of more than %d characters", MaxNumber)
	}
	return t, nil
}

// castJSON converts v to the JSON text of type t, whose values are stored as JSON.
// why is the rule that v breaks, or "".
func castJSON(t PropertyType, v any) (value any, ok bool, why string) {
	if text, done := v.(JSONText); done {
		return text, true, "" // already cast
	}
	if t != Custom {
		v = decodeText(v)
	}
	if why = plainJSON(v, 0); why != "" {
		return nil, false, why
	}
	switch t {
	case Set:
		v, why = setOf(v)
	case Period:
		v, why = periodOf(v)
	case Geo:
		why = checkGeo(v)
	case Schedule:
		why = checkSchedule(v)
	}
	if why != "" {
		return nil, false, why
	}
	text := AppendValue(nil, v)
	if len(text) > maxJSONText {
		return nil, false, fmt.Sprintf("at most %d bytes of JSON are kept", maxJSONText)
	}
	return JSONText(text), true, ""
}

// maxParsedValues limits the number of values in text that is parsed as JSON. It
// is smaller than the limit for the body of a request, because this parser is slower.
const maxParsedValues = 500_000

// decodeText returns the JSON array or object that the text v contains, because forms
// send such text. It returns any other v unchanged.
func decodeText(v any) any {
	s, ok := v.(string)
	if !ok || len(s) > maxJSONText || strings.Count(s, ",") > maxParsedValues {
		return v
	}
	if trimmed := bytes.TrimSpace([]byte(s)); len(trimmed) > 0 && (trimmed[0] == '[' || trimmed[0] == '{') {
		if decoded := JSONText(s).Decode(); decoded != nil {
			return decoded
		}
	}
	return v
}

// plainJSON returns the reason why v cannot be stored as JSON without loss, or ""
// if it can.
func plainJSON(v any, depth int) string {
	if depth > maxJSONDepth {
		return fmt.Sprintf("it is nested deeper than %d levels", maxJSONDepth)
	}
	switch v := v.(type) {
	case nil, bool, int64, Decimal, Instant, json.Number:
		return ""
	case string:
		if !utf8.ValidString(v) {
			return "it holds text that is not UTF-8"
		}
		return ""
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "it holds a number that JSON has not"
		}
		return ""
	case []any:
		for _, e := range v {
			if why := plainJSON(e, depth+1); why != "" {
				return why
			}
		}
		return ""
	case Fields:
		for _, f := range v {
			if !utf8.ValidString(f.Name) {
				return "it holds a name that is not UTF-8"
			}
			if why := plainJSON(f.Value, depth+1); why != "" {
				return why
			}
		}
		return ""
	}
	return "it holds what JSON has not"
}

// setOf returns the set of integers in v. A single number is a set of one.
func setOf(v any) (any, string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	set := make([]any, len(list))
	for i, e := range list {
		n, ok := CastInt(e)
		if !ok {
			return nil, fmt.Sprintf("%s is no whole number of 64 bits", DescribeValue(e))
		}
		set[i] = n
	}
	return set, ""
}

// periodOf returns the period in v, with dates in the form of a datetime. A null date
// leaves the period open at that end.
func periodOf(v any) (any, string) {
	list, ok := v.([]any)
	if !ok || len(list) != 2 {
		return nil, "it takes exactly two"
	}
	dates := make([]any, 2)
	for i, e := range list {
		if e == nil {
			continue
		}
		date, ok := CastInstant(e)
		if !ok {
			return nil, DescribeValue(e) + " is no ISO 8601 date or date-time"
		}
		dates[i] = date
	}
	start, started := dates[0].(Instant)
	end, ended := dates[1].(Instant)
	if started && ended && start > end {
		return nil, "it ends before it starts"
	}
	return dates, ""
}

// checkSchedule returns the reason why v is not a schedule or a list of
// schedules, or "".
func checkSchedule(v any) string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		fields, ok := e.(Fields)
		if !ok {
			return DescribeValue(e) + " is no object"
		}
		for _, f := range fields {
			switch f.Name {
			case "description":
				if _, ok := f.Value.(string); !ok && f.Value != nil {
					return "its description is no text"
				}
			case "occurs", "skipped":
				if why := checkOccasions(f); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// checkOccasions returns the reason why f is not an array of objects such as
// {"month": 2, "weekday": 6}, or "".
func checkOccasions(f Field) string {
	list, ok := f.Value.([]any)
	if !ok && f.Value != nil {
		return f.Name + " is no array"
	}
	for _, e := range list {
		fields, ok := e.(Fields)
		if !ok {
			return f.Name + " holds " + DescribeValue(e) + ", which is no object"
		}
		for _, unit := range fields {
			if _, ok := CastInt(unit.Value); !ok && unit.Value != nil {
				return f.Name + " holds " + Quote(unit.Name) + ", which is no whole number"
			}
		}
	}
	return ""
}
