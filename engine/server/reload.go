package server

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"restsrv/engine"
	"restsrv/engine/deploy"
	"restsrv/engine/script"
	"restsrv/engine/server/appdata"
	"restsrv/engine/watch"
)

// maxReadings is the maximum number of attempts to read an application while its files change.
const maxReadings = 3

// read reads the application. It logs the warnings that are not already known from the previous
// edition.
func (s *Server) read(before *edition) (*loadedApp, error) {
	var told map[string]bool
	if before != nil {
		told = before.warnings
	}
	file := s.options.Application
	checkout := watch.NewCheckout(filepath.Dir(file))
	for attempt := 1; ; attempt++ {
		revision := checkout.Await()
		at := sourcesOf(file)
		loaded, err := loadApp(file, s.modules, s.options.Strict)
		now := sourcesOf(file)
		if attempt < maxReadings && !(now.same(at) && checkout.IsCurrent(revision)) {
			continue
		}
		a := &loadedApp{loaded, now.withConfigured(file, loaded.Config, knownNames(s.modules)), map[string]bool{}}
		for _, w := range a.Warnings {
			if a.told[w.String()] = true; !told[w.String()] {
				s.log.Warn(w.String())
			}
		}
		return a, err
	}
}

// reload handles changes of files. If changed is nil, all files may have changed. If deploy.json,
// classes or other files of the application differ, reload creates a new edition and returns a
// rest that does nothing. Otherwise the caller must call rest, which reloads the changed scripts.
// Because rest can take long, it does not hold the lock, and another reload can start before it
// ends. If a reload fails, the current edition stays.
func (s *Server) reload(ctx context.Context, changed []string) (rest func()) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	started, e := time.Now(), s.current.Load()
	rest = func() {}
	if changed != nil {
		changed = append(slices.Clone(changed), s.missed...)
	}
	if changed == nil || s.failed || e.affectedBy(changed) {
		if !s.readingOf(filepath.Join(e.config.Dir, e.config.File), e.config).same(e.reading) {
			changes, err := s.renew(ctx, e)
			s.failed, s.missed = err != nil, nil
			if s.failed {
				s.missed = changed
			}
			s.logReload(Reload{Changed: changed, Took: time.Since(started), Database: changes, Err: err})
			return rest
		}
		s.failed = false
	}
	s.missed = nil
	s.logIgnoredData(changed)
	return func() { e.scripts.Reload(changed) }
}

// logIgnoredData logs that changed files in the folder data have no effect, because only the first
// start imports them.
func (s *Server) logIgnoredData(changed []string) {
	folder := s.started.Abs(appdata.DataDir)
	data := slices.DeleteFunc(slices.Clone(changed), func(path string) bool { return !isAbove(folder, path) })
	if len(data) > 0 {
		s.log.Info("objects of data are taken by the first start alone; restsrv import takes them now", "changed", ShownPaths(s.started.Dir, data))
	}
}

// renew reads the application and replaces the edition. changes describes the changes of the
// database in words.
func (s *Server) renew(ctx context.Context, before *edition) (changes []string, err error) {
	a, err := s.read(before)
	if err != nil {
		return nil, err
	}
	if !a.reading.samePresentation(before.reading) {
		s.reportPresentation(a.App)
	}
	e, err := s.newEdition(ctx, a, before)
	if err != nil {
		return nil, err
	}
	if names := s.fixedSettings(e.config); len(names) > 0 {
		s.log.Warn("settings that have changed take effect when the server is started again", "settings", strings.Join(names, ", "))
	}
	s.useEdition(e)
	if err := s.importAccess(ctx, a); err != nil {
		s.log.Error("accounts and roles cannot be taken", "error", err)
	}
	go returnMemory()
	return databaseChanges(before.meta.Classes(), e.meta.Classes()), nil
}

// reportPresentation logs mistakes in files that are read on demand, such as views. It takes long
// for a large application. With -strict it has no effect, since such mistakes prevent the start.
func (s *Server) reportPresentation(a *appdata.App) {
	if s.options.Strict {
		return
	}
	for _, f := range appdata.SortFaults(a.Config, a.CheckPresentation()) {
		if f.Level == engine.Mistake {
			s.log.Warn(f.String())
		}
	}
}

// fixedSettings returns the names of changed settings that have an effect only at the next start.
func (s *Server) fixedSettings(c *deploy.Config) []string {
	was := s.started
	var names []string
	for _, setting := range []struct {
		name    string
		changed bool
	}{
		{"addr", s.listenAddr(c) != s.listenAddr(was)},
		{"db", s.databaseURL(c) != s.databaseURL(was) || c.Pool != was.Pool || c.Synchronous != was.Synchronous},
		{"headerTimeout", c.HeaderTimeout != was.HeaderTimeout},
		{"idleTimeout", c.IdleTimeout != was.IdleTimeout},
		{"minAnswerRate", c.MinAnswerRate != was.MinAnswerRate},
		{"answerBytes", c.AnswerBytes != was.AnswerBytes},
		{"bodyBytes", c.BodyBytes != was.BodyBytes},
		{"fileBytes", c.FileBytes != was.FileBytes},
		{"maxHeaderBytes", c.MaxHeaderBytes != was.MaxHeaderBytes},
		{"limits.heapBytes", c.HeapBytes != was.HeapBytes},
		{"queryTimeout", c.QueryTimeout != was.QueryTimeout},
		{"lockTimeout", c.LockTimeout != was.LockTimeout},
		{"shares", c.Shares != was.Shares},
		{"signIn", c.SignIn != was.SignIn},
		{"audit", c.Audit != was.Audit},
		{"imageStorage.memory", c.Images.Memory != was.Images.Memory},
	} {
		if setting.changed {
			names = append(names, setting.name)
		}
	}
	return names
}

