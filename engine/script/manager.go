package script

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

// Mount puts a version of a service in the place of the one before, in one
// step. After an error the one before goes on answering.
type Mount func(name string, s engine.Service) error

// Manager keeps the script services of a server up to date. A version that
// cannot be loaded never replaces one that could.
type Manager struct {
	rt    *Runtime
	mount Mount
	log   *slog.Logger

	mu       sync.Mutex
	services []*managed
	before   map[string]lastGood // of the Manager that this one follows
	reloaded func(Report)
	events   *Events // nil for none
}

// managed is one service and the version that answers now.
type managed struct {
	Service
	live      *Generation // nil while no version could be loaded
	converter *converter  // nil for a service
	err       *LoadError  // of the last load
	files     []string    // of the last failed load
}

// lastGood is what a version that answers was read from.
type lastGood struct {
	file      string
	converter bool
	files     *files
}

// NewManager returns a Manager without services. Its methods may be called
// from any goroutine.
func NewManager(rt *Runtime, mount Mount) *Manager {
	return &Manager{rt: rt, mount: mount, log: rt.log}
}

// OnReload has f called after each Reload, before the next one begins; without
// it a line of the log tells of those that did something.
func (m *Manager) OnReload(f func(Report)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reloaded = f
}

// Follow has services of this Manager answer with what was last good in the one
// before it, while their files are broken: same name, same file. Call it before
// Add. The Manager before goes on until it is closed.
func (m *Manager) Follow(before *Manager) {
	before.mu.Lock()
	defer before.mu.Unlock()
	m.before = map[string]lastGood{}
	for _, one := range before.services {
		if one.live != nil {
			m.before[one.Name] = lastGood{one.File, one.Converter, one.live.files}
		}
	}
}

// Add loads and mounts services, several at a time. In place of one that cannot
// be loaded, one that answers 503 is mounted, to be replaced by the first good
// version, and its *LoadError is among the errors returned.
func (m *Manager) Add(services ...Service) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var added []*managed
	for _, s := range services {
		added = append(added, &managed{Service: s})
	}
	m.services = append(m.services, added...)
	m.loadAll(added)
	var errs []error
	for _, one := range added {
		if one.err != nil {
			errs = append(errs, one.err)
		}
		if one.live == nil {
			errs = append(errs, m.mount(one.Name, broken{name: one.Name}))
		}
	}
	return errors.Join(errs...)
}

// Lost returns an error for the services that answered in the Manager before
// this one and cannot any more, neither with the files that there are nor with
// those that were last good; nil when there are none.
func (m *Manager) Lost() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, one := range m.services {
		if m.before[one.Name].files != nil && one.live == nil {
			errs = append(errs, fmt.Errorf("service %s: %w", one.Name, one.err))
		}
	}
	return errors.Join(errs...)
}

// Reload loads the services anew that read one of the changed files, all when
// changed is nil. A changed folder counts for the files in it. What fails is
// logged and keeps its last good version.
func (m *Manager) Reload(changed []string) {
	started := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	touched := newPathSet(changed)
	var affected []*managed
	for _, one := range m.services {
		if changed == nil || one.affected(touched) {
			affected = append(affected, one)
		}
	}
	m.loadAll(affected)
	r := report(changed, started, affected)
	switch {
	case m.reloaded != nil:
		m.reloaded(r)
	case len(r.Loaded) > 0:
		m.log.Info("scripts reloaded", "services", strings.Join(r.Loaded, ", "), "took", r.Took.Round(time.Microsecond))
	}
}

// Files lists what the services read or looked for, so far.
func (m *Manager) Files() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[string]bool{}
	for _, one := range m.services {
		for _, f := range one.files {
			seen[f] = true
		}
		if one.live != nil {
			for _, f := range one.live.Files() {
				seen[f] = true
			}
		}
	}
	return slices.Collect(maps.Keys(seen))
}

// loaded is what a load came to.
type loaded struct {
	generation *Generation
	err        error
}

// loadAll loads versions, as many at a time as there are processors, then puts
// each in its place. It needs m.mu.
func (m *Manager) loadAll(services []*managed) {
	results := make([]loaded, len(services))
	workers := min(len(services), runtime.GOMAXPROCS(0))
	if workers == 1 {
		results[0] = m.load(services[0])
	} else {
		var next atomic.Int64
		var done sync.WaitGroup
		for range workers {
			done.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(services); i = int(next.Add(1)) - 1 {
					results[i] = m.load(services[i])
				}
			})
		}
		done.Wait()
	}
	for i, one := range services {
		m.take(one, results[i])
	}
}

// maxLoads is how often a service is loaded because its files change
// meanwhile, before its failure is believed.
const maxLoads = 3

