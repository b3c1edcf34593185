package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"restsrv/engine"
	"restsrv/engine/query"
)

// Contents are shared: equal files of many items are one content. Therefore a
// content may be removed only if no row names its hash, and if no request of
// any process on the folder is about to commit such a row.
//
// A request announces that with a marker, staged/<hash>/<random>. It creates
// the marker before it checks that the content exists, and removes it after its
// transaction has ended. A process that removes a content first renames it into
// leaving/, then looks for markers, then for rows, and restores the content if
// it finds any:
//   - a marker that was created before the process looks is found;
//   - the request of a marker that is created later finds the content missing,
//     and stores its own copy;
//   - a request has committed its rows, or failed, if its marker is already removed.
//
// A marker is valid for Grace after it was last touched. Running requests touch
// theirs. If a process has crashed, or if it is uncertain whether the commit of
// a request takes effect (engine.Staging.Unsettle), the markers expire, and
// Sweep checks their contents.

const (
	staged = "staged"
	// everything is used in place of a hash by markers that protect all
	// contents (Pause).
	everything = "everything"
	// touchEvery is the interval at which the marker of a running request is
	// touched.
	touchEvery = Grace / 4
	// releaseTime is the time limit for one check of the rows of a content.
	releaseTime = 30 * time.Second
)

// marker is the file with which a request announces that it needs a content.
type marker struct {
	storage *Storage
	hash    string
	path    string
	timer   *time.Timer
}

// newMarker creates a marker. The caller removes it with remove or release, or
// leaves it to expire.
func (s *Storage) newMarker(hash string) (*marker, error) {
	m := &marker{storage: s, hash: hash, path: filepath.Join(s.cfg.Dir, staged, hash, newID())}
	if err := s.createMarker(m.path); err != nil {
		return nil, err
	}
	m.timer = time.AfterFunc(touchEvery, m.touch)
	return m, nil
}

// createMarker creates the file of a marker. It retries, because another
// request may remove the empty folder before the file is created.
func (s *Storage) createMarker(path string) error {
	var err error
	for range 100 {
		var f *os.File
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
		if err == nil {
			now := s.cfg.Now()
			return errors.Join(f.Close(), os.Chtimes(path, now, now))
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return err
}

func (m *marker) touch() {
	now := m.storage.cfg.Now()
	if os.Chtimes(m.path, now, now) == nil {
		m.timer.Reset(touchEvery)
	}
}

// remove removes the marker, and its folder if that is empty.
func (m *marker) remove() {
	m.timer.Stop()
	_ = os.Remove(m.path)
	_ = os.Remove(filepath.Dir(m.path))
}

// release removes the marker, and the content unless it is needed. If it is not
// settled whether the rows of the request are committed, the marker is left to
// expire instead.
func (m *marker) release(settled bool) {
	if !settled {
		m.timer.Stop()
		return
	}
	m.remove()
	m.storage.releaseContent(m.hash)
}

// releaseWithRequest releases the marker when the request of ctx ends. If there
// is no request, the marker stays until it expires.
func (m *marker) releaseWithRequest(ctx context.Context) {
	if !engine.StagingFrom(ctx).Add(m.release) {
		m.timer.Stop()
	}
}

// Hold implements engine.FileStorage.
func (s *Storage) Hold(ctx context.Context, f engine.StoredFile) error {
	if !isHash(f.Hash) {
		return noContent(f)
	}
	m, err := s.newMarker(f.Hash)
	if err != nil {
		return uploadError(err)
	}
	now, err := s.Find(ctx, f.ID)
	if err == nil && now.Hash != f.Hash {
		err = noContent(f)
	}
	if err != nil {
		m.remove()
		return err
	}
	m.releaseWithRequest(ctx)
	return nil
}

// isStaged reports whether there is a marker of the hash that has not expired.
func (s *Storage) isStaged(hash string) (bool, error) {
	markers, err := os.ReadDir(filepath.Join(s.cfg.Dir, staged, hash))
	if err != nil {
		return false, ignoreMissing(err)
	}
	for _, m := range markers {
		if info, err := m.Info(); err == nil && s.isYoung(info) {
			return true, nil
		}
	}
	return false, nil
}

// isNeeded reports whether a request or a row needs a content. It looks for
// markers first: a request that has removed its marker has committed its rows.
func (s *Storage) isNeeded(ctx context.Context, hash string) (bool, error) {
	if found, err := s.isStaged(hash); found || err != nil {
		return found, err
	}
	filter, err := query.Equal(s.cfg.Class.Property("hash"), hash)
	if err != nil {
		return false, err
	}
	found := false
	err = s.cfg.Data.List(engine.AsServer(ctx), &engine.Query{Class: s.cfg.Class, Filter: filter, Count: 1}, func(*engine.Item) error {
		found = true
		return nil
	})
	return found, err
}

// Unheld removes contents in the background unless they are needed. Use Wait to
// wait for that. The store calls Unheld after a transaction in which items have
// lost files with these hashes.
func (s *Storage) Unheld(hashes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unheld = append(s.unheld, hashes...)
	if !s.removing {
		s.removing = true
		go s.removeUnheld()
	}
}

// Wait waits until the removals that Unheld has started are done.
func (s *Storage) Wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.removing {
		s.removed.Wait()
	}
}

func (s *Storage) removeUnheld() {
	for {
		s.mu.Lock()
		hashes := s.unheld
		s.unheld, s.removing = nil, len(hashes) > 0
		if !s.removing {
			s.removed.Broadcast()
		}
		s.mu.Unlock()
		if len(hashes) == 0 {
			return
		}
		for _, hash := range hashes {
			s.releaseContent(hash)
		}
	}
}

// releaseContent removes a content unless it is needed. If that fails, it
// leaves a marker, so that a later Sweep tries again.
func (s *Storage) releaseContent(hash string) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	if err := s.removeUnneeded(ctx, hash); err != nil {
		s.cfg.Log.Warn("a file that may be unused could not be checked or removed; trying again later", "hash", hash, "after", Grace, "error", err)
		s.retryLater(hash)
	}
}

