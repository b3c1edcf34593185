package module

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The size of an excerpt.
const (
	excerptAround = 2   // lines before and after the line of the position
	excerptWidth  = 120 // characters of a line
)

// Excerpt returns the lines of text around a position, with line numbers. A caret marks the column, which counts
// UTF-16 units from 1; if column is 0, there is no caret. If text does not have the line, the result is "".
//
//	  3 |   'GET /': () => 'third'
//	> 4 |   'GET /new': () => 'more',
//	    |   ^
//	  5 | };
func Excerpt(text string, line, column int) string {
	lines := strings.Split(strings.TrimRight(text, "\r\n\t "), "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	first, last := max(1, line-excerptAround), min(len(lines), line+excerptAround)
	digits := len(strconv.Itoa(last))
	from := firstShown(lines[line-1], column)
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
			b.WriteString("  " + strings.Repeat(" ", digits) + " | " + caretIndent(lines[n-1], from, column) + "^\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// firstShown returns the number of characters to cut off at the beginning of each line. It is greater than 0 if the
// column is so far to the right that it would not be printed.
func firstShown(line string, column int) int {
	at := countCharacters(line, column)
	if at < excerptWidth {
		return 0
	}
	return at - excerptWidth/2
}

// countCharacters returns the number of characters of line that precede a column.
func countCharacters(line string, column int) int {
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

// cutLine returns the part of a line to print. It skips the first characters, as many as from. It replaces control
// characters, because a terminal would interpret them.
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

// caretIndent returns the white space to print before the caret. It contains the tabs of the line, so that the caret
// is below the column for any tab width.
func caretIndent(line string, from, column int) string {
	r := []rune(line)
	at := countCharacters(line, column)
	return strings.Map(func(c rune) rune {
		if c == '\t' {
			return c
		}
		return ' '
	}, string(r[min(from, at):at]))
}
