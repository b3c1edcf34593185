package formula

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"unicode/utf16"

	"restsrv/engine"
)

// function is a function of the formula language that receives evaluated arguments.
type function struct {
	arity
	apply  func(e *env, args []any) (any, error)
	verify func(args []node) error // checks literal arguments when the formula is compiled; may be nil
}

// functions lists the functions of IONDV that receive evaluated arguments. See special for the others.
var functions = map[string]function{
	"eq":  compare(looseEqual),
	"ne":  compare(func(a, b any) bool { return !strictEqual(a, b) }),
	"lt":  compare(func(a, b any) bool { n, ok := order(a, b); return ok && n < 0 }),
	"lte": compare(func(a, b any) bool { n, ok := order(a, b); return ok && n <= 0 }),
	"gt":  compare(func(a, b any) bool { n, ok := order(a, b); return ok && n > 0 }),
	"gte": compare(func(a, b any) bool { n, ok := order(a, b); return ok && n >= 0 }),

	"not":    pure(1, 1, func(a []any) any { return !engine.Truthy(a[0]) }),
	"empty":  pure(1, 1, func(a []any) any { return empty(a[0]) }),
	"nempty": pure(1, 1, func(a []any) any { return !empty(a[0]) }),

	"add": pure(1, -1, func(a []any) any { return adding.fold(int64(0), flatten(nil, a)) }),
	"mul": pure(1, -1, func(a []any) any { return multiplying.fold(int64(1), flatten(nil, a)) }),
	"sub": pure(1, -1, func(a []any) any { return foldLeft(subtracting, a) }),
	"div": pure(1, -1, func(a []any) any { return foldLeft(dividing, a) }),
	"round": pure(1, 2, func(a []any) any {
		return round(a[0], integer(a, 1, 0, 100))
	}),

	"concat": {arity: arity{0, -1}, apply: concat},
	"substr": pure(1, 3, substr),
	"pad":    {arity: arity{1, 4}, apply: pad},
	"upper":  pure(1, 1, func(a []any) any { return strings.ToUpper(text(a[0])) }),
	"lower":  pure(1, 1, func(a []any) any { return strings.ToLower(text(a[0])) }),
	"like":   {arity: arity{2, 2}, apply: like, verify: verifyPattern},
	"size":   pure(1, 1, size),

	"now":        {arity: arity{0, -1}, apply: func(e *env, _ []any) (any, error) { return e.data.Now(), nil }},
	"date":       {arity: arity{1, 3}, apply: date},
	"dateAdd":    {arity: arity{1, 3}, apply: dateAdd, verify: verifyUnit(2)},
	"dateDiff":   {arity: arity{1, 3}, apply: dateDiff, verify: verifyUnit(0)},
	"dateFormat": pure(1, 3, dateFormat),
	"format":     pure(1, 3, dateFormat),

	"in":      pure(2, -1, func(a []any) any { return in(a[0], a[1:]) }),
	"element": pure(1, 2, element),
	"collect": pure(0, -1, collect),
	"obj":     pure(0, -1, object),

	"get":  {arity: arity{1, 100}, apply: get},
	"next": {arity: arity{1, 1}, apply: next},
}

// pure returns a function whose result depends only on its arguments.
func pure(min, max int, f func(args []any) any) function {
	return function{arity: arity{min, max}, apply: func(_ *env, args []any) (any, error) { return f(args), nil }}
}

func compare(f func(a, b any) bool) function {
	return pure(2, 2, func(a []any) any { return f(a[0], a[1]) })
}

