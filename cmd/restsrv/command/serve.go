package command

import (
	"context"
	"fmt"
	"path/filepath"

	"restsrv/engine/server"
)

// serve runs the server from start to end.
func serve(ctx context.Context, f flags, io Stdio) error {
	log, console := newLog(f, io)
	c := server.Config{
		Application: f.config, Database: first(f.db, io.Env("RESTSRV_DB")), Addr: first(f.addr, io.Env("RESTSRV_ADDR")),
		AdminPassword: io.Env("RESTSRV_ADMIN_PASSWORD"), Watch: f.watch, Strict: f.strict, PaceGC: io.Env("GOGC") == "", Log: log,
	}
	if io.Terminal {
		c.Progress = func(what string, total int64) (add func(int64), done func()) { return progress(io, what, total, false) }
		c.ShowPassword = func(account, password string) {
			fmt.Fprintf(io.Err, "\nThe first account is %s, its password is %s\nIt is shown this once; restsrv user passwd changes it.\n\n", account, password)
		}
	}
	if io.Terminal || f.watch {
		c.Listening = func(l server.Listening) { printListening(io.Err, l) }
	}
	if console != nil {
		c.Reloaded, c.ScriptsReloaded = console.printApplication, console.printScripts
	}
	s, err := server.New(c)
	if err != nil {
		return withExcerpts(err, filepath.Dir(f.config), useColours(io, io.Err))
	}
	if console != nil {
		console.dir = s.Dir()
	}
	return s.Run(ctx)
}
