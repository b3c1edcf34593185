// Command restsrv serves classes as a REST API, and services written in
// JavaScript, from one application directory. This package has the command
// line: flags, commands and output. Package engine/server has the server.
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

	"restsrv/engine/server"
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(server.GCPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process at once
	err := run(ctx, os.Args[1:], stdio{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	})
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2) // the mistake is already printed
	case errors.Is(err, errDiffers):
		os.Exit(1) // the findings are already printed
	default:
		fmt.Fprintln(os.Stderr, "restsrv:", err)
		os.Exit(1)
	}
}
