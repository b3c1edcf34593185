package script

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/dop251/goja"
)

// jsRoute is a route as one VM knows it.
type jsRoute struct {
	method, path string
	handler      goja.Callable
	this         goja.Value
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

// httpMethods are the methods that a route may have.
const httpMethods = " GET HEAD POST PUT PATCH DELETE OPTIONS SEARCH COPY LOCK UNLOCK MOVE MKCOL PROPFIND PROPPATCH " +
	"REPORT MERGE PURGE NOTIFY SUBSCRIBE UNSUBSCRIBE LINK UNLINK "

// newRoute checks a method and a path.
func newRoute(method, path string) (jsRoute, error) {
	r := jsRoute{method: strings.ToUpper(method), path: path}
	if method == "" || strings.ContainsRune(method, ' ') || !strings.Contains(httpMethods, " "+r.method+" ") {
		return r, fmt.Errorf("%s is no HTTP method that a service can answer", quoted(method))
	}
	if err := checkPath(path); err != nil {
		return r, fmt.Errorf("path %s: %w", quoted(path), err)
	}
	return r, nil
}

var pathParameter = regexp.MustCompile(`^:([A-Za-z0-9_]+)(\((.*)\))?(\?)?$`)

// checkPath accepts the patterns of engine.Route.
func checkPath(path string) error {
	if path == "*" || path == "/" {
		return nil
	}
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("a path begins with /")
	}
	names := map[string]bool{}
	segments := splitPath(path)
	for i, s := range segments {
		switch {
		case s == "*":
			if i != len(segments)-1 {
				return fmt.Errorf("* ends a path")
			}
		case s == "":
			return fmt.Errorf("there is nothing between two slashes")
		case strings.HasPrefix(s, ":"):
			m := pathParameter.FindStringSubmatch(s)
			if m == nil {
				return fmt.Errorf("%s is no parameter: write :name, :name? or :name(expression)", quoted(s))
			}
			if names[m[1]] {
				return fmt.Errorf("parameter %s occurs twice", quoted(m[1]))
			}
			names[m[1]] = true
			if _, err := regexp.Compile(m[3]); err != nil {
				return fmt.Errorf("expression %s is not in RE2 syntax", quoted(m[3]))
			}
		case strings.ContainsAny(s, ":*?()+ "):
			return fmt.Errorf("%s is neither plain text nor a parameter", quoted(s))
		}
	}
	return nil
}

// splitPath splits at slashes outside of parentheses, without the outer ones.
func splitPath(path string) []string {
	var parts []string
	depth, start := 0, 0
	path = strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/")
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
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

var parameterName = regexp.MustCompile(`^:[A-Za-z0-9_]+`)

// checkRoutes refuses none at all, and two that match the same requests.
func checkRoutes(routes []jsRoute) error {
	if len(routes) == 0 {
		return fmt.Errorf("the service registers no route")
	}
	seen := map[string]string{}
	for _, r := range routes {
		key := r.method + " " + routeKey(r.path)
		if other, ok := seen[key]; ok {
			return fmt.Errorf("route %s %s is registered twice (%s): only the first would ever answer", r.method, r.path, other)
		}
		seen[key] = r.method + " " + r.path
	}
	return nil
}

// routeKey is equal for paths that match the same requests.
func routeKey(path string) string {
	parts := splitPath(path)
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = parameterName.ReplaceAllString(p, ":")
			continue
		}
		parts[i] = strings.ToLower(p)
	}
	return strings.Join(parts, "/")
}
