package applications

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"restsrv/cmd/restsrv/apptest"
)

// rule is a decision to answer differently from IONDV.
type rule struct {
	name        string
	cases       int              // number of tests in this repository that check the decision
	differences []*regexp.Regexp // differences that the rule explains
	exchanges   []*regexp.Regexp // sections and exchanges in which the rule applies; empty means all
	used        []bool           // for each of differences and exchanges: whether it was used
}

// readDecisions reads testdata/transcripts/decisions.txt. Each paragraph has these lines:
//
//   - rule NAME
//   - says SENTENCE: the sentence must be in engine/DECISIONS.md
//   - case FILE: TEXT: a test in this repository and a text in this test
//   - when DIFFERENCE, and in SECTION: EXCHANGE: * stands for any text
func readDecisions(t *testing.T) (rules []*rule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../testdata", "transcripts", "decisions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	decisions, err := os.ReadFile(filepath.Join(apptest.Root, "engine/DECISIONS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case line == "" || word == "#":
		case word == "rule":
			rules = append(rules, &rule{name: rest})
		case len(rules) == 0:
			t.Fatalf("decisions.txt: %q stands before the first rule", line)
		case word == "says":
			if len(rest) < 20 || !strings.Contains(spaced(string(decisions)), spaced(rest)) {
				t.Errorf("rule %s: engine/DECISIONS.md does not contain %q", rules[len(rules)-1].name, rest)
			}
		case word == "case":
			file, part, _ := strings.Cut(rest, ": ")
			text, err := os.ReadFile(filepath.Join(apptest.Root, file))
			if err != nil || part == "" || !strings.Contains(string(text), part) {
				t.Errorf("rule %s: %s does not contain %q: %v", rules[len(rules)-1].name, file, part, err)
			}
			rules[len(rules)-1].cases++
		case word == "when":
			r := rules[len(rules)-1]
			r.differences = append(r.differences, glob(rest))
		case word == "in":
			r := rules[len(rules)-1]
			r.exchanges = append(r.exchanges, glob(rest))
		default:
			t.Fatalf("decisions.txt: %q: expected rule, says, case, when or in", line)
		}
	}
	for _, r := range rules {
		r.used = make([]bool, len(r.differences)+len(r.exchanges))
	}
	return rules
}

// TestDecisions checks that each rule quotes engine/DECISIONS.md and names a test that checks
// the decision without the recorded exchanges, which are not part of the repository.
func TestDecisions(t *testing.T) {
	for _, r := range readDecisions(t) {
		if r.cases == 0 {
			t.Errorf("rule %s names no case", r.name)
		}
	}
}

func glob(s string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(s), `\*`, "(?s:.*)") + "$")
}

func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// explains reports whether the rule explains a difference in an exchange.
func (r *rule) explains(exchange, difference string) bool {
	in := len(r.exchanges) == 0
	for i, e := range r.exchanges {
		if e.MatchString(exchange) {
			in = true
			defer func() { r.used[len(r.differences)+i] = true }()
		}
	}
	for i, d := range r.differences {
		if in && d.MatchString(difference) {
			r.used[i] = true
			return true
		}
	}
	return false
}

// report collects the results of all exchanges.
type report struct {
	rules                  []*rule
	text                   strings.Builder
	section                string
	equal, decided, wrongs int
}

// add adds the result of an exchange: it is equal, or a rule explains each difference, or it is
// wrong.
func (r *report) add(e *recorded, got replied, differences []string) {
	if e.section != r.section {
		fmt.Fprintf(&r.text, "\n%s\n", e.section)
		r.section = e.section
	}
	if len(differences) == 0 {
		r.equal++
		fmt.Fprintf(&r.text, "\n  equal    %s\n", e.name)
		return
	}
	verdict, lines := "decided", ""
	for _, d := range differences {
		why := r.why(e.section+": "+e.name, d)
		if why == "" {
			verdict, why = "WRONG", "WRONG"
		}
		lines += fmt.Sprintf("           %s  (%s)\n", d, why)
	}
	if verdict == "WRONG" {
		r.wrongs++
	} else {
		r.decided++
	}
	fmt.Fprintf(&r.text, "\n  %-8s %s\n%s           %s\n", verdict, e.name, lines, got.whole())
}

func (r *report) why(exchange, difference string) string {
	for _, rule := range r.rules {
		if rule.explains(exchange, difference) {
			return rule.name
		}
	}
	return ""
}

// String returns the whole report.
func (r *report) String() string {
	return fmt.Sprintf("%d exchanges: %d equal, %d different by decision, %d WRONG\n%s", r.equal+r.decided+r.wrongs, r.equal, r.decided, r.wrongs, r.text.String())
}

// idle returns the rules, and lines of rules, that explained no difference.
func (r *report) idle() (all []string) {
	for _, rule := range r.rules {
		for i, used := range rule.used {
			if used {
				continue
			}
			if i < len(rule.differences) {
				all = append(all, rule.name+": when "+rule.differences[i].String())
			} else {
				all = append(all, rule.name+": in "+rule.exchanges[i-len(rule.differences)].String())
			}
		}
	}
	return all
}
