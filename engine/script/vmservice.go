package script

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

// vmService is what all VMs of one version of a service share.
type vmService struct {
	name     string
	asked    string // the configured file
	limits   Limits
	env      *engine.Env
	options  engine.Options
	log      *slog.Logger
	files    *files
	counters *counters
	dog      *watchdog
	compile  *cache
	now      func() time.Time
	dev      bool
	ownVMs   bool // the service sets limits.VMs itself
	legacy   bool // based on IONDV's Service class, which has other rules for texts and numbers

	begin func()              // called before the first call
	spawn func() (*vm, error) // creates a VM and loads the module in it

	group    *group
	begun    atomic.Bool // it has received a call
	warnOnce sync.Map    // texts of the logged warnings
	warnings atomic.Int64
}

// maxWarnings is the limit of the warnings of one load, because their texts may contain data of clients.
const maxWarnings = 200

// warn logs a warning, once per load.
func (s *vmService) warn(text string, args ...any) { s.warnOf(text, text, args...) }

// warnOf logs a warning, once per load for each key.
func (s *vmService) warnOf(key, text string, args ...any) {
	if _, given := s.warnOnce.LoadOrStore(key, true); !given && s.warnings.Add(1) <= maxWarnings {
		s.log.Warn(text, args...)
	}
}

// data returns the repository of the global dataRepo: the repository of the option dataRepo, if it is set, or the
// default.
func (s *vmService) data() engine.Repository {
	if named, ok := s.options["dataRepo"].(engine.Repository); ok {
		return named
	}
	return s.env.Data
}

// metadata returns the repository of the global metaRepo: the repository of the option metaRepo, if it is set, or the
// default.
func (s *vmService) metadata() engine.MetaRepository {
	if named, ok := s.options["metaRepo"].(engine.MetaRepository); ok {
		return named
	}
	return s.env.Meta
}

// excerptOf returns the source of a failure, as loaded by this version, or "" if the position is not known.
func (s *vmService) excerptOf(f *Failure) string {
	if f.File == "" {
		return ""
	}
	src := s.files.byName(f.File)
	if src == nil {
		return ""
	}
	return excerpt(string(src.text), f.Line, f.Column)
}

// failureArgs returns the log attributes of a failure. In development mode they include an excerpt of the source.
func (s *vmService) failureArgs(f *Failure, args ...any) []any {
	args = append(args, "error", f)
	if s.dev {
		if text := s.excerptOf(f); text != "" {
			args = append(args, ExcerptKey, text)
		}
	}
	return args
}

// RejectionMessage is the message of log records about an unhandled promise rejection.
const RejectionMessage = "a promise was rejected and nobody handled it"

// ExcerptKey is the log attribute with the source around a failure, on several lines. It is present in development
// mode only.
const ExcerptKey = "excerpt"

// loading is the load of a module in a new VM. It ends when the module has run and its routes are registered.
type loading struct {
	vm   *vm
	done chan error // buffered
}

// finish ends the loading. It must be called inside a turn, and only the first call has an effect. If the turn has
// exceeded its time limit, the loading fails even if err is nil.
func (l *loading) finish(err error) {
	v := l.vm
	if v.load != l {
		return
	}
	if why := v.clock.expired(); err == nil && why != nil {
		err = v.loadError(v.describeAbort(nil, why))
	}
	v.load = nil
	v.limit = v.service.limits.CPU
	l.done <- err
}

// runLoad runs start, which loads the module, in the first turn of v. It returns the error with which the load ends.
func (v *vm) runLoad(start func(*loading) error) error {
	l := &loading{vm: v, done: make(chan error, 1)}
	v.do(task{nil, func() error {
		v.load = l
		return start(l)
	}}, true)
	longest := loadWait * v.service.limits.Load
	t := time.NewTimer(longest)
	defer t.Stop()
	select {
	case err := <-l.done:
		return err
	case <-t.C:
		return v.service.fault("_route did not finish within " + longest.String())
	}
}

// loadWait times the CPU limit of loading is the time limit of an async _route.
const loadWait = 5

// fault returns an error for the file of the service.
func (s *vmService) fault(message string) *LoadError {
	return &LoadError{File: filepath.ToSlash(s.asked), Message: message}
}

// loadError converts a failure to a LoadError.
func (v *vm) loadError(f *Failure) error {
	var e *LoadError
	if errors.As(f.cause, &e) {
		return e
	}
	e = &LoadError{File: f.File, Line: f.Line, Column: f.Column, Message: f.Message}
	if e.File == "" {
		return v.service.fault(f.Message)
	}
	if s := v.service.files.byName(e.File); s != nil {
		e.Source, e.Excerpt = s.lineText(e.Line), v.service.excerptOf(f)
	}
	return e
}
