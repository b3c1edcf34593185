package mistake_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"restsrv/engine/mistake"
)

var update = flag.Bool("update", false, "write MISTAKES.md")

func TestPageShowsTheTable(t *testing.T) {
	if *update {
		if err := os.WriteFile("MISTAKES.md", []byte(mistake.Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("MISTAKES.md")
	if err != nil || string(page) != mistake.Page() {
		t.Errorf("MISTAKES.md differs from the table (%v): run go test ./engine/mistake -update", err)
	}
}

func TestRulesAreComplete(t *testing.T) {
	code := regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, r := range mistake.All() {
		if !code.MatchString(r.Code) || seen[r.Code] {
			t.Errorf("code %q is malformed or used twice", r.Code)
		}
		seen[r.Code] = true
		if r.Mistake == "" || r.Resolution == "" || strings.ContainsAny(r.Mistake+r.Resolution, "|\n") {
			t.Errorf("%s: mistake %q, resolution %q", r.Code, r.Mistake, r.Resolution)
		}
	}
}
