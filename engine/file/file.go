// Package file stores the content of files in a directory. It implements engine.FileStorage for servers with a disk.
// The name of a content is its SHA-256 hash. So equal contents are stored once, and a content is never overwritten. A
// system class records which item holds which file; the store writes its rows together with the items. Package rest
// serves the files, and attachment.Files checks the permissions to read them.
//
// The directory has these folders:
//
//	objects/ab/cdef...       a content; abcdef... is its hash in hexadecimal digits
//	derived/ab/cdef.../name  content derived from it, such as a thumbnail
//	incoming/                files that are being written
//	leaving/                 contents that are being removed
//	staged/                  markers of running requests that need a content (staging.go)
package file

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"restsrv/engine"
)

// DefaultMaxFile is the default of Config.MaxFile, in bytes.
const DefaultMaxFile = 1 << 30

// Config contains the settings of a Storage.
type Config struct {
	Dir     string            // directory; created with the first file
	MaxFile int64             // maximum size of one file in bytes; 0 means DefaultMaxFile
	Limits  Limits            // limits for all files together; Data is needed only if there are limits
	Data    engine.Repository // stores the items of Class
	Class   *engine.Class     // result of the function Class, as Data stores it
	Now     func() time.Time  // nil means time.Now
	Log     *slog.Logger      // nil disables logging
}

// Storage implements engine.FileStorage with a directory. Several processes may use the same directory.
type Storage struct {
	cfg  Config
	room *room
	sure sync.Map // folders of objects that are known to be durable (see makeFolder)

	mu       sync.Mutex
	unheld   []string  // hashes of contents that removeUnheld still has to check
	removing bool      // removeUnheld is running
	removed  sync.Cond // signals that removeUnheld has ended; uses mu
}

var _ engine.FileStorage = (*Storage)(nil)

// New returns the storage for a directory. It does not create the directory, because an application without files
// does not need it.
func New(cfg Config) *Storage {
	if cfg.MaxFile <= 0 {
		cfg.MaxFile = DefaultMaxFile
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Storage{cfg: cfg, room: newRoom(cfg)}
	s.removed.L = &s.mu
	return s
}

// Folders in the directory.
const (
	objects  = "objects"
	incoming = "incoming"
	leaving  = "leaving"
)

// Put implements engine.FileStorage.
func (s *Storage) Put(ctx context.Context, name, mimeType string, content io.Reader) (engine.StoredFile, error) {
	f := engine.StoredFile{ID: newID(), Name: safeName(name), MimeType: safeType(mimeType)}
	u, err := s.room.beginUpload(ctx)
	if err != nil {
		return engine.StoredFile{}, err
	}
	aside, err := s.receiveContent(&f, content, u)
	if err == nil {
		err = ctx.Err()
	}
	var m *marker
	if err == nil {
		m, err = s.newMarker(f.Hash)
	}
	if err == nil {
		if err = s.storeContent(aside, f.Hash); err != nil {
			m.release(true)
		}
	}
	if err != nil {
		if aside != "" {
			_ = os.Remove(aside) // if this fails, Sweep removes the file
		}
		u.end(false)
		return engine.StoredFile{}, uploadError(err)
	}
	u.endWithRequest(ctx)
	m.releaseWithRequest(ctx)
	return f, nil
}

// uploadError returns the error to report for a failed upload. It converts errors of the disk. It
// returns an engine.Error unchanged, because such an error describes a fault of the content.
func uploadError(err error) error {
	var e *engine.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the file took too long", Err: err}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &engine.Error{Code: engine.Unavailable, Reason: "files", Message: "there is no room for the file", Err: err, RetryAfter: time.Minute}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return &engine.Error{Code: engine.Unavailable, Reason: "files", Message: "the server has no folder where it can keep files", Err: err, RetryAfter: time.Minute}
	case errors.Is(err, syscall.EIO):
		return &engine.Error{Code: engine.Unavailable, Reason: "files", Message: "the disk that keeps files fails", Err: err, RetryAfter: time.Minute}
	}
	return engine.Wrap(err, "the file could not be stored")
}

// Ready returns an error if files cannot be stored. It writes a test file and removes it. If the directory did not
// exist, Ready removes it again.
func (s *Storage) Ready() error {
	_, err := os.Stat(s.cfg.Dir)
	isNew := errors.Is(err, fs.ErrNotExist)
	out, err := s.createTemporary()
	if err == nil {
		err = errors.Join(out.Close(), os.Remove(out.Name()))
	}
	if isNew { // Remove keeps a folder that is not empty
		_ = os.Remove(filepath.Join(s.cfg.Dir, incoming))
		_ = os.Remove(s.cfg.Dir)
	}
	return err
}

