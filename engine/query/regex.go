package query

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"

	"restsrv/engine"
)

// Limits of an expression after expansion of its repetitions. Within these
// limits, PostgreSQL compiles it in a few milliseconds.
const (
	maxRegexAtoms  = 2000  // characters, classes and assertions
	maxRegexRanges = 20000 // ranges of characters in all classes
	maxRegexRepeat = 255   // the maximum that PostgreSQL accepts in braces
)

// TranslateRegexp translates an expression in RE2 syntax to an advanced regular expression of PostgreSQL. Both match
// the same texts, with any collation: classes, and letters with the flag i, become lists of code points. The position
// of a match and its groups may differ, so use the result only to test whether a text matches. Texts must not contain
// U+0000. The error is Invalid if the expression is not RE2 syntax or too large.
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
	// An ARE in which ^ and $ match at lines, while . and classes match a
	// newline.
	t.b.WriteString("***:(?w)")
	t.write(parsed)
	return t.b.String(), nil
}

// regexSize counts atoms and ranges of classes after expansion of repetitions.
// It stops counting when the limits are exceeded.
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
			t.b.WriteByte('|') // an OpAlternate: the other operators have one part
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

// writeRepeat writes the repetition of a group. If a count is too large for braces,
// it writes several groups.
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

// writeLiteral writes one character, in any letter case if fold is set.
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
		t.writeNever() // texts cannot contain it
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
			continue // U+0000 only
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

// writePoint writes a character: as itself if it has no special meaning, else by its
// number.
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
