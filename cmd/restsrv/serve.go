package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"restsrv/builtin"
	"restsrv/engine"
	"restsrv/engine/access"
	"restsrv/engine/deploy"
	"restsrv/engine/meta"
	"restsrv/engine/rest"
	"restsrv/engine/script"
	"restsrv/engine/script/platform"
	"restsrv/engine/secret"
	"restsrv/engine/watch"
)

// server is one application being served.
type server struct {
	flags   flags
	io      stdio
	log     *slog.Logger
	config  *deploy.Config
	meta    *meta.Repository
	db      *database
	rest    *rest.Server
	scripts *script.Manager
	gate    *access.Repository // the store behind the gate
	checker *access.Checker
	address atomic.Value // net.Addr that is listened to; nothing before
}

// serve is the server from start to end, in the order of its parts.
func serve(ctx context.Context, f flags, io stdio) (err error) {
	s := &server{flags: f, io: io, log: slog.New(slog.NewTextHandler(io.Err, &slog.HandlerOptions{Level: f.log}))}
	if err := s.load(); err != nil {
		return err
	}
	c := s.config
	s.db, err = openDatabase(ctx, c, first(f.db, io.Env("RESTSRV_DB"), c.DB), opening{classes: s.meta.Classes(), server: true, log: s.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.close()) }()
	cursors, err := secret.Key(ctx, s.db.store, s.db.system.secrets, "cursor")
	if err != nil {
		return err
	}
	s.db.cursors = engine.CursorKey(cursors)
	if err := s.db.ensureAdmin(ctx, io, s.log); err != nil {
		return err
	}
	if err := s.createObjects(ctx); err != nil {
		return err
	}
	s.openGate()
	runtime, err := script.New(scriptConfig(c, f.watch, s.log))
	if err != nil {
		return err
	}
	defer runtime.Close()
	if err := s.mount(ctx, runtime); err != nil {
		return err
	}
	stop, err := s.reloads()
	if err != nil {
		return err
	}
	defer stop()
	return s.listen(ctx, first(f.addr, io.Env("RESTSRV_ADDR"), c.Addr))
}

// scriptConfig is what deploy.json says of scripts in general.
func scriptConfig(c *deploy.Config, dev bool, log *slog.Logger) script.Config {
	return script.Config{
		Dir: c.Dir, MaxCPU: maxCPU(c), Dev: dev, Log: log, NodeModules: c.Scripts.NodeModules,
		Platform: platform.Settings{
			Env: c.Scripts.Env,
			Fetch: platform.Fetch{
				Hosts: c.Scripts.FetchHosts, Private: c.Scripts.FetchPrivate,
				Timeout: c.Scripts.FetchTimeout, MaxBytes: c.Scripts.FetchBytes,
			},
		},
	}
}

// maxCPU is the longest that a turn of any script may take.
func maxCPU(c *deploy.Config) time.Duration {
	longest := time.Second
	for _, svc := range c.Services {
		longest = max(longest, svc.Limits.CPUTime)
	}
	return longest
}

// load reads the application; its warnings go to the log.
func (s *server) load() error {
	a, err := loadApplication(s.flags.config)
	for _, w := range a.warnings {
		s.log.Warn(w.String())
	}
	if err != nil {
		return fmt.Errorf("the application cannot be served:\n%w", err)
	}
	s.config, s.meta = a.config, a.meta
	return nil
}

// createObjects puts the inline objects into a new database.
func (s *server) createObjects(ctx context.Context) error {
	n, err := (&app{config: s.config, meta: s.meta}).seed(ctx, s.db)
	if err == nil && n > 0 {
		s.log.Info("objects created", "file", s.config.File, "count", n)
	}
	return err
}

