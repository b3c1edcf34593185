package jsonfile

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"restsrv/engine"
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

// Around returns a path without its last step, or "" if it has only one step. It cuts at the last
// dot or bracket, so for a step with a quoted name, several calls may be necessary.
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
	switch near := Nearest(name, known); {
	case near != "":
		return engine.Quote(near)
	case len(known) == 0:
		return "a known name, and there are none"
	case len(known) > most:
		return "one of " + strings.Join(known[:most], ", ") + " and " + strconv.Itoa(len(known)-most) + " more"
	}
	return "one of " + strings.Join(known, ", ")
}

// Nearest returns the known name with the smallest edit distance to name. If several have the same
// distance, it returns the first. Letter case does not matter. It returns "" if the distance of all
// known names is greater than a third of the length of name.
func Nearest(name string, known []string) string {
	wanted := []rune(strings.ToLower(name))
	if len(wanted) > 100 {
		return ""
	}
	best, limit := "", len(wanted)/3+1
	for _, k := range known {
		if d := editDistance(wanted, []rune(strings.ToLower(k))); d < limit {
			best, limit = k, d
		}
	}
	return best
}

// editDistance returns the number of letters to insert, delete, replace or swap to turn a into b.
func editDistance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
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
