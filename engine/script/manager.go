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

// Mount puts a version of a service in the place of the one before, in one
// step. After an error the one before goes on answering.
type Mount func(name string, s engine.Service) error

// Manager keeps the script services of a server up to date. A version that
// cannot be loaded never replaces one that could.
type Manager struct {
	rt    *Runtime
	mount Mount
	log   *slog.Logger

	telling  sync.Mutex // held while somebody is told of a reload
	mu       sync.Mutex // of what follows, and of each managed; not held while scripts run
	services []*managed
	before   map[string]lastGood // of the Manager that this one follows
	reloaded func(Report)
	closed   bool
	events   *Events // nil for none
}

// managed is one service and the version that answers now.
type managed struct {
	Service
	converter *converter // nil for a service
	loading   sync.Mutex // one load at a time; taken before Manager.mu

	live  *Generation // nil while no version could be loaded
	err   *LoadError  // of the last load
	files []string    // of the last failed load
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
	var added []*managed
	for _, s := range services {
		added = append(added, &managed{Service: s})
	}
	m.add(added...)
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

// add loads services for the first time.
func (m *Manager) add(services ...*managed) {
	m.mu.Lock()
	m.services = append(m.services, services...)
	m.events.expect(services)
	m.mu.Unlock()
	m.each(services, m.load)
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
// logged and keeps its last good version. Each version answers as soon as it is
// loaded, and Reload returns when all are: a script that takes long holds up
// nobody else, since another Reload may begin meanwhile.
func (m *Manager) Reload(changed []string) {
	started, touched := time.Now(), newPathSet(changed)
	var mu sync.Mutex
	var loaded []*managed
	m.each(m.concerned(changed, touched), func(one *managed) {
		if changed != nil && !m.affected(one, touched) {
			return
		}
		m.reload(one)
		mu.Lock()
		defer mu.Unlock()
		loaded = append(loaded, one)
	})
	m.tell(changed, started, loaded)
}

// concerned are the services that read or looked for a changed file, all when
// changed is nil. What is in them may be as it was.
func (m *Manager) concerned(changed []string, touched pathSet) []*managed {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*managed
	for _, one := range m.services {
		if changed == nil || touched.any(one.files) || one.live != nil && touched.any(one.live.Files()) {
			all = append(all, one)
		}
	}
	return all
}

// tell tells of a reload.
func (m *Manager) tell(changed []string, started time.Time, loaded []*managed) {
	m.telling.Lock()
	defer m.telling.Unlock()
	m.mu.Lock()
	r, told := report(changed, started, loaded), m.reloaded
	m.mu.Unlock()
	switch {
	case told != nil:
		told(r)
	case len(r.Loaded) > 0:
		m.log.Info("scripts reloaded", "services", strings.Join(r.Loaded, ", "), "took", r.Took.Round(time.Microsecond))
	}
}

// Names lists the services and converters.
func (m *Manager) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, one := range m.services {
		names = append(names, one.Name)
	}
	return names
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
	m.closed = true
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
type broken struct{ name, why string }

// Unavailable returns a service that answers every request with 503. The answers say
// why.
func Unavailable(name, why string) engine.Service { return broken{name, why} }

var _ engine.Service = broken{}

// brokenMethods are those that a script may have had routes for. OPTIONS is
// left to the router.
const brokenMethods = "GET HEAD POST PUT PATCH DELETE SEARCH COPY LOCK UNLOCK MOVE MKCOL PROPFIND PROPPATCH REPORT MERGE " +
	"PURGE NOTIFY SUBSCRIBE UNSUBSCRIBE LINK UNLINK BIND REBIND UNBIND ACL CHECKOUT MKACTIVITY MKCALENDAR QUERY TRACE"

// Routes answers every request with 503.
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

// Errors is TextErrors, as for the script itself.
func (b broken) Errors() engine.ErrorForm { return engine.TextErrors }
