package query

import (
	"strings"
	"unicode"

	"restsrv/engine"
)

// Limits of full text search. Longer text is cut, in items and in queries.
const (
	maxWord        = 60      // letters of a word
	maxWords       = 32      // words of a query
	maxIndexedText = 400_000 // bytes of the words of one item
	maxSearch      = 1000    // bytes of a query
)

// Words splits text into words for the search: sequences of letters, marks and digits, in lower case. Long words are
// cut.
func Words(text string) []string {
	var words []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}) {
		words = append(words, cutWord(fold(word)))
	}
	return words
}

// fold removes differences in letter case.
func fold(word string) string {
	return strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, word)
}

func cutWord(word string) string {
	n := 0
	for i := range word {
		if n++; n > maxWord {
			return word[:i]
		}
	}
	return word
}

// IndexedWords returns the distinct words by which a search finds an item: the words of its properties that are marked
// for search, up to a limit. The words contain no spaces.
func IndexedWords(it *engine.Item) []string {
	var words []string
	seen := map[string]bool{}
	size := 0
	for i, p := range it.Class.Properties {
		if !isSearched(p) || i >= len(it.Values) {
			continue
		}
		for _, w := range Words(engine.ValueText(it.Values[i])) {
			if seen[w] {
				continue
			}
			if size += len(w) + 1; size > maxIndexedText {
				return words
			}
			seen[w] = true
			words = append(words, w)
		}
	}
	return words
}

// isSearched reports whether the words of the property's value are stored for search.
func isSearched(p *engine.Property) bool {
	return p.Search && p.Stored() && p.Type.Scalar() && p.Type != engine.Password
}

// Searched reports whether the words of the class's items are stored for search. If they are not, a search finds items
// with a text that contains the words.
func Searched(c *engine.Class) bool {
	for _, p := range c.Properties {
		if isSearched(p) {
			return true
		}
	}
	return false
}

// CheckSearch refuses a search that is too long. The error is Invalid.
func CheckSearch(text string) error {
	if len(text) > maxSearch {
		return engine.Errorf(engine.Invalid, "search", "a search has at most %d bytes, found %d", maxSearch, len(text))
	}
	if _, ok := engine.CastText(text); !ok {
		return engine.Errorf(engine.Invalid, "search", "a search is text without U+0000")
	}
	return nil
}

// QueryWords returns the words of a search, up to a number that all databases can handle. A search without words finds
// no items.
func QueryWords(text string) []string {
	words := Words(text)
	return words[:min(len(words), maxWords)]
}

func searchFilter(text string) *engine.Filter {
	return &engine.Filter{Op: engine.OpSearch, Pattern: text}
}
