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
)

// Mount replaces the version of a service atomically. If it returns an error,
// the previous version stays.
type Mount func(name string, s service.Service) error

// Manager keeps the script services of a server up to date. If a new version
// cannot be loaded, the previous version stays active.
type Manager struct {
	rt    *Runtime
	mount Mount
	log   *slog.Logger

	telling  sync.Mutex // held while a reload is reported
	mu       sync.Mutex // protects the following fields and the fields of each managed; not held while scripts run
	services []*managed
	before   map[string]lastGood // last good versions of the previous Manager
	reloaded func(Report)
	closed   bool
	events   *event.Events // nil if writes cause no events
}

// managed is one service with its active version.
type managed struct {
	Service
	converter *converter // nil for a service
	loading   sync.Mutex // held during a load; locked before Manager.mu

	live  *Generation       // nil if no version could be loaded yet
	err   *module.LoadError // error of the last load
	files []string          // files of the last failed load
}

// lastGood describes the source of an active version.
type lastGood struct {
	file      string
	converter bool
	files     *module.Files
}

// NewManager returns a Manager without services. Its methods are safe for
// concurrent use.
func NewManager(rt *Runtime, mount Mount) *Manager {
	return &Manager{rt: rt, mount: mount, log: rt.log}
}

// OnReload sets a function that is called after each Reload, before the next
// report. If no function is set, reloads that loaded a service are logged.
func (m *Manager) OnReload(f func(Report)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reloaded = f
}

// Follow makes this Manager use the last good versions of the previous Manager
// for services with the same name and file, as long as their files are broken.
// Call it before Add. The previous Manager stays active until it is closed.
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

// Add loads and mounts services, several at a time. If a service cannot be
// loaded, Add mounts a placeholder that answers 503 until a good version
// replaces it, and the returned error includes its *LoadError.
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

// addServices loads services for the first time.
func (m *Manager) addServices(services ...*managed) {
	m.mu.Lock()
	m.services = append(m.services, services...)
	if m.events != nil {
		m.events.SetOrder(names(services))
	}
	m.mu.Unlock()
	m.forEachService(services, m.loadService)
}

// Lost returns an error that lists the services that were active in the
// previous Manager and are not in this one, because neither their current files
// nor their last good version could be loaded. It returns nil if there are
// none.
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

// Reload loads the services again that read one of the changed files, or all
// services if changed is nil. A changed folder stands for all files in it. If a
// service fails, the error is logged and its last good version stays active.
// Each new version is active as soon as it is loaded. Reload returns when all
// are loaded, but several calls may run at the same time, so a slow script does
// not delay other services.
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

// concernedServices returns the services that read or looked for a changed
// file, or all services if changed is nil. The content of the files may be
// unchanged.
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

// reportReload reports a reload to the function of OnReload or to the log.
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

// Files returns the files that the services have read or looked for.
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

// Faults returns the errors of the services that could not be loaded the last time, by name.
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

// pathSet contains changed paths, as given and with resolved links.
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

// containsAny reports whether the set contains one of the files or a folder
// above one.
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

// broken is the placeholder for a service that has no good version yet.
type broken struct{ name, why string }

// Unavailable returns a service that answers every request with 503 and the
// reason why.
func Unavailable(name, why string) service.Service { return broken{name, why} }

var _ service.Service = broken{}

// brokenMethods are the methods of the routes of a broken service. The router
// handles OPTIONS.
const brokenMethods = "GET HEAD POST PUT PATCH DELETE SEARCH COPY LOCK UNLOCK MOVE MKCOL PROPFIND PROPPATCH REPORT MERGE " +
	"PURGE NOTIFY SUBSCRIBE UNSUBSCRIBE LINK UNLINK BIND REBIND UNBIND ACL CHECKOUT MKACTIVITY MKCALENDAR QUERY TRACE"

// Routes implements engine.Service.
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

// Errors implements engine.Service. Scripts use TextErrors, too.
func (b broken) Errors() service.ErrorForm { return service.TextErrors }

// forEachService calls do for every service. Calls for the same service do not
// overlap. The number of concurrent calls is the number of processors plus one,
// so that a slow service does not delay the others.
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

// isAffected reports whether loading the service again would read other files
// or contents.
func (m *Manager) isAffected(one *managed, touched pathSet) bool {
	m.mu.Lock()
	live, failed, files := one.live, one.err != nil, one.files
	m.mu.Unlock()
	if failed && touched.containsAny(files) {
		return true
	}
	return live != nil && touched.containsAny(live.Files()) && (failed || live.Service.Files.IsStale())
}

// maxLoads is the maximum number of attempts to load a service if its files
// change while it is loaded. The failure of the last attempt is reported.
const maxLoads = 3

// clockLag is how much the modification time of a file may be before the actual
// change.
const clockLag = 10 * time.Millisecond

// settling is the time after the last change of a file during which a failed
// load is not final, because a file may be incomplete.
const settling = 50 * time.Millisecond

// reloadService loads a service after its files have changed.
func (m *Manager) reloadService(one *managed) {
	m.loadRetrying(one, func(f *module.Files, began time.Time) bool {
		last := f.LastChange()
		if wait := settling - time.Since(last); wait > 0 && wait <= settling {
			time.Sleep(wait)
		}
		return !f.LastChange().Equal(last) || last.After(began)
	})
}

// loadService loads one version of a service and activates it. If that fails,
// it records and logs the error.
func (m *Manager) loadService(one *managed) {
	m.loadRetrying(one, func(f *module.Files, began time.Time) bool { return f.LastChange().After(began) })
}

// loadRetrying does the work of loadService and reloadService. It loads again while a failure
// may come from files that were being written, which doubtful reports. It also
// discards a version if its files changed during the load, because it may have
// read the old content.
func (m *Manager) loadRetrying(one *managed, doubtful func(*module.Files, time.Time) bool) {
	for attempt := 1; ; attempt++ {
		began := time.Now()
		g, err := m.rt.Load(one.Service)
		m.rt.lastingOf(one.Name).counters.CountReload(time.Since(began), err)
		var failed *failedLoad
		switch {
		case attempt == maxLoads:
		case errors.As(err, &failed) && doubtful(failed.files, began):
			continue
		case err == nil && g.Service.Files.LastChange().After(began.Add(-clockLag)) && g.Service.Files.IsStale():
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

// loadFallback returns the last good version of the previous Manager for a
// service that has no good version in this one. It returns nil if there is
// none.
func (m *Manager) loadFallback(one *managed) *Generation {
	m.mu.Lock()
	last, needless := m.before[one.Name], one.live != nil
	m.mu.Unlock()
	if needless || last.files == nil || last.file != one.File || last.converter != one.Converter {
		return nil
	}
	g, err := m.rt.loadFrom(one.Service, last.files)
	if err != nil {
		return nil // the error of the current files is reported instead
	}
	return g
}

// adoptVersion activates g, if it is not nil, and records the error of the
// load.
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
		g.Close() // Close of the Manager has already run
	}
	m.log.Debug("script loaded", "service", one.Name, "file", one.File, "routes", len(g.routes))
}

// recordFailure records why a service could not be loaded. The caller must hold
// m.mu.
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

// activateVersion activates a version.
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

// MissingModules finds calls of require in the files of the services that name
// missing modules, including calls that only a request would execute. It
// reports at most one call per line, the first.
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

// Observe connects the services of m to e. It must be called before Add.
func (m *Manager) Observe(e *event.Events) { m.events = e }
