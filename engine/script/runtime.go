package script

import (
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
	Limits limits.Limits    // defaults for the limits of services
	MaxCPU time.Duration    // maximum of Limits.CPU and Limits.Load for all services, default 10 s; the first New of a process sets it
	Heap   int64            // maximum size of the Go heap in bytes; above it the longest turn is stopped; default 70 % of GOMEMLIMIT, or 512 MiB
	Held   func() int64     // bytes of request bodies and answers in the heap; nil if they are not known
	Dev    bool             // send the source position of a failing script in the header X-Script-Error
	Log    *slog.Logger     // default slog.Default()
	Now    func() time.Time // the current time for filters, default time.Now

	Platform    platform.Settings // access of scripts to resources outside of the application
	NodeModules bool              // require finds packages in node_modules of the application directory
	Namespace   string            // namespace of the application, for paths that begin with applications/<namespace>/; "" if there is none
}

// Runtime loads script services and supervises their VMs. A process should have
// one Runtime, and the copies that With makes of it, because the limit for
// regular expressions is shared.
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
}

// New starts a Runtime. Use Close to stop it. It returns an error if the
// directory cannot be used.
func New(c Config) (*Runtime, error) {
	dir, root, err := resolveDirectory(c.Dir)
	if err != nil {
		return nil, err
	}
	watermark := vm.HeapLimit(c.Heap)
	r := &Runtime{
		app:    &module.Application{Dir: dir, Root: root, Cache: module.NewCache(), NodeModules: c.NodeModules, Namespace: c.Namespace},
		limits: c.Limits.WithDefaults(), dev: c.Dev, log: c.Log, now: c.Now,
		dog: vm.NewWatchdog(vm.NewHeap(watermark, c.Held)), intake: exchange.NewIntake(watermark), registry: newRegistry(),
		settings: c.Platform,
	}
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

// resolveDirectory returns the absolute path of a directory, and the path with
// resolved links.
func resolveDirectory(dir string) (abs, real string, err error) {
	if abs, err = filepath.Abs(dir); err == nil {
		real, err = filepath.EvalSymlinks(abs)
	}
	return abs, real, err
}

// With returns a Runtime with the fields Platform, NodeModules and Namespace of
// c. It resolves Dir again, because Dir may be a link that has changed. It
// shares all other state with r, including the data that outlives versions of
// services, and is closed with r.
func (r *Runtime) With(c Config) (*Runtime, error) {
	n := *r
	dir, root, err := resolveDirectory(c.Dir)
	if err != nil {
		return nil, err
	}
	n.app = &module.Application{Dir: dir, Root: root, Cache: r.app.Cache, NodeModules: c.NodeModules, Namespace: c.Namespace}
	n.settings = c.Platform
	if n.settings.Text <= 0 {
		n.settings.Text = n.limits.Text
	}
	return &n, nil
}

const defaultMaxCPU = 10 * time.Second

// Close closes all services and stops the watchdog.
func (r *Runtime) Close() {
	for _, g := range r.registry.list() {
		g.Close()
	}
	r.dog.Close()
}

// reap removes the idle VMs of all generations and the expired entries of all
// stores.
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
	Name    string          // registered name, for logs
	File    string          // relative to the application directory, extension optional
	Env     *service.Env    // Meta and Data must be set
	Options service.Options // argument of the constructor
	Scope   map[string]any  // components by name, argument of _initialization
	Limits  limits.Limits   // zero fields are taken from the Runtime

	Converter bool // the script is a converter, which exports parse and respond

	tests *suite.Suite // collects the tests that the script registers; nil if the file contains no tests
}

// LoadTests loads a file of tests. The error is a *LoadError.
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
