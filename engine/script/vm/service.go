package vm

import (
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/module"
	"restsrv/engine/service"
)

// Service holds the data that all VMs of one version of a service share.
type Service struct {
	Name     string
	Asked    string // the configured file
	Limits   limits.Limits
	Env      *service.Env
	Options  service.Options
	Log      *slog.Logger
	Files    *module.Files
	Counters *Counters
	Dog      *Watchdog
	Compile  *module.Cache
	Now      func() time.Time
	Dev      bool
	OwnVMs   bool // the service sets limits.VMs itself
	Legacy   bool // based on IONDV's Service class, which has other rules for texts and numbers

	Ending   *Ending // of this version of the service
	Stopping *Ending // of the server

	Begin func()              // called before the first call
	Spawn func() (*VM, error) // creates a VM and loads the module in it

	Group    *group      // see NewGroup
	begun    atomic.Bool // the service has received a call
	WarnOnce sync.Map    // keys of the warnings that were logged
	warnings atomic.Int64
}

// maxWarnings is the maximum number of warnings that one load of a service logs. The texts may contain data of
// clients, so that their number would not be limited otherwise.
const maxWarnings = 200

// Warn logs a warning. The same text is logged once per load.
func (s *Service) Warn(text string, args ...any) { s.WarnOf(text, text, args...) }

// WarnOf logs a warning, but only one for each key per load.
func (s *Service) WarnOf(key, text string, args ...any) {
	if _, given := s.WarnOnce.LoadOrStore(key, true); !given && s.warnings.Add(1) <= maxWarnings {
		s.Log.Warn(text, args...)
	}
}

// Data returns the repository behind the global dataRepo of scripts. This is the repository of the option dataRepo,
// or the default if the option is not set.
func (s *Service) Data() engine.Repository {
	if named, ok := s.Options["dataRepo"].(engine.Repository); ok {
		return named
	}
	return s.Env.Data
}

// Metadata returns the repository behind the global metaRepo of scripts. This is the repository of the option
// metaRepo, or the default if the option is not set.
func (s *Service) Metadata() engine.MetaRepository {
	if named, ok := s.Options["metaRepo"].(engine.MetaRepository); ok {
		return named
	}
	return s.Env.Meta
}

// ExcerptOf returns the lines of source text around the position of a failure, as this version loaded them. It
// returns "" if the position is not known.
func (s *Service) ExcerptOf(f *Failure) string {
	if f.File == "" {
		return ""
	}
	src := s.Files.ByName(f.File)
	if src == nil {
		return ""
	}
	return module.Excerpt(string(src.Text), f.Line, f.Column)
}

// FailureArgs appends the log attributes of f to args. In development mode they include an excerpt of the source.
func (s *Service) FailureArgs(f *Failure, args ...any) []any {
	args = append(args, "error", f)
	if s.Dev {
		if text := s.ExcerptOf(f); text != "" {
			args = append(args, ExcerptKey, text)
		}
	}
	return args
}

// RejectionMessage is the message of log records about an unhandled promise rejection.
const RejectionMessage = "a promise was rejected and nobody handled it"

// ExcerptKey is the name of the log attribute with an excerpt of the source around a failure. Its value has several
// lines. It is present in development mode only.
const ExcerptKey = "excerpt"

// Loading is the execution of a module in a new VM. It ends when the module has run and its routes are registered.
type Loading struct {
	vm   *VM
	done chan error // buffered
}

// Finish ends the loading. It must be called inside a turn, and only the first call has an effect. If the turn has
// exceeded its time limit, the loading fails even if err is nil.
func (l *Loading) Finish(err error) {
	v := l.vm
	if v.Load != l {
		return
	}
	if why := v.Clock.expired(); err == nil && why != nil {
		err = v.LoadError(v.describeAbort(nil, why))
	}
	v.Load = nil
	v.limit = v.Service.Limits.CPU
	l.done <- err
}

// RunLoad calls start, which loads the module, in the first turn of v. It waits for Finish and returns its error.
func (v *VM) RunLoad(start func(*Loading) error) error {
	l := &Loading{vm: v, done: make(chan error, 1)}
	v.Do(Task{nil, func() error {
		v.Load = l
		return start(l)
	}}, true)
	longest := loadWait * v.Service.Limits.Load
	t := time.NewTimer(longest)
	defer t.Stop()
	select {
	case err := <-l.done:
		return err
	case <-t.C:
		return v.Service.Fault("_route did not finish within " + longest.String())
	}
}

// loadWait limits the time in which a module must load, in particular the promise of an async function _route. It is
// a multiple of the CPU limit for loading.
const loadWait = 5

// Fault returns an error about the main file of the service, without a position.
func (s *Service) Fault(message string) *module.LoadError {
	return &module.LoadError{File: filepath.ToSlash(s.Asked), Message: message}
}

// LoadError returns the error for a failure during the load of a service: a *module.LoadError with the position of
// the failure.
func (v *VM) LoadError(f *Failure) error {
	var e *module.LoadError
	if errors.As(f.Cause, &e) {
		return e
	}
	e = &module.LoadError{File: f.File, Line: f.Line, Column: f.Column, Message: f.Message}
	if e.File == "" {
		return v.Service.Fault(f.Message)
	}
	if s := v.Service.Files.ByName(e.File); s != nil {
		e.Source, e.Excerpt = s.LineText(e.Line), v.Service.ExcerptOf(f)
	}
	return e
}
