package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime"

	"github.com/dop251/goja"
)

// source is the script with both handlers. They return text, so JSON.stringify runs in goja.
const source = `(function (notes) {
	return {
		hello: function (req) { return JSON.stringify({message: 'hello, ' + (req.query.name || 'world')}); },
		query: function (req) { return JSON.stringify(notes(req.query.group, 20)); }
	};
})`

// runtimes is a pool of goja runtimes that share one compiled program. If all are in use, a request
// waits.
type runtimes struct {
	free         chan *script
	hello, query pick
}

// script is one runtime with its two handlers.
type script struct {
	vm           *goja.Runtime
	hello, query goja.Callable
}

type pick func(*script) goja.Callable

func newRuntimes(ctx context.Context, n *notes) (*runtimes, error) {
	program, err := goja.Compile("floor.js", source, true)
	if err != nil {
		return nil, err
	}
	p := &runtimes{
		free:  make(chan *script, 4*runtime.NumCPU()),
		hello: func(s *script) goja.Callable { return s.hello },
		query: func(s *script) goja.Callable { return s.query },
	}
	for range cap(p.free) {
		s, err := newScript(ctx, program, n)
		if err != nil {
			return nil, err
		}
		p.free <- s
	}
	return p, nil
}

func newScript(ctx context.Context, program *goja.Program, n *notes) (*script, error) {
	s := &script{vm: goja.New()}
	v, err := s.vm.RunProgram(program)
	if err != nil {
		return nil, err
	}
	factory, ok := goja.AssertFunction(v)
	if !ok {
		return nil, fmt.Errorf("floor.js: %v is not a function", v)
	}
	handlers, err := factory(goja.Undefined(), s.vm.ToValue(func(c goja.FunctionCall) goja.Value {
		return s.noteObjects(ctx, n, c.Argument(0).String(), int(c.Argument(1).ToInteger()))
	}))
	if err != nil {
		return nil, err
	}
	o := handlers.ToObject(s.vm)
	s.hello, _ = goja.AssertFunction(o.Get("hello"))
	s.query, _ = goja.AssertFunction(o.Get("query"))
	return s, nil
}

// noteObjects returns rows as an array of JavaScript objects.
func (s *script) noteObjects(ctx context.Context, n *notes, group string, count int) goja.Value {
	rows, err := n.selectFirst(ctx, group, count)
	if err != nil {
		panic(s.vm.NewGoError(err))
	}
	list := make([]any, len(rows))
	for i := range rows {
		o := s.vm.NewObject()
		o.Set("id", rows[i].ID)
		o.Set("title", rows[i].Title)
		o.Set("group", rows[i].Group)
		o.Set("body", rows[i].Body)
		list[i] = o
	}
	return s.vm.NewArray(list...)
}

// serve returns an HTTP handler that calls one of the two functions of the script. The argument
// of the function is {method, path, query}.
func (p *runtimes) serve(handler pick) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		s := <-p.free
		defer func() { p.free <- s }()
		query := s.vm.NewObject()
		for name, values := range q.URL.Query() {
			query.Set(name, values[0])
		}
		req := s.vm.NewObject()
		req.Set("method", q.Method)
		req.Set("path", q.URL.Path)
		req.Set("query", query)
		v, err := handler(s)(goja.Undefined(), req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeJSON(w, []byte(v.String()))
	}
}
