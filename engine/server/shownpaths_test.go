package server

import "testing"

// TestShownPaths checks that ShownPaths leaves out paths below another changed folder.
func TestShownPaths(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"/app/scripts/a.js/index", "/app/scripts/a.js"}, "scripts/a.js"},
		{[]string{"/app/cur/x.js", "/app/cur", "/app/cur.tmp"}, "cur, cur.tmp"},
		{[]string{"/app/a-b", "/app/a/c", "/app/a", "/app/ab"}, "a, a-b, ab"},
		{[]string{"/app/1", "/app/2", "/app/3", "/app/4", "/app/5", "/app/6", "/app/7"}, "1, 2, 3, 4, 5, 2 more"},
	} {
		if got := ShownPaths("/app", c.paths); got != c.want {
			t.Errorf("%q are shown as %q, not %q", c.paths, got, c.want)
		}
	}
}
