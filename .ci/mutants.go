//go:build ignore

// The program behind .ci/mutants, which calls it with -- and its arguments. It runs gremlins and compares the survivors
// with .ci/mutants.accepted.
//
// Gremlins runs "go test" for each mutant. Most tests never reach the mutated line. Therefore this program is also the go
// command that gremlins finds in its path: it runs only the tests that reach the mutated function. A run of each test
// by itself, before gremlins starts, records the functions that the test reaches.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const gremlins = "github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0"

// least is the share of mutants that tests must kill, in percent.
const least = 95

// target is a package, the files to mutate, and the tests to run.
type target struct {
	dir   string
	files []string // names of the mutated files; nil for all files of dir
	tests []string // packages; nil for dir alone
	skip  string   // tests to leave out
	split string   // a test with independent subtests: not the test itself but each subtest two levels down is selected
	part  bool     // only some files of the target are mutated, so the share of killed mutants is not checked
}

// The conformance suite shows that all databases behave alike, so these tests use SQLite alone. The store runs this
// suite in three tests. Two of them, TestInTransactions and TestJournaled, are skipped here.
var targets = []target{
	{dir: "engine/access"},
	{dir: "engine/acl"},
	{dir: "engine/account"},
	{dir: "engine/session"},
	{dir: "engine/oauth"},
	{dir: "engine/store", files: []string{"admit.go", "admission.go", "hide.go"}, tests: []string{"engine/store", "engine/store/sqlite"},
		skip: "|TestInTransactions|TestJournaled|TestRandomQueries|UnderLoad|TestKill|TestScan", split: "TestRepository"},
	{dir: "engine/store/table", files: []string{"admit.go"}, tests: []string{"engine/store", "engine/store/sqlite"},
		skip: "|TestInTransactions|TestJournaled|TestRandomQueries|UnderLoad|TestKill|TestScan", split: "TestRepository"},
	{dir: "engine/store/owned", files: []string{"owned.go"}, tests: []string{"engine/store", "engine/store/sqlite"},
		skip: "|TestInTransactions|TestJournaled|TestRandomQueries|UnderLoad|TestKill|TestScan", split: "TestRepository"},
	{dir: "engine/store/rights", tests: []string{"engine/store", "engine/store/sqlite"},
		skip: "|TestInTransactions|TestJournaled|TestRandomQueries|UnderLoad|TestKill|TestScan", split: "TestRepository"},
}

// survivor identifies a mutant by the text of its line, so that other changes of
// the file do not matter.
type survivor struct{ file, mutation, text string }

func main() {
	if filepath.Base(os.Args[0]) == "go" {
		os.Exit(asGo(os.Args[1:]))
	}
	flags := flag.NewFlagSet("mutants", flag.ExitOnError)
	since := flags.String("since", "", "test the files that differ from this revision of git")
	flags.Parse(os.Args[2:])
	work, err := os.MkdirTemp("", "mutants")
	check(err)
	defer os.RemoveAll(work)
	install := exec.Command("go", "install", gremlins)
	install.Env = append(os.Environ(), "GOBIN="+work)
	install.Stderr = os.Stderr
	check(install.Run())
	accepted := readAccepted(".ci/mutants.accepted")
	good := true
	for _, t := range chosen(flags.Args(), *since) {
		good = run(t, filepath.Join(work, filepath.Base(t.dir)), work, accepted) && good
	}
	if !good {
		os.RemoveAll(work)
		os.Exit(1)
	}
}

// chosen returns the targets to run. args names directories (all files of the target) or single files. If since is a
// revision, the files that differ from it are added. A target is limited to these files, unless args names its
// directory. If both are empty, chosen returns all targets.
func chosen(args []string, since string) (some []target) {
	if len(args) == 0 && since == "" {
		return targets
	}
	for _, t := range targets {
		var files []string
		whole := false
		for _, arg := range args {
			arg = filepath.Clean(arg)
			whole = whole || arg == t.dir
			if filepath.Dir(arg) == t.dir {
				files = append(files, filepath.Base(arg))
			}
		}
		if since != "" {
			out, err := exec.Command("git", "diff", "--name-only", "--diff-filter=d", since, "--", t.dir).Output()
			check(err)
			for _, name := range strings.Fields(string(out)) {
				base := filepath.Base(name)
				if filepath.Dir(name) == t.dir && !strings.HasSuffix(base, "_test.go") && (t.files == nil || slices.Contains(t.files, base)) {
					files = append(files, base)
				}
			}
		}
		if !whole && files == nil {
			continue
		}
		if !whole {
			t.files, t.part = files, true
		}
		some = append(some, t)
	}
	if len(some) == 0 {
		fmt.Println("nothing to do: no file of the packages that are tested is named or has changed")
	}
	return some
}

