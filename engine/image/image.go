// Package image makes thumbnails of stored images: the engine.ImageStorage of a
// server with a disk. It reads JPEG (turned as EXIF says), PNG, GIF (the first
// picture) and WebP, and keeps each thumbnail beside the content that it is made
// of, under its size. Nothing is ever enlarged. It knows no HTTP, and asks for no
// permission.
//
// Pictures come from strangers: how large one is when it is unpacked is
// estimated before, all that are unpacked at once share one bound, few may wait
// for that, no account before those of others, and none may take longer than a
// limit. That one cannot be read is found out once.
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

// Shelf keeps contents and what is made of them; engine/file.Storage is one.
type Shelf interface {
	engine.FileStorage
	// OpenDerived returns what Derive has kept under a name, nil for nothing.
	OpenDerived(f engine.StoredFile, name string) (io.ReadSeekCloser, error)
	// Derive keeps what is made of the content of a file under a name.
	Derive(f engine.StoredFile, name string, content []byte) error
}

// Config says how thumbnails are made.
type Config struct {
	Files   Shelf
	Memory  int64         // bytes that all pictures that are unpacked at once may take; 0 for the default
	Waiting int           // how many of one account may be unpacked or wait for it, of all four times as many; 0 for the default
	Time    time.Duration // that one may take, waiting included; 0 for the default
}

// Storage is the engine.ImageStorage. It is safe for concurrent use.
type Storage struct {
	Shelf
	kinds  []engine.ThumbnailKind
	limits *limits
}

var _ engine.ImageStorage = (*Storage)(nil)

// New returns a storage without thumbnails; With gives it some.
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

// With returns a storage of the same contents and limits with other kinds of
// thumbnails.
func (s *Storage) With(kinds []engine.ThumbnailKind) *Storage {
	return &Storage{Shelf: s.Shelf, kinds: kinds, limits: s.limits}
}

// Kinds is engine.ImageStorage's.
func (s *Storage) Kinds() []engine.ThumbnailKind { return s.kinds }

// Thumbnail is engine.ImageStorage's.
func (s *Storage) Thumbnail(ctx context.Context, f engine.StoredFile, kind string) (*engine.Thumbnail, error) {
	for _, k := range s.kinds {
		if k.Name == kind {
			return s.thumbnail(ctx, f, k)
		}
	}
	return nil, engine.UnknownThumbnail(kind)
}

func (s *Storage) thumbnail(ctx context.Context, f engine.StoredFile, k engine.ThumbnailKind) (*engine.Thumbnail, error) {
	t, err := s.kept(f, k)
	if t != nil || err != nil {
		return t, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.time)
	defer cancel()
	if err := s.make(ctx, f, k); err != nil {
		return nil, explained(err, f)
	}
	if t, err = s.kept(f, k); t == nil && err == nil {
		err = engine.Errorf(engine.Unavailable, "files", "the thumbnail of file %s was removed", engine.Quote(f.ID))
	}
	return t, err
}

// keptName is the name that thumbnails of a kind are kept under. Kinds that look
// alike share them, and one that changes finds none.
func keptName(k engine.ThumbnailKind) string {
	return fmt.Sprintf("%dx%d%s", k.Width, k.Height, k.Format)
}

// kept is a thumbnail that was made before, nil for none.
func (s *Storage) kept(f engine.StoredFile, k engine.ThumbnailKind) (*engine.Thumbnail, error) {
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

// make makes a thumbnail and keeps it.
func (s *Storage) make(ctx context.Context, f engine.StoredFile, k engine.ThumbnailKind) error {
	content, err := s.Open(ctx, f)
	if err != nil {
		return err
	}
	defer content.Close()
	p, err := look(content)
	if err != nil {
		return err
	}
	need := p.memory(k)
	if need > s.limits.most {
		return fault("too large to be made smaller here: it has %d × %d pixels", p.width, p.height)
	}
	if err := s.unreadable(f); err != nil {
		return err
	}
	done, err := s.limits.wait(ctx, need)
	if err != nil {
		return err
	}
	defer done()
	if t, err := s.kept(f, k); t != nil { // by who came before
		return errors.Join(err, t.Content.Close())
	}
	small, err := p.thumbnail(ctx, content, k)
	var u unusable
	switch {
	case errors.As(err, &u):
		_ = s.Derive(f, unreadableName, []byte(u.why)) // else it is found out again
		return err
	case err != nil:
		return err
	}
	return s.Derive(f, keptName(k), small)
}

// unreadableName is the name under which it is kept why a content cannot be
// unpacked.
const unreadableName = "unusable"

// unreadable is why a content cannot be unpacked, nil when nobody has found that
// out.
func (s *Storage) unreadable(f engine.StoredFile) error {
	kept, err := s.OpenDerived(f, unreadableName)
	if kept == nil || err != nil {
		return err
	}
	why, err := io.ReadAll(kept)
	if err = errors.Join(err, kept.Close()); err != nil {
		return engine.Wrap(err, "what is known of a picture could not be read")
	}
	return unusable{string(why)}
}

// unusable is why no thumbnail can be made of a content.
type unusable struct{ why string }

func (u unusable) Error() string { return u.why }

func fault(format string, args ...any) error { return unusable{fmt.Sprintf(format, args...)} }

// explained is an error as engine.ImageStorage has them.
func explained(err error, f engine.StoredFile) error {
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