// mount builds every service. A script that cannot be loaded answers 503, and
// with -strict ends the start; a builtin's options must be right.
func (s *server) mount(ctx context.Context, runtime *script.Runtime) error {
	modes := map[string]engine.AuthMode{}
	mount := func(name string, svc engine.Service) error { return s.rest.Mount(name, modes[name], svc) }
	s.scripts = script.NewManager(runtime, mount)
	sessions, err := s.openSessions()
	if err != nil {
		return err
	}
	handlers := sessions.Handlers()
	bearers, err := s.openOAuth(ctx, sessions, handlers)
	if err != nil {
		return err
	}
	if err := s.addGateways(handlers, sessions); err != nil {
		return err
	}
	s.rest = rest.New(rest.Config{
		Auth: s.db.accounts, Log: s.log, Audit: s.db.guards.audit, Ready: s.faults, MinBodyRate: s.config.MinBodyRate,
		Sessions: sessions.Account, Handlers: handlers, OAuth: bearers, TrustedProxies: s.config.TrustedProxies,
		Files: engine.Files{Storage: s.db.files, Data: s.gate, Meta: s.meta},
	})
	components := s.components()
	for _, svc := range s.config.Services {
		modes[svc.Name] = svc.Mode
		options, err := deploy.Resolve(svc.Options, components)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", s.config.File, svc.Path, err)
		}
		env := &engine.Env{Service: svc.Name, Meta: s.meta, Data: s.gate, Access: s.checker,
			Tokens: s.db.accounts, Files: s.db.files, Replays: s.db.replays, Cursors: s.db.cursors, Audit: s.db.guards.audit, Log: s.log, Settings: engine.Settings(s.config.Values)}
		if svc.Builtin == "" {
			l := script.Limits{CPU: svc.Limits.CPUTime, Wall: svc.Limits.WallTime, InFlight: svc.Limits.InFlight, CallStack: svc.Limits.CallDepth}
			err := s.scripts.Add(script.Service{Name: svc.Name, File: svc.Script, Env: env, Options: options, Scope: s.scope(components), Limits: l})
			if err != nil && s.flags.strict {
				return err
			}
			continue
		}
		if err := s.convert(svc, env, options); err != nil && s.flags.strict {
			return err
		}
		built, err := builtin.Modules()[svc.Builtin](env, options)
		if err == nil {
			err = mount(svc.Name, built)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", s.config.File, svc.Path, err)
		}
	}
	return nil
}

// convert replaces options of the acceptor that name scripts by the converters
// that these are. One that cannot be loaded fails until it is mended.
func (s *server) convert(svc deploy.Service, env *engine.Env, options engine.Options) error {
	if svc.Builtin != "acceptor" {
		return nil
	}
	var failed error
	plain := maps.Clone(options)
	for name, value := range plain {
		file, ok := value.(string)
		if !ok || !strings.HasSuffix(file, ".js") && !strings.HasSuffix(file, ".mjs") {
			continue
		}
		converter, err := s.scripts.AddConverter(script.Service{
			Name: svc.Name + "." + name, File: file, Env: env, Options: plain,
			Limits: script.Limits{CPU: svc.Limits.CPUTime, Wall: svc.Limits.WallTime, InFlight: svc.Limits.InFlight, CallStack: svc.Limits.CallDepth},
		})
		options[name] = converter
		failed = errors.Join(failed, err)
	}
	return failed
}

// faults are what /readyz answers: services without a good version, and a
// database that is away.
func (s *server) faults() []string {
	var lines []string
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.db.store.Ping(ctx) != nil {
		lines = append(lines, "the database is not available")
	}
	for name := range s.scripts.Faults() {
		lines = append(lines, "service "+name+": its script cannot be loaded")
	}
	sort.Strings(lines)
	return lines
}

// reloads has scripts loaded again on SIGHUP and, with -watch, when they are
// saved. The function returned ends that.
func (s *server) reloads() (stop func(), err error) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		for range hup {
			s.scripts.Reload(nil)
		}
	}()
	deaf := func() {
		signal.Stop(hup)
		close(hup)
	}
	if !s.flags.watch {
		return deaf, nil
	}
	watcher, err := watch.New(watch.Config{Dir: s.config.Dir, Changed: s.scripts.Reload, Log: s.log})
	if err != nil {
		deaf()
		return nil, fmt.Errorf("-watch: %w", err)
	}
	return func() {
		watcher.Close()
		deaf()
	}, nil
}

// listen answers requests until ctx ends, then lets those under way finish.
func (s *server) listen(ctx context.Context, addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && !strings.HasPrefix(s.config.PublicURL, "https:") {
		s.log.Warn("listening beyond this machine without TLS: passwords and tokens travel in the clear unless a proxy adds it", "addr", l.Addr().String())
	}
	s.address.Store(l.Addr())
	c := s.config
	h := &http.Server{
		Handler:           s.rest,
		ReadHeaderTimeout: c.HeaderTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    c.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	s.log.Info("listening", "addr", l.Addr().String(), "application", c.Dir, "classes", len(s.meta.Classes()), "services", len(c.Services))
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.log.Info("stopping", "at most", c.ShutdownTimeout)
	drain, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	if err := h.Shutdown(drain); err != nil {
		s.log.Warn("requests were cut off", "after", c.ShutdownTimeout)
		_ = h.Close() // what is still open now ends
	}
	s.log.Info("stopped")
	return nil
}
