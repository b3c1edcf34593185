package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"restsrv/engine"
)

const (
	decimalCollation = "restsrv_decimal"
	matchFunction    = "restsrv_match"
)

// connector opens connections that know our collation and our function.
type connector struct {
	driver *sqlite.Driver
	dsn    string
}

var _ driver.Connector = connector{}

// Connect is driver.Connector's.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

// Driver is driver.Connector's.
func (c connector) Driver() driver.Driver { return c.driver }

// newDriver makes the one driver of the process: what is registered with a
// driver lives as long as the program.
var newDriver = sync.OnceValues(func() (*sqlite.Driver, error) {
	d := &sqlite.Driver{}
	if err := d.RegisterCollationUtf8(decimalCollation, compareDecimals); err != nil {
		return nil, err
	}
	m := emptyMatcher()
	if err := d.RegisterDeterministicScalarFunction(matchFunction, 2, m.call); err != nil {
		return nil, err
	}
	return d, registerExpressions(d)
})

// compareDecimals orders decimals in canonical text by number. What is usual,
// the same number of digits before the point and the same sign, needs no
// arithmetic.
func compareDecimals(a, b string) int {
	if a == b {
		return 0
	}
	negative := strings.HasPrefix(a, "-")
	if negative != strings.HasPrefix(b, "-") {
		if negative {
			return -1
		}
		return 1
	}
	x, y := strings.TrimPrefix(a, "-"), strings.TrimPrefix(b, "-")
	order := compareLengths(x, y)
	if order == 0 {
		// Same whole digits count: without trailing zeros the order of the
		// text is that of the number, and a prefix is the smaller one.
		order = strings.Compare(x, y)
	}
	if negative {
		return -order
	}
	return order
}

// compareLengths compares how many digits stand before the point.
func compareLengths(x, y string) int {
	return wholeDigits(x) - wholeDigits(y)
}

func wholeDigits(s string) int {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return i
	}
	return len(s)
}

// maxPatterns bounds the compiled expressions kept.
const maxPatterns = 256

// matcher answers restsrv_match(text, pattern).
type matcher struct {
	mu       sync.RWMutex
	compiled map[string]*regexp.Regexp
}

func emptyMatcher() *matcher { return &matcher{compiled: make(map[string]*regexp.Regexp)} }

func (m *matcher) call(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	s, ok := args[0].(string)
	if !ok {
		return int64(0), nil // null
	}
	pattern, _ := args[1].(string)
	re, err := m.pattern(pattern)
	if err != nil {
		return nil, engine.Errorf(engine.Invalid, "filter", "regular expression %s is not in RE2 syntax", engine.Quote(pattern))
	}
	found := false
	if len(s) <= hastyText {
		found = re.MatchString(s)
	} else {
		text := hasty{Reader: strings.NewReader(s), until: time.Now().Add(matchTime)}
		found = re.MatchReader(&text)
		if text.late {
			return nil, errors.New(matchTooSlow)
		}
	}
	if found {
		return int64(1), nil
	}
	return int64(0), nil
}

// A statement cannot be interrupted within a function, so that matching one
// text ends by itself: an expression takes a time in proportion to its size
// and to the text's, which is minutes when both are as large as they may be.
const (
	hastyText    = 64 << 10 // bytes, up to which it is a matter of milliseconds
	matchTime    = 2 * time.Second
	matchTooSlow = "restsrv: matching a regular expression takes too long"
)

// hasty is a text that ends when the time is up.
type hasty struct {
	*strings.Reader
	until time.Time
	read  int
	late  bool
}

// ReadRune is io.RuneReader's.
func (h *hasty) ReadRune() (r rune, size int, err error) {
	if h.read++; h.read%1024 == 0 && time.Now().After(h.until) {
		h.late = true
		return 0, 0, io.EOF
	}
	return h.Reader.ReadRune()
}

func (m *matcher) pattern(source string) (*regexp.Regexp, error) {
	m.mu.RLock()
	re := m.compiled[source]
	m.mu.RUnlock()
	if re != nil {
		return re, nil
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.compiled) >= maxPatterns {
		clear(m.compiled)
	}
	m.compiled[source] = re
	return re, nil
}
