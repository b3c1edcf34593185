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
	"restsrv/engine/script/event"
	"restsrv/engine/script/module"
	"restsrv/engine/service"
	"restsrv/engine/watch"
)

// Mount makes s the active version of the service with the given name. The replacement is atomic. If Mount returns an
// error, the previous version stays active.
type Mount func(name string, s service.Service) error

// Manager loads the script services of a server, and loads them again when their files change. If a new version
// cannot be loaded, the previous version stays active.
type Manager struct {
	rt       *Runtime
	mount    Mount
	log      *slog.Logger
	checkout watch.Checkout

	telling  sync.Mutex // held while a reload is reported, so that reports do not overlap
	mu       sync.Mutex // protects the following fields and the fields of each managed; not held while scripts run
	services []*managed
	before   map[string]lastGood // last good versions of the services in the previous Manager; see Follow
	reloaded func(Report)
	closed   bool
	events   *event.Events // nil if writes cause no events
}

// managed is one service or converter with its active version.
type managed struct {
	Service
	converter *converter // nil for a service
	loading   sync.Mutex // held while the service is loaded; must be locked before Manager.mu

	live  *Generation       // active version; nil if no version could be loaded yet
	err   *module.LoadError // error of the last load; nil if it succeeded
	files []string          // files that the last load has read, if it failed
}

// lastGood is the content of the files of an active version, with which the version can be loaded again.
type lastGood struct {
	file      string
	converter bool
	files     *module.Files
}

// NewManager returns a Manager without services. The methods of a Manager are safe for concurrent use.
func NewManager(rt *Runtime, mount Mount) *Manager {
	return &Manager{rt: rt, mount: mount, log: rt.log, checkout: watch.NewCheckout(rt.app.Dir)}
}

// OnReload sets a function that is called with the report of each Reload. Calls do not overlap. If no function is
// set, reloads that have loaded a service are logged.
func (m *Manager) OnReload(f func(Report)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reloaded = f
}

// Follow makes m the successor of another Manager, for example after settings have changed. If the files of a service
// cannot be loaded, m loads the content of the last good version that the previous Manager has, provided that name
// and main file are the same. Call Follow before Add. The previous Manager stays active until it is closed.
func (m *Manager) Follow(before *Manager) {
	before.mu.Lock()
	defer before.mu.Unlock()
	m.before = map[string]lastGood{}
	for _, one := range before.services {
		if one.live != nil {
			m.before[one.Name] = lastGood{one.File, one.Converter, one.live.Service.Files}
		}
	}
}

// Add loads and mounts services, several at the same time. If a service cannot be loaded, Add mounts a placeholder
// that answers 503 until a good version replaces it. The error that Add returns then includes the *LoadError of the
// service.
func (m *Manager) Add(services ...Service) error {
	var added []*managed
	for _, s := range services {
		added = append(added, &managed{Service: s})
	}
	m.addServices(added...)
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, one := range added {
		if one.err != nil {
			errs = append(errs, one.err)
		}
		if one.live == nil {
			errs = append(errs, m.mount(one.Name, broken{one.Name, "its script could not be loaded"}))
		}
	}
	return errors.Join(errs...)
}

// addServices adds services to m and loads them.
func (m *Manager) addServices(services ...*managed) {
	m.mu.Lock()
	m.services = append(m.services, services...)
	if m.events != nil {
		m.events.SetOrder(names(services))
	}
	m.mu.Unlock()
	m.forEachService(services, m.loadService)
}

// Lost returns an error that lists the services that were active in the previous Manager but are not active in this
// one. A service is lost if neither its current files nor the content of its last good version can be loaded. If no
// service is lost, Lost returns nil.
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

// Reload loads those services again that have read one of the changed files, or all services if changed is nil. A
// changed folder stands for all files in it. If a service cannot be loaded, the error is logged and its last good
// version stays active. Each new version becomes active as soon as it is loaded. Reload returns when all services are
// loaded. It may be called again before that, so that one slow script does not delay other services.
func (m *Manager) Reload(changed []string) {
	started, touched := time.Now(), newPathSet(changed)
	var mu sync.Mutex
	var loaded []*managed
	m.forEachService(m.concernedServices(changed, touched), func(one *managed) {
		if changed != nil && !m.isAffected(one, touched) {
			return
		}
		m.reloadService(one)
		mu.Lock()
		defer mu.Unlock()
		loaded = append(loaded, one)
	})
	m.reportReload(changed, started, loaded)
}

// concernedServices returns the services that have read or looked for one of the changed files. If changed is nil, it
// returns all services. It does not compare the content of the files with the content that was read.
func (m *Manager) concernedServices(changed []string, touched pathSet) []*managed {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*managed
	for _, one := range m.services {
		if changed == nil || touched.containsAny(one.files) || one.live != nil && touched.containsAny(one.live.Files()) {
			all = append(all, one)
		}
	}
	return all
}

