package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/engine/script/suite"
	"restsrv/engine/script/vm"
)

func TestDifference(t *testing.T) {
	for _, c := range []struct{ actual, expected, want string }{
		{"1", "2", "- 2|+ 1"},
		{"a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nX\ne\nf\ng", "  b|  c|- X|+ d|  e|  f"},
		{"a\nb", "a\nb\nc", "  a|  b|- c"},
		{"a\na", "a", "  a|+ a"},
	} {
		got := strings.ReplaceAll(strings.TrimPrefix(diffText(c.actual, c.expected), "- expected\n+ actual\n"), "\n", "|")
		if got != c.want {
			t.Errorf("%q and %q: got %s, want %s", c.actual, c.expected, got, c.want)
		}
	}
}

// TestJUnit checks the report in the format that continuous integration reads.
func TestJUnit(t *testing.T) {
	r := &testReport{to: &bytes.Buffer{}}
	r.beginFile("scripts/a.test.js")
	r.reportResult(testResult{name: "passes", took: 1500 * time.Millisecond})
	r.reportResult(testResult{name: "later", skipped: "todo"})
	r.reportResult(testResult{name: "group > fails", failure: &suite.TestFailure{Failure: &vm.Failure{Message: "Error: <no>"}}, log: []logged{{text: "info: said"}}})
	r.finishFile(2 * time.Second)
	if err := r.end(); err == nil || err.Error() != "1 test failed" {
		t.Errorf("got %v, want 1 test failed", err)
	}
	file := filepath.Join(t.TempDir(), "junit.xml")
	if err := r.writeJUnit(file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="scripts/a.test.js" tests="3" failures="1" skipped="1" time="2.000">
    <testcase name="passes" classname="scripts/a.test.js" time="1.500"></testcase>
    <testcase name="later" classname="scripts/a.test.js" time="0.000">
      <skipped></skipped>
    </testcase>
    <testcase name="group &gt; fails" classname="scripts/a.test.js" time="0.000">
      <failure message="Error: &lt;no&gt;">Error: &lt;no&gt;&#xA;the log of the test:&#xA;  info: said</failure>
    </testcase>
  </testsuite>
</testsuites>
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
