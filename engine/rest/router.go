package rest

import (
	"fmt"
	"net/http"
	"sort"
	"strings"

	"restsrv/engine"
)

// router matches the routes of one version of a service, in the order they
// were registered, by Express 4's patterns (engine.Route).
type router struct{ routes []compiled }

type compiled struct {
	engine.Route
	pattern *engine.Pattern
}

func newRouter(routes []engine.Route) (*router, error) {
	r := &router{}
	for _, route := range routes {
		if !engine.IsMethod(route.Method) {
			return nil, fmt.Errorf("route %s %s: %q is no HTTP method in capitals", route.Method, route.Path, route.Method)
		}
		if route.MaxBody == 0 {
			route.MaxBody = engine.DefaultMaxBody
		}
		pattern, err := engine.ParsePattern(route.Path)
		if err != nil {
			return nil, fmt.Errorf("route %s %s: %w", route.Method, route.Path, err)
		}
		r.routes = append(r.routes, compiled{route, pattern})
	}
	return r, nil
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
		p, ok := c.pattern.Match(path)
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
		if _, ok := r.routes[i].pattern.Match(path); ok {
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
