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

// Several items can hold files with equal content, which is stored only once. Therefore a content
// may be removed only if two conditions are met: no row contains its hash, and no request is
// about to commit a row with its hash. The request can run in any process that uses the
// directory.
//
// A request announces that it needs a content with a marker: an empty file
// staged/<hash>/<random>. It creates the marker before it checks that the content exists, and
// removes the marker after its transaction has ended. A process that removes a content first
// renames it into leaving/. Then it looks for markers, and after that for rows. If it finds a
// marker or a row, it restores the content. There are three cases:
//
//   - A marker was created before the process looks: the process finds the marker.
//   - A marker is created later: its request finds that the content is missing, and stores it
//     again.
//   - A marker has been removed before: its request has committed its rows, which the process
//     finds, or has failed.
//
// A marker is valid for the time Grace after its last modification. Running requests touch their
// markers. The markers of a crashed process expire. A marker also expires if its request does not
// know whether its commit takes effect (see engine.Staging.Unsettle). Sweep checks the contents
// of expired markers.

const (
	staged = "staged"
	// everything is used in place of a hash for a marker that protects all contents; see Pause.
	everything = "everything"
	// touchEvery is the interval at which a running request touches its markers.
	touchEvery = Grace / 4
	// releaseTime is the time limit for checking whether a content is needed.
	releaseTime = 30 * time.Second
)

// marker is a file with which a request announces that it needs a content; see above.
type marker struct {
	storage *Storage
	hash    string
	path    string
	timer   *time.Timer
}

// newMarker creates a marker. The caller must call remove or release, or leave the marker to expire.
func (s *Storage) newMarker(hash string) (*marker, error) {
	m := &marker{storage: s, hash: hash, path: filepath.Join(s.cfg.Dir, staged, hash, newID())}
	if err := s.createMarker(m.path); err != nil {
		return nil, err
	}
	m.timer = time.AfterFunc(touchEvery, m.touch)
	return m, nil
}

// createMarker creates the file of a marker. It tries several times, because another request may remove the empty
// folder before the file is created.
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

// remove removes the marker, and the folder of the marker if no other marker is in it.
func (m *marker) remove() {
	m.timer.Stop()
	_ = os.Remove(m.path)
	_ = os.Remove(filepath.Dir(m.path))
}

// release removes the marker, and then the content if it is not needed. If settled is false, it
// is unknown whether the rows of the request are committed. Then release removes neither, and the
// marker expires.
func (m *marker) release(settled bool) {
	if !settled {
		m.timer.Stop()
		return
	}
	m.remove()
	m.storage.releaseContent(m.hash)
}

// releaseWithRequest calls release when the request in ctx has ended. If ctx has no request, the marker stays until
// it expires.
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

// isStaged reports whether the content has a marker that has not expired.
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

// isNeeded reports whether a request or a row needs a content. It looks for markers before it looks for rows: a
// request commits its rows before it removes its marker.
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

// Unheld removes, in the background, those of the contents that are no longer needed. After a
// transaction, the store calls it with the hashes of files that items no longer hold. Use Wait to
// wait for the removal.
func (s *Storage) Unheld(hashes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unheld = append(s.unheld, hashes...)
	if !s.removing {
		s.removing = true
		go s.removeUnheld()
	}
}

// Wait waits until the removals that Unheld has started have ended.
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

// releaseContent removes a content if it is not needed. If the removal fails, it creates a
// marker, so that Sweep tries again when the marker has expired.
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

// Pause prevents the removal of contents until resume is called. It is used for exports, which read the data first
// and the files afterwards: all files that the data names must still exist.
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

// Tidy calls Sweep immediately, and then every sweepEvery until ctx ends.
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

// Sweep removes the files that crashed processes have left: contents with expired markers that no row contains, and
// incomplete uploads.
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
