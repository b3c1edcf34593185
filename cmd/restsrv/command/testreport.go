package command

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"restsrv/engine/script/suite"
)

// testResult is the result of one test.
type testResult struct {
	name    string
	took    time.Duration
	skipped string // skip or todo; "" if the test ran
	failure *suite.TestFailure
	log     []logged
}

// testReport prints and counts results of tests.
type testReport struct {
	to      io.Writer
	verbose bool
	colour  bool
	start   time.Time

	passed, failed, skipped int
	files                   []*fileResult
}

// fileResult holds the results of one test file.
type fileResult struct {
	name    string
	took    time.Duration
	results []testResult
}

func (r *testReport) beginFile(file string) { r.files = append(r.files, &fileResult{name: file}) }

// reportService reports a service that cannot be loaded, as a failure.
func (r *testReport) reportService(text string) {
	r.failed++
	r.printLine("%s  a service cannot be loaded: %s", r.paint(red, "FAIL"), indentText(text))
}

func (r *testReport) reportResult(t testResult) {
	f := r.files[len(r.files)-1]
	f.results = append(f.results, t)
	switch {
	case t.skipped != "":
		r.skipped++
		if r.verbose {
			r.printLine("%s  %s > %s", t.skipped, f.name, t.name)
		}
	case t.failure != nil:
		r.failed++
		r.printLine("%s  %s > %s (%s)", r.paint(red, "FAIL"), f.name, t.name, shortDuration(t.took))
		r.printLine("      %s", indentText(failureText(t, r.colour)))
	default:
		r.passed++
		if r.verbose {
			r.printLine("%s    %s > %s (%s)", r.paint(green, "ok"), f.name, t.name, shortDuration(t.took))
			for _, l := range t.log {
				r.printLine("      %s", indentText(l.text))
			}
		}
	}
}

// finishFile ends the report of a file. It prints a line if no test failed.
func (r *testReport) finishFile(took time.Duration) {
	f := r.files[len(r.files)-1]
	f.took = took
	for _, t := range f.results {
		if t.failure != nil {
			return // the failure is printed already
		}
	}
	if !r.verbose {
		r.printLine("%s    %s: %s in %s", r.paint(green, "ok"), f.name, countText(len(f.results), "test"), shortDuration(took))
	}
}

// countReported returns the number of reported tests.
func (r *testReport) countReported() int { return r.passed + r.failed + r.skipped }

// end prints the totals. It returns an error if a test failed.
func (r *testReport) end() error {
	if len(r.files) == 0 && r.failed == 0 {
		r.printLine("there are no tests: write scripts/<name>.test.js (restsrv test -h)")
		return nil
	}
	r.printLine("%d passed, %d failed, %d skipped in %s", r.passed, r.failed, r.skipped, shortDuration(time.Since(r.start)))
	if r.failed > 0 {
		return fmt.Errorf("%s failed", countText(r.failed, "test"))
	}
	return nil
}

func (r *testReport) printLine(format string, args ...any) { fmt.Fprintf(r.to, format+"\n", args...) }

func (r *testReport) paint(colour, text string) string {
	if !r.colour {
		return text
	}
	return colour + text + noColour
}

// failureText returns the text about a failure: message, difference, place and log.
func failureText(t testResult, colour bool) string {
	parts := []string{strings.ReplaceAll(t.failure.Error(), "\n\t", "\n  ")}
	if f := t.failure; f.Actual != f.Expected && !strings.Contains(f.Message, "\n") {
		parts = append(parts, diffText(f.Actual, f.Expected))
	}
	if t.failure.Excerpt != "" {
		parts = append(parts, colourExcerpt(t.failure.Excerpt, colour))
	}
	if len(t.log) > 0 {
		parts = append(parts, "the log of the test:")
		for _, l := range t.log {
			parts = append(parts, "  "+strings.NewReplacer("\n\t", "\n    ", "\n", "\n  ").Replace(l.text))
			if l.excerpt != "" {
				parts = append(parts, "    "+strings.ReplaceAll(colourExcerpt(l.excerpt, colour), "\n", "\n    "))
			}
		}
	}
	return strings.Join(parts, "\n")
}

func indentText(text string) string { return strings.ReplaceAll(text, "\n", "\n      ") }

// diffText returns the lines that differ between two texts, with two equal lines before and after
// them. Lines with - are expected, lines with + are actual.
func diffText(actual, expected string) string {
	a, e := strings.Split(actual, "\n"), strings.Split(expected, "\n")
	head, tail := 0, 0
	for head < min(len(a), len(e)) && a[head] == e[head] {
		head++
	}
	for tail < min(len(a), len(e))-head && a[len(a)-1-tail] == e[len(e)-1-tail] {
		tail++
	}
	lines := []string{"- expected", "+ actual"}
	add := func(mark string, all []string) {
		for i, l := range all {
			if i == maxDifference {
				lines = append(lines, mark+"…")
				return
			}
			lines = append(lines, mark+l)
		}
	}
	add("  ", a[max(0, head-2):head])
	add("- ", e[head:len(e)-tail])
	add("+ ", a[head:len(a)-tail])
	add("  ", a[len(a)-tail:min(len(a), len(a)-tail+2)])
	return strings.Join(lines, "\n")
}

// maxDifference is the maximum number of lines of each of the two texts in a difference.
const maxDifference = 30

// shortDuration returns a duration with few digits, such as 12.3 ms.
func shortDuration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.3g ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// The XML format of JUnit, which continuous integration systems read.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Skipped *struct{}     `xml:"skipped,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func (r *testReport) writeJUnit(file string) error {
	var all junitSuites
	for _, f := range r.files {
		s := junitSuite{Name: f.name, Tests: len(f.results), Time: secondsText(f.took)}
		for _, t := range f.results {
			c := junitCase{Name: t.name, Class: f.name, Time: secondsText(t.took)}
			switch {
			case t.failure != nil:
				s.Failures++
				c.Failure = &junitFailure{Message: t.failure.Message, Text: failureText(t, false)}
			case t.skipped != "":
				s.Skipped++
				c.Skipped = &struct{}{}
			}
			s.Cases = append(s.Cases, c)
		}
		all.Suites = append(all.Suites, s)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(xml.Header), append(text, '\n')...), 0o644)
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