// Reload describes a reload of deploy.json or classes.
type Reload struct {
	Changed  []string // changed paths; nil if all files may have changed
	Took     time.Duration
	Database []string // changes of the database, such as "attribute note@app.due added"
	Err      error    // if it is not nil, everything stays as it was
}

// logReload reports the result of a reload of the application, and then the scripts that
// could not be loaded.
func (s *Server) logReload(r Reload) {
	now := s.current.Load()
	switch {
	case s.options.Reloaded != nil:
		s.options.Reloaded(r)
	case r.Err != nil:
		s.log.Error("the application cannot be reloaded and goes on as it was", "error", r.Err)
	default:
		args := []any{"changed", ShownPaths(s.started.Dir, r.Changed), "classes", len(now.meta.Classes()), "services", len(now.config.Services), "took", r.Took.Round(time.Microsecond)}
		if len(r.Database) > 0 {
			args = append(args, "database", strings.Join(r.Database, ", "))
		}
		s.log.Info("application reloaded", args...)
	}
	if failed := now.scripts.Failures(r.Changed); r.Err == nil && s.options.ScriptsReloaded != nil && !failed.Idle() {
		s.reportScripts(failed)
	}
}

// sameSave is the time within which the events about files that were saved together should
// arrive.
const sameSave = time.Second

// reportScripts reports a reload of scripts. It leaves out a failure that was reported a moment
// ago: if deploy.json and a script change together, both changes may reload the script.
func (s *Server) reportScripts(r script.Report) {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	now := time.Now()
	for name, err := range r.Failed {
		text := err.Error()
		if last, ok := s.failures[name]; ok && last.text == text && now.Sub(last.at) < sameSave {
			delete(r.Failed, name)
			r.Down = slices.DeleteFunc(r.Down, func(down string) bool { return down == name })
			continue
		}
		s.failures[name] = failure{text, now}
	}
	for _, name := range r.Loaded {
		delete(s.failures, name)
	}
	s.options.ScriptsReloaded(r)
}

// failure is a reported failure of a script.
type failure struct {
	text string
	at   time.Time
}

// reloadOnHangup reloads the application on SIGHUP until stop is called.
func (s *Server) reloadOnHangup() (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	var done sync.WaitGroup
	done.Go(func() {
		for range hup {
			s.reload(s.life, nil)()
		}
	})
	return func() {
		signal.Stop(hup)
		close(hup)
		done.Wait()
	}
}

// startWatch reloads files of the application when they are saved, until stop is called.
func (s *Server) startWatch() (stop func(), err error) {
	var loads sync.WaitGroup
	watcher, err := s.watch(s.life, &loads)
	if err != nil {
		return nil, fmt.Errorf("-watch: %w", err)
	}
	return func() {
		_ = watcher.Close() // an error has no effect here
		loads.Wait()
	}, nil
}

// watch reloads files when they are saved. Scripts are loaded concurrently; loads counts these
// goroutines.
func (s *Server) watch(ctx context.Context, loads *sync.WaitGroup) (*watch.Watcher, error) {
	var watcher *watch.Watcher
	ready := make(chan struct{})
	changed := func(paths []string) {
		<-ready
		rest := s.reload(ctx, paths)
		loads.Go(func() {
			rest()
			watcher.Follow(s.followedFiles())
		})
	}
	var err error
	watcher, err = watch.New(watch.Config{Dir: s.started.Dir, Skip: []string{s.storedFiles()}, Wanted: s.isWatched, Changed: changed, Log: s.log})
	if err != nil {
		return nil, err
	}
	watcher.Follow(s.followedFiles())
	close(ready)
	return watcher, nil
}

// followedFiles returns files that are watched although they are in node_modules or have unusual
// names.
func (s *Server) followedFiles() []string {
	e := s.current.Load()
	return append(e.scripts.Files(), e.config.Read...)
}

// ShownPaths returns paths relative to the application directory, as text. It shows at most five
// paths, and the number of further paths.
func ShownPaths(dir string, paths []string) string {
	const most = 5
	var names []string
	for _, p := range paths {
		if rel, err := filepath.Rel(dir, p); err == nil {
			p = filepath.ToSlash(rel)
		}
		names = append(names, p)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	all := slices.Clone(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(all, func(folder string) bool { return strings.HasPrefix(name, folder+"/") })
	})
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}
