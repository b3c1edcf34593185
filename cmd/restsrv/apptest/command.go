package apptest

import (
	"bytes"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/command"
)

// RunCommand runs a command line in this process and returns its output.
func RunCommand(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, failed bytes.Buffer
	err = command.Run(t.Context(), args, command.Stdio{In: strings.NewReader(""), Out: &out, Err: &failed, Env: func(string) string { return "" }})
	return out.String(), failed.String(), err
}

// MustRun is like RunCommand. The command must succeed. It returns the standard output.
func MustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, failed, err := RunCommand(t, args...)
	if err != nil {
		t.Fatalf("restsrv %s: %v\n%s%s", strings.Join(args, " "), err, failed, out)
	}
	return out
}
