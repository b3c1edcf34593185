package script

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

// Generation is one loaded version of a script service. It is immutable: when a file changes, a new Generation is
// loaded. It still answers requests after Close.
type Generation struct {
	rt      *Runtime
	limits  Limits
	lasting *lasting
	ownVMs  bool // the service sets limits.VMs itself
	name    string
	entry   string // absolute path of the configured file
	asked   string
	env     *engine.Env
	options engine.Options
	scope   map[string]any
	log     *slog.Logger
	strict  engine.Handling
	storage engine.FileStorage // storage of uploaded files; may be nil

	files     *files
	group     *group
	routes    []engine.Route
	events    []jsEvent // the registered event handlers
	converter bool
	tests     *Suite      // nil if the file is not a test file
	legacy    bool        // based on IONDV's Service class, which has other rules for texts and numbers
	answers   atomic.Bool // it has received a call
	closed    atomic.Bool
	warnOnce  sync.Map // texts of the logged warnings
	warnings  atomic.Int64
}

var _ engine.Service = (*Generation)(nil)

// Load loads a service: it reads the script and the files that it requires, runs it and collects its routes. The
// error is a *LoadError.
func (r *Runtime) Load(s Service) (*Generation, error) { return r.loadFrom(s, nil) }

// loadFrom is Load with files that another generation of the service has read. If read is nil, it reads them.
func (r *Runtime) loadFrom(s Service, read *files) (*Generation, error) {
	g := newGeneration(r, s)
	if read != nil {
		g.files = read
	}
	if err := checkIsolation(s.Options); err != nil {
		return g.loadFailure(&LoadError{File: filepath.ToSlash(s.File), Message: err.Error()})
	}
	if longest := max(g.limits.CPU, g.limits.Load); longest > r.maxCPU {
		return g.loadFailure(&LoadError{File: filepath.ToSlash(s.File), Message: "the CPU limit " + longest.String() +
			" is longer than the longest that the process was started for, " + r.maxCPU.String()})
	}
	v, routes, err := g.newLoadedVM()
	if err != nil {
		return g.loadFailure(err)
	}
	if err := checkRoutes(routes); err != nil {
		v.dispose()
		return g.loadFailure(&LoadError{File: filepath.ToSlash(s.File), Message: err.Error()})
	}
	for i, route := range routes {
		g.routes = append(g.routes, engine.Route{Method: route.method, Path: route.path, MaxBody: int64(g.limits.Body), Handler: g.routeHandler(i)})
	}
	g.events = v.events
	g.group.addVM(v)
	g.lasting.store.grow(g.limits.Shared)
	r.registry.add(g)
	return g, nil
}

func newGeneration(r *Runtime, s Service) *Generation {
	g := &Generation{
		rt: r, limits: s.Limits.orDefaults(r.limits), name: s.Name, asked: s.File, env: s.Env, converter: s.Converter, tests: s.tests, options: s.Options, scope: s.Scope,
		entry: filepath.Join(r.dir, filepath.FromSlash(s.File)),
	}
	g.files = newFiles(r, g.limits.Source)
	log := r.log
	if s.Env.Log != nil {
		log = s.Env.Log
	}
	g.log = log.With("service", s.Name)
	if s.Options["handling"] == "strict" {
		g.strict = engine.Strict
	}
	g.storage = s.Env.Files
	if own, ok := s.Options["fileStorage"].(engine.FileStorage); ok {
		g.storage = own
	}
	g.ownVMs = s.Limits.VMs > 0
	g.lasting = r.lastingOf(s.Name)
	g.group = newGroup(g, s.Options["isolation"] == exclusive)
	return g
}

// loadFailure returns the error of a failed load together with the files that were read, so that a watcher can retry
// when one of them changes.
func (g *Generation) loadFailure(err error) (*Generation, error) {
	var e *LoadError
	if !errors.As(err, &e) {
		e = &LoadError{File: filepath.ToSlash(g.asked), Message: err.Error()}
	}
	return nil, &failedLoad{LoadError: e, files: g.files}
}

