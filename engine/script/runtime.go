package script

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"restsrv/engine/script/exchange"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/module"
	"restsrv/engine/script/platform"
	"restsrv/engine/script/suite"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// Config contains the settings of a Runtime.
type Config struct {
	Dir    string           // application directory; scripts outside of it are not read
	Limits limits.Limits    // limits of services that do not set their own
	MaxCPU time.Duration    // maximum of Limits.CPU and Limits.Load of services; the first New of a process sets it; default 10 s
	Heap   int64            // maximum bytes of the Go heap, see vm.Watchdog; default 70 % of GOMEMLIMIT, or 512 MiB
	Held   func() int64     // returns the bytes of bodies and responses, which do not count for Heap; may be nil
	Dev    bool             // development mode: send X-Script-Error with the position of a failure, watch module variables
	Log    *slog.Logger     // default slog.Default()
	Now    func() time.Time // returns the current time, for filters; default time.Now

	Platform    platform.Settings // rules for access to resources outside of the application, such as hosts
	NodeModules bool              // require finds packages in node_modules of the application directory
	Namespace   string            // namespace of the application, for paths that begin with applications/<namespace>/; "" if there is none
}

// Runtime loads script services and supervises their VMs. A process should have only one Runtime, apart from the copies
// that With returns, because the timeout of regular expressions is the same for the whole process.
type Runtime struct {
	app    *module.Application
	limits limits.Limits
	maxCPU time.Duration
	dev    bool
	log    *slog.Logger
	now    func() time.Time
	dog    *vm.Watchdog
	intake *exchange.Intake

	settings platform.Settings

	registry *registry
	stopping *vm.Ending
}

// New starts a Runtime. Use Close to stop it. It returns an error if c.Dir cannot be used.
func New(c Config) (*Runtime, error) {
	dir, root, err := resolveDirectory(c.Dir)
	if err != nil {
		return nil, err
	}
	watermark := vm.HeapLimit(c.Heap)
	r := &Runtime{
		app:    &module.Application{Dir: dir, Root: root, Cache: module.NewCache(), NodeModules: c.NodeModules, Namespace: c.Namespace},
		limits: c.Limits.WithDefaults(), dev: c.Dev, log: c.Log, now: c.Now,
		dog: vm.NewWatchdog(vm.NewHeap(watermark, c.Held)), intake: exchange.NewIntake(watermark), registry: newRegistry(), stopping: vm.NewEnding(),
		settings: c.Platform,
	}
	r.settings.Root = root
	if r.settings.Text <= 0 {
		r.settings.Text = r.limits.Text
	}
	r.app.Cache.Probes = c.Dev
	if r.log == nil {
		r.log = slog.Default()
	}
	if r.now == nil {
		r.now = time.Now
	}
	if c.MaxCPU <= 0 {
		c.MaxCPU = defaultMaxCPU
	}
	r.maxCPU = vm.BoundRegexps(max(c.MaxCPU, r.limits.CPU, r.limits.Load))
	r.dog.Start(r.reap)
	return r, nil
}

// resolveDirectory returns the absolute path of a directory, as given and with symbolic links resolved.
func resolveDirectory(dir string) (abs, real string, err error) {
	if abs, err = filepath.Abs(dir); err == nil {
		real, err = filepath.EvalSymlinks(abs)
	}
	return abs, real, err
}

// With returns a Runtime that uses the fields Dir, Platform, NodeModules and Namespace of c. It resolves Dir again,
// since that path may be a link that now leads elsewhere. The new Runtime shares all other state with r, including the
// data that versions of a service share. Close of either Runtime closes both.
func (r *Runtime) With(c Config) (*Runtime, error) {
	n := *r
	dir, root, err := resolveDirectory(c.Dir)
	if err != nil {
		return nil, err
	}
	n.app = &module.Application{Dir: dir, Root: root, Cache: r.app.Cache, NodeModules: c.NodeModules, Namespace: c.Namespace}
	n.settings = c.Platform
	n.settings.Root = root
	if n.settings.Text <= 0 {
		n.settings.Text = n.limits.Text
	}
	return &n, nil
}

const defaultMaxCPU = 10 * time.Second

// BeginStop ends the streams of server-sent events, because the server stops. Their clients connect again later.
func (r *Runtime) BeginStop() { r.stopping.Begin() }

// FinishWorks waits until no request has work that req.waitUntil continues after its answer, or until ctx ends. It
// returns the number of requests with such work by service.
func (r *Runtime) FinishWorks(ctx context.Context) (left map[string]int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		left = map[string]int{}
		for name, l := range r.registry.all() {
			if n := l.counters.Works.Count(); n > 0 {
				left[name] = n
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return left
		}
	}
}

// Close closes all services and stops the watchdog.
func (r *Runtime) Close() {
	for _, g := range r.registry.list() {
		g.Close()
	}
	r.dog.Close()
}

// reap removes idle VMs of all generations and expired entries of all shared stores. The watchdog calls it
// periodically.
func (r *Runtime) reap() {
	now := time.Now()
	for _, g := range r.registry.list() {
		g.Group.RemoveIdle(now)
	}
	for _, l := range r.registry.all() {
		l.store.Sweep(now)
	}
}

// Service describes a service to load.
type Service struct {
	Name    string          // name of the service, for logs
	File    string          // path relative to the application directory; the extension may be left out
	Env     *service.Env    // Meta and Data must be set
	Options service.Options // argument of the constructor of the service
	Scope   map[string]any  // components by name: the argument of _initialization
	Limits  limits.Limits   // fields that are zero have the value of Config.Limits

	Converter bool // the script is a converter, which exports parse and respond

	tests *suite.Suite // collects the tests that the script registers; nil if the file contains no tests
}

// LoadTests loads a file of tests. host is the server to which the tests send requests. The error is a *LoadError.
func (r *Runtime) LoadTests(s Service, host suite.Host) (*suite.Suite, error) {
	tests := suite.New(host)
	s.tests = tests
	s.Limits.VMs, s.Limits.InFlight, s.Limits.Wall = 1, 1, time.Hour // each test has its own time limit
	g, err := r.Load(s)
	if err != nil {
		return nil, err
	}
	tests.Loaded(g.Service, g.Close)
	return tests, nil
}
