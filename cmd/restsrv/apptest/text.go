package apptest

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Root is the repository, seen from a package below cmd/restsrv.
const Root = "../../.."

// JSON returns v as JSON.
func JSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Scope is a testing.TB that ends before its test: its cleanups run when End is called.
type Scope struct {
	testing.TB
	ends []func()
}

// Cleanup registers a function for End.
func (l *Scope) Cleanup(f func()) { l.ends = append(l.ends, f) }

// End calls the registered functions, the last one first.
func (l *Scope) End() {
	for i := len(l.ends) - 1; i >= 0; i-- {
		l.ends[i]()
	}
}

// ReadFile returns the content of a file.
func ReadFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Halve makes a list of n parts shorter. It calls without with ranges of the list: first with
// halves, then with smaller ranges, and finally with single parts. without leaves out the range
// if possible, and reports whether it did.
func Halve(n int, without func(from, to int) bool) {
	for size := (n + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < n; {
			to := min(from+size, n)
			if without(from, to) {
				n -= to - from
			} else {
				from = to
			}
		}
	}
}

// BasicAuth returns the header Authorization of an account with the password secret.
func BasicAuth(user string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":secret"))
}

// CountLines returns the number of lines that contain part.
func CountLines(lines []string, part string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// FirstDifference returns the first lines in which two texts differ.
func FirstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return strings.Join(g[max(0, i-8):min(len(g), i+8)], "\n") + "\n\nexpected\n" + strings.Join(w[max(0, i-8):min(len(w), i+8)], "\n")
		}
	}
	return "one is longer"
}
