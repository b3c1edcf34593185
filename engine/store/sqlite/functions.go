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

// connector opens connections of the driver that newDriver returns.
type connector struct {
	driver *sqlite.Driver
	dsn    string
}

var _ driver.Connector = connector{}

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.driver }

// newDriver returns the driver with our collation and functions. The process has only one driver, because
// registrations with a driver are never freed.
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

// compareDecimals compares decimals in canonical text by value. In the usual case, the numbers have the same sign and
// the same number of digits before the point, and a comparison of texts suffices.
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
		// The whole parts have equal length, so the order of the texts is the order of the numbers. If one text is a
		// prefix of the other, the shorter one is the smaller number, because there are no trailing zeros.
		order = strings.Compare(x, y)
	}
	if negative {
		return -order
	}
	return order
}

// compareLengths compares the number of digits before the point.
func compareLengths(x, y string) int {
	return wholeDigits(x) - wholeDigits(y)
}

func wholeDigits(s string) int {
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return i
	}
	return len(s)
}

// maxPatterns limits the number of cached compiled expressions.
const maxPatterns = 256

// matcher implements the SQL function restsrv_match(text, pattern).
type matcher struct {
	mu       sync.RWMutex
	compiled map[string]*regexp.Regexp
}

func emptyMatcher() *matcher { return &matcher{compiled: make(map[string]*regexp.Regexp)} }

func (m *matcher) call(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	s, ok := args[0].(string)
	if !ok {
		return int64(0), nil // an argument is null
	}
	pattern, _ := args[1].(string)
	re, err := m.compilePattern(pattern)
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

// The time to match one text is limited, because a statement cannot be interrupted inside a function. Matching takes
// time proportional to the size of the expression times the size of the text. For maximum sizes this is minutes.
const (
	hastyText    = 64 << 10 // bytes; matching a text up to this size takes milliseconds
	matchTime    = 2 * time.Second
	matchTooSlow = "restsrv: matching a regular expression takes too long"
)

// hasty reads a text until the time in until. At that time it pretends that the text has ended, and sets late.
type hasty struct {
	*strings.Reader
	until time.Time
	read  int // number of characters read so far
	late  bool
}

// ReadRune implements io.RuneReader.
func (h *hasty) ReadRune() (r rune, size int, err error) {
	if h.read++; h.read%1024 == 0 && time.Now().After(h.until) {
		h.late = true
		return 0, 0, io.EOF
	}
	return h.Reader.ReadRune()
}

func (m *matcher) compilePattern(source string) (*regexp.Regexp, error) {
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
