package transpile

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Pattern rewrites a regular expression that goja would match wrongly. It returns any other expression unchanged.
// goja has two faults, both only if the flag u is set:
//
//   - It takes the property escapes \p{..} and \P{..} for letters. Pattern replaces them by character classes.
//   - The matcher that goja prefers loses named groups if the text is not ASCII. Pattern prepends
//     an empty lookahead, which makes goja use its other matcher.
//
// The error names a property that Pattern cannot replace.
func Pattern(pattern, flags string) (string, error) {
	if !strings.Contains(flags, "u") {
		return pattern, nil
	}
	turned, err := replaceProperties(pattern)
	if err == nil && namedGroup.MatchString(pattern) {
		turned = "(?=)" + turned
	}
	return turned, err
}

var namedGroup = regexp.MustCompile(`\(\?<[^=!]`)

// MayBeWrong reports whether a source text may contain a regular expression that Pattern changes.
func MayBeWrong(text string) bool { return hasProperties(text) || strings.Contains(text, "(?<") }

func hasProperties(text string) bool {
	return strings.Contains(text, `\p`) || strings.Contains(text, `\P`)
}

func replaceProperties(pattern string) (string, error) {
	if !hasProperties(pattern) {
		return pattern, nil
	}
	var b strings.Builder
	inClass := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '\\' && i+1 < len(pattern):
			i++
			if pattern[i] != 'p' && pattern[i] != 'P' {
				b.WriteByte(c)
				break
			}
			name, ok := cutBraces(pattern[i+1:])
			if !ok {
				return "", fmt.Errorf(`\%c is no escape under the flag u: write \%c{name of a property}`, pattern[i], pattern[i])
			}
			set, err := propertySet(name)
			if err != nil {
				return "", err
			}
			if pattern[i] == 'P' {
				set = set.inverted()
			}
			set.write(&b, inClass)
			i += len(name) + 2
			continue
		}
		b.WriteByte(pattern[i])
	}
	return b.String(), nil
}

func cutBraces(s string) (name string, ok bool) {
	if !strings.HasPrefix(s, "{") {
		return "", false
	}
	name, _, ok = strings.Cut(s[1:], "}")
	return name, ok
}

// runeRange is an inclusive range of characters.
type runeRange struct{ lo, hi rune }

// runeSet is a set of characters: a sorted list of ranges that neither overlap nor touch.
type runeSet []runeRange

func unionOf(tables ...*unicode.RangeTable) runeSet {
	var all runeSet
	for _, t := range tables {
		for _, r := range t.R16 {
			all = all.add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			all = all.add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return all.sorted()
}

func (s runeSet) add(lo, hi, stride rune) runeSet {
	if stride == 1 {
		return append(s, runeRange{lo, hi})
	}
	for r := lo; r <= hi; r += stride {
		s = append(s, runeRange{r, r})
	}
	return s
}

// inverted returns the characters that are not in s.
func (s runeSet) inverted() runeSet {
	var out runeSet
	next := rune(0)
	for _, r := range s {
		if r.lo > next {
			out = append(out, runeRange{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, runeRange{next, unicode.MaxRune})
	}
	return out
}

func (s runeSet) without(o runeSet) runeSet {
	out := append(append(runeSet{}, s.inverted()...), o...)
	return out.sorted().inverted()
}

// write appends s as a character class such as [a-z]. If inClass is true, it appends only the ranges, because the
// class has already begun.
func (s runeSet) write(b *strings.Builder, inClass bool) {
	if !inClass {
		b.WriteByte('[')
		defer b.WriteByte(']')
	}
	for _, r := range s {
		writeRune(b, r.lo)
		if r.hi > r.lo {
			b.WriteByte('-')
			writeRune(b, r.hi)
		}
	}
}

func writeRune(b *strings.Builder, r rune) {
	switch {
	case r < 0x80 && !inWord(byte(r)):
		fmt.Fprintf(b, `\x%02x`, r)
	case r >= 0xD800 && r <= 0xDFFF:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		b.WriteRune(r)
	}
}
