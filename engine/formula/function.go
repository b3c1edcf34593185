package formula

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"unicode/utf16"

	"restsrv/engine"
)

// function is a function of the formula language. It receives the values of its arguments. Functions that evaluate
// their arguments themselves are in the table special instead.
type function struct {
	arity
	apply  func(e *env, args []any) (any, error)
	verify func(args []node) error // checks constant arguments during compilation; may be nil
}

// functions holds the functions of IONDV by name, except those in special.
var functions = map[string]function{
	"eq":  compareFunction(looseEqual),
	"ne":  compareFunction(func(a, b any) bool { return !strictEqual(a, b) }),
	"lt":  compareFunction(func(a, b any) bool { n, ok := orderValues(a, b); return ok && n < 0 }),
	"lte": compareFunction(func(a, b any) bool { n, ok := orderValues(a, b); return ok && n <= 0 }),
	"gt":  compareFunction(func(a, b any) bool { n, ok := orderValues(a, b); return ok && n > 0 }),
	"gte": compareFunction(func(a, b any) bool { n, ok := orderValues(a, b); return ok && n >= 0 }),

	"not":    pureFunction(1, 1, func(a []any) any { return !engine.Truthy(a[0]) }),
	"empty":  pureFunction(1, 1, func(a []any) any { return isEmpty(a[0]) }),
	"nempty": pureFunction(1, 1, func(a []any) any { return !isEmpty(a[0]) }),

	"add": pureFunction(1, -1, func(a []any) any { return adding.fold(int64(0), flatten(nil, a)) }),
	"mul": pureFunction(1, -1, func(a []any) any { return multiplying.fold(int64(1), flatten(nil, a)) }),
	"sub": pureFunction(1, -1, func(a []any) any { return foldLeft(subtracting, a) }),
	"div": pureFunction(1, -1, func(a []any) any { return foldLeft(dividing, a) }),
	"round": pureFunction(1, 2, func(a []any) any {
		return roundNumber(a[0], integerArgument(a, 1, 0, 100))
	}),

	"concat": {arity: arity{0, -1}, apply: concatTexts},
	"substr": pureFunction(1, 3, substr),
	"pad":    {arity: arity{1, 4}, apply: padText},
	"upper":  pureFunction(1, 1, func(a []any) any { return strings.ToUpper(toText(a[0])) }),
	"lower":  pureFunction(1, 1, func(a []any) any { return strings.ToLower(toText(a[0])) }),
	"like":   {arity: arity{2, 2}, apply: matchPattern, verify: verifyPattern},
	"size":   pureFunction(1, 1, sizeOf),

	"now":        {arity: arity{0, -1}, apply: func(e *env, _ []any) (any, error) { return e.data.Now(), nil }},
	"date":       {arity: arity{1, 3}, apply: parseDate},
	"dateAdd":    {arity: arity{1, 3}, apply: dateAdd, verify: verifyUnit(2)},
	"dateDiff":   {arity: arity{1, 3}, apply: dateDiff, verify: verifyUnit(0)},
	"dateFormat": pureFunction(1, 3, dateFormat),
	"format":     pureFunction(1, 3, dateFormat),

	"in":      pureFunction(2, -1, func(a []any) any { return isAmong(a[0], a[1:]) }),
	"element": pureFunction(1, 2, elementAt),
	"collect": pureFunction(0, -1, collectValues),
	"obj":     pureFunction(0, -1, makeObject),

	"get":  {arity: arity{1, 100}, apply: getItem},
	"next": {arity: arity{1, 1}, apply: nextNumber},
}

// pureFunction returns a function with a result that depends only on its arguments. min and max limit the number of
// arguments.
func pureFunction(min, max int, f func(args []any) any) function {
	return function{arity: arity{min, max}, apply: func(_ *env, args []any) (any, error) { return f(args), nil }}
}

func compareFunction(f func(a, b any) bool) function {
	return pureFunction(2, 2, func(a []any) any { return f(a[0], a[1]) })
}