// plan is the input of asGo. main stores it as JSON in a file. The environment variable MUTANTS_PLAN contains the name
// of this file.
type plan struct {
	Go       string // the real go command
	Root     string // the sources without a mutation
	Dir      string
	Skip     string
	Packages []string
	Tests    []test
}

// test is a test, or subtests of one parent, and the functions that it reaches.
type test struct {
	Package int
	Name    string
	Took    time.Duration
	Reaches map[string]bool
}

// survey runs each test by itself and notes the functions that it reaches.
func survey(t target, work string, p *plan) {
	functions := functionsOf(t.dir)
	profile := filepath.Join(work, "profile")
	for i, pkg := range p.Packages {
		bin := filepath.Join(work, "cover.test")
		build := exec.Command(p.Go, "test", "-c", "-vet=off", "-cover", "-coverpkg=./"+t.dir, "-o", bin, "./"+pkg)
		build.Stderr = os.Stderr
		check(build.Run())
		all := exec.Command(bin, "-test.v", "-test.skip", p.Skip)
		all.Dir = pkg
		out, err := all.CombinedOutput()
		if err != nil {
			os.Stderr.Write(out)
			check(fmt.Errorf("tests of %s fail without a mutation: %w", pkg, err))
		}
		for _, name := range leaves(string(out), t.split) {
			os.Remove(profile)
			start := time.Now()
			one := exec.Command(bin, "-test.run", pattern(name), "-test.skip", p.Skip, "-test.coverprofile", profile)
			one.Dir = pkg
			if out, err := one.CombinedOutput(); err != nil {
				os.Stderr.Write(out)
				check(fmt.Errorf("%s fails by itself: %w", name, err))
			}
			p.Tests = append(p.Tests, test{i, name, time.Since(start), reached(profile, t.dir, functions)})
		}
	}
	slices.SortStableFunc(p.Tests, func(a, b test) int { return cmp.Compare(a.Took, b.Took) })
}

