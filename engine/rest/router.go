package rest

import (
	"fmt"
	"net/http"
	"slices"

	"restsrv/engine/service"
)

// router finds the route of a service for a request. It tries the routes in the order in which they were registered.
// Paths are patterns as in Express 4 (service.Pattern).
type router struct{ routes []compiled }

type compiled struct {
	service.Route
	pattern *service.Pattern
}

func newRouter(routes []service.Route) (*router, error) {
	r := &router{}
	for _, route := range routes {
		if !service.IsMethod(route.Method) {
			return nil, fmt.Errorf("route %s %s: %q is no HTTP method in capitals", route.Method, route.Path, route.Method)
		}
		if route.MaxBody == 0 {
			route.MaxBody = service.DefaultMaxBody
		}
		pattern, err := service.ParsePattern(route.Path)
		if err != nil {
			return nil, fmt.Errorf("route %s %s: %w", route.Method, route.Path, err)
		}
		r.routes = append(r.routes, compiled{route, pattern})
	}
	return r, nil
}

// match finds the route for a method and an escaped path. If there is no such route, allow
// contains the methods of all routes that match the path; it can be empty.
func (r *router) match(method, path string) (route *service.Route, params []service.Param, allow []string) {
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
			return &c.Route, p, nil
		}
		head, params = i, p // a GET route serves HEAD, unless a HEAD route follows
	}
	if head >= 0 {
		return &r.routes[head].Route, params, nil
	}
	return nil, nil, r.allowedMethods(path)
}

// allowedMethods returns the methods of the routes that match a path, in the order of their registration, as Express
// does.
func (r *router) allowedMethods(path string) []string {
	var list []string
	add := func(method string) {
		if !slices.Contains(list, method) {
			list = append(list, method)
		}
	}
	for i := range r.routes {
		c := &r.routes[i]
		if _, ok := c.pattern.Match(path); !ok {
			continue
		}
		add(c.Method)
		if c.Method == http.MethodGet {
			add(http.MethodHead)
		}
	}
	return list
}
