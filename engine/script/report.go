package script

import (
	"slices"
	"time"

	"restsrv/engine/script/module"
	"restsrv/engine/script/vm"
)

// Report describes one reload. There is a report for each reload, even if no service had to be loaded.
type Report struct {
	Changed []string                     // paths that were passed to Reload; nil for all
	Took    time.Duration                // time until all new versions were active
	Loaded  []string                     // services and converters with a new version, sorted
	Failed  map[string]*module.LoadError // services and converters that could not be loaded; they keep their last good version or answer 503
	Down    []string                     // those of Failed that answer 503, because they have no good version; sorted
}

// Idle reports whether no service had to be loaded.
func (r Report) Idle() bool { return len(r.Loaded) == 0 && len(r.Failed) == 0 }

// newReport returns the report about the services in loaded, whether or not their load has succeeded.
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

// logFault logs the load error of a service. If OnReload has set a function, that function gets the error in its
// report, so logFault logs nothing.
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
