package server

import (
	"slices"
	"testing"
	"time"

	"restsrv/engine/script"
	"restsrv/engine/script/module"
)

// TestFailuresAreReportedOnce checks that a failure is reported once if two reloads follow each
// other closely.
func TestFailuresAreReportedOnce(t *testing.T) {
	var got []int
	s := &Server{failures: map[string]failure{}, options: Config{ScriptsReloaded: func(r script.Report) { got = append(got, len(r.Failed), len(r.Down)) }}}
	report := func(messages ...string) script.Report {
		r := script.Report{Failed: map[string]*module.LoadError{}}
		for i, text := range messages {
			name := string(rune('a' + i))
			r.Failed[name], r.Down = &module.LoadError{File: "x.js", Message: text}, append(r.Down, name)
		}
		return r
	}
	s.reportScripts(report("one", "two"))
	s.reportScripts(report("one", "other"))
	s.failures["a"] = failure{s.failures["a"].text, time.Now().Add(-sameSave)}
	s.reportScripts(report("one"))
	s.reportScripts(script.Report{Loaded: []string{"a"}})
	s.reportScripts(report("one"))
	if want := []int{2, 2, 1, 1, 1, 1, 0, 0, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("failed and down services of the reports: got %v, want %v", got, want)
	}
}
