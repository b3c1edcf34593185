package script

import (
	"cmp"
	"slices"

	"restsrv/engine"
)

// indexesFirst returns fields in the order in which JavaScript lists
// properties: array indexes first, ascending, then the other names in the given
// order. If the fields were not sorted, goja would sort them when the object is
// first listed. That takes quadratic time and cannot be interrupted.
func indexesFirst(fields engine.Fields) engine.Fields {
	n := 0
	for _, f := range fields {
		if isIndex(f.Name) {
			n++
		}
	}
	if n < 2 && (n == 0 || isIndex(fields[0].Name)) {
		return fields
	}
	sorted := slices.Clone(fields)
	slices.SortStableFunc(sorted, func(a, b engine.Field) int {
		switch first, second := isIndex(a.Name), isIndex(b.Name); {
		case first && second:
			return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
		case first:
			return -1
		case second:
			return 1
		}
		return 0
	})
	return sorted
}

// lastIndex is the largest array index.
const lastIndex = "4294967294"

// isIndex reports whether a name is an array index.
func isIndex(name string) bool {
	switch n := len(name); {
	case n == 0, n > 1 && name[0] == '0', n > len(lastIndex), n == len(lastIndex) && name > lastIndex:
		return false
	}
	for i := range len(name) {
		if name[i] < '0' || name[i] > '9' {
			return false
		}
	}
	return true
}