// failedLoad is a LoadError with the files that were read.
type failedLoad struct {
	*LoadError
	files *files
}

// Unwrap returns the LoadError.
func (e *failedLoad) Unwrap() error { return e.LoadError }

func (g *Generation) routeHandler(route int) engine.Handler {
	return func(ctx context.Context, r *engine.Request) (*engine.Response, error) {
		return g.serveRoute(ctx, r, route)
	}
}

// Routes returns the routes in the order of their registration.
func (g *Generation) Routes() []engine.Route { return g.routes }

// Errors returns engine.TextErrors: script services return errors as plain text.
func (g *Generation) Errors() engine.ErrorForm { return engine.TextErrors }

// Files returns the absolute paths that were read or looked for so far. The service should be loaded again when one
// of them changes.
func (g *Generation) Files() []string { return g.files.allPaths() }

// Close retires the generation. Running calls continue, and new calls are still answered. Each VM is released when
// no call uses it.
func (g *Generation) Close() {
	if g.closed.Swap(true) {
		return
	}
	g.group.close()
	g.rt.registry.remove(g)
}

// loadWait times the CPU limit of loading is the time limit of an async _route.
const loadWait = 5

// newLoadedVM creates a VM, runs the module in it and collects its routes.
func (g *Generation) newLoadedVM() (*vm, []jsRoute, error) {
	v := newVM(g)
	l := &loading{vm: v, done: make(chan error, 1)}
	v.do(task{nil, l.run}, true)
	t := time.NewTimer(loadWait * g.limits.Load)
	defer t.Stop()
	var err error
	select {
	case err = <-l.done:
	case <-t.C:
		err = &LoadError{File: filepath.ToSlash(g.asked), Message: "_route did not finish within " + (loadWait * g.limits.Load).String()}
	}
	if err != nil {
		v.dispose()
		return nil, nil, err
	}
	return v, v.routes, nil
}

// anotherVM creates a further VM of this generation. It returns an error if the routes or event handlers differ from
// those of the first VM.
func (g *Generation) anotherVM() (*vm, error) {
	v, routes, err := g.newLoadedVM()
	if err == nil && !sameRoutes(g.routes, routes) {
		v.dispose()
		err = errors.New("the script registers other routes each time it is loaded")
	}
	if err == nil && !sameEvents(g.events, v.events) {
		v.dispose()
		err = errors.New("the script registers handlers of other events each time it is loaded")
	}
	if err != nil {
		return nil, &engine.Error{Code: engine.Internal, Reason: "script", Message: "the script could not be started again", Err: err}
	}
	return v, nil
}

func sameRoutes(routes []engine.Route, other []jsRoute) bool {
	if len(routes) != len(other) {
		return false
	}
	for i, r := range routes {
		if r.Method != other[i].method || r.Path != other[i].path {
			return false
		}
	}
	return true
}

// maxWarnings is the limit of the warnings of one load, because their texts may contain data of clients.
const maxWarnings = 200

// warn logs a warning, once per load.
func (g *Generation) warn(text string, args ...any) { g.warnOf(text, text, args...) }

// warnOf logs a warning, once per load for each key.
func (g *Generation) warnOf(what, text string, args ...any) {
	if _, given := g.warnOnce.LoadOrStore(what, true); !given && g.warnings.Add(1) <= maxWarnings {
		g.log.Warn(text, args...)
	}
}

// data returns the repository of the global dataRepo: the repository of the option dataRepo, if it is set, or the
// default.
func (g *Generation) data() engine.Repository {
	if named, ok := g.options["dataRepo"].(engine.Repository); ok {
		return named
	}
	return g.env.Data
}

// metadataRepository returns the repository of the global metaRepo: the repository of the option metaRepo, if it is
// set, or the default.
func (g *Generation) metadataRepository() engine.MetaRepository {
	if named, ok := g.options["metaRepo"].(engine.MetaRepository); ok {
		return named
	}
	return g.env.Meta
}