// reportReload passes the report of a reload to the function of OnReload, or logs it.
func (m *Manager) reportReload(changed []string, started time.Time, loaded []*managed) {
	m.telling.Lock()
	defer m.telling.Unlock()
	m.mu.Lock()
	r, told := newReport(changed, started, loaded), m.reloaded
	m.mu.Unlock()
	switch {
	case told != nil:
		told(r)
	case len(r.Loaded) > 0:
		m.log.Info("scripts reloaded", "services", strings.Join(r.Loaded, ", "), "took", r.Took.Round(time.Microsecond))
	}
}

// Failures returns a report of the services that could not be loaded the last time.
func (m *Manager) Failures(changed []string) Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	var failed []*managed
	for _, one := range m.services {
		if one.err != nil {
			failed = append(failed, one)
		}
	}
	return newReport(changed, time.Now(), failed)
}

// Names returns the names of the services and converters.
func (m *Manager) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return names(m.services)
}

func names(services []*managed) []string {
	var names []string
	for _, one := range services {
		names = append(names, one.Name)
	}
	return names
}

// Files returns the absolute paths of the files that the services have read or looked for.
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

// Faults returns the errors of the services that could not be loaded at the last attempt, by name of the service.
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

// Close closes all active versions.
func (m *Manager) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, one := range m.services {
		if one.live != nil {
			one.live.Close()
		}
	}
}

// pathSet contains changed paths. A path with symbolic links is in it twice, as given and with the links resolved.
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

// containsAny reports whether the set contains one of the files, or a folder that contains one of them.
func (s pathSet) containsAny(files []string) bool {
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

// broken is the placeholder for a service that has no good version. It answers every request with 503.
type broken struct{ name, why string }

// Unavailable returns a service that answers every request with 503. why is the reason for the client.
func Unavailable(name, why string) service.Service { return broken{name, why} }

var _ service.Service = broken{}

// brokenMethods are the methods of the routes of a broken service. OPTIONS is missing, because the router answers it.
const brokenMethods = "GET HEAD POST PUT PATCH DELETE SEARCH COPY LOCK UNLOCK MOVE MKCOL PROPFIND PROPPATCH REPORT MERGE " +
	"PURGE NOTIFY SUBSCRIBE UNSUBSCRIBE LINK UNLINK BIND REBIND UNBIND ACL CHECKOUT MKACTIVITY MKCALENDAR QUERY TRACE"

// Routes implements service.Service.
func (b broken) Routes() []service.Route {
	unavailable := func(context.Context, *service.Request) (*service.Response, error) {
		return nil, engine.Errorf(engine.Unavailable, "script", "service %s is not available: %s", b.name, b.why)
	}
	var routes []service.Route
	for _, method := range strings.Fields(brokenMethods) {
		routes = append(routes, service.Route{Method: method, Path: "*", Handler: unavailable})
	}
	return routes
}

// Errors implements service.Service. Services in JavaScript have the same form of errors.
func (b broken) Errors() service.ErrorForm { return service.TextErrors }

// forEachService calls do for every service, several at the same time. Calls for the same service do not overlap. The
// number of concurrent calls is the number of processors plus one, so that one slow service does not delay the
// others.
func (m *Manager) forEachService(services []*managed, do func(*managed)) {
	locked := func(one *managed) {
		one.loading.Lock()
		defer one.loading.Unlock()
		do(one)
	}
	workers := min(len(services), runtime.GOMAXPROCS(0)+1)
	if workers == 1 {
		locked(services[0])
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(services)); i = next.Add(1) - 1 {
				locked(services[i])
			}
		})
	}
	done.Wait()
}

// isAffected reports whether the service must be loaded again, because the content of its files has changed or
// because its last load failed.
func (m *Manager) isAffected(one *managed, touched pathSet) bool {
	m.mu.Lock()
	live, failed, files := one.live, one.err != nil, one.files
	m.mu.Unlock()
	if failed && touched.containsAny(files) {
		return true
	}
	return live != nil && touched.containsAny(live.Files()) && (failed || live.Service.Files.IsStale())
}

// maxLoads is the maximum number of attempts to load a service while its files keep changing. The last attempt counts
// even if it fails.
const maxLoads = 3

// clockLag is the resolution of file times: the modification time of a file may be this much before the actual
// change.
const clockLag = 10 * time.Millisecond

// settling is the time after the last change of a file during which a failed load is repeated, because the file may
// not have been written completely.
const settling = 50 * time.Millisecond

// reloadService loads a service after its files have changed. It waits until they have not changed for 50 ms
// (settling).
func (m *Manager) reloadService(one *managed) {
	m.loadRetrying(one, func(f *module.Files, began time.Time) bool {
		last := f.LastChange()
		if wait := settling - time.Since(last); wait > 0 && wait <= settling {
			time.Sleep(wait)
		}
		return !f.LastChange().Equal(last) || last.After(began) || f.IsModified()
	})
}

// loadService loads a service and makes the version active. If that fails, it records and logs the error.
func (m *Manager) loadService(one *managed) {
	m.loadRetrying(one, func(f *module.Files, began time.Time) bool { return f.LastChange().After(began) || f.IsModified() })
}