// createTemporary creates a temporary file to write an upload to.
func (s *Storage) createTemporary() (*os.File, error) {
	dir := filepath.Join(s.cfg.Dir, incoming)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, newID()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// receiveContent writes content to a temporary file, syncs the file, and sets the size and the hash of f. It returns
// the path of the temporary file, even together with an error.
func (s *Storage) receiveContent(f *engine.StoredFile, content io.Reader, u *upload) (path string, err error) {
	out, err := s.createTemporary()
	if err != nil {
		return "", err
	}
	path = out.Name()
	sum := sha256.New()
	from := &source{r: io.LimitReader(content, s.cfg.MaxFile+1), upload: u}
	f.Size, err = io.Copy(io.MultiWriter(out, sum), from)
	switch {
	case from.err != nil:
		err = from.err
	case err == nil && f.Size > s.cfg.MaxFile:
		err = engine.Errorf(engine.TooLarge, "too-large", "a file has at most %d bytes", s.cfg.MaxFile)
	case err == nil:
		err = out.Sync()
	}
	f.Hash = hex.EncodeToString(sum.Sum(nil))
	return path, errors.Join(err, out.Close())
}

// source is a reader that records the errors of r. Errors of r come from the client. When an
// upload is copied to a file, the record distinguishes them from errors of the disk.
type source struct {
	r      io.Reader
	upload *upload
	err    error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if n > 0 && (err == nil || err == io.EOF) {
		if full := s.upload.grow(int64(n)); full != nil {
			err = full
		}
	}
	if err != nil && err != io.EOF {
		var e *engine.Error
		if !errors.As(err, &e) {
			e = &engine.Error{Code: engine.Invalid, Reason: "body", Message: "the content of a file could not be read", Err: err}
		}
		s.err = e
	}
	return n, err
}

// storeContent moves a temporary file to the path of the content, and syncs the folders so that the content survives
// a crash.
func (s *Storage) storeContent(aside, hash string) error {
	path := s.contentPath(hash)
	now := s.cfg.Now()
	dir := filepath.Dir(path)
	if err := s.makeFolder(dir); err != nil {
		return err
	}
	var err error
	if renewContent(path, now) {
		err = os.Remove(aside)
	} else if err = os.Chtimes(aside, now, now); err == nil {
		err = os.Rename(aside, path)
	}
	if err != nil {
		return err
	}
	return syncFolder(dir) // a concurrent request may have created the file without having synced the folder yet
}

// renewContent reports whether the content exists. If so, renewContent sets its modification time
// to now, so that it counts as new (see Grace) and another process does not remove it as unused
// (see removeContent).
func renewContent(path string, now time.Time) bool {
	if os.Chtimes(path, now, now) != nil {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

// makeFolder creates a folder for contents and syncs the parents of the folder. It syncs the
// parents even if the folder exists, because another request may have created the folder and not
// have synced the parents yet.
func (s *Storage) makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, sure := s.sure.Load(dir); sure {
		return nil
	}
	for _, d := range []string{filepath.Dir(dir), s.cfg.Dir, filepath.Dir(s.cfg.Dir)} {
		if err := syncFolder(d); err != nil {
			return err
		}
	}
	s.sure.Store(dir, true)
	return nil
}

// syncFolder makes the names in a folder durable: they survive a crash.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (s *Storage) contentPath(hash string) string {
	return filepath.Join(s.cfg.Dir, objects, hash[:2], hash[2:])
}

// removalPaths returns the paths of a content in the folder leaving, if it is being removed.
func (s *Storage) removalPaths(hash string) []string {
	paths, _ := filepath.Glob(filepath.Join(s.cfg.Dir, leaving, hash+"*")) // cannot fail: a hash has no special characters
	return paths
}

// isHash reports whether s is a hash. Without this check, a wrong value in the database could lead to a path outside
// of the directory.
func isHash(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// Open implements engine.FileStorage.
func (s *Storage) Open(_ context.Context, f engine.StoredFile) (io.ReadSeekCloser, error) {
	if !isHash(f.Hash) {
		return nil, noContent(f)
	}
	content, err := s.openContent(f.Hash)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := engine.Errorf(engine.NotFound, "lost-file", "the content of file %s is lost", engine.Quote(f.ID))
		e.Err = fmt.Errorf("file %s: no content %s", f.ID, f.Hash)
		return nil, e
	case err != nil:
		return nil, engine.Wrap(err, "the file could not be read")
	}
	return content, nil
}

// openContent opens a content, even if it is being removed or its removal was interrupted. If an
// item holds such a content, removeContent or Orphans will restore it.
func (s *Storage) openContent(hash string) (content *os.File, err error) {
	if content, err = os.Open(s.contentPath(hash)); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	for _, path := range append(s.removalPaths(hash), s.contentPath(hash)) {
		if content, err = os.Open(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return content, err
}

func noContent(f engine.StoredFile) error {
	return engine.Errorf(engine.NotFound, "unknown-file", "there is no file %s", engine.Quote(f.ID))
}

// Copy implements engine.FileStorage.
func (s *Storage) Copy(f engine.StoredFile) engine.StoredFile {
	f.ID = newID()
	return f
}

const idAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

// newID returns a random id of 26 letters and digits, which are 130 bits.
func newID() string {
	var b [26]byte
	rand.Read(b[:]) // cannot fail
	for i := range b {
		b[i] = idAlphabet[b[i]%32]
	}
	return string(b[:])
}

// maxName is the maximum length of the name of a file, in characters.
const maxName = 255

// safeName returns the last element of a path that a client has sent, without control characters and at most maxName
// characters long.
func safeName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	r := []rune(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == unicode.ReplacementChar {
			return -1
		}
		return c
	}, name))
	return strings.TrimSpace(string(r[:min(len(r), maxName)]))
}

// safeType returns the media type t in lower case and without parameters. It returns "" if t is not valid.
func safeType(t string) string {
	t, _, err := mime.ParseMediaType(t)
	if err != nil || len(t) > maxName || !strings.Contains(t, "/") {
		return ""
	}
	return t
}
