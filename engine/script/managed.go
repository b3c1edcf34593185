package script

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

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
	return live != nil && touched.containsAny(live.Files()) && (failed || live.files.isStale())
}

// maxLoads is the maximum number of attempts to load a service whose files
// change while it is loaded. The failure of the last attempt is reported.
const maxLoads = 3

// clockLag is how much the modification time of a file may be before the actual
// change.
const clockLag = 10 * time.Millisecond

// settling is the time after the last change of a file during which a failed
// load is not final, because a file may be incomplete.
const settling = 50 * time.Millisecond

// reloadService loads a service whose files have just changed.
func (m *Manager) reloadService(one *managed) {
	m.loadRetrying(one, func(f *files, began time.Time) bool {
		last := f.lastChange()
		if wait := settling - time.Since(last); wait > 0 && wait <= settling {
			time.Sleep(wait)
		}
		return !f.lastChange().Equal(last) || last.After(began)
	})
}

// loadService loads one version of a service and activates it. If that fails,
// it records and logs the error.
func (m *Manager) loadService(one *managed) {
	m.loadRetrying(one, func(f *files, began time.Time) bool { return f.lastChange().After(began) })
}

// loadRetrying does the work of loadService and reloadService. It loads again while a failure
// may come from files that were being written, which doubtful reports. It also
// discards a version whose files changed during the load, because it may have
// read the old content.
func (m *Manager) loadRetrying(one *managed, doubtful func(*files, time.Time) bool) {
	for attempt := 1; ; attempt++ {
		began := time.Now()
		g, err := m.rt.Load(one.Service)
		m.rt.lastingOf(one.Name).counters.countReload(time.Since(began), err)
		var failed *failedLoad
		switch {
		case attempt == maxLoads:
		case errors.As(err, &failed) && doubtful(failed.files, began):
			continue
		case err == nil && g.files.lastChange().After(began.Add(-clockLag)) && g.files.isStale():
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
		one.files = failed.files.allPaths()
	}
	if !errors.As(err, &one.err) {
		one.err = &LoadError{File: filepath.ToSlash(one.File), Message: err.Error()}
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
		return &LoadError{File: g.asked, Message: "dataRepo.on: events are not available here"}
	}
	if one.converter != nil {
		one.converter.live.Store(g)
	} else if err := m.mount(one.Name, g); err != nil {
		return err
	}
	if m.events != nil {
		m.events.SetHandlers(g.vmService, g.events)
	}
	return nil
}

// MissingModules finds calls of require in the files of the services that name
// missing modules, including calls that only a request would execute. It
// reports at most one call per line, the first.
func (m *Manager) MissingModules() []*LoadError {
	m.mu.Lock()
	defer m.mu.Unlock()
	var missing []*LoadError
	seen := map[string]bool{}
	for _, one := range m.services {
		if one.live == nil {
			continue
		}
		var sources []*source
		one.live.files.each(func(s *source) { sources = append(sources, s) })
		for _, s := range sources {
			if s.program != nil && !seen[s.path] && !strings.Contains(s.file, nodeModules+"/") {
				seen[s.path] = true
				missing = append(missing, one.live.files.findMissing(s)...)
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
			one.live.files.each(func(s *source) { seen[s.path] = true })
		}
	}
	return len(seen)
}

// Observe connects the services of m to e. It must be called before Add.
func (m *Manager) Observe(e *Events) { m.events = e }