// empty reports whether v is null or an empty list. "" is not empty.
func empty(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

func foldLeft(op arithmetic, args []any) any {
	first, ok := number(args[0])
	if !ok {
		return nil
	}
	return op.fold(first, args[1:])
}

// integer returns argument i truncated to a whole number between -limit and limit. It
// returns otherwise if the argument is missing, null or not a number.
func integer(args []any, i, otherwise, limit int) int {
	if i >= len(args) || args[i] == nil {
		return otherwise
	}
	n, ok := number(args[i])
	if !ok {
		return otherwise
	}
	return int(math.Max(-float64(limit), math.Min(float64(limit), math.Trunc(float(n)))))
}

func concat(_ *env, args []any) (any, error) {
	var b strings.Builder
	for _, a := range args {
		if a == false {
			continue
		}
		b.WriteString(text(a))
		if b.Len() > maxText {
			return nil, tooLong()
		}
	}
	return b.String(), nil
}

func tooLong() error { return invalid("the text would be longer than %d bytes", maxText) }

// substr counts in UTF-16 units, as JavaScript does. A negative start counts from
// the end.
func substr(args []any) any {
	s := utf16.Encode([]rune(text(args[0])))
	from := integer(args, 1, 0, math.MaxInt32)
	if from < 0 {
		from = max(0, len(s)+from)
	}
	from = min(from, len(s))
	length := integer(args, 2, len(s), math.MaxInt32)
	length = max(0, min(length, len(s)-from))
	return string(utf16.Decode(s[from : from+length]))
}

// pad repeats a character until the text has the given length. It pads on the left, or
// on the right if the last argument is 'r'.
func pad(_ *env, args []any) (any, error) {
	s, ch := text(args[0]), "0"
	if len(args) > 2 {
		ch = text(args[2])
	}
	missing := max(0, integer(args, 1, 0, math.MaxInt32)-units(s))
	if len(ch) > 0 && missing > (maxText-min(len(s), maxText))/len(ch) {
		return nil, tooLong()
	}
	if len(args) > 3 && args[3] == "r" {
		return s + strings.Repeat(ch, missing), nil
	}
	return strings.Repeat(ch, missing) + s, nil
}

// units returns the length of a text in UTF-16 units, as in JavaScript.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

const maxPattern = 1000

func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, invalid("a regular expression has at most %d bytes", maxPattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, invalid("regular expression %s is not in RE2 syntax", engine.Quote(pattern))
	}
	return re, nil
}

func verifyPattern(args []node) error {
	if !args[1].fixed {
		return nil
	}
	pattern, ok := args[1].literal.(string)
	if !ok {
		return errors.New("takes a text and a regular expression")
	}
	_, err := compilePattern(pattern)
	return err
}

// like reports whether the pattern matches a part of the text. Letter case matters.
// It compiles the pattern in every evaluation, even if it is a literal: compared with
// the rest of a request this is cheap.
func like(_ *env, args []any) (any, error) {
	if args[1] == nil {
		return false, nil
	}
	re, err := compilePattern(text(args[1]))
	if err != nil {
		return nil, err
	}
	return re.MatchString(text(args[0])), nil
}

func size(args []any) any {
	switch v := args[0].(type) {
	case nil:
		return int64(0)
	case []any:
		return int64(len(v))
	}
	return int64(units(text(args[0])))
}

// in reports whether values contain v. The values may be one list or separate arguments.
func in(v any, values []any) bool {
	for _, w := range flatten(nil, values) {
		if looseEqual(v, w) {
			return true
		}
	}
	return false
}

func element(args []any) any {
	list, ok := args[0].([]any)
	if !ok {
		return nil
	}
	i := integer(args, 1, 0, math.MaxInt32)
	if len(args) > 1 && args[1] == "last" {
		i = len(list) - 1
	}
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

func collect(args []any) any {
	list := []any{}
	for _, v := range flatten(nil, args) {
		if v != nil {
			list = append(list, v)
		}
	}
	return list
}

// object returns an object; the arguments are alternately names and values.
func object(args []any) any {
	fields := engine.Fields{}
	for i := 0; i < len(args); i += 2 {
		f := engine.Field{Name: text(args[i])}
		if i+1 < len(args) {
			f.Value = args[i+1]
		}
		fields = append(fields, f)
	}
	return fields
}