func (s *Storage) retryLater(hash string) {
	if err := s.createMarker(filepath.Join(s.cfg.Dir, staged, hash, newID())); err != nil {
		s.cfg.Log.Warn("an unused file may stay in the folder until restsrv files -remove is run", "hash", hash, "error", err)
	}
}

func (s *Storage) removeUnneeded(ctx context.Context, hash string) error {
	if !isHash(hash) {
		return nil
	}
	if needed, err := s.isNeeded(ctx, hash); needed || err != nil {
		return err
	}
	if _, err := os.Stat(s.contentPath(hash)); err != nil {
		return ignoreMissing(err)
	}
	if paused, err := s.isStaged(everything); paused || err != nil {
		s.retryLater(hash)
		return err
	}
	return s.removeContent(hash, func(fs.FileInfo) (bool, error) { return s.isNeeded(ctx, hash) })
}

// Pause prevents the removal of contents until resume is called. Use it to copy
// the data and their files consistently.
func (s *Storage) Pause() (resume func(), err error) {
	if _, err := os.Stat(s.cfg.Dir); errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil // without the directory there is no content to remove
	}
	m, err := s.newMarker(everything)
	if err != nil {
		return nil, uploadError(err)
	}
	return m.remove, nil
}

// sweepEvery is the interval at which Tidy calls Sweep.
const sweepEvery = 10 * time.Minute

// Tidy calls Sweep now and every ten minutes until ctx ends.
func (s *Storage) Tidy(ctx context.Context) {
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("interrupted uploads could not be removed; trying again", "in", sweepEvery, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery):
		}
	}
}

// Sweep removes the leftovers of crashed processes: contents with expired
// markers that no row names, and incomplete uploads.
func (s *Storage) Sweep(ctx context.Context) error {
	folders, err := os.ReadDir(filepath.Join(s.cfg.Dir, staged))
	if err != nil {
		return ignoreMissing(err)
	}
	for _, folder := range folders {
		if err := s.sweepMarkers(ctx, folder.Name()); err != nil {
			return err
		}
	}
	return s.visitInterrupted(func(o Orphan) error { return s.Remove(ctx, o) })
}

func (s *Storage) sweepMarkers(ctx context.Context, hash string) error {
	if live, err := s.isStaged(hash); live || err != nil {
		return err
	}
	if err := s.removeUnneeded(ctx, hash); err != nil {
		return err
	}
	dir := filepath.Join(s.cfg.Dir, staged, hash)
	markers, err := os.ReadDir(dir)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, m := range markers {
		if info, err := m.Info(); err == nil && !s.isYoung(info) {
			_ = os.Remove(filepath.Join(dir, m.Name()))
		}
	}
	_ = os.Remove(dir)
	return nil
}
