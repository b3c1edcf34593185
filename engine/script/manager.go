package script

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"restsrv/engine"
)

// Mount replaces the version of a service atomically. If it returns an error,
// the previous version stays.
type Mount func(name string, s engine.Service) error

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
	events   *Events // nil if there are none
}

// managed is one service with its active version.
type managed struct {
	Service
	converter *converter // nil for a service
	loading   sync.Mutex // held during a load; locked before Manager.mu

	live  *Generation // nil if no version could be loaded yet
	err   *LoadError  // error of the last load
	files []string    // files of the last failed load
}

// lastGood describes the source of an active version.
type lastGood struct {
	file      string
	converter bool
	files     *files
}

// NewManager returns a Manager without services. Its methods are safe for
// concurrent use.
func NewManager(rt *Runtime, mount Mount) *Manager {
	return &Manager{rt: rt, mount: mount, log: rt.log}
}

// OnReload sets a function that is called after each Reload, before the next
// report. If there is none, reloads that loaded a service are logged.
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
			m.before[one.Name] = lastGood{one.File, one.Converter, one.live.files}
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

// Faults returns the errors of the services whose last load failed, by name.
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
func Unavailable(name, why string) engine.Service { return broken{name, why} }

var _ engine.Service = broken{}

// brokenMethods are the methods of the routes of a broken service. The router
// handles OPTIONS.
const brokenMethods = "GET HEAD POST PUT PATCH DELETE SEARCH COPY LOCK UNLOCK MOVE MKCOL PROPFIND PROPPATCH REPORT MERGE " +
	"PURGE NOTIFY SUBSCRIBE UNSUBSCRIBE LINK UNLINK BIND REBIND UNBIND ACL CHECKOUT MKACTIVITY MKCALENDAR QUERY TRACE"

// Routes implements engine.Service.
func (b broken) Routes() []engine.Route {
	unavailable := func(context.Context, *engine.Request) (*engine.Response, error) {
		return nil, engine.Errorf(engine.Unavailable, "script", "service %s is not available: %s", b.name, b.why)
	}
	var routes []engine.Route
	for _, method := range strings.Fields(brokenMethods) {
		routes = append(routes, engine.Route{Method: method, Path: "*", Handler: unavailable})
	}
	return routes
}

// Errors implements engine.Service. Scripts use TextErrors, too.
func (b broken) Errors() engine.ErrorForm { return engine.TextErrors }
