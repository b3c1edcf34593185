package script

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// each does something for services, one at a time for each of them and as many
// at a time as there are processors; one more, for one that takes long.
func (m *Manager) each(services []*managed, do func(*managed)) {
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

// affected reports whether a service would load otherwise now.
func (m *Manager) affected(one *managed, touched pathSet) bool {
	m.mu.Lock()
	live, failed, files := one.live, one.err != nil, one.files
	m.mu.Unlock()
	if failed && touched.any(files) {
		return true
	}
	return live != nil && touched.any(live.Files()) && (failed || live.files.stale())
}

// maxLoads is how often a service is loaded because its files change
// meanwhile, before its failure is believed.
const maxLoads = 3

// clockLag is how much earlier a file may say it was changed than it was.
const clockLag = 10 * time.Millisecond

// settling is how long after the last change of its files a failure of a load
// is believed: until then one of them may be half written.
const settling = 50 * time.Millisecond

// reload is load, of files that have just changed.
func (m *Manager) reload(one *managed) {
	m.loadWhen(one, func(f *files, began time.Time) bool {
		last := f.changed()
		if wait := settling - time.Since(last); wait > 0 && wait <= settling {
			time.Sleep(wait)
		}
		return !f.changed().Equal(last) || last.After(began)
	})
}

// load loads one version and has it answer from now on, or notes and logs why
// it does not.
func (m *Manager) load(one *managed) {
	m.loadWhen(one, func(f *files, began time.Time) bool { return f.changed().After(began) })
}

// loadWhen is load, again while a failure may have come of files that were being
// written, as doubtful says. A version whose files changed meanwhile does not
// count either: nobody would know that it has read them.
func (m *Manager) loadWhen(one *managed, doubtful func(*files, time.Time) bool) {
	for attempt := 1; ; attempt++ {
		began := time.Now()
		g, err := m.rt.Load(one.Service)
		m.rt.lastingOf(one.Name).counters.reloaded(time.Since(began), err)
		var failed *failedLoad
		switch {
		case attempt == maxLoads:
		case errors.As(err, &failed) && doubtful(failed.files, began):
			continue
		case err == nil && g.files.changed().After(began.Add(-clockLag)) && g.files.stale():
			g.Close()
			continue
		}
		if err != nil {
			g = m.fallback(one)
		}
		m.take(one, g, err)
		return
	}
}

// changed is when one of the files that were read or looked for was last
// changed.
func (f *files) changed() (last time.Time) {
	for _, path := range f.paths() {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// fallback is what was last good in the Manager before this one, for a service
// that has no good version in this one; nil for nothing.
func (m *Manager) fallback(one *managed) *Generation {
	m.mu.Lock()
	last, needless := m.before[one.Name], one.live != nil
	m.mu.Unlock()
	if needless || last.files == nil || last.file != one.File || last.converter != one.Converter {
		return nil
	}
	g, err := m.rt.loadFrom(one.Service, last.files)
	if err != nil {
		return nil // what is wrong with the files that there are is told
	}
	return g
}

// take has a version answer from now on, nil for none, and notes the failure
// of the load.
func (m *Manager) take(one *managed, g *Generation, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one.err, one.files = nil, nil
	if g != nil {
		if refused := m.use(one, g); refused != nil {
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
		m.failed(one, err)
		return
	}
	if m.closed {
		g.Close() // nobody else will
	}
	m.log.Debug("script loaded", "service", one.Name, "file", one.File, "routes", len(g.routes))
}

// failed notes why a service could not be loaded. It needs m.mu.
func (m *Manager) failed(one *managed, err error) {
	var failed *failedLoad
	if errors.As(err, &failed) {
		one.files = failed.files.paths()
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
