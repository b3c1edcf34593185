package mistakes

// The files in ../testdata/mistakes show the rules for mistakes. Each row in them shows one kind
// of mistake. The line of a row begins with its name. The words "both databases" run the row on
// PostgreSQL too. The word "covers" is followed by codes of rules that the reports of the row do
// not contain, such as rules for imports:
//
//	-- row: a reference to a missing class, both databases --
//	-- meta/pet.class.json --
//	{"name": "pet", "key": ["id"], "properties": [{"name": "id", "type": 0}, {"name": "home", "type": 13, "refClass": "house"}]}
//	-- report --
//	reference-class-missing meta/pet.class.json:1:104: properties[1].refClass: found "house", a class that does not exist, expected "pet"
//	-- http --
//	> GET /rest/crud/pet@a
//	< 200
//	<
//	< []
//
// Other sections are as in the cases in testdata (see package apptest). A report lists all
// mistakes, and all warnings that have a rule, in the order of files and lines. A line of a
// report is the code of the rule and the line that restsrv prints, without the resolution, which
// is part of the rule. For each report the test checks that
//
//   - check -json prints these findings, with the resolutions of their rules,
//   - the server starts or reloads, and logs each of them once,
//   - a server with -strict reports the same mistakes and does not start.
//
// A section "refused" is a report that lists fatal mistakes, as full lines. The server must
// report them and must not start, with and without -strict.
//
// If a row has no deploy.json, it gets one with the namespace a and the service crud. If it has
// no folder acl, the account anonymous gets all permissions. go test -run TestMistakes -update
// writes the reports; check the difference before you commit it.

import (
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"restsrv/cmd/restsrv/apptest"
	"restsrv/engine"
	"restsrv/engine/mistake"
	"restsrv/engine/store/postgres/pgtest"
)

// openACL contains an account, so that the first start does not create one and hash its password.
const (
	plainDeploy = `{"namespace": "a", "modules": {"rest": {"globals": {"di": {"crud": {"module": "builtin/crud"}}, "authMode": {"crud": "none"}}}}}`
	openACL     = `{"roles": [{"id": "anonymous", "permissions": {"*": ["full"]}}], "users": [{"id": "someone@oauth"}]}`
)

var updateReports = flag.Bool("update", false, "write the reports in testdata/mistakes")

// mistakeRow is one row of a file in testdata/mistakes.
type mistakeRow struct {
	name     string
	both     bool // run on PostgreSQL too
	covers   []string
	sections []apptest.Section
}

// readMistakeRows splits the sections of a file into rows. The rows and sections share memory.
func readMistakeRows(t *testing.T, sections []apptest.Section) (rows []*mistakeRow) {
	t.Helper()
	first := 0
	for i, s := range sections {
		title, ok := strings.CutPrefix(s.Name, "row: ")
		if !ok && len(rows) == 0 {
			t.Fatalf("section %q comes before the first row", s.Name)
		}
		if ok {
			r := &mistakeRow{}
			title, covered, _ := strings.Cut(title, " covers ")
			r.covers = strings.Fields(covered)
			r.name, r.both = strings.CutSuffix(title, ", both databases")
			rows, first = append(rows, r), i+1
		}
		rows[len(rows)-1].sections = sections[first : i+1]
	}
	return rows
}

// codes returns the codes that a row covers.
func (r *mistakeRow) codes() []string {
	codes := slices.Clone(r.covers)
	for _, s := range r.sections {
		if s.Name == "report" {
			for _, line := range apptest.TextLines(s.Text) {
				code, _, _ := strings.Cut(line, " ")
				codes = append(codes, code)
			}
		}
	}
	return codes
}

func mistakeFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../testdata/mistakes/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files in testdata/mistakes", err)
	}
	return files
}

// TestMistakes runs the rows of testdata/mistakes.
func TestMistakes(t *testing.T) {
	for _, file := range mistakeFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment, sections := apptest.ReadSections(string(text))
		rows := readMistakeRows(t, sections)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			if *updateReports {
				t.Cleanup(func() { writeSections(t, file, comment, sections) })
			}
			for _, r := range rows {
				t.Run(r.name, func(t *testing.T) {
					t.Parallel()
					answers := r.play(t, "")
					if r.both && !apptest.RaceDetector {
						apptest.CompareAnswers(t, r.play(t, pgtest.Database(t)), answers)
					}
				})
			}
		})
	}
}

