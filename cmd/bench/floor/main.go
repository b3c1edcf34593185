// Command floor is a server that answers requests at minimum cost: net/http, gorilla/mux, a table
// with four text columns in SQLite or PostgreSQL, prepared statements, structs with encoding/json,
// and a pool of goja runtimes. The benchmark compares restsrv with it. Do not use it for anything
// else: it has no classes and no accounts, and does not check if its input is valid.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	addr := flag.String("addr", "127.0.0.1:0", "listen on this `address`")
	db := flag.String("db", "floor.db", "SQLite `file` or postgres:// address")
	sync := flag.String("synchronous", "normal", "SQLite synchronous `mode`: normal or full")
	flag.Parse()
	if err := run(ctx, *addr, *db, *sync); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// run serves requests until ctx ends. Then it waits for running requests and closes the table.
func run(ctx context.Context, addr, db, sync string) error {
	background := context.WithoutCancel(ctx)
	n, err := openNotes(background, db, sync)
	if err != nil {
		return err
	}
	defer n.close()
	pool, err := newRuntimes(background, n)
	if err != nil {
		return err
	}
	srv := &http.Server{Addr: addr, Handler: newRoutes(background, n, pool), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(last); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
