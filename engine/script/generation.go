package script

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"

	"restsrv/engine"
	"restsrv/engine/script/event"
	"restsrv/engine/script/exchange"
	"restsrv/engine/script/module"
	"restsrv/engine/script/suite"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// Generation is one loaded version of a service. It does not change: when a file changes, a new Generation is loaded.
// After Close it still answers requests.
type Generation struct {
	*vm.Service
	rt      *Runtime
	lasting *lasting // data that all versions of the service share
	entry   string   // absolute path of the main file
	scope   map[string]any

	routes    []service.Route
	events    []event.Handler // event handlers that the script has registered
	converter bool
	tests     *suite.Suite // nil if the file is not a test file
	closed    atomic.Bool
}

var _ service.Service = (*Generation)(nil)

// Load loads a service: it reads the main file, runs it together with the files that it requires, and collects the
// routes. The error is a *LoadError.
func (r *Runtime) Load(s Service) (*Generation, error) { return r.loadFrom(s, nil) }

// loadFrom loads a service as Load does. If read is not nil, it uses these files, which another generation of the
// service has read. Otherwise it reads the files.
func (r *Runtime) loadFrom(s Service, read *module.Files) (*Generation, error) {
	g := newGeneration(r, s)
	if read != nil {
		g.Service.Files = read
	}
	if err := checkIsolation(s.Options); err != nil {
		return g.loadFailure(g.Fault(err.Error()))
	}
	if longest := max(g.Limits.CPU, g.Limits.Load); longest > r.maxCPU {
		g.Log.Warn("cpuTime or loadTime is longer than the longest that the server was started with, which counts until it is restarted", "configured", longest, "used", r.maxCPU)
		g.Limits.CPU, g.Limits.Load = min(g.Limits.CPU, r.maxCPU), min(g.Limits.Load, r.maxCPU)
	}
	h, err := g.newLoadedVM()
	if err != nil {
		return g.loadFailure(err)
	}
	if err := checkRoutes(h.Routes); err != nil {
		h.Dispose()
		return g.loadFailure(g.Fault(err.Error()))
	}
	for i, route := range h.Routes {
		most := g.Limits.Body
		if route.Streams {
			most = g.Limits.UploadBytes
		}
		g.routes = append(g.routes, service.Route{Method: route.Method, Path: route.Path, MaxBody: int64(most), Handler: g.routeHandler(i, route.Streams)})
	}
	g.events = h.events.Handlers
	g.Group.AddVM(h.VM)
	g.lasting.store.Grow(g.Limits.Shared)
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
		entry: filepath.Join(r.app.Dir, filepath.FromSlash(s.File)),
		Service: &vm.Service{
			Name: s.Name, Asked: s.File, Limits: s.Limits.OrDefaults(r.limits), Env: s.Env, Options: s.Options,
			Log: log.With("service", s.Name), Dog: r.dog, Compile: r.app.Cache, Now: r.now, Dev: r.dev, OwnVMs: s.Limits.VMs > 0,
			Ending: vm.NewEnding(), Stopping: r.stopping,
		},
	}
	g.Counters = &g.lasting.counters
	g.Service.Files = module.NewFiles(r.app, g.Limits.Source)
	g.Begin = func() { g.lasting.store.Resize(g.Limits.Shared) }
	g.Spawn = g.anotherVM
	g.Group = vm.NewGroup(g.Service, s.Options["isolation"] == exclusive)
	return g
}

// loadFailure returns the error for a failed load. It includes the paths of the files that were read, so that a
// watcher can load the service again when one of them changes.
func (g *Generation) loadFailure(err error) (*Generation, error) {
	var e *module.LoadError
	if !errors.As(err, &e) {
		e = g.Fault(err.Error())
	}
	return nil, &failedLoad{LoadError: e, files: g.Service.Files}
}

// failedLoad is a LoadError together with the files that were read during the load.
type failedLoad struct {
	*module.LoadError
	files *module.Files
}

// Unwrap returns the LoadError.
func (e *failedLoad) Unwrap() error { return e.LoadError }

func (g *Generation) routeHandler(route int, streams bool) service.Handler {
	if streams {
		return func(ctx context.Context, r *service.Request) (*service.Response, error) {
			return exchange.ServeStreaming(ctx, g.Service, r, route)
		}
	}
	return func(ctx context.Context, r *service.Request) (*service.Response, error) {
		return exchange.ServeRoute(ctx, g.Service, g.rt.intake, r, route)
	}
}

// Routes returns the routes in the order of their registration.
func (g *Generation) Routes() []service.Route { return g.routes }

// Errors returns service.TextErrors: services in JavaScript return errors as plain text.
func (g *Generation) Errors() service.ErrorForm { return service.TextErrors }

// Files returns the absolute paths that were read or looked for so far. When one of these files changes, the service
// should be loaded again.
func (g *Generation) Files() []string { return g.Service.Files.AllPaths() }

// Close marks the generation as replaced. Running calls continue, and new calls are still answered. Each VM is
// disposed of when no call uses it.
func (g *Generation) Close() {
	if g.closed.Swap(true) {
		return
	}
	if streams, works := g.Counters.Streams.Count(), g.Counters.Works.Count(); streams+works > 0 {
		g.Log.Info("a version of the service was replaced while streams or works of req.waitUntil go on", "streams", streams, "streamGrace", g.Limits.StreamGrace, "works", works, "workTime", g.Limits.WorkTime)
	}
	g.Ending.Begin()
	g.Group.Close()
	g.rt.registry.remove(g)
}

// newLoadedVM creates a VM, runs the module in it and collects its routes.
func (g *Generation) newLoadedVM() (*host, error) {
	h := newHost(g)
	if err := h.RunLoad(h.loadModule); err != nil {
		h.Dispose()
		return nil, err
	}
	return h, nil
}

// anotherVM creates another VM of this generation. The script must register the same routes and event handlers in it as
// in the first VM; otherwise anotherVM returns an error.
func (g *Generation) anotherVM() (*vm.VM, error) {
	h, err := g.newLoadedVM()
	if err == nil && !sameRoutes(g.routes, h.Routes) {
		h.Dispose()
		err = errors.New("the script registers other routes each time it is loaded")
	}
	if err == nil && !event.SameEvents(g.events, h.events.Handlers) {
		h.Dispose()
		err = errors.New("the script registers handlers of other events each time it is loaded")
	}
	if err != nil {
		return nil, &engine.Error{Code: engine.Internal, Reason: "script", Message: "the script could not be started again", Err: err}
	}
	return h.VM, nil
}

func sameRoutes(routes []service.Route, other []vm.Route) bool {
	if len(routes) != len(other) {
		return false
	}
	for i, r := range routes {
		if r.Method != other[i].Method || r.Path != other[i].Path {
			return false
		}
	}
	return true
}

// exclusive is a value of the option "isolation": each VM then takes only one call at a time. It is for scripts that
// store data of a request in variables of a module. The other value, "shared", allows several calls at a time. In both
// cases, each VM has its own variables.
const exclusive = "exclusive"

// checkIsolation returns an error if the option "isolation" has an unknown value.
func checkIsolation(o service.Options) error {
	switch o["isolation"] {
	case nil, "", exclusive, "shared":
		return nil
	}
	return errors.New(`the option "isolation" is "exclusive" (a VM takes one request at a time) or "shared" (many, the default)`)
}
