package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"restsrv/engine"
)

// Grace is the minimum age of unused content that is removed. Younger content may belong to an upload that is still
// running.
const Grace = time.Hour

// Orphan is a content, a file or a row that is unused and older than Grace. One of the fields Hash, Path and Row is
// set.
type Orphan struct {
	Hash string           // hash of a content that no row contains
	Path string           // file of an interrupted upload, or derived from a missing content; relative to the directory
	Row  *engine.HeldFile // row of a file that the item in the row does not hold
	Size int64            // bytes on the disk

	holders Holders // used to check Row again before it is removed
}

// Holders provides the items of the application that may hold files.
type Holders struct {
	Meta engine.MetaRepository
	Data engine.Repository
}

// Orphans calls visit for each of these:
//
//   - a content that no row contains
//   - a row with an item that does not hold the file, for example because the item does not exist
//   - a file of an interrupted upload
//
// It reads all data without checking permissions, so ctx does not need an account.
func (s *Storage) Orphans(ctx context.Context, holders Holders, visit func(Orphan) error) error {
	if err := s.putBack(); err != nil {
		return err
	}
	named := map[digest]bool{}
	var stale []engine.HeldFile
	err := engine.InSnapshot(ctx, s.cfg.Data, func(ctx context.Context) error {
		return s.visitRows(ctx, func(rows []engine.HeldFile) error {
			for _, row := range rows {
				ok, err := holders.holdsFile(ctx, row)
				if err != nil {
					return err
				}
				if ok {
					named[digestOf(row.Hash)] = true
					continue
				}
				stale = append(stale, row)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for i := range stale {
		if err := visit(Orphan{Row: &stale[i], holders: holders}); err != nil {
			return err
		}
	}
	if err := s.visitContents(named, visit); err != nil {
		return err
	}
	if err := s.visitInterrupted(visit); err != nil {
		return err
	}
	return s.visitLeftovers(visit)
}

// rowsAtOnce is the number of rows that are read at a time. The items in these rows are read afterwards.
const rowsAtOnce = 1000

// visitRows calls visit for all rows of the system class, in batches.
func (s *Storage) visitRows(ctx context.Context, visit func([]engine.HeldFile) error) error {
	id := s.cfg.Class.Property("id")
	var last string
	for {
		batch := make([]engine.HeldFile, 0, rowsAtOnce)
		q := &engine.Query{Class: s.cfg.Class, Sort: []engine.Sort{{Property: id}}, Count: rowsAtOnce,
			Filter: &engine.Filter{Op: engine.OpGt, Left: engine.Attribute(id), Right: engine.Constant(id.Type, last)}}
		err := s.cfg.Data.List(ctx, q, func(it *engine.Item) error {
			batch = append(batch, heldFile(it))
			return nil
		})
		if err != nil || len(batch) == 0 {
			return err
		}
		last = batch[len(batch)-1].ID
		if err := visit(batch); err != nil {
			return err
		}
	}
}

// holdsFile reports whether the item in a row holds the file. If the application no longer has the class or the
// attribute, holdsFile returns true: the values are still stored, so the files must stay.
func (h Holders) holdsFile(ctx context.Context, row engine.HeldFile) (bool, error) {
	c, err := h.Meta.Class(row.Class)
	if err != nil {
		return true, nil
	}
	p := c.Property(row.Attribute)
	if p == nil {
		return true, nil
	}
	it, err := h.Data.Get(ctx, c, row.Item)
	if err != nil {
		if engine.CodeOf(err) == engine.NotFound {
			err = nil
		}
		return false, err
	}
	p = it.Class.Property(row.Attribute)
	if p == nil {
		return true, nil
	}
	for _, f := range engine.FilesIn(it.Values[p.Index]) {
		if f.ID == row.ID {
			return true, nil
		}
	}
	return false, nil
}

// visitContents calls visit for the contents that are older than Grace and not in named.
func (s *Storage) visitContents(named map[digest]bool, visit func(Orphan) error) error {
	root := filepath.Join(s.cfg.Dir, objects)
	return walkFiles(root, func(path string, info fs.FileInfo) error {
		hash := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		if !isHash(hash) || named[digestOf(hash)] || s.isYoung(info) {
			return nil
		}
		return visit(Orphan{Hash: hash, Size: info.Size()})
	})
}

// visitInterrupted calls visit for the files of uploads that were interrupted more than Grace ago.
func (s *Storage) visitInterrupted(visit func(Orphan) error) error {
	return walkFiles(filepath.Join(s.cfg.Dir, incoming), func(path string, info fs.FileInfo) error {
		if s.isYoung(info) {
			return nil
		}
		return visit(Orphan{Path: filepath.Join(incoming, filepath.Base(path)), Size: info.Size()})
	})
}

// putBack restores contents from interrupted removals, because items may hold them.
func (s *Storage) putBack() error {
	return walkFiles(filepath.Join(s.cfg.Dir, leaving), func(path string, _ fs.FileInfo) error {
		hash, _, _ := strings.Cut(filepath.Base(path), "-")
		if !isHash(hash) {
			return nil
		}
		return ignoreMissing(os.Rename(path, s.contentPath(hash)))
	})
}

func (s *Storage) isYoung(info fs.FileInfo) bool {
	return s.cfg.Now().Sub(info.ModTime()) < Grace
}

// walkFiles calls visit for the regular files below a folder. It is not an error if the folder does not exist or if
// files disappear meanwhile.
func walkFiles(root string, visit func(path string, info fs.FileInfo) error) error {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				return visit(path, info)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return err
}

// Remove removes an orphan that Orphans has found, if it is still unused.
func (s *Storage) Remove(ctx context.Context, o Orphan) error {
	switch {
	case o.Row != nil:
		return s.removeRow(ctx, o)
	case o.Path != "":
		return ignoreMissing(os.Remove(filepath.Join(s.cfg.Dir, o.Path)))
	}
	return s.removeContent(o.Hash, func(info fs.FileInfo) (bool, error) {
		if s.isYoung(info) {
			return true, nil
		}
		if paused, err := s.isStaged(everything); paused || err != nil {
			return true, err
		}
		return s.isNeeded(ctx, o.Hash)
	})
}

// removeRow removes a row if its item still does not hold the file. It does not remove a row that
// has changed, for example because the id of the item has changed.
func (s *Storage) removeRow(ctx context.Context, o Orphan) error {
	it, err := s.cfg.Data.Get(ctx, s.cfg.Class, o.Row.ID)
	ok := false
	if err == nil {
		ok, err = o.holders.holdsFile(ctx, heldFile(it))
	}
	if err == nil && !ok {
		err = s.cfg.Data.Delete(ctx, s.cfg.Class, o.Row.ID, &engine.Match{Revisions: []uint64{it.Revision}})
	}
	switch engine.CodeOf(err) {
	case engine.NotFound, engine.Unmatched:
		return nil
	}
	return err
}

// removeContent removes a content and the files derived from it, but only if needed returns
// false. It renames the content before it calls needed. So an upload of the same content that
// begins later does not find the content and stores it again (see staging.go).
func (s *Storage) removeContent(hash string, needed func(info fs.FileInfo) (bool, error)) error {
	if !isHash(hash) {
		return nil
	}
	aside := filepath.Join(s.cfg.Dir, leaving, hash+"-"+newID())
	if err := os.MkdirAll(filepath.Dir(aside), 0o700); err != nil {
		return err
	}
	if err := os.Rename(s.contentPath(hash), aside); err != nil {
		return ignoreMissing(err)
	}
	info, err := os.Stat(aside)
	if err != nil {
		return ignoreMissing(err)
	}
	if keep, err := needed(info); keep || err != nil {
		return errors.Join(err, ignoreMissing(os.Rename(aside, s.contentPath(hash))), syncFolder(filepath.Dir(s.contentPath(hash))))
	}
	if err := ignoreMissing(os.Remove(aside)); err != nil {
		return err
	}
	return os.RemoveAll(s.derivedFrom(hash))
}

// digest is a hash in binary form, which takes less memory in large sets.
type digest [sha256.Size]byte

func digestOf(hash string) (d digest) {
	if isHash(hash) {
		_, _ = hex.Decode(d[:], []byte(hash)) // cannot fail for a hash
	}
	return d
}

// ignoreMissing returns nil if err reports that a file does not exist. Otherwise it returns err.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
