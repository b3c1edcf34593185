// Package suggest finds the known name that a person probably meant when they wrote an
// unknown one. If a message contains the suggestion, it must not disclose a name that the
// reader of the message may not know.
package suggest

import (
	"strings"
	"unicode/utf8"

	"restsrv/engine"
)

// DidYouMean returns the end of an error message about an unknown name, such as `; did you mean "title"?`, or "" if
// no known name is similar. The message may disclose any name in known, so known must contain only names that the
// account of the request may see.
func DidYouMean(name string, known []string) string {
	near := Nearest(name, known)
	if near == "" {
		return ""
	}
	return "; did you mean " + engine.Quote(near) + "?"
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
	if class, _, ok := strings.Cut(name, "@"); ok { // a long namespace must not make all classes similar
		limit = min(limit, utf8.RuneCountInString(class)/2+1)
	}
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
