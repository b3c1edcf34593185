// Package command is the command line of restsrv: flags, commands and output. Package engine/server has the server.
package command

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

// Main runs the command of the arguments of the process, and returns the exit code.
func Main() (code int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(server.GCPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process at once
	err := Run(ctx, os.Args[1:], Stdio{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	})
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrUsage):
		return 2 // the mistake is already printed
	case errors.Is(err, ErrDiffers):
		return 1 // the findings are already printed
	default:
		fmt.Fprintln(os.Stderr, "restsrv:", err)
		return 1
	}
}
