package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The limits of a value that is kept as JSON. The depth is what every reader
// of the answer can be expected to take.
const (
	maxJSONDepth = 64
	maxJSONText  = 16 << 20 // bytes
)

// Decode returns the decoded JSON (see Fields) that the text stands for, nil
// when it is no JSON.
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
			fields = append(fields, Field{name.(string), v}) // the decoder takes no other names
		}
		_, err = d.Token()
		return fields, err
	}
	if n, ok := t.(json.Number); ok && len(n) > MaxNumber {
		return nil, fmt.Errorf("a number of more than %d characters", MaxNumber)
	}
	return t, nil
}

// castJSON makes the JSON text of a type that is kept as such. why is the rule
// that v breaks.
func castJSON(t PropertyType, v any) (value any, ok bool, why string) {
	if text, done := v.(JSONText); done {
		return text, true, "" // was cast before
	}
	if t != Custom {
		v = parsed(v)
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

// maxParsedValues bounds the values of a text that is read as JSON. It is smaller
// than the bound of a body, because this reader is slower.
const maxParsedValues = 500_000

// parsed reads text that holds an array or an object, as the fields of forms
// do.
func parsed(v any) any {
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

// plainJSON tells why v is no JSON that comes back as it was given; "" when it
// is.
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

// setOf is the set of whole numbers in v; one by itself is a set of one.
func setOf(v any) (any, string) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	set := make([]any, len(list))
	for i, e := range list {
		n, ok := castInt(e)
		if !ok {
			return nil, fmt.Sprintf("%s is no whole number of 64 bits", describe(e))
		}
		set[i] = n
	}
	return set, ""
}

// periodOf is the period in v, its dates in the form of a datetime. Either of
// them may be open.
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
			return nil, describe(e) + " is no ISO 8601 date or date-time"
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

// checkSchedule tells what is wrong with a schedule or a list of them.
func checkSchedule(v any) string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		fields, ok := e.(Fields)
		if !ok {
			return describe(e) + " is no object"
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

// checkOccasions wants an array of objects such as {"month": 2, "weekday": 6}.
func checkOccasions(f Field) string {
	list, ok := f.Value.([]any)
	if !ok && f.Value != nil {
		return f.Name + " is no array"
	}
	for _, e := range list {
		fields, ok := e.(Fields)
		if !ok {
			return f.Name + " holds " + describe(e) + ", which is no object"
		}
		for _, unit := range fields {
			if _, ok := castInt(unit.Value); !ok && unit.Value != nil {
				return f.Name + " holds " + Quote(unit.Name) + ", which is no whole number"
			}
		}
	}
	return ""
}
