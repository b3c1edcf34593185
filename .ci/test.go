//go:build ignore

// This program runs the tests of packages, by default all, with "go test". It prints a line for each package and the
// output of failed tests. The last line has the number of skipped tests and the reasons, which "go test" does not show.
// Flags of "go test" can be given: go run .ci/test.go -timeout 20m ./...
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// event is an event of "go test -json".
type event struct{ Action, Package, Test, Output string }

// place is the position at the beginning of a line that t.Skip prints.
var place = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"./..."}
	}
	command := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	outputs, reasons, skipped := map[string]string{}, map[string]int{}, 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		test := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if e.Test == "" {
				if e.Output != "PASS\n" {
					fmt.Print(e.Output)
				}
			} else {
				outputs[test] += e.Output
			}
		case "fail":
			fmt.Print(outputs[test])
			delete(outputs, test)
		case "skip":
			if e.Test != "" {
				skipped++
				reasons[reasonOf(outputs[test])]++
			}
			delete(outputs, test)
		case "pass":
			delete(outputs, test)
		}
	}
	err = command.Wait()
	fmt.Println(summary(skipped, reasons))
	if err != nil {
		os.Exit(1)
	}
}

// reasonOf returns the text that a skipped test printed.
func reasonOf(output string) string {
	for line := range strings.Lines(output) {
		if at := place.FindString(line); at != "" {
			return strings.TrimSpace(line[len(at):])
		}
	}
	return "no reason given"
}

func summary(skipped int, reasons map[string]int) string {
	if skipped == 0 {
		return "no tests were skipped"
	}
	var all []string
	for _, reason := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return reasons[b]*1000 - reasons[a]*1000 + strings.Compare(a, b) }) {
		all = append(all, fmt.Sprintf("%d: %s", reasons[reason], reason))
	}
	return fmt.Sprintf("%d tests were skipped (%s)", skipped, strings.Join(all, "; "))
}
