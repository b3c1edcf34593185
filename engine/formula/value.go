package formula

import (
	"bytes"
	"encoding/json"
	"strings"

	"restsrv/engine"
)

// A value in a formula has one of the types of engine.Values, or is an *engine.Item, an []any or engine.Fields. The
// formulas of class files were written for JavaScript, so functions convert and compare values as JavaScript does.

// formulaValue converts a value of an item to a value of a formula. A JSON array becomes a list. A value of a type
// that does not exist in formulas becomes null.
func formulaValue(v any) any {
	switch v := v.(type) {
	case nil, bool, string, int64, float64, engine.Decimal, engine.Instant:
		return v
	case engine.JSONText:
		if strings.HasPrefix(string(v), "[") {
			if list, ok := jsonList(string(v)); ok {
				return list
			}
		}
		return v
	}
	return nil
}

func jsonList(text string) ([]any, bool) {
	var raw []json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil, false
	}
	list := make([]any, len(raw))
	for i, r := range raw {
		if r = bytes.TrimSpace(r); r[0] == '{' || r[0] == '[' {
			list[i] = engine.JSONText(r)
			continue
		}
		var v any
		if json.Unmarshal(r, &v) != nil {
			return nil, false
		}
		if _, is := v.(float64); is {
			v, _ = parseNumber(string(r))
		}
		list[i] = v
	}
	return list, true
}

// toText converts a value to text. null becomes "".
func toText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case engine.JSONText:
		return string(v)
	case *engine.Item:
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = toText(e)
		}
		return strings.Join(parts, ",")
	case engine.Fields:
		return string(appendJSON(nil, v))
	}
	return engine.ValueText(v)
}

// appendJSON appends v as JSON. In contrast to engine.AppendValue, it accepts objects that contain items; the function
// obj can make such objects.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case engine.Fields:
		b = append(b, '{')
		for i, f := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(append(engine.AppendString(b, f.Name), ':'), f.Value)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e)
		}
		return append(b, ']')
	case engine.JSONText:
		return append(b, v...)
	case *engine.Item:
		return engine.AppendString(b, v.ID)
	}
	return engine.AppendValue(b, v)
}

// looseEqual implements == of JavaScript. In addition, an item is equal to its id, and a time is equal to its text.
func looseEqual(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if same, both := sameItem(a, b); both {
		return same
	}
	a, b = itemID(a), itemID(b)
	x, aList := a.([]any)
	y, bList := b.([]any)
	switch {
	case aList && bList:
		return equalLists(x, y)
	case aList:
		return len(x) == 1 && looseEqual(x[0], b)
	case bList:
		return len(y) == 1 && looseEqual(a, y[0])
	}
	if s, ok := asString(a); ok {
		if t, ok := asString(b); ok {
			return s == t
		}
	}
	n, ok := orderValues(a, b)
	return ok && n == 0
}

func equalLists(x, y []any) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !looseEqual(x[i], y[i]) {
			return false
		}
	}
	return true
}

// strictEqual implements === of JavaScript: values of different kinds are not equal. In addition, an item is equal to
// the same item and to its id, and a time is equal to its number.
func strictEqual(a, b any) bool {
	if same, both := sameItem(a, b); both {
		return same
	}
	a, b = itemID(a), itemID(b)
	if kindOf(a) != kindOf(b) {
		return false
	}
	return looseEqual(a, b)
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string, engine.JSONText:
		return "text"
	case int64, float64, engine.Decimal, engine.Instant:
		return "number"
	case []any:
		return "list"
	}
	return "object"
}

func sameItem(a, b any) (same, both bool) {
	x, ok := a.(*engine.Item)
	if !ok {
		return false, false
	}
	y, ok := b.(*engine.Item)
	return ok && x.Class.Root() == y.Class.Root() && x.ID == y.ID, ok
}

func itemID(v any) any {
	if it, ok := v.(*engine.Item); ok {
		return it.ID
	}
	return v
}

func asString(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case engine.JSONText:
		return string(v), true
	}
	return "", false
}

// orderValues compares two values like < in JavaScript:
//   - Two texts are compared by their characters.
//   - A time and a text are compared as times, if possible.
//   - Other values are compared as numbers. null is 0, and a time is its milliseconds since 1970.
//
// If a value cannot be converted to a number, ok is false, and every comparison is false.
func orderValues(a, b any) (n int, ok bool) {
	a, b = itemID(a), itemID(b)
	s, aText := asString(a)
	t, bText := asString(b)
	if aText && bText {
		return strings.Compare(s, t), true
	}
	if i, is := a.(engine.Instant); is && bText {
		return orderTime(i, t)
	}
	if i, is := b.(engine.Instant); is && aText {
		n, ok := orderTime(i, s)
		return -n, ok
	}
	x, ok := toNumber(a)
	if !ok {
		return 0, false
	}
	y, ok := toNumber(b)
	if !ok {
		return 0, false
	}
	return compareNumbers(x, y), true
}

func orderTime(i engine.Instant, s string) (int, bool) {
	if j, ok := engine.ParseInstant(s); ok {
		return compareNumbers(int64(i), int64(j)), true
	}
	n, ok := toNumber(s)
	if !ok {
		return 0, false
	}
	return compareNumbers(int64(i), n), true
}

// flatten appends values to into. Instead of a list among the values, it appends the elements of the list, at any
// depth.
func flatten(into, values []any) []any {
	for _, v := range values {
		if list, ok := v.([]any); ok {
			into = flatten(into, list)
			continue
		}
		into = append(into, v)
	}
	return into
}
