package engine

import (
	"encoding/json"
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

// plainPrefix returns the number of bytes at the start of s that need no escape
// and have none of the bits in also, which is 0 or highBits. It reads eight
// bytes at a time because most text needs no escape.
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

// AppendValue appends a value of Values, or a decoded JSON value, as JSON.
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
