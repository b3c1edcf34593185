package apptest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// Section is one part of a case, after its line "-- name --".
type Section struct{ Name, Text string }

// ReadSections splits a case into the comment before the first section, and its sections in order.
// A name may occur several times.
func ReadSections(text string) (comment string, sections []Section) {
	at := &comment
	for _, line := range strings.SplitAfter(text, "\n") {
		bare := strings.TrimRight(line, "\r\n")
		if len(bare) > 6 && strings.HasPrefix(bare, "-- ") && strings.HasSuffix(bare, " --") {
			sections = append(sections, Section{Name: strings.TrimSpace(bare[3 : len(bare)-3])})
			at = &sections[len(sections)-1].Text
			continue
		}
		*at += line
	}
	return comment, sections
}

// exchange is one request with the expected answer.
type exchange struct {
	line       string   // "GET /rest/echo"
	header     []string // as sent
	body       string
	hasBody    bool
	status     string // a pattern
	eventually bool
	meanwhile  bool
	wantHeader []string
	wantBody   []string
	checkBody  bool
}

// readExchanges reads an http section.
func readExchanges(text string) (all []exchange, err error) {
	var e *exchange
	inBody, answered := false, false
	for n, line := range strings.Split(text, "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.TrimSpace(line) == "" || mark == "#":
		case mark == ">" && (e == nil || answered):
			all = append(all, exchange{line: rest})
			e, inBody, answered = &all[len(all)-1], false, false
		case mark == ">" && inBody && e.hasBody:
			e.body += "\n" + rest
		case mark == ">" && inBody:
			e.body, e.hasBody = rest, true
		case mark == ">" && rest == "":
			inBody = true
		case mark == ">":
			e.header = append(e.header, rest)
		case mark == "<" && e != nil && !answered:
			e.status, e.eventually = strings.CutSuffix(rest, " eventually")
			e.status, e.meanwhile = strings.CutSuffix(e.status, " meanwhile")
			answered, inBody = true, false
		case mark == "<" && e != nil && inBody:
			e.wantBody = append(e.wantBody, rest)
		case mark == "<" && e != nil && rest == "":
			inBody, e.checkBody = true, true
		case mark == "<" && e != nil:
			e.wantHeader = append(e.wantHeader, rest)
		default:
			return nil, fmt.Errorf("line %d: %q is neither a request (>), an answer (<) nor a comment (#)", n+1, line)
		}
	}
	if e != nil && !answered {
		return nil, fmt.Errorf("request %q has no answer", e.line)
	}
	return all, nil
}

var directive = regexp.MustCompile(`\{\{(\w+)((?: (?:\w+|"(?:[^"\\]|\\.)*"))*)\}\}`)

// vars holds the values from the answers of a case so far.
type vars map[string]string

// expand replaces the directives {{repeat 3 "x"}}, {{hex 0d0a}} and {{base64 "a:b"}}, and known
// names. It does not change other names.
func (v vars) expand(s string) string {
	return directive.ReplaceAllStringFunc(s, func(d string) string {
		m := directive.FindStringSubmatch(d)
		number, quoted, _ := strings.Cut(strings.TrimSpace(m[2]), " ")
		switch m[1] {
		case "repeat":
			text, err := strconv.Unquote(quoted)
			n, err2 := strconv.Atoi(number)
			if err == nil && err2 == nil {
				return strings.Repeat(text, n)
			}
		case "hex":
			if b, err := hex.DecodeString(number); err == nil {
				return string(b)
			}
		case "base64":
			if text, err := strconv.Unquote(strings.TrimSpace(m[2])); err == nil {
				return base64.StdEncoding.EncodeToString([]byte(text))
			}
		}
		if value, ok := v[m[1]]; ok && m[2] == "" {
			return value
		}
		return d
	})
}

// match reports whether s matches the pattern. … stands for any text, and a known {{name}} for its
// value. An unknown name stands for at least one character; then it is known.
func (v vars) match(pattern, s string) bool {
	pattern = v.expand(pattern)
	wild, name := strings.Index(pattern, "…"), directive.FindStringSubmatchIndex(pattern)
	if wild < 0 && name == nil {
		return pattern == s
	}
	start, end, key, shortest := wild, wild+len("…"), "", 0
	if name != nil && (wild < 0 || name[0] < wild) {
		start, end, key, shortest = name[0], name[1], pattern[name[2]:name[3]], 1
	}
	if !strings.HasPrefix(s, pattern[:start]) {
		return false
	}
	s, rest := s[start:], pattern[end:]
	for n := shortest; n <= len(s); n++ {
		if key != "" {
			v[key] = s[:n]
		}
		if next := literal(rest); next != "" {
			skip := strings.Index(s[n:], next)
			if skip < 0 {
				break
			}
			if n += skip; key != "" {
				v[key] = s[:n]
			}
		}
		if v.match(rest, s[n:]) {
			return true
		}
	}
	delete(v, key)
	return false
}

// literal returns the part of a pattern before its first wildcard or name.
func literal(pattern string) string {
	pattern, _, _ = strings.Cut(pattern, "…")
	pattern, _, _ = strings.Cut(pattern, "{{")
	return pattern
}

var tag = regexp.MustCompile(`(?s)<head\b.*?</head>|<[^>]*>`)

// matchBody compares a body with an expectation, which may be text, JSON or "visible text".
func (v vars) matchBody(want []string, body string) bool {
	text := strings.Join(want, "\n")
	if visible, ok := strings.CutPrefix(text, "visible text: "); ok {
		return v.match(visible, strings.TrimSpace(html.UnescapeString(tag.ReplaceAllString(body, ""))))
	}
	part, partly := strings.CutPrefix(text, "contains ")
	if !partly && len(want) < 2 {
		return v.match(text, body)
	}
	wantJSON, err := decodeNumbers(part)
	if err != nil {
		return !partly && v.match(text, body)
	}
	got, err := decodeNumbers(body)
	return err == nil && v.matchJSON(wantJSON, got, partly)
}

func decodeNumbers(s string) (value any, err error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err = d.Decode(&value); err == nil && d.More() {
		err = fmt.Errorf("more after the value")
	}
	return value, err
}

// matchJSON compares decoded JSON. If partly is set, got may have more fields than want.
func (v vars) matchJSON(want, got any, partly bool) bool {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || !partly && len(want) != len(g) {
			return false
		}
		for name, w := range want {
			if value, ok := g[name]; !ok || !v.matchJSON(w, value, partly) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(want) != len(g) {
			return false
		}
		for i := range want {
			if !v.matchJSON(want[i], g[i], partly) {
				return false
			}
		}
		return true
	case string:
		g, ok := got.(string)
		return ok && v.match(want, g)
	}
	return want == got
}