// loadRetrying loads a service for loadService or reloadService, up to maxLoads times. It loads the service again in
// two cases. If the load fails, the function doubtful decides whether a file may have been read while it was
// incomplete. If the load succeeds, the version may have read old content because a file changed during the load.
//
// A load that overlaps a checkout of git may have read files of both versions. It is repeated without counting as an
// attempt, for at most maxCheckouts.
func (m *Manager) loadRetrying(one *managed, doubtful func(*module.Files, time.Time) bool) {
	start := time.Now()
	for attempt := 1; ; attempt++ {
		revision := m.checkout.Await()
		began := time.Now()
		g, err := m.rt.Load(one.Service)
		m.rt.lastingOf(one.Name).counters.CountReload(time.Since(began), err)
		var failed *failedLoad
		switch {
		case !m.checkout.IsCurrent(revision) && time.Since(start) < maxCheckouts:
			if err == nil {
				g.Close()
			}
			attempt--
			continue
		case attempt == maxLoads:
		case errors.As(err, &failed) && doubtful(failed.files, began):
			continue
		case err == nil && isOutdated(g.Service.Files, began):
			g.Close()
			continue
		}
		if err != nil {
			g = m.loadFallback(one)
		}
		m.adoptVersion(one, g, err)
		return
	}
}

// maxCheckouts is the time after which a load that overlaps a checkout of git is used in spite of it.
const maxCheckouts = 20 * time.Second

// isOutdated reports whether the content of a file has changed since the load that began at the given time has read it.
func isOutdated(f *module.Files, began time.Time) bool {
	return (f.LastChange().After(began.Add(-clockLag)) || f.IsModified()) && f.IsStale()
}

// loadFallback loads a service with the content that its last good version in the previous Manager has used. It
// returns nil if there is no such content, or if the service already has an active version.
func (m *Manager) loadFallback(one *managed) *Generation {
	m.mu.Lock()
	last, needless := m.before[one.Name], one.live != nil
	m.mu.Unlock()
	if needless || last.files == nil || last.file != one.File || last.converter != one.Converter {
		return nil
	}
	g, err := m.rt.loadFrom(one.Service, last.files)
	if err != nil {
		return nil // the error for the current files is reported instead
	}
	return g
}

// adoptVersion makes the version g active, if g is not nil, and records the error of the load.
func (m *Manager) adoptVersion(one *managed, g *Generation, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one.err, one.files = nil, nil
	if g != nil {
		if refused := m.activateVersion(one, g); refused != nil {
			err = errors.Join(err, refused)
			one.files = g.Files()
			g.Close()
		} else {
			if one.live != nil {
				one.live.Close()
			}
			one.live = g
		}
	}
	if err != nil {
		m.recordFailure(one, err)
		return
	}
	if m.closed {
		g.Close() // Manager.Close has already run
	}
	m.log.Debug("script loaded", "service", one.Name, "file", one.File, "routes", len(g.routes))
}

// recordFailure records and logs why a service could not be loaded. The caller must hold m.mu.
func (m *Manager) recordFailure(one *managed, err error) {
	var failed *failedLoad
	if errors.As(err, &failed) {
		one.files = failed.files.AllPaths()
	}
	if !errors.As(err, &one.err) {
		one.err = &module.LoadError{File: filepath.ToSlash(one.File), Message: err.Error()}
	}
	text := "script cannot be loaded; the service answers 503"
	if one.live != nil {
		text = "script cannot be loaded; the last good version keeps answering"
	}
	m.logFault(text, one)
}

// activateVersion makes g the active version of a service or converter. The caller must hold m.mu.
func (m *Manager) activateVersion(one *managed, g *Generation) error {
	if m.events == nil && len(g.events) > 0 {
		return &module.LoadError{File: g.Asked, Message: "dataRepo.on: events are not available here"}
	}
	if one.converter != nil {
		one.converter.live.Store(g)
	} else if err := m.mount(one.Name, g); err != nil {
		return err
	}
	if m.events != nil {
		m.events.SetHandlers(g.Service, g.events)
	}
	return nil
}

// MissingModules looks for calls of require with a module that does not exist, in all files that the services have
// read. That includes calls that only a request would execute. It reports only the first such call on a line.
func (m *Manager) MissingModules() []*module.LoadError {
	m.mu.Lock()
	defer m.mu.Unlock()
	var missing []*module.LoadError
	seen := map[string]bool{}
	for _, one := range m.services {
		if one.live == nil {
			continue
		}
		var sources []*module.Source
		one.live.Service.Files.Each(func(s *module.Source) { sources = append(sources, s) })
		for _, s := range sources {
			if s.Program != nil && !seen[s.Path] && !strings.Contains(s.File, module.NodeModules+"/") {
				seen[s.Path] = true
				missing = append(missing, one.live.Service.Files.FindMissing(s)...)
			}
		}
	}
	return missing
}

// Sources returns the number of source files of all services.
func (m *Manager) Sources() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[string]bool{}
	for _, one := range m.services {
		if one.live != nil {
			one.live.Service.Files.Each(func(s *module.Source) { seen[s.Path] = true })
		}
	}
	return len(seen)
}

// Observe makes m register the event handlers of its services in e. It must be called before Add.
func (m *Manager) Observe(e *event.Events) { m.events = e }
