// Command restsrv serves classes as a REST API, and services written in
// JavaScript, from one application directory. This package is the wiring: it
// knows every other package, and nothing imports it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := run(ctx, os.Args[1:], stdio{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	})
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2) // the flag package has said what is wrong
	case errors.Is(err, errDiffers):
		os.Exit(1) // so did the command
	default:
		fmt.Fprintln(os.Stderr, "restsrv:", err)
		os.Exit(1)
	}
}
