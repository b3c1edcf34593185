package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Limits of a value that is stored as JSON. Any reader of an answer should be
// able to handle this depth.
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

// castJSON returns the JSON text of a type whose values are stored as JSON. why
// is the rule that v breaks.
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
// is smaller than the limit of a body, because this parser is slower.
const maxParsedValues = 500_000

// decodeText decodes text that contains a JSON array or object, which forms send.
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
		n, ok := castInt(e)
		if !ok {
			return nil, fmt.Sprintf("%s is no whole number of 64 bits", describeValue(e))
		}
		set[i] = n
	}
	return set, ""
}

// periodOf returns the period in v, with dates in the form of a datetime. Both
// dates may be null, which means open.
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
		date, ok := castInstant(e)
		if !ok {
			return nil, describeValue(e) + " is no ISO 8601 date or date-time"
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
			return describeValue(e) + " is no object"
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

// checkOccasions checks for an array of objects such as {"month": 2, "weekday":
// 6}.
func checkOccasions(f Field) string {
	list, ok := f.Value.([]any)
	if !ok && f.Value != nil {
		return f.Name + " is no array"
	}
	for _, e := range list {
		fields, ok := e.(Fields)
		if !ok {
			return f.Name + " holds " + describeValue(e) + ", which is no object"
		}
		for _, unit := range fields {
			if _, ok := castInt(unit.Value); !ok && unit.Value != nil {
				return f.Name + " holds " + Quote(unit.Name) + ", which is no whole number"
			}
		}
	}
	return ""
}
