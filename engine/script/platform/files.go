package platform

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dop251/goja"
)

// fileReader implements the Go functions of the file modules/fs.js. They read files in Settings.Root. The paths of
// scripts begin with a slash, which stands for Settings.Root. If a function fails, it returns the code of the error,
// such as "ENOENT".
type fileReader struct{ *Platform }

// filesNative returns the Go functions of the file modules/fs.js: read, stat, list and real.
func filesNative(p *Platform) goja.Value {
	f := fileReader{p}
	return p.newNatives(natives{"read": f.read, "stat": f.stat, "list": f.list, "real": f.real})
}

// sqliteHeads are the beginnings of SQLite databases and of their write-ahead logs. A script must not read a database
// as a file, because that evades the permissions of accounts. Settings.Hidden contains the path of the database in
// use; these heads find its copies.
var sqliteHeads = [][]byte{[]byte("SQLite format 3\x00"), {0x37, 0x7f, 0x06, 0x82}, {0x37, 0x7f, 0x06, 0x83}, {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}}

// find returns the absolute path, without symbolic links, of a file that a script may see.
func (f fileReader) find(call goja.FunctionCall) (string, error) {
	settings := f.host.Settings()
	local := strings.TrimPrefix(filepath.Clean("/"+call.Argument(0).String()), "/")
	if settings.Root == "" {
		return "", fs.ErrNotExist
	}
	if local == "" {
		return settings.Root, nil
	}
	if f.isHidden(filepath.Join(settings.Root, local)) {
		return "", fs.ErrNotExist
	}
	real, err := filepath.EvalSymlinks(filepath.Join(settings.Root, local))
	if err == nil && f.isHidden(real) {
		err = fs.ErrNotExist
	}
	return real, err
}

// isHidden reports whether scripts must not see a file: it is outside of the application directory, the server keeps
// it (Settings.Hidden), or its name or that of a folder begins with a dot, as in .env and .git.
func (f fileReader) isHidden(path string) bool {
	settings := f.host.Settings()
	rel, err := filepath.Rel(settings.Root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return true
	}
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".well-known" {
			return true
		}
	}
	for _, hidden := range settings.Hidden {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(hidden)); err == nil {
			hidden = filepath.Join(dir, filepath.Base(hidden))
		}
		if strings.HasPrefix(path, hidden) {
			return true
		}
	}
	return false
}

// code returns the code of an error as in Node.js.
func (f fileReader) code(err error) goja.Value {
	var no syscall.Errno
	name := "EIO"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		name = "ENOENT"
	case errors.Is(err, fs.ErrPermission):
		name = "EACCES"
	case errors.As(err, &no) && no == syscall.ENOTDIR:
		name = "ENOTDIR"
	case errors.As(err, &no) && no == syscall.EISDIR:
		name = "EISDIR"
	case errors.As(err, &no) && no == syscall.ENAMETOOLONG:
		name = "ENAMETOOLONG"
	case errors.As(err, &no) && no == syscall.ELOOP:
		name = "ELOOP"
	}
	return f.js.ToValue(name)
}

// read implements read(path). It returns an ArrayBuffer.
func (f fileReader) read(call goja.FunctionCall) goja.Value {
	path, err := f.find(call)
	if err != nil {
		return f.code(err)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe must not block
	if err != nil {
		return f.code(err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return f.code(err)
	case info.IsDir():
		return f.code(syscall.EISDIR)
	case !info.Mode().IsRegular():
		return f.code(fs.ErrPermission)
	}
	f.checkSize(info.Size(), "fs: reading a file")
	text, err := io.ReadAll(io.LimitReader(file, info.Size()))
	if err != nil {
		return f.code(err)
	}
	for _, head := range sqliteHeads {
		if bytes.HasPrefix(text, head) {
			return f.code(fs.ErrPermission)
		}
	}
	return f.arrayBuffer(text)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "dir"
	case mode.IsRegular():
		return "file"
	}
	return "other"
}

// stat implements stat(path). It returns [kind, size, modification time in milliseconds], with the kind "file", "dir"
// or "other".
func (f fileReader) stat(call goja.FunctionCall) goja.Value {
	path, err := f.find(call)
	if err != nil {
		return f.code(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return f.code(err)
	}
	return f.js.NewArray(kindOf(info.Mode()), info.Size(), float64(info.ModTime().UnixMicro())/1000)
}

// list implements list(path). It returns an array with a name and a kind, alternately, for each entry of a folder.
func (f fileReader) list(call goja.FunctionCall) goja.Value {
	path, err := f.find(call)
	if err != nil {
		return f.code(err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return f.code(err)
	}
	all := []any{}
	for _, e := range entries {
		full := filepath.Join(path, e.Name())
		real, err := filepath.EvalSymlinks(full)
		if err != nil || f.isHidden(full) || f.isHidden(real) {
			continue
		}
		if info, err := os.Stat(real); err == nil {
			all = append(all, e.Name(), kindOf(info.Mode()))
		}
	}
	return f.js.NewArray(all...)
}

// real implements real(path). It returns the path without symbolic links, as scripts see it.
func (f fileReader) real(call goja.FunctionCall) goja.Value {
	path, err := f.find(call)
	if err != nil {
		return f.code(err)
	}
	rel, err := filepath.Rel(f.host.Settings().Root, path)
	if err != nil {
		return f.code(fs.ErrNotExist)
	}
	return f.js.NewArray(filepath.ToSlash(filepath.Clean("/" + rel)))
}
