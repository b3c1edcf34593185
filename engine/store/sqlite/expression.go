package sqlite

import (
	"database/sql/driver"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"modernc.org/sqlite"

	"restsrv/engine"
	"restsrv/engine/store/decimal"
	"restsrv/engine/store/sqldb"
)

// fullText stores the search words in an FTS5 table. Triggers update this table when the search column changes. The
// tokenizer "ascii" does not change words that are separated by blanks.
var fullText = sqldb.FullText{
	Schema: []string{
		`DROP TABLE IF EXISTS %[2]s`,
		`CREATE VIRTUAL TABLE %[2]s USING fts5(words, content='', contentless_delete=1, tokenize='ascii', detail='none')`,
		`CREATE TRIGGER %[3]si" AFTER INSERT ON %[1]s WHEN new."#search" IS NOT NULL BEGIN INSERT INTO %[2]s (rowid, words) VALUES (new."#seq", new."#search"); END`,
		`CREATE TRIGGER %[3]sd" AFTER DELETE ON %[1]s WHEN old."#search" IS NOT NULL BEGIN DELETE FROM %[2]s WHERE rowid = old."#seq"; END`,
		`CREATE TRIGGER %[3]su" AFTER UPDATE OF "#search" ON %[1]s WHEN old."#search" IS NOT new."#search" BEGIN ` +
			`DELETE FROM %[2]s WHERE rowid = old."#seq"; INSERT INTO %[2]s (rowid, words) SELECT new."#seq", new."#search" WHERE new."#search" IS NOT NULL; END`,
	},
	Condition: `%[1]s."#seq" IN (SELECT rowid FROM %[2]s WHERE %[2]s MATCH %[3]s)`,
	Word:      `"%s" *`,
	And:       " AND ",
}

// prefix starts the names of our SQL functions, so that they do not collide with functions of SQLite.
const prefix = "restsrv_"

// Function implements sqldb.Dialect. Go functions do the operations that SQLite does inexactly or only for ASCII.
// Decimals are canonical text.
func (dialect) Function(f sqldb.Function, args ...string) string {
	switch f {
	case sqldb.TextValue, sqldb.DecimalValue, sqldb.IntValue, sqldb.RealValue, sqldb.BooleanValue:
		return args[0]
	case sqldb.TextOfDecimal:
		return args[0]
	case sqldb.DecimalOfInt:
		return "CAST(" + args[0] + " AS TEXT)"
	case sqldb.Ordered:
		return "(" + args[0] + " COLLATE " + decimalCollation + ")"
	case sqldb.Bytewise: // parentheses keep a collation inside the operand from applying to the whole operand
		return "(" + args[0] + " COLLATE BINARY)"
	case sqldb.Concat:
		return "concat(" + strings.Join(args, ", ") + ")"
	case sqldb.Length:
		return "length(" + args[0] + ")"
	case sqldb.Format:
		return prefix + "part_text(" + args[0] + ", '" + args[1] + "', " + args[2] + ")"
	case sqldb.Function(engine.Year), sqldb.Function(engine.Month), sqldb.Function(engine.Day),
		sqldb.Function(engine.Hour), sqldb.Function(engine.Minute), sqldb.Function(engine.Second):
		return prefix + "part(" + args[0] + ", '" + string(f) + "')"
	}
	return prefix + strings.ReplaceAll(string(f), " ", "_") + "(" + strings.Join(args, ", ") + ")"
}

// function is an SQL function that is implemented in Go. If an argument is null, the result is null and call is not
// called.
type function struct {
	name string
	args int32
	call func(args []driver.Value) driver.Value
}

// registerExpressions registers the functions that Function uses.
func registerExpressions(d *sqlite.Driver) error {
	for _, f := range append(numberFunctions, otherFunctions...) {
		call := func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			for _, a := range args {
				if a == nil {
					return nil, nil
				}
			}
			return f.call(args), nil
		}
		if err := d.RegisterDeterministicScalarFunction(prefix+f.name, f.args, call); err != nil {
			return err
		}
	}
	if err := d.RegisterDeterministicScalarFunction(prefix+"includes_any", -1, includesAny); err != nil {
		return err
	}
	return d.RegisterFunction(prefix+"sum", &sqlite.FunctionImpl{
		NArgs: 1, Deterministic: true,
		MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) { return &sum{}, nil },
	})
}

func decimalOf(v driver.Value) engine.Decimal {
	switch v := v.(type) {
	case string:
		return engine.Decimal(v)
	case int64:
		return engine.Decimal(strconv.FormatInt(v, 10))
	}
	return "0"
}

// binaryDecimal makes an SQL function from a function of two decimals.
func binaryDecimal(f func(a, b engine.Decimal) engine.Decimal) func([]driver.Value) driver.Value {
	return func(args []driver.Value) driver.Value { return string(f(decimalOf(args[0]), decimalOf(args[1]))) }
}

// unaryDecimal makes an SQL function from a function of one decimal.
func unaryDecimal(f func(engine.Decimal) engine.Decimal) func([]driver.Value) driver.Value {
	return func(args []driver.Value) driver.Value { return string(f(decimalOf(args[0]))) }
}

// partialDecimal makes an SQL function from a function of two decimals. If f returns false, because the divisor is 0,
// the result is null.
func partialDecimal(f func(a, b engine.Decimal) (engine.Decimal, bool)) func([]driver.Value) driver.Value {
	return func(args []driver.Value) driver.Value {
		if d, ok := f(decimalOf(args[0]), decimalOf(args[1])); ok {
			return string(d)
		}
		return nil
	}
}

