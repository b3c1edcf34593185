package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"restsrv/engine"
)

// Directory returns the file system of an application directory. dir may be a symbolic link.
// Links inside the directory may lead to other files in the directory, as in Kubernetes volumes.
// Opening a link that leaves the directory returns engine.ErrOutside, because an untrusted
// application must not read other files of this machine.
func Directory(dir string) fs.FS { return directory(dir) }

type directory string

// Open implements fs.FS.
func (d directory) Open(name string) (fs.File, error) {
	if err := d.checkFile("open", name); err != nil {
		return nil, err
	}
	return os.DirFS(string(d)).Open(name)
}

// Stat implements fs.StatFS.
func (d directory) Stat(name string) (fs.FileInfo, error) {
	if err := d.checkFile("stat", name); err != nil {
		return nil, err
	}
	return fs.Stat(os.DirFS(string(d)), name)
}

// ReadFile implements fs.ReadFileFS.
func (d directory) ReadFile(name string) ([]byte, error) {
	if err := d.checkFile("read", name); err != nil {
		return nil, err
	}
	return fs.ReadFile(os.DirFS(string(d)), name)
}

// ReadDir implements fs.ReadDirFS.
func (d directory) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := d.checkFile("read", name); err != nil {
		return nil, err
	}
	return fs.ReadDir(os.DirFS(string(d)), name)
}

// checkFile returns engine.ErrOutside if name passes through a symbolic link that leaves the
// directory. It returns nil if name does not exist, because the following operation reports that
// error. what is the name of the following operation, for the error.
func (d directory) checkFile(what, name string) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: what, Path: name, Err: fs.ErrInvalid}
	}
	at, linked := string(d), false
	for part := range strings.SplitSeq(name, "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err != nil {
			return nil
		}
		if linked = part != "." && info.Mode()&fs.ModeSymlink != 0; linked {
			break
		}
	}
	if !linked {
		return nil
	}
	if !isInside(string(d), name) {
		return &fs.PathError{Op: what, Path: name, Err: engine.ErrOutside}
	}
	return nil
}
