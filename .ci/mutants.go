//go:build ignore

// The program behind .ci/mutants, which calls it with -- and its arguments. It runs gremlins and compares the survivors
// with .ci/mutants.accepted.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const gremlins = "github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0"

// least is the share of mutants that tests must kill, in percent.
const least = 95

// target is a package, the files to mutate, and the tests to run.
type target struct {
	dir   string
	files []string // nil for all
	tests []string // packages; nil for dir alone
	skip  string   // tests to leave out
}

// The databases behave alike by the conformance suite, so SQLite is enough. The
// store's suite runs three times; once is enough here.
var targets = []target{
	{dir: "engine/access"},
	{dir: "engine/acl"},
	{dir: "engine/account"},
	{dir: "engine/session"},
	{dir: "engine/oauth"},
	{dir: "engine/store", files: []string{"guard.go", "admit.go", "admission.go", "veil.go", "owned.go"}, tests: []string{"./engine/store", "./engine/store/sqlite"},
		skip: "|TestInTransactions|TestJournaled|TestRandomQueries|UnderLoad|TestKill"},
}

// wrapper is the go command that gremlins calls. It tests the packages and leaves
// out the tests that the target names. It reports all lines as covered, because
// the profile has no blocks for conditions of switch cases, and gremlins tests no
// mutant outside of a block.
const wrapper = `#!/usr/bin/env bash
[ "$1" = test ] || exec %[1]s "$@"
shift
args=() profile=
while [ $# -gt 0 ]; do
  case "$1" in
  -coverprofile) profile="$2"; shift ;;
  -cover) ;;
  ./*|restsrv/*) ;;
  *) args+=("$1") ;;
  esac
  shift
done
cd "$(%[1]s env GOMOD | xargs dirname)"
%[1]s test -vet=off -count=1 "${args[@]}" -skip '%[2]s' %[3]s || exit
if [ -n "$profile" ]; then
  echo "mode: set" >"$profile"
  for f in %[4]s/*.go; do echo "restsrv/$f:1.1,1000000.1 1 1"; done >>"$profile"
fi
`

// survivor identifies a mutant by the text of its line, so that other changes of
// the file do not matter.
type survivor struct{ file, mutation, text string }

func main() {
	work, err := os.MkdirTemp("", "mutants")
	check(err)
	defer os.RemoveAll(work)
	install := exec.Command("go", "install", gremlins)
	install.Env = append(os.Environ(), "GOBIN="+work)
	install.Stderr = os.Stderr
	check(install.Run())
	accepted := readAccepted(".ci/mutants.accepted")
	good := true
	for _, t := range chosen(os.Args[2:]) {
		good = run(t, work, accepted) && good
	}
	if !good {
		os.RemoveAll(work)
		os.Exit(1)
	}
}

// chosen returns the targets that the arguments name, or all targets if there are
// no arguments.
func chosen(args []string) []target {
	if len(args) == 0 {
		return targets
	}
	var some []target
	for _, arg := range args {
		arg = filepath.Clean(arg)
		i := slices.IndexFunc(targets, func(t target) bool { return t.dir == arg || t.dir == filepath.Dir(arg) })
		if i < 0 {
			check(fmt.Errorf("%s is not one of the packages that are tested, or a file of one", arg))
		}
		t := targets[i]
		if t.dir != arg {
			t.files = []string{filepath.Base(arg)}
		}
		some = append(some, t)
	}
	return some
}

// run mutates one target. It reports whether enough mutants were killed and all
// others are accepted.
func run(t target, work string, accepted map[survivor]int) bool {
	realGo, err := exec.LookPath("go")
	check(err)
	bin := filepath.Join(work, "bin")
	check(os.MkdirAll(bin, 0o755))
	tests := strings.Join(t.tests, " ")
	if tests == "" {
		tests = "./" + t.dir
	}
	check(os.WriteFile(filepath.Join(bin, "go"), fmt.Appendf(nil, wrapper, realGo, "postgres"+t.skip, tests, t.dir), 0o755))
	out := filepath.Join(work, "out.json")
	args := []string{"unleash", "--silent", "--output", out, "--workers", cmp.Or(os.Getenv("WORKERS"), "2"), "--timeout-coefficient", "20"}
	for _, file := range excluded(t) {
		args = append(args, "--exclude-files", file)
	}
	command := exec.Command(filepath.Join(work, "gremlins"), append(args, "./"+t.dir)...)
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	check(command.Run())
	return report(t, out, accepted)
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
			if m.Status == "KILLED" || m.Status == "TIMED OUT" || m.Status == "NOT VIABLE" {
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
	percent := 100 * float64(killed) / float64(max(total, 1))
	fmt.Printf("%s: %d of %d mutants killed (%.1f %%) %v\n", t.dir, killed, total, percent, count)
	return good && (percent >= least || len(os.Args) > 2)
}

// readAccepted reads lines of file, mutation, text and reason, separated by tabs.
// Each accepts one mutant: of equal lines in a file, as many may survive as are
// listed.
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
