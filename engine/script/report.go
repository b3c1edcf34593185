package script

import (
	"slices"
	"time"
)

// Report is what became of one reload. There is one for each, also when
// nothing had to be loaded.
type Report struct {
	Changed []string              // the paths that were said to have changed, nil for everything
	Took    time.Duration         // until the new versions answered
	Loaded  []string              // services and converters that have a new version, sorted
	Failed  map[string]*LoadError // those that could not be loaded: the last good version answers, or 503
	Down    []string              // those of Failed that answer 503, sorted
}

// Idle reports whether the reload had nothing to do.
func (r Report) Idle() bool { return len(r.Loaded) == 0 && len(r.Failed) == 0 }

// report collects what became of the services that were loaded.
func report(changed []string, started time.Time, loaded []*managed) Report {
	r := Report{Changed: changed, Took: time.Since(started), Failed: map[string]*LoadError{}}
	for _, one := range loaded {
		if one.err == nil {
			r.Loaded = append(r.Loaded, one.Name)
			continue
		}
		r.Failed[one.Name] = one.err
		if one.live == nil {
			r.Down = append(r.Down, one.Name)
		}
	}
	slices.Sort(r.Loaded)
	slices.Sort(r.Down)
	return r
}

// logFault tells of a service that could not be loaded, unless reports do.
func (m *Manager) logFault(text string, one *managed) {
	if m.reloaded != nil {
		return
	}
	args := []any{"service", one.Name, "error", one.err.Error()}
	switch e := one.err; {
	case m.rt.dev && e.Excerpt != "":
		args = append(args, ExcerptKey, e.Excerpt)
	case e.Source != "":
		args = append(args, "source", e.Source)
	}
	m.log.Error(text, args...)
}
