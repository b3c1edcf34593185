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

// Grace is the minimum age of unused content before it is removed. Younger
// content may belong to an upload that is running.
const Grace = time.Hour

// Orphan is an unused content, file or row that is older than Grace. One of
// Hash, Path and Row is set.
type Orphan struct {
	Hash string           // content that no row names
	Path string           // file of an interrupted upload, or derived from a missing content; relative to the directory
	Row  *engine.HeldFile // row of a file that its item does not hold
	Size int64            // bytes on the disk

	holders Holders // for Row
}

// Holders finds the items of the application that hold files.
type Holders struct {
	Meta engine.MetaRepository
	Data engine.Repository
}

// Orphans calls visit for all content that no row names, and for every row of a
// file that its item does not hold, or that has no item. It reads the data as
// the server, so ctx does not need an account.
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

// rowsAtOnce is the number of rows in a batch. Their items are read after the
// batch.
const rowsAtOnce = 1000

// visitRows calls visit with batches of all rows.
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

// holdsFile reports whether the item of a row holds its file. If the
// application no longer has the class, the items are still stored, so hold
// returns true to keep their files.
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

// visitContents visits the old contents that are not in named.
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

// visitInterrupted visits the old files of interrupted uploads.
func (s *Storage) visitInterrupted(visit func(Orphan) error) error {
	return walkFiles(filepath.Join(s.cfg.Dir, incoming), func(path string, info fs.FileInfo) error {
		if s.isYoung(info) {
			return nil
		}
		return visit(Orphan{Path: filepath.Join(incoming, filepath.Base(path)), Size: info.Size()})
	})
}

// putBack restores contents after interrupted removals, because an item may
// hold them.
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

// walkFiles visits the regular files below a folder. The folder need not exist,
// and files may disappear during the walk.
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

// Remove removes an orphan that Orphans found, unless it is used by now.
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

// removeRow removes a row, unless its item holds the file by now. If the item
// has got another id, the row has changed, too, and stays.
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

// removeContent removes a content and the files derived from it, unless it is
// needed. It renames the content before it calls needed, so that a later upload
// of the same content does not find it and stores its own copy (staging.go).
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

// digest is a hash in binary form, to save memory in large sets.
type digest [sha256.Size]byte

func digestOf(hash string) (d digest) {
	if isHash(hash) {
		_, _ = hex.Decode(d[:], []byte(hash)) // cannot fail for a valid hash
	}
	return d
}

// ignoreMissing returns nil if err reports a missing file, and otherwise err.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
