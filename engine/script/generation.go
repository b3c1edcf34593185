package script

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"

	"restsrv/engine"
)

// Generation is one loaded version of a script service. It is immutable: when a file changes, a new Generation is
// loaded. It still answers requests after Close.
type Generation struct {
	*vmService
	rt      *Runtime
	lasting *lasting
	entry   string // absolute path of the configured file
	scope   map[string]any

	routes    []engine.Route
	events    []jsEvent // the registered event handlers
	converter bool
	tests     *Suite // nil if the file is not a test file
	closed    atomic.Bool
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
		return g.loadFailure(g.fault(err.Error()))
	}
	if longest := max(g.limits.CPU, g.limits.Load); longest > r.maxCPU {
		return g.loadFailure(g.fault("the CPU limit " + longest.String() +
			" is longer than the longest that the process was started for, " + r.maxCPU.String()))
	}
	h, err := g.newLoadedVM()
	if err != nil {
		return g.loadFailure(err)
	}
	if err := checkRoutes(h.routes); err != nil {
		h.dispose()
		return g.loadFailure(g.fault(err.Error()))
	}
	for i, route := range h.routes {
		g.routes = append(g.routes, engine.Route{Method: route.method, Path: route.path, MaxBody: int64(g.limits.Body), Handler: g.routeHandler(i)})
	}
	g.events = h.events.handlers
	g.group.addVM(h.vm)
	g.lasting.store.grow(g.limits.Shared)
	r.registry.add(g)
	return g, nil
}

func newGeneration(r *Runtime, s Service) *Generation {
	log := r.log
	if s.Env.Log != nil {
		log = s.Env.Log
	}
	g := &Generation{
		rt: r, lasting: r.lastingOf(s.Name), scope: s.Scope, converter: s.Converter, tests: s.tests,
		entry: filepath.Join(r.app.dir, filepath.FromSlash(s.File)),
		vmService: &vmService{
			name: s.Name, asked: s.File, limits: s.Limits.orDefaults(r.limits), env: s.Env, options: s.Options,
			log: log.With("service", s.Name), dog: r.dog, compile: r.app.cache, now: r.now, dev: r.dev, ownVMs: s.Limits.VMs > 0,
		},
	}
	g.counters = &g.lasting.counters
	g.files = newFiles(r.app, g.limits.Source)
	g.begin = func() { g.lasting.store.resize(g.limits.Shared) }
	g.spawn = g.anotherVM
	g.group = newGroup(g.vmService, s.Options["isolation"] == exclusive)
	return g
}

// loadFailure returns the error of a failed load together with the files that were read, so that a watcher can retry
// when one of them changes.
func (g *Generation) loadFailure(err error) (*Generation, error) {
	var e *LoadError
	if !errors.As(err, &e) {
		e = g.fault(err.Error())
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
		return serveRoute(ctx, g.vmService, g.rt.intake, r, route)
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

// newLoadedVM creates a VM, runs the module in it and collects its routes.
func (g *Generation) newLoadedVM() (*host, error) {
	h := newHost(g)
	if err := h.runLoad(h.loadModule); err != nil {
		h.dispose()
		return nil, err
	}
	return h, nil
}

// anotherVM creates a further VM of this generation. It returns an error if the routes or event handlers differ from
// those of the first VM.
func (g *Generation) anotherVM() (*vm, error) {
	h, err := g.newLoadedVM()
	if err == nil && !sameRoutes(g.routes, h.routes) {
		h.dispose()
		err = errors.New("the script registers other routes each time it is loaded")
	}
	if err == nil && !sameEvents(g.events, h.events.handlers) {
		h.dispose()
		err = errors.New("the script registers handlers of other events each time it is loaded")
	}
	if err != nil {
		return nil, &engine.Error{Code: engine.Internal, Reason: "script", Message: "the script could not be started again", Err: err}
	}
	return h.vm, nil
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
