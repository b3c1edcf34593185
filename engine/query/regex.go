package query

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"

	"restsrv/engine"
)

// Limits of an expression after its repetitions are expanded. Within these limits, PostgreSQL compiles an expression
// in a few milliseconds.
const (
	maxRegexAtoms  = 2000  // characters, classes and assertions
	maxRegexRanges = 20000 // ranges of characters in all classes
	maxRegexRepeat = 255   // the maximum that PostgreSQL accepts in braces
)

// TranslateRegexp translates an expression in RE2 syntax to an advanced regular expression of PostgreSQL. Both
// expressions match the same texts. To be independent of collations, the result contains lists of code points instead
// of classes, and instead of letters with the flag i. The position and the groups of a match may differ, so use the
// result only to test whether a text matches. Texts must not contain U+0000. If the expression is not RE2 syntax or is
// too large, the error is Invalid.
func TranslateRegexp(pattern string) (string, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", badFilter("regular expression %s is not in RE2 syntax", engine.Quote(pattern))
	}
	atoms, ranges := regexSize(parsed)
	if atoms > maxRegexAtoms || ranges > maxRegexRanges {
		return "", badFilter("regular expression %s is too large: with its repetitions written out it has more than %d characters and classes, or its classes have more than %d ranges",
			engine.Quote(pattern), maxRegexAtoms, maxRegexRanges)
	}
	t := regexWriter{}
	// In this mode, ^ and $ match at lines, while . and classes match a newline.
	t.b.WriteString("***:(?w)")
	t.write(parsed)
	return t.b.String(), nil
}

// regexSize counts the atoms, and the ranges of classes, after repetitions are expanded. It stops counting when a
// limit is exceeded.
func regexSize(re *syntax.Regexp) (atoms, ranges int) {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune), len(re.Rune)
	case syntax.OpCharClass:
		return 1, len(re.Rune) / 2
	}
	atoms = 1
	for _, sub := range re.Sub {
		a, r := regexSize(sub)
		atoms, ranges = min(atoms+a, 2*maxRegexAtoms), min(ranges+r, 2*maxRegexRanges)
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Min, re.Max, 1)
		atoms, ranges = atoms*times, ranges*times
	}
	return atoms, ranges
}

type regexWriter struct{ b strings.Builder }

func (t *regexWriter) write(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpNoMatch:
		t.writeNever()
	case syntax.OpEmptyMatch:
		t.b.WriteString("(?:)")
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			t.writeLiteral(r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		t.writeClass(re.Rune)
	case syntax.OpAnyCharNotNL:
		t.b.WriteString(`[^\u000a]`)
	case syntax.OpAnyChar:
		t.b.WriteString(".")
	case syntax.OpBeginLine:
		t.b.WriteString("^")
	case syntax.OpEndLine:
		t.b.WriteString("$")
	case syntax.OpBeginText:
		t.b.WriteString(`\A`)
	case syntax.OpEndText:
		t.b.WriteString(`\Z`)
	case syntax.OpWordBoundary:
		t.b.WriteString("(?:(?<=" + wordClass + ")(?!" + wordClass + ")|(?<!" + wordClass + ")(?=" + wordClass + "))")
	case syntax.OpNoWordBoundary:
		t.b.WriteString("(?:(?<=" + wordClass + ")(?=" + wordClass + ")|(?<!" + wordClass + ")(?!" + wordClass + "))")
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			t.write(sub)
		}
	default:
		t.writeGroup(re)
	}
}

// wordClass is \w in RE2.
const wordClass = "[0-9A-Z_a-z]"

// writeNever writes an expression that never matches.
func (t *regexWriter) writeNever() { t.b.WriteString("(?!(?:))") }

// writeGroup writes an expression as a group, so that its parts stay together.
func (t *regexWriter) writeGroup(re *syntax.Regexp) {
	t.b.WriteString("(?:")
	for i, sub := range re.Sub {
		if i > 0 {
			t.b.WriteByte('|') // only an OpAlternate has several parts
		}
		t.write(sub)
	}
	t.b.WriteByte(')')
	switch re.Op {
	case syntax.OpStar:
		t.b.WriteByte('*')
	case syntax.OpPlus:
		t.b.WriteByte('+')
	case syntax.OpQuest:
		t.b.WriteByte('?')
	case syntax.OpRepeat:
		t.writeRepeat(re)
	}
}

// writeRepeat writes the repetition of a group. If a count is too large for braces, it repeats the group several
// times.
func (t *regexWriter) writeRepeat(re *syntax.Regexp) {
	least, most := re.Min, re.Max
	part := func(least, most int) {
		switch {
		case most < 0:
			fmt.Fprintf(&t.b, "{%d,}", least)
		default:
			fmt.Fprintf(&t.b, "{%d,%d}", least, most)
		}
	}
	for least > maxRegexRepeat || most > maxRegexRepeat {
		n, m := min(least, maxRegexRepeat), maxRegexRepeat
		if most < 0 {
			m = n
		}
		part(n, m)
		least -= n
		if most > 0 {
			most -= m
		}
		t.b.WriteString("(?:")
		t.write(re.Sub[0])
		t.b.WriteByte(')')
	}
	part(least, most)
}

// writeLiteral writes one character. If fold is true, the result matches the character in any letter case.
func (t *regexWriter) writeLiteral(r rune, fold bool) {
	if fold {
		all := []rune{r, r}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			all = append(all, f, f)
		}
		if len(all) > 2 {
			t.writeClass(all)
			return
		}
	}
	if r == 0 {
		t.writeNever() // never matches, because texts cannot contain U+0000
		return
	}
	t.writePoint(r)
}

// writeClass writes the ranges of a character class.
func (t *regexWriter) writeClass(ranges []rune) {
	start := t.b.Len()
	t.b.WriteByte('[')
	for i := 0; i+1 < len(ranges); i += 2 {
		low, high := max(ranges[i], 1), ranges[i+1]
		if low > high {
			continue // the range contains only U+0000
		}
		t.writePoint(low)
		if high > low {
			t.b.WriteByte('-')
			t.writePoint(high)
		}
	}
	if t.b.Len() == start+1 {
		kept := t.b.String()[:start]
		t.b.Reset()
		t.b.WriteString(kept)
		t.writeNever()
		return
	}
	t.b.WriteByte(']')
}

// writePoint writes a character: as itself if it has no special meaning, otherwise by its number.
func (t *regexWriter) writePoint(r rune) {
	if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == ' ') {
		t.b.WriteRune(r)
		return
	}
	digits, width, mark := strconv.FormatInt(int64(r), 16), 4, `\u`
	if r > 0xFFFF {
		width, mark = 8, `\U`
	}
	t.b.WriteString(mark + strings.Repeat("0", width-len(digits)) + digits)
}
