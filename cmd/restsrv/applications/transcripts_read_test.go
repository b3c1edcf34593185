package applications

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// recorded is one recorded exchange with IONDV.
type recorded struct {
	section, name string
	line          int // line in the record
	method, path  string
	header        [][2]string // as sent
	body          string
	status        int
	answered      map[string]string // header of the answer, by lower-case name
	want          string            // body of the answer
	total         int               // length of the body in bytes, if the record contains only its beginning
	broken        bool              // the answer was damaged, so its header is not recorded
}

// readRecord reads a record of exchanges. Headings begin sections and exchanges, and each
// exchange is a code block. Lines with > are the request, lines with < are the head of the
// answer, and the text after an empty line is the body of the answer.
func readRecord(file string) (all []*recorded, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	section, name, names := "", "", map[string]int{}
	var block []string
	begin := 0
	for n, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "```http":
			begin = n + 2
			block = nil
		case line == "```" && begin > 0:
			e, err := readRecorded(block)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", begin, err)
			}
			names[section+name]++
			if e.section, e.name, e.line = section, name, begin; names[section+name] > 1 {
				e.name = fmt.Sprintf("%s (%d)", name, names[section+name])
			}
			all = append(all, e)
			begin = 0
		case begin > 0:
			block = append(block, line)
		case strings.HasPrefix(line, "## "):
			section = line[len("## "):]
		case strings.HasPrefix(line, "### "):
			name = line[len("### "):]
		}
	}
	return all, nil
}

var cutShort = regexp.MustCompile(`… \[(\d+) bytes total\]$`)

func readRecorded(block []string) (*recorded, error) {
	e := &recorded{answered: map[string]string{}}
	sent, answer, ok := strings.Cut(strings.Join(block, "\n"), "\n\n<")
	if !ok {
		return nil, fmt.Errorf("there is no answer")
	}
	head, body, _ := strings.Cut(strings.ReplaceAll("\n"+sent, "\n> ", "\n"), "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	if e.method, e.path, ok = strings.Cut(lines[0], " "); !ok {
		return nil, fmt.Errorf("%q is no request", lines[0])
	}
	newline := "\n"
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, ": ")
		e.header = append(e.header, [2]string{key, value})
		if strings.HasPrefix(value, "multipart/") {
			newline = "\r\n"
		}
	}
	e.body = strings.ReplaceAll(body, "\n", newline)
	head, e.want, _ = strings.Cut("<"+answer, "\n\n")
	for _, line := range strings.Split(strings.TrimSpace(head), "\n") {
		line = strings.TrimPrefix(line, "< ")
		key, value, isHeader := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "("):
			e.broken = true
		case isHeader:
			e.answered[strings.ToLower(key)] = value
		default:
			code, _, _ := strings.Cut(line, " ")
			if e.status, ok = atoi(code); !ok {
				return nil, fmt.Errorf("%q is no status", line)
			}
		}
	}
	e.want = strings.TrimRight(e.want, "\n")
	if cut := cutShort.FindStringSubmatchIndex(e.want); cut != nil {
		e.total, _ = strconv.Atoi(e.want[cut[2]:cut[3]])
		e.want = e.want[:cut[0]]
	}
	if e.broken {
		e.total = len(e.want) + 1
	}
	return e, nil
}

func atoi(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil
}
