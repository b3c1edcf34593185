package sqlite

import (
	"bytes"
	"database/sql/driver"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"modernc.org/sqlite"
)

// needle is a search text and its upper case.
type needle struct{ text, upper string }

// lastNeedle caches the last search text, because a statement searches many rows for the same text.
var lastNeedle atomic.Pointer[needle]

func needleOf(text string) *needle {
	if n := lastNeedle.Load(); n != nil && n.text == text {
		return n
	}
	n := &needle{text, upper(text)}
	lastNeedle.Store(n)
	return n
}

// simpleUpper returns a table of the upper case of each character of the Latin, Greek and Cyrillic alphabets. The
// entry is -1 if the upper case has more than one character.
var simpleUpper = sync.OnceValue(func() *[0x530]rune {
	var table [0x530]rune
	for r := range table {
		table[r] = -1
		if u, size := utf8.DecodeRuneInString(upper(string(rune(r)))); size == len(upper(string(rune(r)))) {
			table[r] = u
		}
	}
	return &table
})

// buffers is a pool of buffers for the upper case of long texts.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// containedIn reports whether s contains the search text, ignoring case. It does not allocate if simpleUpper has all
// characters of s.
func (n *needle) containedIn(s string) bool {
	var short [512]byte
	b := short[:0]
	if len(s) > len(short)/2 { // two bytes can have an upper case of three bytes
		pooled := buffers.Get().(*[]byte)
		defer func() {
			*pooled = b[:0]
			buffers.Put(pooled)
		}()
		b = *pooled
	}
	b, ok := appendUpper(b, s)
	if !ok {
		return strings.Contains(upper(s), n.upper)
	}
	return bytes.Contains(b, []byte(n.upper))
}

// appendUpper appends the upper case of s. It returns false if a character of s is not in simpleUpper.
func appendUpper(b []byte, s string) ([]byte, bool) {
	table := simpleUpper()
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			b = append(b, c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if int(r) >= len(table) || table[r] < 0 {
			return b, false
		}
		b = utf8.AppendRune(b, table[r])
		i += size
	}
	return b, true
}

// includesAny implements the SQL function for sqldb.IncludesAny: it reports whether a further argument contains the
// first argument, ignoring case. If no further argument contains the first one, but one of them is null, the result is
// null, as for conditions joined by OR.
func includesAny(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	part, ok := args[0].(string)
	if !ok {
		return nil, nil
	}
	n, unknown := needleOf(part), false
	for _, a := range args[1:] {
		s, ok := a.(string)
		if !ok {
			unknown = unknown || a == nil
			continue
		}
		if n.containedIn(s) {
			return int64(1), nil
		}
	}
	if unknown {
		return nil, nil
	}
	return int64(0), nil
}
