package main

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
	"restsrv/engine/watch"
)

// maxReadings is how often an application is read again if its files change meanwhile.
const maxReadings = 3

// read reads the application. It logs the warnings that the edition before did not
// have.
func (s *server) read(before *edition) (*app, error) {
	var told map[string]bool
	if before != nil {
		told = before.warnings
	}
	file := s.flags.config
	for attempt := 1; ; attempt++ {
		at := sourcesOf(file)
		a, err := loadApplication(file, s.flags.strict)
		now := sourcesOf(file)
		if !now.same(at) && attempt < maxReadings {
			continue
		}
		a.reading, a.told = now.withConfigured(file, a.config), map[string]bool{}
		for _, w := range a.warnings {
			if a.told[w.String()] = true; !told[w.String()] {
				s.log.Warn(w.String())
			}
		}
		return a, err
	}
}

// reload applies changes of files; if changed is nil, all files may have changed. If
// deploy.json or classes differ, it creates a new edition. Otherwise only scripts are
// loaded, which may take long: the returned function does that, and another reload may
// begin meanwhile. If a reload fails, everything stays as it was.
func (s *server) reload(ctx context.Context, changed []string) (rest func()) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	started, e := time.Now(), s.current.Load()
	rest = func() {}
	if changed != nil {
		changed = append(slices.Clone(changed), s.missed...)
	}
	if changed == nil || s.failed || e.affectedBy(changed) {
		if !readingOf(filepath.Join(e.config.Dir, e.config.File), e.config).same(e.reading) {
			err := s.renew(ctx, e)
			s.failed, s.missed = err != nil, nil
			if s.failed {
				s.missed = changed
			}
			s.logReload(changed, time.Since(started), err)
			return rest
		}
		s.failed = false
	}
	s.missed = nil
	s.logIgnoredData(changed)
	return func() { e.scripts.Reload(changed) }
}

// logIgnoredData logs that changed files of objects have no effect, because only the first
// start imports them.
func (s *server) logIgnoredData(changed []string) {
	folder := s.started.Abs(dataDir)
	data := slices.DeleteFunc(slices.Clone(changed), func(path string) bool { return !isAbove(folder, path) })
	if len(data) > 0 {
		s.log.Info("objects of data are taken by the first start alone; restsrv import takes them now", "changed", shownPaths(s.started.Dir, data))
	}
}

// renew reads the application and replaces the edition.
func (s *server) renew(ctx context.Context, before *edition) error {
	a, err := s.read(before)
	if err != nil {
		return err
	}
	if !a.reading.samePresentation(before.reading) {
		s.reportPresentation(a)
	}
	e, err := s.newEdition(ctx, a, before)
	if err != nil {
		return err
	}
	if names := s.fixedSettings(e.config); len(names) > 0 {
		s.log.Warn("settings that have changed take effect when the server is started again", "settings", strings.Join(names, ", "))
	}
	s.useEdition(e)
	if err := s.importAccess(ctx, a); err != nil {
		s.log.Error("accounts and roles cannot be taken", "error", err)
	}
	go returnMemory()
	return nil
}

// reportPresentation logs the mistakes in navigation, views and other files that are
// read on demand. This takes long if the application is large. If the server is
// strict, these mistakes have prevented the start.
func (s *server) reportPresentation(a *app) {
	if s.flags.strict {
		return
	}
	for _, f := range sortFaults(a.config, a.checkPresentation()) {
		if f.Level == engine.Mistake {
			s.log.Warn(f.String())
		}
	}
}

// fixedSettings lists the settings that differ from the start and cannot change while the
// server runs.
func (s *server) fixedSettings(c *deploy.Config) []string {
	was := s.started
	var names []string
	for _, setting := range []struct {
		name    string
		changed bool
	}{
		{"addr", s.listenAddr(c) != s.listenAddr(was)},
		{"db", s.database(c) != s.database(was) || c.Pool != was.Pool || c.Synchronous != was.Synchronous},
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

// logReload logs the result of a reload of the application.
func (s *server) logReload(changed []string, took time.Duration, err error) {
	switch {
	case s.console != nil:
		s.console.printApplication(changed, took, err)
	case err != nil:
		s.log.Error("the application cannot be reloaded and goes on as it was", "error", err)
	default:
		now := s.current.Load()
		s.log.Info("application reloaded", "changed", shownPaths(s.started.Dir, changed), "classes", len(now.meta.Classes()), "services", len(now.config.Services),
			"took", took.Round(time.Microsecond))
	}
}

// startReloads reloads the application on SIGHUP and, with -watch, when its files are
// saved. The returned function ends that.
func (s *server) startReloads(ctx context.Context) (stop func(), err error) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	var done sync.WaitGroup
	done.Go(func() {
		for range hup {
			s.reload(ctx, nil)()
		}
	})
	deaf := func() {
		signal.Stop(hup)
		close(hup)
		done.Wait()
	}
	if !s.flags.watch {
		return deaf, nil
	}
	var loads sync.WaitGroup
	watcher, err := s.watch(ctx, &loads)
	if err != nil {
		deaf()
		return nil, fmt.Errorf("-watch: %w", err)
	}
	return func() {
		_ = watcher.Close() // an error has no effect here
		loads.Wait()
		deaf()
	}, nil
}

// watch reloads files when they are saved. Scripts are loaded concurrently, in loads.
func (s *server) watch(ctx context.Context, loads *sync.WaitGroup) (*watch.Watcher, error) {
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

// followedFiles returns the files that are watched wherever they are: in node_modules, or
// with names that are otherwise not watched.
func (s *server) followedFiles() []string {
	e := s.current.Load()
	return append(e.scripts.Files(), e.config.Read...)
}
