// Package image makes thumbnails of stored images. It implements engine.ImageStorage for servers
// with a disk. It reads JPEG (rotated according to EXIF), PNG, GIF (the first frame) and WebP. It
// stores each thumbnail beside the original content, under a name that contains the size of the
// thumbnail. Images are never enlarged. The package does not use HTTP and does not check
// permissions.
//
// Images come from untrusted clients. The memory for decoding an image is estimated in advance,
// and all images that are decoded at the same time share one limit. The number of waiting
// requests is limited, too. Each account has its own queue, so that accounts do not block each
// other, and each request has a time limit. If an image cannot be decoded, the package stores the
// reason and does not try again.
package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"restsrv/engine"
)

// The defaults of Config.
const (
	DefaultMemory  = 192 << 20
	DefaultWaiting = 64
	DefaultTime    = 20 * time.Second
)

// Shelf stores contents and data derived from them. file.Storage implements it.
type Shelf interface {
	engine.FileStorage
	// OpenDerived returns the data that Derive has stored under a name, or nil if there is no such data.
	OpenDerived(f engine.StoredFile, name string) (io.ReadSeekCloser, error)
	// Derive stores data that is derived from the content of a file, under a name.
	Derive(f engine.StoredFile, name string, content []byte) error
}

// Config is the configuration of a Storage.
type Config struct {
	Files   Shelf
	Memory  int64         // memory in bytes that all images together may take while they are decoded; 0 for the default
	Waiting int           // images of one account that are decoded or wait; the limit for all accounts is four times as high; 0 means the default
	Time    time.Duration // time limit for one image, including the time in the queue; 0 for the default
}

// Storage implements engine.ImageStorage. It is safe for concurrent use.
type Storage struct {
	Shelf
	kinds  []engine.ThumbnailKind
	limits *limits
}

var _ engine.ImageStorage = (*Storage)(nil)

// New returns a storage that makes no thumbnails. Use With to set the kinds of thumbnails.
func New(cfg Config) *Storage {
	if cfg.Memory <= 0 {
		cfg.Memory = DefaultMemory
	}
	if cfg.Waiting <= 0 {
		cfg.Waiting = DefaultWaiting
	}
	if cfg.Time <= 0 {
		cfg.Time = DefaultTime
	}
	return &Storage{Shelf: cfg.Files, limits: newLimits(cfg)}
}

// With returns a storage that makes the given kinds of thumbnails. It shares its contents and limits with s.
func (s *Storage) With(kinds []engine.ThumbnailKind) *Storage {
	return &Storage{Shelf: s.Shelf, kinds: kinds, limits: s.limits}
}

// Kinds implements engine.ImageStorage.
func (s *Storage) Kinds() []engine.ThumbnailKind { return s.kinds }

// Thumbnail implements engine.ImageStorage.
func (s *Storage) Thumbnail(ctx context.Context, f engine.StoredFile, kind string) (*engine.Thumbnail, error) {
	for _, k := range s.kinds {
		if k.Name == kind {
			return s.thumbnail(ctx, f, k)
		}
	}
	return nil, engine.UnknownThumbnail(kind)
}

func (s *Storage) thumbnail(ctx context.Context, f engine.StoredFile, k engine.ThumbnailKind) (*engine.Thumbnail, error) {
	t, err := s.openKept(f, k)
	if t != nil || err != nil {
		return t, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.time)
	defer cancel()
	if err := s.makeThumbnail(ctx, f, k); err != nil {
		return nil, explainError(err, f)
	}
	if t, err = s.openKept(f, k); t == nil && err == nil {
		err = engine.Errorf(engine.Unavailable, "files", "the thumbnail of file %s was removed", engine.Quote(f.ID))
	}
	return t, err
}

// keptName returns the name under which thumbnails of a kind are stored. Kinds with the same size and format share
// their thumbnails. If the size of a kind changes, its thumbnails are made again.
func keptName(k engine.ThumbnailKind) string {
	return fmt.Sprintf("%dx%d%s", k.Width, k.Height, k.Format)
}

// openKept returns the stored thumbnail of f, or nil if there is none.
func (s *Storage) openKept(f engine.StoredFile, k engine.ThumbnailKind) (*engine.Thumbnail, error) {
	content, err := s.OpenDerived(f, keptName(k))
	if content == nil || err != nil {
		return nil, err
	}
	var magic [1]byte
	_, err = io.ReadFull(content, magic[:])
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(engine.Wrap(err, "a thumbnail could not be read"), content.Close())
	}
	t := &engine.Thumbnail{Content: content, MimeType: "image/png", Tag: f.Hash + "-" + keptName(k)}
	if magic[0] == 0xff {
		t.MimeType = "image/jpeg"
	}
	return t, nil
}

// makeThumbnail makes the thumbnail of f and stores it.
func (s *Storage) makeThumbnail(ctx context.Context, f engine.StoredFile, k engine.ThumbnailKind) error {
	content, err := s.Open(ctx, f)
	if err != nil {
		return err
	}
	defer content.Close()
	p, err := readHead(content)
	if err != nil {
		return err
	}
	need := p.estimateMemory(k)
	if need > s.limits.most {
		return unusableError("too large to be made smaller here: it has %d × %d pixels", p.width, p.height)
	}
	if err := s.readFailure(f); err != nil {
		return err
	}
	done, err := s.limits.waitForMemory(ctx, need)
	if err != nil {
		return err
	}
	defer done()
	if t, err := s.openKept(f, k); t != nil { // another request has made it meanwhile
		return errors.Join(err, t.Content.Close())
	}
	small, err := p.thumbnail(ctx, content, k)
	var u unusable
	switch {
	case errors.As(err, &u):
		_ = s.Derive(f, unreadableName, []byte(u.why)) // if this fails, the next request decodes the image again
		return err
	case err != nil:
		return err
	}
	return s.Derive(f, keptName(k), small)
}

// unreadableName is the name under which the reason is stored if a content cannot be decoded.
const unreadableName = "unusable"

// readFailure returns the stored reason why a content cannot be decoded. It returns nil if no reason is stored.
func (s *Storage) readFailure(f engine.StoredFile) error {
	kept, err := s.OpenDerived(f, unreadableName)
	if kept == nil || err != nil {
		return err
	}
	why, err := io.ReadAll(kept)
	if err = errors.Join(err, kept.Close()); err != nil {
		return engine.Wrap(err, "the stored reason why an image cannot be decoded could not be read")
	}
	return unusable{string(why)}
}

// unusable is the error for a content from which no thumbnail can be made.
type unusable struct{ why string }

func (u unusable) Error() string { return u.why }

func unusableError(format string, args ...any) error { return unusable{fmt.Sprintf(format, args...)} }

// explainError converts an error to one of the errors that engine.ImageStorage defines.
func explainError(err error, f engine.StoredFile) error {
	var e *engine.Error
	var u unusable
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &u):
		return engine.Errorf(engine.NotFound, "no-thumbnail", "there is no thumbnail of file %s: it is %s", engine.Quote(f.ID), u.why)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &engine.Error{Code: engine.Timeout, Reason: "timeout", Message: "the thumbnail took too long", Err: err}
	}
	return engine.Wrap(err, "the thumbnail could not be made")
}
