// Package server serves an application directory over HTTP. It connects all other packages. The
// commands of restsrv use it, and other Go programs can use it too.
//
//	s, err := server.New(server.Config{Application: "notes/deploy.json"})
//	if err != nil {
//		return err // the application has mistakes
//	}
//	return s.Run(ctx)
//
// A program with its own HTTP server calls Start, serves Handler, and calls Close at the end.
// Config.Services adds services written in Go.
//
// Some parts of a Server exist from its start to its end, such as the database connections. All
// other parts form an edition, which is built from the application files. A reload builds the next
// edition and replaces the current one in one step.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"restsrv/builtin"
	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/query"
	"restsrv/engine/rest"
	"restsrv/engine/script"
	"restsrv/engine/secret"
	"restsrv/engine/server/appdata"
	"restsrv/engine/service"
	"restsrv/engine/share"
)

// Config holds the settings of a server. With the zero value, the server serves the application
// in the current directory.
type Config struct {
	// Application is an application directory or its deploy.json or deploy.yml. The default
	// is deploy.json.
	Application string
	// Database is sqlite:PATH or postgres://user:password@host/database. A relative path starts at
	// the application directory. If it is "", the setting db of deploy.json applies, or else
	// sqlite:restsrv.db.
	Database string
	// Addr is the address to listen on, host:port. If it is "", the setting addr of deploy.json
	// applies, or else 127.0.0.1:8888. Only Run uses it.
	Addr string
	// AdminPassword is the password of the first account in a new database. If it is "", the server
	// generates a password.
	AdminPassword string
	// Watch reloads the application when its files are saved, and logs excerpts of scripts
	// that fail. It is for development.
	Watch bool
	// Strict refuses to start if the application has mistakes or a script cannot be loaded.
	Strict bool
	// PaceGC makes Run adapt GOGC of the process to the size of the heap.
	PaceGC bool
	// Log is the log of the server. The default is slog.Default().
	Log *slog.Logger
	// Services holds services written in Go. The key is the name after "builtin/" with which
	// deploy.json refers to the service.
	Services map[string]service.Module

	// The following functions show events to the user of a terminal. If a function is nil, its
	// event is logged instead.

	// Progress is called when a long import begins. total is the number of objects. The server calls
	// add with the number of objects imported since the last call, and done at the end.
	Progress func(what string, total int64) (add func(int64), done func())
	// ShowPassword is called with the password that the server has generated for the first account.
	// If it is nil, the password is written to a file beside the database.
	ShowPassword func(account, password string)
	// Listening is called when Run answers requests.
	Listening func(Listening)
	// Reloaded is called after a reload of deploy.json or classes.
	Reloaded func(Reload)
	// ScriptsReloaded is called after a reload of scripts, besides the log.
	ScriptsReloaded func(script.Report)
}

// Listening describes a server that has started to answer requests.
type Listening struct {
	URL      string // such as http://127.0.0.1:8888, without a slash at the end
	Dir      string // the application directory
	Classes  []string
	Services []ServiceInfo // in the order of deploy.json
}

// ServiceInfo describes a service of an application.
type ServiceInfo struct {
	Name   string
	Module string // such as builtin/crud, or the file of a script
	Mode   engine.AuthMode
}

// Server serves an application directory. It holds the parts that do not change from start to end,
// and the current edition (see edition).
type Server struct {
	options Config
	modules map[string]service.Module // services written in Go
	log     *slog.Logger
	first   *loadedApp     // the application as New has read it
	started *deploy.Config // configuration at the start, for settings that cannot change while the server runs
	db      *appdata.Database
	scripts *script.Runtime
	answers *share.Pool // limits the memory for answers
	bodies  *share.Pool
	current atomic.Pointer[edition]
	address atomic.Value // net.Addr of the listener; not set before the server listens

	life   context.Context // ends when the server stops: background work uses it
	end    context.CancelFunc
	stops  []func() error // what Close calls, the last one first
	closed sync.Once

	reloading sync.Mutex
	failed    bool     // the last reload of the application failed
	missed    []string // files that had changed before the failed reload and must be looked at again

	reporting sync.Mutex
	failures  map[string]failure // the last reported failures of scripts, by service

	signIn func(engine.Authenticator) engine.Authenticator // wraps the authenticator in a sandbox; otherwise nil
}

