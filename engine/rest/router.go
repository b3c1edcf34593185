package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"sort"
	"strings"

	"restsrv/engine"
)

// router matches the routes of one version of a service, in the order they
// were registered, by Express 4's patterns (engine.Route).
type router struct{ routes []compiled }

type compiled struct {
	engine.Route
	segments []segment
}

// segment is one part of a pattern between slashes.
type segment struct {
	literal  string         // lower-case; used when param is ""
	param    string         // name of the parameter
	optional bool           // may be missing
	pattern  *regexp.Regexp // what the decoded parameter must match, nil for anything
	rest     bool           // takes all that is left, empty or not
}

var methods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true,
	"SEARCH": true, "COPY": true, "LOCK": true, "UNLOCK": true, "MOVE": true, "MKCOL": true, "PROPFIND": true,
	"PROPPATCH": true, "REPORT": true, "MERGE": true, "PURGE": true, "NOTIFY": true, "SUBSCRIBE": true,
	"UNSUBSCRIBE": true, "LINK": true, "UNLINK": true, "BIND": true, "REBIND": true, "UNBIND": true,
	"ACL": true, "CHECKOUT": true, "MKACTIVITY": true, "MKCALENDAR": true, "QUERY": true, "TRACE": true,
}

func newRouter(routes []engine.Route) (*router, error) {
	r := &router{}
	for _, route := range routes {
		if !methods[route.Method] {
			return nil, fmt.Errorf("route %s %s: %q is no HTTP method in capitals", route.Method, route.Path, route.Method)
		}
		if route.MaxBody == 0 {
			route.MaxBody = engine.DefaultMaxBody
		}
		segments, err := parsePattern(route.Path)
		if err != nil {
			return nil, fmt.Errorf("route %s %s: %w", route.Method, route.Path, err)
		}
		r.routes = append(r.routes, compiled{route, segments})
	}
	return r, nil
}

var parameter = regexp.MustCompile(`^:([A-Za-z0-9_]+)(\(.*\))?(\?)?$`)

func parsePattern(path string) ([]segment, error) {
	if path == "*" {
		path = "/*"
	}
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("the path must begin with /")
	}
	parts := splitPattern(strings.Trim(path, "/"))
	var segments []segment
	for i, part := range parts {
		switch {
		case part == "*":
			if i != len(parts)-1 {
				return nil, fmt.Errorf("* can only end a path")
			}
			segments = append(segments, segment{param: "0", rest: true})
		case strings.HasPrefix(part, ":"):
			m := parameter.FindStringSubmatch(part)
			if m == nil {
				return nil, fmt.Errorf("%q is no parameter: write :name, :name? or :name(expression)", part)
			}
			s := segment{param: m[1], optional: m[3] != ""}
			if m[2] != "" {
				var err error
				if s.pattern, err = regexp.Compile("^(?:" + m[2][1:len(m[2])-1] + ")$"); err != nil {
					return nil, fmt.Errorf("the expression of %q is not in RE2 syntax", part)
				}
			}
			segments = append(segments, s)
		case strings.ContainsAny(part, "*:()?+"):
			return nil, fmt.Errorf("%q mixes text with a parameter or pattern, which is not supported", part)
		default:
			segments = append(segments, segment{literal: strings.ToLower(part)})
		}
		if n := len(segments); n > 1 && segments[n-2].optional && !segments[n-1].optional {
			return nil, fmt.Errorf("only the last parameters can be optional")
		}
	}
	return segments, nil
}

// splitPattern cuts at slashes outside parentheses; "" has no parts.
func splitPattern(path string) []string {
	if path == "" {
		return nil
	}
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(path); i++ {
		switch path[i] {
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

// match finds the route for a method and an escaped path. Without one, allow
// lists the methods that the path has, "" when it has none.
func (r *router) match(method, path string) (route *engine.Route, params []engine.Param, allow string) {
	head := -1
	for i := range r.routes {
		c := &r.routes[i]
		if c.Method != method && !(method == http.MethodHead && c.Method == http.MethodGet && head < 0) {
			continue
		}
		p, ok := c.match(path)
		if !ok {
			continue
		}
		if c.Method == method {
			return &c.Route, p, ""
		}
		head, params = i, p // a GET route answers HEAD unless a HEAD route follows
	}
	if head >= 0 {
		return &r.routes[head].Route, params, ""
	}
	return nil, nil, r.allow(path)
}

func (r *router) allow(path string) string {
	found := map[string]bool{}
	for i := range r.routes {
		if _, ok := r.routes[i].match(path); ok {
			found[r.routes[i].Method] = true
		}
	}
	if len(found) == 0 {
		return ""
	}
	if found[http.MethodGet] {
		found[http.MethodHead] = true
	}
	found[http.MethodOptions] = true
	list := make([]string, 0, len(found))
	for m := range found {
		list = append(list, m)
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}

func (c *compiled) match(path string) ([]engine.Param, bool) {
	rest := strings.TrimPrefix(path, "/")
	more := rest != ""
	var params []engine.Param
	for i := range c.segments {
		s := &c.segments[i]
		if s.rest {
			value, err := url.PathUnescape(rest)
			return append(params, engine.Param{Name: s.param, Value: value}), err == nil
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
			more = false // one trailing slash is optional
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
			params = make([]engine.Param, 0, len(c.segments))
		}
		params = append(params, engine.Param{Name: s.param, Value: value})
	}
	return params, !more
}
