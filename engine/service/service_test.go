package service

import (
	"strings"
	"testing"
	"unicode/utf8"

	"restsrv/engine"
)

func TestWarnIsBounded(t *testing.T) {
	long := func(s string, n int) []string {
		names := make([]string, n)
		for i := range names {
			names[i] = strings.Repeat(s, 1_000_000)
		}
		return names
	}
	for name, c := range map[string]struct {
		names []string
		end   string
	}{
		"short": {[]string{"a", "b\"\n\xff"}, `what: a, b\"\n\xff"`},
		"many":  {strings.Split("a b c d e f g h i j k l", " "), `h, i, j, ..."`},
		"long":  {long("a", 9), `a\u2026"`},
		"wide":  {long("😀", 9), `..."`},
		"bytes": {long("\xff", 9), `..."`},
	} {
		var r Response
		text := r.Warn("what", c.names)
		if got := r.Header.Get("Warning"); got != "299 - "+text || !strings.HasSuffix(got, c.end) || len(got) > 1100 {
			t.Errorf("%s: got a header of %d bytes: %.200s", name, len(got), got)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"", 0, ""}, {"ab", 2, "ab"}, {"abc", 2, "ab…"}, {"ééé", 3, "ééé"}, {"éééé", 3, "ééé…"}, {"\xff\xff\xff", 2, "\xff\xff…"}} {
		if got := engine.Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
	if q := engine.Quote(strings.Repeat("\xff", 100)); !utf8.ValidString(q) {
		t.Errorf("Quote: got %q, want valid UTF-8", q)
	}
}
