package script

import (
	"fmt"
	"strconv"
	"strings"

	"restsrv/engine"
)

// newRoute checks a method and a path.
func newRoute(method, path string) (jsRoute, error) {
	r := jsRoute{method: strings.ToUpper(method), path: path}
	if !engine.IsMethod(r.method) {
		return r, fmt.Errorf("%s is no HTTP method that a service can answer", strconv.Quote(method))
	}
	pattern, err := engine.ParsePattern(path)
	if err != nil {
		return r, fmt.Errorf("route %s %s: %w", r.method, path, err)
	}
	r.key = pattern.Key()
	return r, nil
}

// checkRoutes returns an error if there is no route, or if two routes match the
// same requests.
func checkRoutes(routes []jsRoute) error {
	if len(routes) == 0 {
		return fmt.Errorf("the service registers no route")
	}
	seen := map[string]string{}
	for _, r := range routes {
		key := r.method + " " + r.key
		if other, ok := seen[key]; ok {
			return fmt.Errorf("route %s %s is registered twice (%s): only the first would ever answer", r.method, r.path, other)
		}
		seen[key] = r.method + " " + r.path
	}
	return nil
}
