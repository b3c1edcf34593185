package script

import (
	"strings"
	"testing"

	"restsrv/engine/script/module"
)

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		text         string
		line, column int
		want         string
	}{
		"in the middle":   {"a\nb\nc\n  d()\ne\nf\ng", 4, 3, "  2 | b\n  3 | c\n> 4 |   d()\n    |   ^\n  5 | e\n  6 | f"},
		"first line":      {"a\nb", 1, 1, "> 1 | a\n    | ^\n  2 | b"},
		"numbers align":   {strings.Repeat("\n", 8) + "a\nb\nc", 9, 0, "   7 |\n   8 |\n>  9 | a\n  10 | b\n  11 | c"},
		"a tab":           {"\tx.y()", 1, 4, "> 1 | \tx.y()\n    | \t  ^"},
		"units of UTF-16": {"'ёж😀' + x", 1, 10, "> 1 | 'ёж😀' + x\n    | " + strings.Repeat(" ", 8) + "^"},
		"carriage":        {"a\r\nb\r\n", 2, 1, "  1 | a\n> 2 | b\n    | ^"},
		"past the end":    {"ab", 1, 3, "> 1 | ab\n    |   ^"},
		"a long line":     {long + "y" + long, 1, 301, "> 1 | " + strings.Repeat("x", 60) + "y" + strings.Repeat("x", 59) + "…\n    | " + strings.Repeat(" ", 60) + "^"},
		"escapes":         {"'\x1b[2J'", 1, 1, "> 1 | '\ufffd[2J'\n    | ^"},
		"no such line":    {"a", 2, 1, ""},
		"whole file":      {"a", 0, 0, ""},
		"empty":           {"", 1, 1, "> 1 |\n    | ^"},
		"column far off":  {"a\nb", 1, 1000, "> 1 | a\n    |  ^\n  2 | b"},
	} {
		if got := module.Excerpt(c.text, c.line, c.column); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
