package script

import (
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"

	"restsrv/engine"
	"restsrv/engine/script/platform"
)

// Config says what a Runtime needs.
type Config struct {
	Dir    string           // application directory; no script outside it is read
	Limits Limits           // of services that do not say otherwise
	MaxCPU time.Duration    // longest Limits.CPU or Limits.Load of any service, default 10 s; the first New of a process decides
	Heap   int64            // bytes of the Go heap over which the longest turn is ended, default 70 % of GOMEMLIMIT, else 512 MiB
	Held   func() int64     // bytes of bodies and answers of requests in the heap; nil means none
	Dev    bool             // tell the source position of a failing script in the header X-Script-Error
	Log    *slog.Logger     // default slog.Default()
	Now    func() time.Time // what "now" is in filters, default time.Now

	Platform    platform.Settings // what scripts reach outside of the application
	NodeModules bool              // require finds packages in node_modules of the application directory
	Namespace   string            // of the application: applications/<namespace>/ is its directory; "" for none
}

// Runtime loads script services and watches over all their VMs. One per
// process, and those that With makes of it: the limit on regular expressions is
// shared by all of them.
type Runtime struct {
	dir    string // absolute
	root   string // dir with symbolic links resolved
	limits Limits
	maxCPU time.Duration
	dev    bool
	log    *slog.Logger
	now    func() time.Time
	dog    *watchdog
	cache  *cache
	intake *intake

	settings    platform.Settings
	nodeModules bool
	namespace   string

	registry *registry
}

// New starts a Runtime; Close ends it. The error says what is wrong with the
// directory.
func New(c Config) (*Runtime, error) {
	dir, root, err := directory(c.Dir)
	if err != nil {
		return nil, err
	}
	watermark := heapLimit(c.Heap)
	r := &Runtime{
		dir: dir, root: root, limits: c.Limits.withDefaults(), dev: c.Dev, log: c.Log, now: c.Now,
		dog: newWatchdog(newHeap(watermark, c.Held)), cache: newCache(), intake: newIntake(watermark), registry: newRegistry(),
		settings: c.Platform, nodeModules: c.NodeModules, namespace: c.Namespace,
	}
	if r.settings.Text <= 0 {
		r.settings.Text = r.limits.Text
	}
	r.cache.probes = c.Dev
	if r.log == nil {
		r.log = slog.Default()
	}
	if r.now == nil {
		r.now = time.Now
	}
	if c.MaxCPU <= 0 {
		c.MaxCPU = defaultMaxCPU
	}
	r.maxCPU = boundRegexps(max(c.MaxCPU, r.limits.CPU, r.limits.Load))
	r.dog.probe = regexp2.MustCompile("a", regexp2.ECMAScript)
	go r.dog.run(r.reap)
	return r, nil
}

// directory returns the absolute path of a directory, and its real one.
func directory(dir string) (abs, real string, err error) {
	if abs, err = filepath.Abs(dir); err == nil {
		real, err = filepath.EvalSymlinks(abs)
	}
	return abs, real, err
}

// With returns a Runtime whose scripts reach what c says: Platform, NodeModules
// and Namespace count, and Dir is looked up anew, because it may be a link that
// leads elsewhere now. It shares everything else with r, also what outlives
// versions of services, and ends with it.
func (r *Runtime) With(c Config) (*Runtime, error) {
	n := *r
	var err error
	if n.dir, n.root, err = directory(c.Dir); err != nil {
		return nil, err
	}
	n.settings, n.nodeModules, n.namespace = c.Platform, c.NodeModules, c.Namespace
	if n.settings.Text <= 0 {
		n.settings.Text = n.limits.Text
	}
	return &n, nil
}

const (
	defaultMaxCPU = 10 * time.Second
	// regexpSlack is how much later than a turn a regular expression gives up,
	// and regexpTick how often its clock moves.
	regexpSlack = 70 * time.Millisecond
	regexpTick  = 10 * time.Millisecond
)

// regexpBound guards the settings of the regular expressions: they are read
// without a lock, so that they can be written only before the first VM.
var regexpBound sync.Once

// boundRegexps ends backtracking expressions soon after the CPU limit of the
// longest turn, and returns that limit, which may be that of an earlier
// Runtime. The engine takes the timeout for "no match": it must be longer than
// any turn may be, so that such a turn is over when the expression returns.
func boundRegexps(limit time.Duration) time.Duration {
	regexpBound.Do(func() {
		regexp2.SetTimeoutCheckPeriod(regexpTick)
		regexp2.DefaultMatchTimeout = limit + regexpSlack
	})
	return regexp2.DefaultMatchTimeout - regexpSlack
}

// Close retires all services and stops watching over them.
func (r *Runtime) Close() {
	for _, g := range r.registry.list() {
		g.Close()
	}
	r.dog.close()
}

// reap lets every generation drop the VMs it has not used for a while.
func (r *Runtime) reap() {
	now := time.Now()
	for _, g := range r.registry.list() {
		g.group.reap(now)
	}
	for _, l := range r.registry.all() {
		l.store.sweep(now)
	}
}

// Service says what to load.
type Service struct {
	Name    string         // as registered, for logs
	File    string         // relative to the application directory, extension optional
	Env     *engine.Env    // Meta and Data must be set
	Options engine.Options // what the constructor gets
	Scope   map[string]any // components by name: what _initialization gets
	Limits  Limits         // zero fields are those of the Runtime

	Converter bool // it is no service: its script exports parse and respond

	tests *Suite // that its script registers; nil for what is no file of tests
}