// isEmpty reports whether v is null or an empty list. An empty text does not count as empty.
func isEmpty(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

func foldLeft(op arithmetic, args []any) any {
	first, ok := toNumber(args[0])
	if !ok {
		return nil
	}
	return op.fold(first, args[1:])
}

// integerArgument returns argument i as a whole number, truncated and limited to the range from -limit to limit. If
// the argument is missing, null or not a number, it returns the parameter otherwise.
func integerArgument(args []any, i, otherwise, limit int) int {
	if i >= len(args) || args[i] == nil {
		return otherwise
	}
	n, ok := toNumber(args[i])
	if !ok {
		return otherwise
	}
	return int(math.Max(-float64(limit), math.Min(float64(limit), math.Trunc(toFloat(n)))))
}

func concatTexts(_ *env, args []any) (any, error) {
	var b strings.Builder
	for _, a := range args {
		if a == false {
			continue
		}
		b.WriteString(toText(a))
		if b.Len() > maxText {
			return nil, tooLong()
		}
	}
	return b.String(), nil
}

func tooLong() error { return invalid("the text would be longer than %d bytes", maxText) }

// substr implements the function substr(text, start, length). It counts UTF-16 units, as in JavaScript. A negative
// start counts from the end.
func substr(args []any) any {
	s := utf16.Encode([]rune(toText(args[0])))
	from := integerArgument(args, 1, 0, math.MaxInt32)
	if from < 0 {
		from = max(0, len(s)+from)
	}
	from = min(from, len(s))
	length := integerArgument(args, 2, len(s), math.MaxInt32)
	length = max(0, min(length, len(s)-from))
	return string(utf16.Decode(s[from : from+length]))
}

// padText implements the function pad(text, length, character, side). It adds the character repeatedly until the text
// has the given length: on the left or, if side is 'r', on the right.
func padText(_ *env, args []any) (any, error) {
	s, ch := toText(args[0]), "0"
	if len(args) > 2 {
		ch = toText(args[2])
	}
	missing := max(0, integerArgument(args, 1, 0, math.MaxInt32)-countUnits(s))
	if len(ch) > 0 && missing > (maxText-min(len(s), maxText))/len(ch) {
		return nil, tooLong()
	}
	if len(args) > 3 && args[3] == "r" {
		return s + strings.Repeat(ch, missing), nil
	}
	return strings.Repeat(ch, missing) + s, nil
}

// countUnits returns the length of a text in UTF-16 units, as in JavaScript.
func countUnits(s string) int {
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

// matchPattern implements the function like(text, pattern). It reports whether a part of the text matches the regular
// expression. Letter case matters. The expression is compiled in each evaluation, even if it is constant, because
// compiling is cheap compared with the rest of a request.
func matchPattern(_ *env, args []any) (any, error) {
	if args[1] == nil {
		return false, nil
	}
	re, err := compilePattern(toText(args[1]))
	if err != nil {
		return nil, err
	}
	return re.MatchString(toText(args[0])), nil
}

func sizeOf(args []any) any {
	switch v := args[0].(type) {
	case nil:
		return int64(0)
	case []any:
		return int64(len(v))
	}
	return int64(countUnits(toText(args[0])))
}

// isAmong implements the function in: it reports whether one of the values is v. The values are separate arguments, or
// the elements of one list.
func isAmong(v any, values []any) bool {
	for _, w := range flatten(nil, values) {
		if looseEqual(v, w) {
			return true
		}
	}
	return false
}

func elementAt(args []any) any {
	list, ok := args[0].([]any)
	if !ok {
		return nil
	}
	i := integerArgument(args, 1, 0, math.MaxInt32)
	if len(args) > 1 && args[1] == "last" {
		i = len(list) - 1
	}
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

func collectValues(args []any) any {
	list := []any{}
	for _, v := range flatten(nil, args) {
		if v != nil {
			list = append(list, v)
		}
	}
	return list
}

// makeObject implements the function obj. Its arguments are the name and the value of the first field, then of the
// second, and so on.
func makeObject(args []any) any {
	fields := engine.Fields{}
	for i := 0; i < len(args); i += 2 {
		f := engine.Field{Name: toText(args[i])}
		if i+1 < len(args) {
			f.Value = args[i+1]
		}
		fields = append(fields, f)
	}
	return fields
}
