package script

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// How much of a file an excerpt shows.
const (
	excerptAround = 2   // lines before and after the one that is meant
	excerptWidth  = 120 // characters of a line
)

// excerpt shows the lines of a text around a position, numbered, with a caret
// under the column, which counts UTF-16 units from 1; none without one. It is "" for a
// line that the text does not have.
//
//	  3 |   'GET /': () => 'third'
//	> 4 |   'GET /new': () => 'more',
//	    |   ^
//	  5 | };
func excerpt(text string, line, column int) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n\t "), "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	first, last := max(1, line-excerptAround), min(len(lines), line+excerptAround)
	digits := len(strconv.Itoa(last))
	from := window(lines[line-1], column)
	var b strings.Builder
	for n := first; n <= last; n++ {
		mark, number := "  ", strconv.Itoa(n)
		if n == line {
			mark = "> "
		}
		b.WriteString(mark + strings.Repeat(" ", digits-len(number)) + number + " |")
		if shown := cutLine(strings.TrimRight(lines[n-1], "\r"), from); shown != "" {
			b.WriteString(" " + shown)
		}
		b.WriteByte('\n')
		if n == line && column > 0 {
			b.WriteString("  " + strings.Repeat(" ", digits) + " | " + indent(lines[n-1], from, column) + "^\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// window is the character at which lines begin to be shown: not the first when
// the column would be out of sight.
func window(line string, column int) int {
	at := characters(line, column)
	if at < excerptWidth {
		return 0
	}
	return at - excerptWidth/2
}

// characters counts those before a column.
func characters(line string, column int) int {
	n, units := 0, 0
	for _, c := range line {
		if units >= column-1 {
			break
		}
		units += max(1, utf16.RuneLen(c))
		n++
	}
	return n
}

// cutLine is the part of a line that is shown, without what a terminal would
// take for more than text.
func cutLine(line string, from int) string {
	r := []rune(line)
	if from >= len(r) {
		return ""
	}
	more := ""
	if len(r) > from+excerptWidth {
		r, more = r[:from+excerptWidth], "…"
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' || c >= 0x7f && c <= 0x9f {
			return utf8.RuneError
		}
		return c
	}, string(r[from:])) + more
}

// indent is what stands before the caret: as wide as what stands before the
// column, whatever the width of a tab.
func indent(line string, from, column int) string {
	r := []rune(line)
	at := characters(line, column)
	return strings.Map(func(c rune) rune {
		if c == '\t' {
			return c
		}
		return ' '
	}, string(r[min(from, at):at]))
}

// excerpt shows the source that a failure is about, as this generation saw it;
// "" when it is not known.
func (g *Generation) excerpt(f *Failure) string {
	if f.File == "" {
		return ""
	}
	s := g.files.byName(f.File)
	if s == nil {
		return ""
	}
	return excerpt(string(s.text), f.Line, f.Column)
}

// failureArgs are the attributes of a failure in the log: with the source
// around it while developing.
func (g *Generation) failureArgs(f *Failure, args ...any) []any {
	args = append(args, "error", f)
	if g.rt.dev {
		if text := g.excerpt(f); text != "" {
			args = append(args, ExcerptKey, text)
		}
	}
	return args
}

// RejectionMessage is the message of log records that tell of a promise that
// was rejected and that nobody handled.
const RejectionMessage = "a promise was rejected and nobody handled it"

// ExcerptKey is the attribute of log records that shows source text around a
// failure, on several lines; records have it while developing only.
const ExcerptKey = "excerpt"
