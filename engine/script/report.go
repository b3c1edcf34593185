package script

import (
	"slices"
	"time"

	"restsrv/engine/script/module"
	"restsrv/engine/script/vm"
)

// Report is the result of one reload. Each reload has a report, even if it
// loaded no service.
type Report struct {
	Changed []string                     // changed paths that were passed to Reload, nil for all
	Took    time.Duration                // time until the new versions were active
	Loaded  []string                     // services and converters with a new version, sorted
	Failed  map[string]*module.LoadError // services and converters that could not be loaded; they keep their last good version or answer 503
	Down    []string                     // names in Failed that answer 503, sorted
}

// Idle reports whether the reload loaded no service.
func (r Report) Idle() bool { return len(r.Loaded) == 0 && len(r.Failed) == 0 }

// newReport returns the report for the services that were loaded.
func newReport(changed []string, started time.Time, loaded []*managed) Report {
	r := Report{Changed: changed, Took: time.Since(started), Failed: map[string]*module.LoadError{}}
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

// logFault logs the load error of a service, unless reports are used.
func (m *Manager) logFault(text string, one *managed) {
	if m.reloaded != nil {
		return
	}
	args := []any{"service", one.Name, "error", one.err.Error()}
	switch e := one.err; {
	case m.rt.dev && e.Excerpt != "":
		args = append(args, vm.ExcerptKey, e.Excerpt)
	case e.Source != "":
		args = append(args, "source", e.Source)
	}
	m.log.Error(text, args...)
}
