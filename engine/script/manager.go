package script

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
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
}

// managed is one service and the version that answers now.
type managed struct {
	Service
	live      *Generation // nil while no version could be loaded
	converter *converter  // nil for a service
	err       error       // of the last load
	files     []string    // of the last failed load
}

// NewManager returns a Manager without services. Its methods may be called
// from any goroutine.
func NewManager(rt *Runtime, mount Mount) *Manager {
	return &Manager{rt: rt, mount: mount, log: rt.log}
}

// Add loads and mounts a service. When it cannot be loaded, a service that
// answers 503 is mounted, to be replaced by the first good version, and the
// *LoadError is returned.
func (m *Manager) Add(s Service) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	one := &managed{Service: s}
	m.services = append(m.services, one)
	if err := m.load(one); err != nil {
		return errors.Join(err, m.mount(s.Name, broken{name: s.Name}))
	}
	return nil
}

// Reload loads the services anew that read one of the changed files, all when
// changed is nil. A changed folder counts for the files in it. What fails is
// logged and keeps its last good version.
func (m *Manager) Reload(changed []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	touched := newPathSet(changed)
	for _, one := range m.services {
		if changed != nil && !one.affected(touched) {
			continue
		}
		_ = m.load(one)
	}
}

// load needs m.mu. It logs how it went.
func (m *Manager) load(one *managed) error {
	start := time.Now()
	g, err := m.rt.Load(one.Service)
	m.rt.lastingOf(one.Name).counters.reloaded(time.Since(start), err)
	log := m.log.With("service", one.Name)
	one.err, one.files = nil, nil
	if err != nil {
		var failed *failedLoad
		if errors.As(err, &failed) {
			one.files = failed.files.paths()
			err = failed.LoadError
		}
		one.err = err
		m.logFault(log, one, err)
		return err
	}
	old := one.live
	if err := m.use(one, g); err != nil {
		g.Close()
		one.err, one.files = err, g.Files()
		m.logFault(log, one, err)
		return err
	}
	one.live = g
	if old == nil {
		log.Debug("script loaded", "file", one.File, "routes", len(g.routes))
		return nil
	}
	old.Close()
	log.Info("script reloaded", "file", one.File, "routes", len(g.routes), "took", time.Since(start).Round(time.Microsecond))
	return nil
}

// use has a version answer from now on.
func (m *Manager) use(one *managed, g *Generation) error {
	if one.converter != nil {
		one.converter.live.Store(g)
		return nil
	}
	return m.mount(one.Name, g)
}

func (m *Manager) logFault(log *slog.Logger, one *managed, err error) {
	text := "script cannot be loaded; the service answers 503"
	if one.live != nil {
		text = "script cannot be loaded; the last good version keeps answering"
	}
	var e *LoadError
	if errors.As(err, &e) {
		log.Error(text, "error", e.Error(), "source", e.Source)
		return
	}
	log.Error(text, "error", err)
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
		if s[f] {
			return true
		}
		for p := range s {
			if strings.HasPrefix(f, p+string(filepath.Separator)) {
				return true
			}
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
