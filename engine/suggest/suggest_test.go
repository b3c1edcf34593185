package suggest_test

import (
	"strings"
	"testing"

	"restsrv/engine/suggest"
)

func TestNearest(t *testing.T) {
	known := []string{"nullable", "name", "type", "dataRepo", "struct@develop-and-test", "house@a"}
	for name, want := range map[string]string{
		"nulable": "nullable", "Nullable": "nullable", "nmae": "name", "datRepo": "dataRepo", "typ": "type", "nosuch@develop-and-test": "", "haus@a": "house@a", "strukt@develop-and-test": "struct@develop-and-test",
		"colour": "", "x": "", "": "", strings.Repeat("n", 200): "",
	} {
		if got := suggest.Nearest(name, known); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", name, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	if got, want := suggest.DidYouMean("titel", []string{"id", "title"}), `; did you mean "title"?`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := suggest.DidYouMean("colour", []string{"id", "title"}); got != "" {
		t.Errorf("got %q for a name that is not similar, want nothing", got)
	}
}