// New reads the application of a server. It returns all mistakes that prevent a start. It
// does not open the database and does not listen: Run or Start do that.
func New(config Config) (*Server, error) {
	s := &Server{options: config, log: config.Log, modules: builtin.Modules(), failures: map[string]failure{}}
	if s.log == nil {
		s.log = slog.Default()
	}
	for name, module := range config.Services {
		if s.modules[name] != nil {
			return nil, fmt.Errorf("the name of the service %q is that of a built-in service, expected another name", name)
		}
		s.modules[name] = module
	}
	s.options.Application = configFile(config.Application)
	s.life, s.end = context.WithCancel(context.Background())
	a, err := s.read(nil)
	if err != nil {
		return nil, fmt.Errorf("the application cannot be served:\n%w", err)
	}
	s.first, s.started = a, a.Config
	if len(s.started.Skipped) > 0 {
		s.log.Info("restsrv does not have all modules of the application; restsrv check tells what it lacks", "skipped", strings.Join(s.started.Skipped, ", "))
	}
	return s, nil
}

// configFile returns the path of the deploy.json. application may be that file or its directory.
func configFile(application string) string {
	if info, err := os.Stat(application); err == nil && info.IsDir() || application == "" {
		return filepath.Join(application, "deploy.json")
	}
	return application
}

// Dir returns the application directory.
func (s *Server) Dir() string { return s.started.Dir }

// Handler returns the handler for requests of clients. Before Start it answers with status 503. The
// paths of the server begin at /, so do not mount the handler below another path.
func (s *Server) Handler() http.Handler { return handler{s} }

// handler answers requests with the current edition of a server.
type handler struct{ s *Server }

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := h.s.current.Load()
	if e == nil {
		http.Error(w, "the server has not started", http.StatusServiceUnavailable)
		return
	}
	e.rest.ServeHTTP(w, r)
}

// Start opens the database and builds the services, so that Handler answers requests. If the
// database is new, Start first loads the data of the application; ctx can interrupt that. The
// caller must call Close at the end, even if Start fails. Do not call Start if you use Run.
func (s *Server) Start(ctx context.Context) error {
	a, err := s.open(ctx)
	if err == nil {
		s.startBackground(a)
	}
	return err
}

// Run listens on the address and answers requests until ctx ends. Then it waits for running
// requests, at most for the time in deploy.json, and closes the server. On SIGHUP it reloads the
// application. Run binds the address first, so if the address is in use, it has not created or
// changed anything.
func (s *Server) Run(ctx context.Context) (err error) {
	l, err := listenOn(s.listenAddr(s.started))
	if err != nil {
		return err
	}
	defer l.Close() // has no effect after the HTTP server has closed it
	defer func() { err = errors.Join(err, s.Close()) }()
	defer context.AfterFunc(ctx, s.end)()
	a, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer s.reloadOnHangup()()
	return s.serveOn(ctx, l, a)
}

// Close stops background work and closes the database. Requests must have ended.
func (s *Server) Close() (err error) {
	s.closed.Do(func() {
		s.end()
		for _, stop := range slices.Backward(s.stops) {
			err = errors.Join(err, stop())
		}
	})
	return err
}

// atClose makes Close call stop.
func (s *Server) atClose(stop func()) {
	s.stops = append(s.stops, func() error { stop(); return nil })
}