var numberFunctions = []function{
	{"decimal_of_real", 1, func(args []driver.Value) driver.Value {
		if f, ok := args[0].(float64); ok {
			return string(decimal.OfReal(f))
		}
		return string(decimalOf(args[0])) // SQLite may store a whole number as an integer, so convert it
	}},
	{"add", 2, binaryDecimal(decimal.Add)},
	{"sub", 2, binaryDecimal(decimal.Sub)},
	{"mul", 2, binaryDecimal(decimal.Mul)},
	{"div", 2, partialDecimal(decimal.Div)},
	{"mod", 2, partialDecimal(decimal.Mod)},
	{"abs", 1, unaryDecimal(decimal.Abs)},
	{"floor", 1, unaryDecimal(decimal.Floor)},
	{"round", 2, func(args []driver.Value) driver.Value {
		digits, _ := args[1].(int64)
		return string(decimal.Round(decimalOf(args[0]), int(digits)))
	}},
	{"date_add", 2, func(args []driver.Value) driver.Value {
		sum := decimal.Floor(decimal.Add(decimalOf(args[0]), decimalOf(args[1])))
		ms, err := strconv.ParseInt(string(sum), 10, 64)
		if err != nil || !engine.Instant(ms).Valid() {
			return nil
		}
		return ms
	}},
	{"part", 2, func(args []driver.Value) driver.Value { return datePart(args) }},
	{"part_text", 3, func(args []driver.Value) driver.Value {
		text := strconv.FormatInt(datePart(args), 10)
		width, _ := args[2].(int64)
		return strings.Repeat("0", max(int(width)-len(text), 0)) + text
	}},
}

func datePart(args []driver.Value) int64 {
	ms, _ := args[0].(int64)
	name, _ := args[1].(string)
	return engine.Instant(ms).Part(engine.DatePart(name))
}

func textArguments(args []driver.Value) (a, b string) {
	a, _ = args[0].(string)
	if len(args) > 1 {
		b, _ = args[1].(string)
	}
	return a, b
}

// upper returns s in upper case. If s is not ASCII, it creates a new caser, because a caser cannot be used
// concurrently.
func upper(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return cases.Upper(language.Und).String(s)
		}
	}
	return strings.ToUpper(s)
}

func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return cases.Lower(language.Und).String(s)
		}
	}
	return strings.ToLower(s)
}

func boolValue(b bool) driver.Value {
	if b {
		return int64(1)
	}
	return int64(0)
}

var otherFunctions = []function{
	{"upper", 1, func(args []driver.Value) driver.Value { s, _ := textArguments(args); return upper(s) }},
	{"lower", 1, func(args []driver.Value) driver.Value { s, _ := textArguments(args); return lower(s) }},
	{"includes", 2, func(args []driver.Value) driver.Value {
		s, part := textArguments(args)
		return boolValue(needleOf(part).containedIn(s))
	}},
	{"substr", 3, substr},
	{"set_size", 1, func(args []driver.Value) driver.Value {
		s, _ := textArguments(args)
		return int64(len(parseElements(s)))
	}},
	{"set_has", 2, func(args []driver.Value) driver.Value {
		a, b := textArguments(args)
		wanted := parseElements(b)
		for _, e := range parseElements(a) {
			for _, w := range wanted {
				if e == w {
					return int64(1)
				}
			}
		}
		return int64(0)
	}},
}

func substr(args []driver.Value) driver.Value {
	s, _ := textArguments(args)
	start, _ := args[1].(int64)
	length, _ := args[2].(int64)
	runes := []rune(s)
	n := int64(len(runes))
	if start < 0 {
		start = max(n+start, 0)
	}
	start = min(start, n)
	if length < 0 {
		length = math.MaxInt32
	}
	return string(runes[start:min(start+length, n)])
}

// parseElements returns the elements of a JSON array. Numbers become canonical decimals, so that equal numbers compare
// equal.
func parseElements(text string) []any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var list []any
	if d.Decode(&list) != nil {
		return nil
	}
	for i, e := range list {
		switch e := e.(type) {
		case json.Number:
			if n, ok := engine.ParseDecimal(string(e)); ok {
				list[i] = n
			}
		case []any, map[string]any:
			b, _ := json.Marshal(e) // no error: decoded values can always be encoded
			list[i] = string(b)
		}
	}
	return list
}

// sum is the state of the aggregate function that adds decimals.
type sum struct {
	total engine.Decimal
	any   bool
}

// Step implements sqlite.AggregateFunction.
func (s *sum) Step(_ *sqlite.FunctionContext, args []driver.Value) error {
	if args[0] != nil {
		if !s.any {
			s.total, s.any = "0", true
		}
		s.total = decimal.Add(s.total, decimalOf(args[0]))
	}
	return nil
}

// WindowInverse implements sqlite.AggregateFunction.
func (s *sum) WindowInverse(_ *sqlite.FunctionContext, args []driver.Value) error {
	if args[0] != nil {
		s.total = decimal.Sub(s.total, decimalOf(args[0]))
	}
	return nil
}

// WindowValue implements sqlite.AggregateFunction.
func (s *sum) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	if !s.any {
		return nil, nil
	}
	return string(s.total), nil
}

// Final implements sqlite.AggregateFunction.
func (s *sum) Final(*sqlite.FunctionContext) {}
