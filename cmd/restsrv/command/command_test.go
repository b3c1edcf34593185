package command

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

// TestHelp checks the output of -h for the server and for each command: a
// description, and each flag once.
func TestHelp(t *testing.T) {
	server, _, _ := strings.Cut(usage, "\n")
	for _, name := range append(Names(), "") {
		args, first := []string{name, "-h"}, "restsrv "+name
		if name == "" {
			args, first = args[1:], server
			for _, command := range Names() {
				if !strings.Contains(usage, "\n  restsrv "+command+" ") {
					t.Errorf("restsrv -h: got no line for %s, want one", command)
				}
			}
		}
		var out strings.Builder
		err := Run(t.Context(), args, Stdio{In: strings.NewReader(""), Out: &out, Err: &out, Env: func(string) string { return "" }})
		told := out.String()
		if !errors.Is(err, flag.ErrHelp) || !strings.HasPrefix(told, first) {
			t.Errorf("%q: got %v and the output %q, want flag.ErrHelp and the usage", args, err, told)
		}
		if n := strings.Count(told, "Flags:\n"); n > 1 {
			t.Errorf("%q: got %d headings of flags, want at most one", args, n)
		}
	}
}
