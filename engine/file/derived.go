package file

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"restsrv/engine"
)

// derived is the folder of derived content, such as thumbnails. A file derived/ab/cdef.../name is derived from the
// content objects/ab/cdef... and is removed together with it. Derived content can be made again, so losing it does no
// harm.
const derived = "derived"

func (s *Storage) derivedFrom(hash string) string {
	return filepath.Join(s.cfg.Dir, derived, hash[:2], hash[2:])
}

// OpenDerived returns the content that Derive has stored under name for the file f. It returns nil if there is none.
func (s *Storage) OpenDerived(f engine.StoredFile, name string) (io.ReadSeekCloser, error) {
	if !isHash(f.Hash) {
		return nil, nil
	}
	content, err := os.Open(filepath.Join(s.derivedFrom(f.Hash), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, engine.Wrap(err, "a derived file could not be read")
	}
	return content, nil
}

// Derive stores content under name. The content is derived from the content of f. A later call
// with the same name replaces it. The write is atomic, even if the process crashes.
func (s *Storage) Derive(f engine.StoredFile, name string, content []byte) error {
	if !isHash(f.Hash) {
		return noContent(f)
	}
	aside := filepath.Join(s.cfg.Dir, incoming, newID())
	dir := s.derivedFrom(f.Hash)
	err := os.MkdirAll(filepath.Dir(aside), 0o700)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = writeDurably(aside, content)
	}
	if err == nil {
		err = os.Rename(aside, filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(aside) // if this fails, Orphans finds it
		return uploadError(err)
	}
	return nil
}

func writeDurably(path string, content []byte) error {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(content)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// visitLeftovers calls visit for derived files without their original content. Such a file
// remains if the original was removed while the file was made, or if the process ended after it
// had removed only the original.
func (s *Storage) visitLeftovers(visit func(Orphan) error) error {
	return walkFiles(filepath.Join(s.cfg.Dir, derived), func(path string, info fs.FileInfo) error {
		dir := filepath.Dir(path)
		hash := filepath.Base(filepath.Dir(dir)) + filepath.Base(dir)
		if !isHash(hash) || s.isYoung(info) {
			return nil
		}
		if _, err := os.Stat(s.contentPath(hash)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return visit(Orphan{Path: strings.TrimPrefix(path, s.cfg.Dir+string(filepath.Separator)), Size: info.Size()})
	})
}
