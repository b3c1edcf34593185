package jsonfile

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"restsrv/engine"
	"restsrv/engine/suggest"
)

// Member returns the JSON path of the field name in the object at path. It quotes the name if the
// path would be ambiguous otherwise, or would contain a line break.
func Member(path, name string) string {
	plain := name != "" && len(name) <= 100 && strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-$@:/", r)
	}) < 0
	switch {
	case !plain:
		return path + "[" + engine.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// Element returns the JSON path of element i of the array at path, counted from 0.
func Element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Around returns a path without its last step, or "" if the path has only one step. It cuts at
// the last dot or bracket. A step with a quoted name can contain dots and brackets; to remove
// such a step, call Around several times.
func Around(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// Describe describes a decoded JSON value for messages. It shortens long numbers.
func Describe(v any) string {
	switch v := v.(type) {
	case string:
		return engine.Quote(v)
	case []any:
		return "an array"
	case engine.Fields:
		return "an object"
	case json.Number:
		if len(v) > 40 {
			return string(v[:40]) + "…"
		}
	}
	return string(engine.AppendValue(nil, v))
}

// Choice describes the valid names for a message about an unknown name. If one of the known names
// is similar, it returns only that name, and otherwise a list of the known names.
func Choice(name string, known []string) string {
	const most = 20
	switch near := suggest.Nearest(name, known); {
	case near != "":
		return engine.Quote(near)
	case len(known) == 0:
		return "a known name, and there are none"
	case len(known) > most:
		return "one of " + strings.Join(known[:most], ", ") + " and " + strconv.Itoa(len(known)-most) + " more"
	}
	return "one of " + strings.Join(known, ", ")
}

// NameRule describes the names that ValidName accepts, for use as the expected value of faults.
const NameRule = "a name of letters, digits, _, -, $ and spaces, that does not begin with -, $ or a space, at most 100 characters"

// ValidName reports whether s can be the name of a class, an attribute or a namespace. It rejects
// characters with a meaning in paths, filters, URLs or column names, such as dots, @, #, |, quotes,
// commas and control characters.
func ValidName(s string) bool {
	if s == "" || utf8.RuneCountInString(s) > 100 || strings.HasSuffix(s, " ") {
		return false
	}
	for i, r := range s {
		first := r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
		later := unicode.IsMark(r) || strings.ContainsRune("-$ ", r)
		if !first && (i == 0 || !later) {
			return false
		}
	}
	return true
}
