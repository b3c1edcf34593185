package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/query"
	"restsrv/engine/rest"
	"restsrv/engine/script"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/platform"
	"restsrv/engine/secret"
	"restsrv/engine/share"
)

// server serves an application directory. It holds the parts that stay the same
// from start to end, and the current edition.
type server struct {
	flags   flags
	io      stdio
	log     *slog.Logger
	started *deploy.Config // configuration of the first edition; settings that cannot change while the server runs are taken from it
	db      *database
	scripts *script.Runtime
	answers *share.Pool // limits of the bytes in answers and bodies of requests
	bodies  *share.Pool
	current atomic.Pointer[edition]
	address atomic.Value // net.Addr of the listener; unset before it listens

	reloading sync.Mutex
	failed    bool     // set if the last reload of the application failed
	missed    []string // files that had changed by then

	console *console                                        // nil without -watch
	signIn  func(engine.Authenticator) engine.Authenticator // wraps the authenticator of a sandbox; else nil
}

// ServeHTTP answers a request with the current edition.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.current.Load().rest.ServeHTTP(w, r)
}

// serve runs the server from start to end. It binds its address before it creates
// anything, so a start that fails because of the address leaves no trace.
func serve(ctx context.Context, f flags, io stdio) (err error) {
	s := &server{flags: f, io: io}
	s.log, s.console = newLog(f, io)
	a, err := s.read(nil)
	if err != nil {
		return fmt.Errorf("the application cannot be served:\n%w", err)
	}
	c := a.config
	s.started = c
	if s.console != nil {
		s.console.dir = c.Dir
	}
	if len(c.Skipped) > 0 {
		s.log.Info("restsrv does not have all modules of the application; restsrv check tells what it lacks", "skipped", strings.Join(c.Skipped, ", "))
	}
	l, err := listenOn(s.listenAddr(c))
	if err != nil {
		return err
	}
	defer l.Close() // has no effect after the HTTP server has closed it
	s.db, err = openDatabase(ctx, c, s.database(c), opening{classes: a.meta.Classes(), server: true, log: s.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.close()) }()
	s.warnOfFiles(a)
	cursors, err := secret.Key(ctx, s.db.store, s.db.system.secrets, "cursor")
	if err != nil {
		return err
	}
	s.db.cursors = query.CursorKey(cursors)
	if err := s.fillFirst(ctx, a); err != nil {
		return err
	}
	if err := s.db.ensureAdmin(ctx, io, s.log); err != nil {
		return err
	}
	s.answers = newBytes("bytes of answers", c.AnswerBytes)
	s.bodies = newBytes("bytes of bodies", c.BodyBytes)
	running := scriptConfig(c, f.watch, s.log)
	running.Held = s.held
	if s.scripts, err = script.New(running); err != nil {
		return err
	}
	defer s.scripts.Close()
	e, err := s.newEdition(ctx, a, nil)
	if err != nil {
		return err
	}
	s.useEdition(e)
	s.db.store = s.db.core // only the first edition keeps the store with its classes
	defer s.forgetChanges()()
	stop, err := s.startReloads(ctx)
	if err != nil {
		return err
	}
	defer stop()
	return s.serveOn(ctx, l, a)
}

// listenOn binds an address of the form host:port.
func listenOn(addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		advice := "host:port, for example 127.0.0.1:8888"
		if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
			advice = "host:port: use 127.0.0.1:" + addr + " for this machine only, or :" + addr + " for all its addresses"
		}
		return nil, fmt.Errorf("the address to listen on is %q, expected %s", addr, advice)
	}
	l, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program uses the address %s: stop it, or choose another address with -addr or RESTSRV_ADDR", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("the address %s needs rights that this user does not have; ports from 1024 need none: %w", addr, err)
	case err != nil:
		return nil, fmt.Errorf("the address %s cannot be used: %w", addr, err)
	}
	return l, nil
}

// waitForBytes is how long a request waits for memory. During the wait it has no
// database connection.
const waitForBytes = 10 * time.Second

func newBytes(name string, b deploy.Bytes) *share.Pool {
	return share.New(share.Config{Name: name, Capacity: b.All, PerKey: b.PerAccount, MaxWait: waitForBytes})
}