// open opens the database and builds the first edition. It returns the application
// of that edition.
func (s *Server) open(ctx context.Context) (_ *appdata.App, err error) {
	a := s.first
	if a == nil {
		return nil, errors.New("the server has already been started")
	}
	s.first = nil
	c := a.Config
	s.db, err = appdata.Open(ctx, c, s.databaseURL(c), appdata.Options{Classes: a.Meta.Classes(), Server: true, Log: s.log})
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, s.db.Close)
	s.warnOfFiles(a)
	cursors, err := secret.Key(ctx, s.db.Store, s.db.System.Secrets, "cursor")
	if err != nil {
		return nil, err
	}
	s.db.Cursors = query.CursorKey(cursors)
	if err := s.fillFirst(ctx, a); err != nil {
		return nil, err
	}
	if err := s.db.EnsureAdmin(ctx, s.options.AdminPassword, s.options.ShowPassword); err != nil {
		return nil, err
	}
	s.answers = newBytes("bytes of answers", c.AnswerBytes)
	s.bodies = newBytes("bytes of bodies", c.BodyBytes)
	running := scriptConfig(c, s.databaseURL(c), s.options.Watch, s.log)
	running.Held = s.held
	if s.scripts, err = script.New(running); err != nil {
		return nil, err
	}
	s.atClose(s.scripts.Close)
	e, err := s.newEdition(ctx, a, nil)
	if err != nil {
		return nil, err
	}
	s.useEdition(e)
	s.db.Store = s.db.Core // only the first edition keeps the store with its classes
	s.atClose(s.forgetChanges())
	if s.options.Watch {
		stop, err := s.startWatch()
		if err != nil {
			return nil, err
		}
		s.atClose(stop)
	}
	return a.App, nil
}

// listening describes the server and the services of the edition.
func (e *edition) listening() Listening {
	l := Listening{URL: e.issuer(), Dir: e.config.Dir}
	for _, c := range e.meta.Classes() {
		l.Classes = append(l.Classes, c.FullName)
	}
	for _, svc := range e.config.Services {
		module := svc.Script
		if svc.Builtin != "" {
			module = "builtin/" + svc.Builtin
		}
		l.Services = append(l.Services, ServiceInfo{svc.Name, module, svc.Mode})
	}
	return l
}

// startBackground starts work that can run while requests are answered.
func (s *Server) startBackground(a *appdata.App) {
	go func() {
		s.reportPresentation(a)
		returnMemory()
	}()
	go s.db.Files.Tidy(s.life)
	go s.db.WarnPasswordDiffers(s.life, s.options.AdminPassword)
}

// serveOn answers requests until ctx ends. Then it waits for running requests, at most for the
// configured time.
func (s *Server) serveOn(ctx context.Context, l net.Listener, a *appdata.App) error {
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && !strings.HasPrefix(s.started.PublicURL, "https:") {
		s.log.Warn("listening beyond this machine without TLS: passwords and tokens travel in the clear unless a proxy adds it", "addr", l.Addr().String())
	}
	s.address.Store(l.Addr())
	e := s.current.Load()
	c := e.config
	h := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: c.HeaderTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    c.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	info := e.listening()
	var modes []string
	for _, svc := range info.Services {
		modes = append(modes, svc.Name+"="+string(svc.Mode))
	}
	s.log.Info("listening", "addr", l.Addr().String(), "application", c.Dir, "classes", len(e.meta.Classes()), "services", len(c.Services), "modes", strings.Join(modes, " "))
	if s.options.Listening != nil {
		s.options.Listening(info)
	}
	if s.options.PaceGC {
		paceGC(s.held)
	}
	ended := make(chan error, 1)
	progressing := rest.Listen(l, c.MinAnswerRate, rest.AnswerGrace, s.log)
	go func() { ended <- h.Serve(progressing) }()
	s.startBackground(a)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	c = s.current.Load().config
	s.log.Info("stopping", "at most", c.ShutdownTimeout)
	drain, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	s.scripts.BeginStop()
	if err := h.Shutdown(drain); err != nil {
		s.log.Warn("requests were cut off", "after", c.ShutdownTimeout)
		_ = h.Close() // closes the remaining connections
	}
	for name, n := range s.scripts.FinishWorks(drain) {
		s.log.Warn("works of req.waitUntil were cut off", "service", name, "requests", n, "after", c.ShutdownTimeout)
	}
	s.log.Info("stopped")
	return nil
}
