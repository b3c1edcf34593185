package command

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestColour checks that only a terminal gets colours, and which lines are coloured.
func TestColour(t *testing.T) {
	const text = "  1 | a\n> 2 | b\n    | ^"
	if got := colourExcerpt(text, false); got != text {
		t.Errorf("without colours: got %q, want %q", got, text)
	}
	want := []string{faint + "  1 | a" + noColour, red + "> 2 | b" + noColour, red + "    | ^" + noColour}
	if got := colourExcerpt(text, true); got != strings.Join(want, "\n") {
		t.Errorf("with colours: got %q, want %q", got, want)
	}
	s := Stdio{Env: func(string) string { return "" }, Terminal: true}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if useColours(s, &bytes.Buffer{}) || useColours(s, file) {
		t.Error("output that is not a terminal: got colours, want none")
	}
}
