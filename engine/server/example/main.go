// Command example embeds the server in another Go program. It serves a class as
// a REST API, a service in JavaScript, a service in Go, and a page of its own.
// Like a program of a user, it is a Go module of its own.
//
//	ADMIN_PASSWORD=secret go run .
//	curl -u admin@local:secret localhost:8080/rest/count
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/server"
	"restsrv/engine/service"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	app := flag.String("app", "notes", "application directory")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr, *app); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, addr, app string) (err error) {
	s, err := server.New(server.Config{
		Application:   app,
		AdminPassword: os.Getenv("ADMIN_PASSWORD"),
		Services:      map[string]service.Module{"count": newCount},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Start(ctx); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", s.Handler())
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	h := &http.Server{Handler: mux}
	context.AfterFunc(ctx, func() { _ = h.Close() })
	fmt.Println("listening on", l.Addr())
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// count is a service that counts notes. Its name in deploy.json is builtin/count.
type count struct {
	data  engine.Repository
	notes *engine.Class
}

func newCount(env *service.Env, _ service.Options) (service.Service, error) {
	notes, err := env.Meta.Class("note@example")
	if err != nil {
		return nil, err
	}
	return &count{data: env.Data, notes: notes}, nil
}

// Routes implements service.Service.
func (c *count) Routes() []service.Route {
	return []service.Route{{Method: http.MethodGet, Path: "/", Handler: c.answer}}
}

// Errors implements service.Service.
func (c *count) Errors() service.ErrorForm { return service.TextErrors }

// answer counts the notes that the account of the request may read.
func (c *count) answer(ctx context.Context, _ *service.Request) (*service.Response, error) {
	n, err := c.data.Count(ctx, &engine.Query{Class: c.notes})
	if err != nil {
		return nil, err
	}
	return service.JSON([]byte(`{"notes":` + strconv.FormatInt(n, 10) + `}`)), nil
}
