package server

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"restsrv/engine/mistake"
	"restsrv/engine/server/appdata"
	"restsrv/engine/transfer"
)

// fillFirst loads data of the application before the server answers requests. A new database gets
// all data. Another database gets only the accounts and roles that it does not have yet. If
// several servers start on a new database, one of them loads the data and the others wait.
func (s *Server) fillFirst(ctx context.Context, a *loadedApp) error {
	fresh, err := s.db.Store.Fresh(ctx)
	if err != nil {
		return err
	}
	if !fresh {
		return s.importAccess(ctx, a)
	}
	wait := func() { s.log.Info("another process fills the new database: waiting for it") }
	return appdata.HoldFirstStart(ctx, s.db, wait, func(ctx context.Context) error {
		fresh, err := s.db.Store.Fresh(ctx)
		if err != nil || !fresh {
			return err
		}
		return s.firstStart(ctx, a)
	})
}

func (s *Server) firstStart(ctx context.Context, a *loadedApp) error {
	source, err := appdata.DataFolder(a.Config.Dir, appdata.DataDir, a.Config.Namespace)
	if err != nil {
		return err
	}
	started := time.Now()
	f := &appdata.Filling{App: a.App, Database: s.db, ACL: a.Config.Abs(appdata.ACLDir), Data: source}
	var end func()
	f.Progress, end = s.showProgress("importing", source.Total)
	done, err := f.Fill(ctx)
	end()
	s.logAccess(done.Access)
	if done.Report != nil && source.Total > 0 {
		s.logObjects(done.Report, time.Since(started))
	}
	if err != nil {
		return fmt.Errorf("the new database is not filled, the next start goes on with it: %w", appdata.PlainError(err))
	}
	for _, f := range done.Left {
		s.log.Warn(f.String())
	}
	if done.Seeded > 0 {
		s.log.Info("objects created", "file", a.Config.File, "count", done.Seeded)
	}
	return nil
}

// importAccess imports accounts and roles of the folder acl that are not known yet.
func (s *Server) importAccess(ctx context.Context, a *loadedApp) error {
	done, err := appdata.ImportACL(ctx, s.db, a.Config.Abs(appdata.ACLDir))
	if err != nil {
		return fmt.Errorf("%s: %w", appdata.ACLDir, appdata.PlainError(err))
	}
	s.logAccess(done)
	return nil
}

// logAccess logs the refused entries of the folder acl, and the number of imported entries.
func (s *Server) logAccess(done appdata.ImportedACL) {
	for _, line := range done.RejectedEntries() {
		s.log.Warn(line + ": " + mistake.ACLEntry.Resolution)
	}
	for _, where := range done.Weak {
		s.log.Warn(appdata.WeakPasswordText(where))
	}
	if done.Accounts+done.Roles+done.Resources+len(done.RejectedEntries()) > 0 {
		s.log.Info("accounts and roles taken", "accounts", done.Accounts, "roles", done.Roles, "resources", done.Resources, "known", done.Known, "not taken", len(done.RejectedEntries()))
	}
}

// logObjects logs the refused objects of the folder data, and the number of imported objects.
func (s *Server) logObjects(r *transfer.Report, took time.Duration) {
	for _, f := range r.Refused {
		f.Where = filepath.Join(appdata.DataDir, f.Where)
		s.log.Warn(appdata.RefusalText(f))
	}
	for _, name := range r.IgnoredNames() {
		s.log.Warn("values passed over: there is no such attribute", "attribute", name, "count", r.Ignored[name], "first", filepath.Join(appdata.DataDir, r.IgnoredIn[name]))
	}
	s.log.Info("objects taken", "count", r.Count(), "not taken", r.NotTaken(), "took", took.Round(time.Millisecond))
}

// showProgress begins to show the progress of work, with Config.Progress or, if that is nil, in the log. The caller
// must call add with the number of objects done since the last call, and done at the end.
func (s *Server) showProgress(what string, total int64) (add func(int64), done func()) {
	if s.options.Progress != nil {
		return s.options.Progress(what, total)
	}
	return progressLog(s.log, what, total), func() {}
}

// progressLog logs the progress of work: a line at the start, and one every ten seconds.
func progressLog(log *slog.Logger, what string, total int64) (add func(int64)) {
	if total > 0 {
		log.Info(what, "objects", total)
	}
	var done int64
	told := time.Now()
	return func(n int64) {
		if done += n; time.Since(told) >= 10*time.Second {
			told = time.Now()
			log.Info(what, "done", done, "of", total)
		}
	}
}