// load loads one version. A failure does not count when the files that it came
// of are others by now.
func (m *Manager) load(one *managed) loaded {
	start := time.Now()
	for attempt := 1; ; attempt++ {
		g, err := m.rt.Load(one.Service)
		var failed *failedLoad
		if attempt == maxLoads || !errors.As(err, &failed) || !failed.files.stale() {
			m.rt.lastingOf(one.Name).counters.reloaded(time.Since(start), err)
			return loaded{g, err}
		}
	}
}

// take has a loaded version answer from now on, and logs a failure. It needs
// m.mu.
func (m *Manager) take(one *managed, l loaded) {
	old := one.live
	one.err, one.files = nil, nil
	err := l.err
	if err == nil {
		if err = m.use(one, l.generation); err != nil {
			one.files = l.generation.Files()
			l.generation.Close()
		}
	}
	if err != nil {
		m.failed(one, err)
		return
	}
	one.live = l.generation
	if old != nil {
		old.Close()
	}
	m.log.Debug("script loaded", "service", one.Name, "file", one.File, "routes", len(one.live.routes))
}

// failed notes why a service could not be loaded. What was last good in the
// Manager before this one takes its place.
func (m *Manager) failed(one *managed, err error) {
	var failed *failedLoad
	if errors.As(err, &failed) {
		one.files = failed.files.paths()
	}
	if !errors.As(err, &one.err) {
		one.err = &LoadError{File: filepath.ToSlash(one.File), Message: err.Error()}
	}
	last := m.before[one.Name]
	if one.live == nil && last.files != nil && last.file == one.File && last.converter == one.Converter {
		if g, err := m.rt.loadFrom(one.Service, last.files); err == nil {
			if m.use(one, g) == nil {
				one.live = g
			} else {
				g.Close()
			}
		}
	}
	text := "script cannot be loaded; the service answers 503"
	if one.live != nil {
		text = "script cannot be loaded; the last good version keeps answering"
	}
	m.log.Error(text, "service", one.Name, "error", one.err.Error(), "source", one.err.Source)
}

// use has a version answer from now on.
func (m *Manager) use(one *managed, g *Generation) error {
	if err := m.events.admit(g); err != nil {
		return err
	}
	if one.converter != nil {
		one.converter.live.Store(g)
	} else if err := m.mount(one.Name, g); err != nil {
		return err
	}
	m.events.hear(one.Name, g)
	return nil
}

// affected reports whether the service would load otherwise now.
func (one *managed) affected(touched pathSet) bool {
	if one.err != nil && touched.any(one.files) {
		return true
	}
	return one.live != nil && touched.any(one.live.Files()) && (one.err != nil || one.live.files.stale())
}

// Faults returns the services that could not be loaded last time, with the
// reason.
func (m *Manager) Faults() map[string]error {
	m.mu.Lock()
	defer m.mu.Unlock()
	faults := map[string]error{}
	for _, one := range m.services {
		if one.err != nil {
			faults[one.Name] = one.err
		}
	}
	return faults
}

// Close retires all versions.
func (m *Manager) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.services {
		if one.live != nil {
			one.live.Close()
		}
	}
}

// pathSet are changed paths, as given and with links resolved.
type pathSet map[string]bool

func newPathSet(paths []string) pathSet {
	set := pathSet{}
	for _, p := range paths {
		p = filepath.Clean(p)
		set[p] = true
		if dir, err := filepath.EvalSymlinks(filepath.Dir(p)); err == nil {
			set[filepath.Join(dir, filepath.Base(p))] = true
		}
	}
	return set
}

// any reports whether one of the files, or a folder above one, is in the set.
func (s pathSet) any(files []string) bool {
	for _, f := range files {
		for {
			if s[f] {
				return true
			}
			up := filepath.Dir(f)
			if up == f {
				break
			}
			f = up
		}
	}
	return false
}

// broken answers for a service that has no good version yet.
type broken struct{ name string }

var _ engine.Service = broken{}

// brokenMethods are those that a script may have had routes for. OPTIONS is
// left to the router.
const brokenMethods = "GET HEAD POST PUT PATCH DELETE SEARCH COPY LOCK UNLOCK MOVE MKCOL PROPFIND PROPPATCH REPORT MERGE " +
	"PURGE NOTIFY SUBSCRIBE UNSUBSCRIBE LINK UNLINK BIND REBIND UNBIND ACL CHECKOUT MKACTIVITY MKCALENDAR QUERY TRACE"

// Routes answers every request with 503.
func (b broken) Routes() []engine.Route {
	unavailable := func(context.Context, *engine.Request) (*engine.Response, error) {
		return nil, engine.Errorf(engine.Unavailable, "script", "service %s is not available: its script could not be loaded", b.name)
	}
	var routes []engine.Route
	for _, method := range strings.Fields(brokenMethods) {
		routes = append(routes, engine.Route{Method: method, Path: "*", Handler: unavailable})
	}
	return routes
}

// Errors is TextErrors, as for the script itself.
func (b broken) Errors() engine.ErrorForm { return engine.TextErrors }
