package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gorilla/mux"

	"restsrv/engine/service"
)

// BenchmarkRoutes compares the patterns of services with routes of gorilla/mux that match the same paths.
func BenchmarkRoutes(b *testing.B) {
	handler := func(http.ResponseWriter, *http.Request) {}
	var routes []service.Route
	outer := mux.NewRouter().SkipClean(true).UseEncodedPath()
	for _, path := range [][2]string{{"/", "/"}, {"/:class", "/{class}"}, {"/:class/:id", "/{class}/{id}"}, {"/:class/:id/:collection", "/{class}/{id}/{collection}"}} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			routes = append(routes, service.Route{Method: method, Path: path[0]})
			outer.HandleFunc(path[1], handler).Methods(method)
		}
	}
	inner, err := newRouter(routes)
	if err != nil {
		b.Fatal(err)
	}
	const path = "/note@sample/welcome"
	b.Run("patterns", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if route, params, _ := inner.match("GET", path); route == nil || len(params) != 2 {
				b.Fatal("got no route")
			}
		}
	})
	b.Run("mux", func(b *testing.B) {
		b.ReportAllocs()
		r := httptest.NewRequest("GET", path, nil)
		for b.Loop() {
			var m mux.RouteMatch
			if !outer.Match(r, &m) || len(m.Vars) != 2 {
				b.Fatal("got no route")
			}
		}
	})
}
