package service

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Pattern is a compiled path of a Route.
type Pattern struct{ segments []segment }

// segment is one part of a pattern between slashes.
type segment struct {
	literal  string         // in lower case; used if param is ""
	param    string         // name of the parameter
	optional bool           // may be absent
	pattern  *regexp.Regexp // expression that the decoded parameter must match; nil for any value
	rest     bool           // matches the rest of the path, which may be empty
}

// IsMethod reports whether a route can have this method. The method must be in upper case.
func IsMethod(method string) bool {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "SEARCH", "COPY", "LOCK", "UNLOCK", "MOVE", "MKCOL",
		"PROPFIND", "PROPPATCH", "REPORT", "MERGE", "PURGE", "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE", "LINK", "UNLINK",
		"BIND", "REBIND", "UNBIND", "ACL", "CHECKOUT", "MKACTIVITY", "MKCALENDAR", "QUERY", "TRACE":
		return true
	}
	return false
}

var parameter = regexp.MustCompile(`^:([A-Za-z0-9_]+)(\(.*\))?(\?)?$`)

// ParsePattern compiles the path of a Route. The error describes the mistake.
func ParsePattern(path string) (*Pattern, error) {
	if path == "*" {
		path = "/*"
	}
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("path %q must begin with /", path)
	}
	p := &Pattern{}
	names := map[string]bool{}
	parts := splitPattern(strings.TrimSuffix(path[1:], "/"))
	for i, part := range parts {
		s, err := parseSegment(part)
		switch {
		case err != nil:
			return nil, err
		case s.rest && i != len(parts)-1:
			return nil, fmt.Errorf("* can only end path %q", path)
		case i > 0 && p.segments[i-1].optional && !s.optional:
			return nil, fmt.Errorf("only the last parameters of path %q can be optional", path)
		case s.param != "" && names[s.param]:
			return nil, fmt.Errorf("parameter %q occurs twice in path %q", s.param, path)
		}
		names[s.param] = true
		p.segments = append(p.segments, s)
	}
	return p, nil
}

func parseSegment(part string) (segment, error) {
	switch {
	case part == "":
		return segment{}, fmt.Errorf("there is nothing between two slashes")
	case part == "*":
		return segment{param: "0", rest: true}, nil
	case !strings.HasPrefix(part, ":") && strings.ContainsAny(part, "*:()?+ "):
		return segment{}, fmt.Errorf("%q mixes text with a parameter or pattern, which is not supported", part)
	case !strings.HasPrefix(part, ":"):
		return segment{literal: strings.ToLower(part)}, nil
	}
	m := parameter.FindStringSubmatch(part)
	if m == nil {
		return segment{}, fmt.Errorf("%q is no parameter: write :name, :name? or :name(expression)", part)
	}
	s := segment{param: m[1], optional: m[3] != ""}
	if m[2] != "" {
		var err error
		if s.pattern, err = regexp.Compile("^(?:" + m[2][1:len(m[2])-1] + ")$"); err != nil {
			return s, fmt.Errorf("the expression of %q is not in RE2 syntax", part)
		}
	}
	return s, nil
}

// Key returns a text that identifies the requests that the pattern matches. It omits the names of parameters, so
// patterns that match the same requests have the same key.
func (p *Pattern) Key() string {
	var b strings.Builder
	for _, s := range p.segments {
		switch {
		case s.rest:
			b.WriteString("/*")
			continue
		case s.param == "":
			b.WriteString("/" + s.literal)
			continue
		}
		b.WriteString("/:")
		if s.pattern != nil {
			b.WriteString(s.pattern.String())
		}
		if s.optional {
			b.WriteByte('?')
		}
	}
	return b.String()
}

// splitPattern splits a path at the slashes that are not in parentheses. The result is empty for the path "".
func splitPattern(path string) []string {
	if path == "" {
		return nil
	}
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++ // skip an escaped character of an expression
		case '(':
			depth++
		case ')':
			depth--
		case '/':
			if depth == 0 {
				parts = append(parts, path[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, path[start:])
}

// Match reports whether an escaped path matches the pattern, and returns the decoded parameters. It ignores the letter
// case of literal segments, and one slash at the end of the path.
func (p *Pattern) Match(path string) (params []Param, ok bool) {
	rest := strings.TrimPrefix(path, "/")
	more := rest != ""
	for i := range p.segments {
		s := &p.segments[i]
		if s.rest {
			value, err := url.PathUnescape(rest)
			return append(params, Param{Name: s.param, Value: value}), err == nil
		}
		if !more {
			if s.optional {
				continue
			}
			return nil, false
		}
		var part string
		part, rest, more = strings.Cut(rest, "/")
		if more && rest == "" {
			more = false // one slash at the end is ignored
		}
		value := part
		if strings.IndexByte(part, '%') >= 0 {
			var err error
			if value, err = url.PathUnescape(part); err != nil {
				return nil, false
			}
		}
		if s.param == "" {
			if !strings.EqualFold(value, s.literal) {
				return nil, false
			}
			continue
		}
		if value == "" || s.pattern != nil && !s.pattern.MatchString(value) {
			return nil, false
		}
		if params == nil {
			params = make([]Param, 0, len(p.segments))
		}
		params = append(params, Param{Name: s.param, Value: value})
	}
	return params, !more
}