// writeSections writes the file of the sections.
func writeSections(t *testing.T, file, comment string, sections []apptest.Section) {
	var b strings.Builder
	b.WriteString(comment)
	for _, s := range sections {
		b.WriteString("-- " + s.Name + " --\n" + s.Text)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// play runs a row on a database and returns the answers to its requests. If db is "", it uses
// SQLite.
func (r *mistakeRow) play(t *testing.T, db string) []string {
	c := apptest.NewCase(t, db)
	defer c.StopServer()
	has := func(name string) bool {
		return slices.ContainsFunc(r.sections, func(s apptest.Section) bool { return strings.HasPrefix(s.Name, name) })
	}
	if !has("deploy.json") {
		c.WriteFile("deploy.json", plainDeploy)
	}
	if !has("acl/") {
		c.WriteFile("acl/open.json", openACL)
	}
	for i, s := range r.sections {
		switch s.Name {
		case "report", "refused":
			c.StopServer()
			expectReport(c, &r.sections[i])
		default:
			if !strings.HasPrefix(s.Name, "row: ") {
				c.Play(s)
			}
		}
	}
	return c.Answers
}

// expectReport compares the findings of check, of a server and of a server with -strict with a
// report. With -update it writes the findings of check into the report.
func expectReport(c *apptest.Case, s *apptest.Section) {
	c.Helper()
	found, mistakes := readFindings(c, s.Name == "refused")
	if *updateReports {
		s.Text = strings.Join(append(found, "\n"), "\n")
	}
	same(c, "restsrv check -json", found, apptest.TextLines(s.Text))
	output, err := c.Run("restsrv -strict", "")
	if len(mistakes) > 0 && err == nil {
		c.Errorf("restsrv -strict started, want a refusal:\n%s", output)
	}
	same(c, "restsrv -strict", faultLines(output, mistakes), mistakes)
	if s.Name == "refused" {
		output, err := c.Run("restsrv", "")
		if err == nil {
			c.Errorf("restsrv started, want a refusal:\n%s", output)
		}
		same(c, "restsrv", faultLines(output, mistakes), mistakes)
		return
	}
	before := len(c.Output.String())
	c.StartServer()
	logged := func() []string { return faultLines(logMessages(c.Output.String()[before:]), mistakes) }
	for range 1000 { // mistakes in the navigation and in views are logged after the start
		if len(logged()) >= len(mistakes) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	same(c, "the log of the server", logged(), mistakes)
}

// readFindings runs restsrv check -json. report has the findings with a rule, as lines of a
// report. mistakes has the mistakes among them, as full lines. If fatal is set, both have only
// the fatal mistakes, as full lines.
func readFindings(c *apptest.Case, fatal bool) (report, mistakes []string) {
	c.Helper()
	output, _ := c.Run("restsrv check -json", "")
	for _, line := range apptest.TextLines(output) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var f struct {
			engine.Fault
			Level string
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			c.Fatalf("restsrv check -json printed %s: %v", line, err)
		}
		full := f.Fault.String()
		if fatal {
			if f.Level == "fatal" {
				report, mistakes = append(report, full), append(mistakes, full)
			}
			continue
		}
		if f.Level == "fatal" {
			c.Errorf("restsrv check: got a fatal fault, want mistakes only: %s", full)
		}
		if f.Code == "" {
			if f.Level == "mistake" {
				c.Errorf("got a mistake without a code: %s", full)
			}
			continue
		}
		rule := ruleOf(f.Code)
		if rule == nil || rule.Resolution != f.Resolution || rule.Level.String() != f.Level {
			c.Errorf("%s: got level %s and resolution %q, want those of rule %s", full, f.Level, f.Resolution, f.Code)
		}
		f.Resolution = ""
		report = append(report, f.Code+" "+f.Fault.String())
		if f.Level == "mistake" {
			mistakes = append(mistakes, full)
		}
	}
	return report, mistakes
}

func ruleOf(code string) *mistake.Rule {
	for _, r := range mistake.All() {
		if r.Code == code {
			return r
		}
	}
	return nil
}

// faultLines returns the lines of a text that are among the expected faults or end
// with the resolution of a rule for mistakes.
func faultLines(text string, expected []string) (all []string) {
	for _, line := range apptest.TextLines(text) {
		ruled := slices.ContainsFunc(mistake.All(), func(r *mistake.Rule) bool {
			return r.Level == engine.Mistake && strings.HasSuffix(line, ": "+r.Resolution)
		})
		if ruled || slices.Contains(expected, line) {
			all = append(all, line)
		}
	}
	return all
}

var logMessage = regexp.MustCompile(`msg=("(?:[^"\\]|\\.)*")`)

// logMessages returns the messages of a log, one in each line.
func logMessages(log string) string {
	var b strings.Builder
	for _, m := range logMessage.FindAllStringSubmatch(log, -1) {
		if text, err := strconv.Unquote(m[1]); err == nil {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

func same(c *apptest.Case, who string, got, want []string) {
	c.Helper()
	if !slices.Equal(got, want) {
		c.Errorf("%s: got\n\t%s\nwant\n\t%s", who, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// uncovered lists rules that no row of testdata/mistakes shows. It must stay empty.
var uncovered = []string{}

// TestMistakesAreShown checks that there is a row for each rule for mistakes.
func TestMistakesAreShown(t *testing.T) {
	shown := map[string]bool{}
	for _, file := range mistakeFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, sections := apptest.ReadSections(string(text))
		for _, r := range readMistakeRows(t, sections) {
			for _, code := range r.codes() {
				shown[code] = true
			}
		}
	}
	for _, r := range mistake.All() {
		if listed := slices.Contains(uncovered, r.Code); !shown[r.Code] && !listed {
			t.Errorf("rule %s: got no row in testdata/mistakes, want one", r.Code)
		} else if shown[r.Code] && listed {
			t.Errorf("rule %s has a row in testdata/mistakes: remove it from the list of uncovered rules", r.Code)
		}
	}
}

// TestManyMistakes checks that the row with many mistakes reports at least 30 of them, in the order
// of files and lines.
func TestManyMistakes(t *testing.T) {
	text, err := os.ReadFile("../testdata/mistakes/many.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, sections := apptest.ReadSections(string(text))
	for _, s := range sections {
		if s.Name == "report" {
			report := apptest.TextLines(s.Text)
			if len(report) < 30 {
				t.Errorf("%d mistakes are reported, want 30", len(report))
			}
			place := regexp.MustCompile(`^\S+ ([^:]+)(?::(\d+):(\d+))?: `)
			order := func(a, b string) int {
				m, n := place.FindStringSubmatch(a), place.FindStringSubmatch(b)
				number := func(s string) int { v, _ := strconv.Atoi(s); return v }
				return cmp.Or(strings.Compare(m[1], n[1]), number(m[2])-number(n[2]), number(m[3])-number(n[3]))
			}
			if !slices.IsSortedFunc(report, order) {
				t.Errorf("the report is not sorted by file and line:\n%s", s.Text)
			}
		}
	}
}
