package script

import (
	"context"
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

func benchmark(b *testing.B, script string, rows int, q request) {
	a := newApp(b, limits.Limits{}, false)
	a.repo.fill(b, rows)
	g := a.load(script)
	ctx, r := q.build()
	var handler service.Handler
	for _, route := range g.Routes() {
		if route.Method == r.Method {
			handler = route.Handler
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := handler(ctx, r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHello(b *testing.B) {
	benchmark(b, `module.exports = {'GET /': (req) => ({hello: 'world'})}`, 0, request{})
}

func BenchmarkHelloAsync(b *testing.B) {
	benchmark(b, `module.exports = {'GET /': async (req) => ({hello: 'world'})}`, 0, request{})
}

// BenchmarkAwaits awaits 100 promises in a request.
func BenchmarkAwaits(b *testing.B) {
	benchmark(b, `const one = async () => { await null; return 1; };
		module.exports = {'GET /': async (req) => { let n = 0; for (let i = 0; i < 50; i++) n += await one(); return {n}; }}`, 0, request{})
}

func BenchmarkParams(b *testing.B) {
	benchmark(b, `module.exports = {'GET /': (req) => ({id: req.params.id, q: req.query.q})}`, 0,
		request{query: "q=1", params: []service.Param{{Name: "id", Value: "7"}}})
}

func BenchmarkEchoBody(b *testing.B) {
	benchmark(b, `module.exports = {'POST /': async (req) => req.body}`, 0,
		request{method: "POST", contentType: "application/json", body: `{"name":"x","list":[1,2,3],"nested":{"a":true}}`})
}

// BenchmarkOrder reads a body and computes a result from it.
func BenchmarkOrder(b *testing.B) {
	benchmark(b, `module.exports = {'POST /': async (req) => {
		const { customer, lines } = req.body;
		const total = lines.reduce((sum, l) => sum + l.price * l.count, 0);
		return { customer, lines: lines.length, total };
	}}`, 0, request{method: "POST", contentType: "application/json",
		body: `{"customer":"Ada Lovelace","lines":[{"name":"paper","price":3,"count":12},{"name":"ink","price":7.5,"count":2},{"name":"blotter","price":4,"count":1}],"note":"by post, before noon if possible"}`})
}

// BenchmarkQuery reads the query parameters.
func BenchmarkQuery(b *testing.B) {
	benchmark(b, `module.exports = {'GET /': (req) => ({message: 'hello, ' + (req.query.name || 'world')})}`, 0, request{query: "name=Ada"})
}

func BenchmarkList20(b *testing.B) {
	benchmark(b, `module.exports = {'GET /': async () => await dataRepo.getList('note@demo')}`, 20, request{})
}

func BenchmarkList20Mapped(b *testing.B) {
	benchmark(b, `module.exports = {'GET /': async () => (await dataRepo.getList('note@demo')).map(i => ({id: i.id, title: i.get('title'), n: i.get('n') + 1}))}`, 20, request{})
}

// BenchmarkList20Go lists the same items in Go, for comparison.
func BenchmarkList20Go(b *testing.B) {
	m := newMemory(b)
	m.fill(b, 20)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		buf := []byte{'['}
		err := m.List(ctx, &engine.Query{Class: m.class, Count: -1}, func(it *engine.Item) error {
			buf = append(it.AppendJSON(buf), ',')
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewVM(b *testing.B) {
	a := newApp(b, limits.Limits{}, false)
	g := a.load(`module.exports = {'GET /': (req) => ({hello: 'world'})}`)
	b.ReportAllocs()
	for b.Loop() {
		v, err := g.anotherVM()
		if err != nil {
			b.Fatal(err)
		}
		v.Dispose()
	}
}