// leaves returns the names of the tests that passed according to the output. These are the top level tests; for the
// test split, they are its subtests two levels down.
func leaves(out, split string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^ *--- PASS: (\S+) `).FindAllStringSubmatch(out, -1) {
		top, _, _ := strings.Cut(m[1], "/")
		if depth := strings.Count(m[1], "/"); top != split && depth == 0 || top == split && depth == 2 {
			names = append(names, m[1])
		}
	}
	return names
}

func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// function is a declaration of a file and its first and last line.
type function struct {
	name        string
	first, last int
}

// functionsOf returns the functions of a package by file name.
func functionsOf(dir string) map[string][]function {
	all := map[string][]function{}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	check(err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		check(err)
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				first := files.Position(d.Pos()).Line
				all[filepath.Base(name)] = append(all[filepath.Base(name)], function{fmt.Sprint(filepath.Base(name), ":", first), first, files.Position(d.End()).Line})
			}
		}
	}
	return all
}

// find returns the name of the function around a line, "" for a line outside of
// functions.
func find(functions []function, line int) string {
	for _, f := range functions {
		if f.first <= line && line <= f.last {
			return f.name
		}
	}
	return ""
}

// reached returns the functions that have been executed, at least in part, according to a coverage profile.
func reached(profile, dir string, functions map[string][]function) map[string]bool {
	b, err := os.ReadFile(profile)
	check(err)
	all := map[string]bool{}
	for _, line := range strings.Split(string(b), "\n")[1:] {
		name, rest, ok := strings.Cut(line, ".go:")
		var first, column, last, end, statements, count int
		if n, _ := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &first, &column, &last, &end, &statements, &count); !ok || n < 6 || count == 0 {
			continue
		}
		if f := find(functions[filepath.Base(name)+".go"], first); f != "" && strings.HasSuffix(filepath.Dir(name), dir) {
			all[f] = true
		}
	}
	return all
}

// asGo runs when gremlins calls the go command. It returns the exit code: 1 if a test kills the mutant, 2 if the mutant
// does not compile.
func asGo(args []string) int {
	b, err := os.ReadFile(os.Getenv("MUTANTS_PLAN"))
	check(err)
	var p plan
	check(json.Unmarshal(b, &p))
	if args[0] != "test" {
		command := exec.Command(p.Go, args...)
		command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
		err := command.Run()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return failed.ExitCode()
		}
		check(err)
		return 0
	}
	if i := slices.Index(args, "-coverprofile"); i >= 0 {
		return pretendCoverage(p, args[i+1])
	}
	return testMutant(p)
}

// pretendCoverage writes a coverage profile in which all lines are covered. Gremlins tests only the mutants in covered
// blocks, and a real profile has no blocks for conditions of switch cases. A mutant that no test reaches then counts as
// a survivor. Gremlins derives its time limit per mutant from the duration of this call; testMutant has limits of its
// own.
func pretendCoverage(p plan, profile string) int {
	text := "mode: set\n"
	names, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
	check(err)
	for _, name := range names {
		text += "restsrv/" + name + ":1.1,1000000.1 1 1\n"
	}
	check(os.WriteFile(profile, []byte(text), 0o644))
	time.Sleep(time.Second)
	return 0
}

// testMutant runs the tests that reach the mutated function, in the copy of the
// sources that gremlins has made. It returns the exit code of "go test": 1 if a test
// fails, 2 if the mutant does not compile.
func testMutant(p plan) int {
	here, err := os.Getwd()
	check(err)
	function := mutated(p, here)
	root := strings.TrimSuffix(here, "/"+p.Dir)
	bins := make([]string, len(p.Packages))
	defer func() {
		for _, bin := range bins {
			os.Remove(bin)
		}
	}()
	for tests := p.Tests; len(tests) > 0; {
		first := tests[0]
		var names []string
		var took time.Duration
		tests = slices.DeleteFunc(slices.Clone(tests), func(t test) bool {
			together := t.Package == first.Package && filepath.Dir(t.Name) == filepath.Dir(first.Name) && (took == 0 || took+t.Took < batch)
			if !together {
				return false
			}
			if function == "" || t.Reaches[function] {
				names, took = append(names, regexp.QuoteMeta(filepath.Base(t.Name))), took+t.Took
			}
			return true
		})
		if len(names) == 0 {
			continue
		}
		if bins[first.Package] == "" {
			f, err := os.CreateTemp("", "mutant*.test")
			check(err)
			f.Close()
			bins[first.Package] = f.Name()
			build := exec.Command(p.Go, "test", "-c", "-vet=off", "-ldflags=-w", "-o", f.Name(), "./"+p.Packages[first.Package])
			build.Dir = root
			if build.Run() != nil {
				return 2
			}
		}
		run := "^(" + strings.Join(names, "|") + ")$"
		if parent := filepath.Dir(first.Name); parent != "." {
			run = pattern(parent) + "/" + run
		}
		command := exec.Command(bins[first.Package], "-test.failfast", "-test.run", run, "-test.skip", p.Skip, "-test.timeout", (10*took + 30*time.Second).String())
		command.Dir = filepath.Join(root, p.Packages[first.Package])
		if command.Run() != nil {
			return 1
		}
	}
	if strings.Join(bins, "") == "" { // no test reaches it
		build := exec.Command(p.Go, "build", "./"+p.Dir)
		build.Dir = root
		if build.Run() != nil {
			return 2
		}
	}
	return 0
}

// batch is the total duration of tests that run in one process.
const batch = 2 * time.Second

// mutated returns the name of the function that gremlins has changed, or "" if
// the change is outside of functions. White space is ignored, because gremlins
// formats the file.
func mutated(p plan, dir string) string {
	for name, functions := range functionsOf(filepath.Join(p.Root, p.Dir)) {
		was, err := os.ReadFile(filepath.Join(p.Root, p.Dir, name))
		check(err)
		is, err := os.ReadFile(filepath.Join(dir, name))
		check(err)
		if line := differs(was, is); line > 0 {
			return find(functions, line)
		}
	}
	check(fmt.Errorf("no file of %s is mutated", dir))
	return ""
}

// differs compares two versions of a source token by token. It returns the line in was of the first different token, or
// 0 if all tokens are equal.
func differs(was, is []byte) int {
	files := token.NewFileSet()
	scan := func(source []byte) (*scanner.Scanner, *token.File) {
		f := files.AddFile("", -1, len(source))
		s := &scanner.Scanner{}
		s.Init(f, source, nil, 0)
		return s, f
	}
	one, f := scan(was)
	two, _ := scan(is)
	for {
		pos, tok, text := one.Scan()
		_, tok2, text2 := two.Scan()
		switch {
		case tok != tok2 || tok != token.SEMICOLON && text != text2:
			return f.Line(pos)
		case tok == token.EOF:
			return 0
		}
	}
}

// run mutates one target. It reports whether enough mutants were killed and all
// others are accepted.
func run(t target, work, tools string, accepted map[survivor]int) bool {
	start := time.Now()
	realGo, err := exec.LookPath("go")
	check(err)
	root, err := os.Getwd()
	check(err)
	self, err := os.Executable()
	check(err)
	bin := filepath.Join(work, "bin")
	check(os.MkdirAll(bin, 0o755))
	check(os.Symlink(self, filepath.Join(bin, "go")))
	p := plan{Go: realGo, Root: root, Dir: t.dir, Skip: "postgres|./postgres" + t.skip, Packages: t.tests}
	if p.Packages == nil {
		p.Packages = []string{t.dir}
	}
	survey(t, work, &p)
	text, err := json.Marshal(p)
	check(err)
	check(os.WriteFile(filepath.Join(work, "plan.json"), text, 0o644))
	surveyed := time.Since(start)
	out := filepath.Join(work, "out.json")
	args := []string{"unleash", "--output", out, "--workers", cmp.Or(os.Getenv("WORKERS"), "2"), "--timeout-coefficient", "1200"}
	for _, file := range excluded(t) {
		args = append(args, "--exclude-files", file)
	}
	command := exec.Command(filepath.Join(tools, "gremlins"), append(args, "./"+t.dir)...)
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "MUTANTS_PLAN="+filepath.Join(work, "plan.json"))
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	check(command.Run())
	good := report(t, out, accepted)
	fmt.Printf("%s: %v, of which %v to find out which test reaches what\n", t.dir, time.Since(start).Round(time.Second), surveyed.Round(time.Second))
	return good
}

// excluded returns patterns for the files below the target's directory that
// gremlins must not mutate.
func excluded(t target) (all []string) {
	check(filepath.WalkDir(t.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		name, _ := filepath.Rel(t.dir, path)
		if strings.Contains(name, "/") || t.files != nil && !slices.Contains(t.files, name) {
			all = append(all, "^(.*/)?"+regexp.QuoteMeta(name)+"$")
		}
		return nil
	}))
	return all
}

func report(t target, out string, accepted map[survivor]int) bool {
	b, err := os.ReadFile(out)
	check(err)
	var result struct {
		Files []struct {
			Name      string `json:"file_name"`
			Mutations []struct {
				Type, Status string
				Line, Column int
			}
		}
	}
	check(json.Unmarshal(b, &result))
	count, good, total, killed := map[string]int{}, true, 0, 0
	for _, f := range result.Files {
		path := filepath.Join(t.dir, filepath.Base(f.Name))
		source, err := os.ReadFile(path)
		check(err)
		lines := strings.Split(string(source), "\n")
		for _, m := range f.Mutations {
			total++
			count[m.Status]++
			switch m.Status {
			case "NOT VIABLE": // does not compile: no mutant at all
				total--
				continue
			case "KILLED", "TIMED OUT":
				killed++
				continue
			}
			line := lines[m.Line-1]
			text := strings.TrimSpace(line)
			column := m.Column - (len(line) - len(strings.TrimLeft(line, " \t")))
			s := survivor{path, fmt.Sprintf("%s@%d", m.Type, column), text}
			if accepted[s]--; accepted[s] < 0 {
				good = false
				fmt.Printf("survives: %s:%d:%d\n%s\t%s\t%s\n", path, m.Line, m.Column, s.file, s.mutation, s.text)
			}
		}
	}
	for s, n := range accepted {
		if n > 0 && mutates(t, s.file) {
			good = false
			fmt.Printf("listed in .ci/mutants.accepted, but killed or gone: %s\t%s\t%s\n", s.file, s.mutation, s.text)
		}
	}
	percent := 100 * float64(killed) / float64(max(total, 1))
	fmt.Printf("%s: %d of %d mutants killed (%.1f %%) %v\n", t.dir, killed, total, percent, count)
	return good && (percent >= least || t.part)
}

// mutates reports whether a file is one of those that are mutated in a target.
func mutates(t target, file string) bool {
	return filepath.Dir(file) == t.dir && (t.files == nil || slices.Contains(t.files, filepath.Base(file)))
}

// readAccepted reads lines of file, mutation, text and reason, separated by tabs. Each line accepts one mutant. If a
// source file contains equal lines, each mutant that may survive needs a line of its own here.
func readAccepted(name string) map[survivor]int {
	f, err := os.Open(name)
	check(err)
	defer f.Close()
	all := map[survivor]int{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if lines.Text() == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 4 || fields[3] == "" {
			check(fmt.Errorf("%s:%d: want file, mutation, text and reason, separated by tabs", name, n))
		}
		all[survivor{fields[0], fields[1], fields[2]}]++
	}
	check(lines.Err())
	return all
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
}