// held returns the number of bytes in bodies and answers of requests.
func (s *server) held() int64 {
	_, answers := s.answers.Held("")
	_, bodies := s.bodies.Held("")
	return answers + bodies
}

// warnOfFiles logs a warning if classes have file attributes and the folder of
// files cannot be written.
func (s *server) warnOfFiles(a *app) {
	isFile := func(p *engine.Property) bool { return p.Type.IsFile() }
	if !slices.ContainsFunc(a.meta.Classes(), func(c *engine.Class) bool { return slices.ContainsFunc(c.Properties, isFile) }) {
		return
	}
	if err := s.db.files.Ready(); err != nil {
		s.log.Warn("the folder of files cannot be written: objects with files are refused", "folder", s.storedFiles(), "error", err)
	}
}

// database returns the URL of the database, and listenAddr the address to listen
// on.
func (s *server) database(c *deploy.Config) string {
	return first(s.flags.db, s.io.Env("RESTSRV_DB"), c.DB)
}

func (s *server) listenAddr(c *deploy.Config) string {
	return first(s.flags.addr, s.io.Env("RESTSRV_ADDR"), c.Addr)
}

// scriptConfig returns the settings of deploy.json for all scripts.
func scriptConfig(c *deploy.Config, dev bool, log *slog.Logger) script.Config {
	return script.Config{
		Dir: c.Dir, MaxCPU: maxCPU(c), Heap: c.HeapBytes, Dev: dev, Log: log, NodeModules: c.Scripts.NodeModules, Namespace: c.Namespace,
		Platform: platform.Settings{
			Env: c.Scripts.Env,
			Fetch: platform.Fetch{
				Hosts: c.Scripts.FetchHosts, Private: c.Scripts.FetchPrivate,
				Timeout: c.Scripts.FetchTimeout, MaxBytes: c.Scripts.FetchBytes,
			},
		},
	}
}

// scriptLimits returns the limits of one script.
func scriptLimits(l deploy.Limits) limits.Limits {
	return limits.Limits{
		CPU: l.CPUTime, Wall: l.WallTime, Transaction: l.TransactionTime, Load: l.LoadTime, Idle: l.Idle, CallStack: l.CallDepth,
		VMs: l.VMs, InFlight: l.InFlight, Queue: l.Queue, Body: l.BodyBytes, Response: l.ResponseBytes,
		Depth: l.JSONDepth, Rows: l.Rows, Text: l.TextBytes, Elements: l.Elements, Timers: l.Timers, Shared: l.SharedBytes,
	}
}

// maxCPU returns the maximum CPU time of one turn, over all scripts.
func maxCPU(c *deploy.Config) time.Duration {
	longest := time.Second
	for _, svc := range c.Services {
		longest = max(longest, svc.Limits.CPUTime, svc.Limits.LoadTime)
	}
	return longest
}

// serveOn answers requests until ctx ends, then waits for running requests, at most
// for the configured time.
func (s *server) serveOn(ctx context.Context, l net.Listener, a *app) error {
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && !strings.HasPrefix(s.started.PublicURL, "https:") {
		s.log.Warn("listening beyond this machine without TLS: passwords and tokens travel in the clear unless a proxy adds it", "addr", l.Addr().String())
	}
	s.address.Store(l.Addr())
	e := s.current.Load()
	c := e.config
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: c.HeaderTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    c.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.log.Info("listening", "addr", l.Addr().String(), "application", c.Dir, "classes", len(e.meta.Classes()), "services", len(c.Services))
	if s.io.Env("GOGC") == "" {
		paceGC(s.held)
	}
	ended := make(chan error, 1)
	progressing := rest.Listen(l, c.MinAnswerRate, rest.AnswerGrace, s.log)
	go func() { ended <- h.Serve(progressing) }()
	go func() {
		s.reportPresentation(a)
		returnMemory()
	}()
	go s.db.files.Tidy(ctx)
	go s.db.warnPasswordDiffers(ctx, s.io.Env("RESTSRV_ADMIN_PASSWORD"), s.log)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	c = s.current.Load().config
	s.log.Info("stopping", "at most", c.ShutdownTimeout)
	drain, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	if err := h.Shutdown(drain); err != nil {
		s.log.Warn("requests were cut off", "after", c.ShutdownTimeout)
		_ = h.Close() // closes the remaining connections
	}
	s.log.Info("stopped")
	return nil
}
