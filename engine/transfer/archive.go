package transfer

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
	"unicode"

	"restsrv/engine"
	"restsrv/engine/mistake"
)

// Limits of a zip file. In addition, each file inside may have at most maxLine bytes when
// unpacked, like a data file.
const (
	maxContentsList = 64 << 20 // bytes of the list of files, which is read into memory
	unpackedBase    = 64 << 20 // unpacked bytes that each zip file may have
	unpackedRatio   = 200      // additional unpacked bytes per byte of the zip file
)

// archive is an open zip file.
type archive struct {
	*zip.Reader
	file fs.File
	left int64 // bytes that may still be unpacked
}

// openArchive opens a zip file of the folder.
func openArchive(folder fs.FS, name string) (*archive, error) {
	info, err := statRegular(folder, name)
	if err != nil {
		return nil, err
	}
	file, err := folder.Open(name)
	if err != nil {
		return nil, errUnreadable
	}
	at, ok := file.(io.ReaderAt)
	if !ok {
		return nil, errors.Join(errUnreadable, file.Close())
	}
	bounded := &boundedReader{at, maxContentsList}
	r, err := zip.NewReader(bounded, info.Size())
	if err != nil {
		_ = file.Close() // close errors do not matter after reading
		if errors.Is(err, errBound) {
			return nil, fmt.Errorf("the list of the files in it is longer than %d bytes", maxContentsList)
		}
		return nil, errors.New("it is no zip file, or it is damaged")
	}
	bounded.left = math.MaxInt64
	return &archive{Reader: r, file: file, left: unpackedBase + unpackedRatio*info.Size()}, nil
}

var errBound = errors.New("the bound is reached")

// boundedReader returns errBound if more than left bytes are read in total.
type boundedReader struct {
	from io.ReaderAt
	left int64
}

// ReadAt implements io.ReaderAt.
func (b *boundedReader) ReadAt(p []byte, at int64) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errBound
	}
	return b.from.ReadAt(p, at)
}

// readFile unpacks a file of the zip file.
func (a *archive) readFile(f *zip.File) ([]byte, error) {
	switch {
	case !f.Mode().IsRegular():
		return nil, errors.New("it is no file")
	case f.Flags&1 != 0:
		return nil, errors.New("it is encrypted")
	case f.UncompressedSize64 > maxLine:
		return nil, fmt.Errorf("the file is longer than %d bytes", maxLine)
	}
	r, err := f.Open()
	if err != nil {
		return nil, errors.New("it cannot be unpacked")
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxLine+1))
	a.left -= int64(len(text))
	switch {
	case err != nil:
		return nil, errors.New("it cannot be unpacked")
	case len(text) > maxLine:
		return nil, fmt.Errorf("the file is longer than %d bytes", maxLine)
	}
	return text, nil
}

// archived is the kind of a file inside a zip file.
type archived int

const (
	archivedFolder archived = iota
	archivedOutside
	archivedObject
	archivedSequences
	archivedOther
)

// kindOf returns the kind of a file in a zip file, which it determines by the name of the file.
// It accepts backslashes between folders, which some programs write. Files in __MACOSX, which
// macOS adds, are not objects.
func kindOf(name string) archived {
	name = strings.ReplaceAll(name, `\`, "/")
	folder := strings.HasSuffix(name, "/")
	name = strings.TrimSuffix(name, "/")
	switch {
	case !fs.ValidPath(name) || strings.ContainsAny(name, ":\x00"):
		return archivedOutside
	case folder:
		return archivedFolder
	case strings.HasPrefix(name, "__MACOSX/"):
		return archivedOther
	case path.Base(name) == sequencesFile:
		return archivedSequences
	case path.Ext(name) == ".json":
		return archivedObject
	}
	return archivedOther
}

// countObjects returns the number of files in a zip file that contain objects or sequences. It
// returns 1 if the zip file cannot be read, since that is reported as one object.
func (d *directory) countObjects(name string) (n int64) {
	a, err := openArchive(d.folder, name)
	if err != nil {
		return 1
	}
	defer a.file.Close()
	for _, f := range a.File {
		if kind := kindOf(f.Name); kind == archivedObject || kind == archivedSequences {
			n++
		}
	}
	return n
}

// yieldArchive yields the objects of a zip file and then its sequences. It reads one file at a
// time into memory. It stops and returns false when yield returns false.
func (d *directory) yieldArchive(name string, yield func(Object) bool) bool {
	a, err := openArchive(d.folder, name)
	if err != nil {
		return yield(Object{Where: name, Size: 1, Err: err, Rule: mistake.DataArchive})
	}
	defer a.file.Close()
	for _, kind := range []archived{archivedObject, archivedSequences, archivedOutside, archivedOther} {
		for _, f := range a.File {
			if a.left <= 0 {
				err := errors.New("it unpacks to too many bytes for its size: the rest of it is not imported")
				return yield(Object{Where: name, Err: err, Rule: mistake.DataArchive})
			}
			if kindOf(f.Name) == kind && !d.inArchive(a, f, kind, name+"/"+printableName(f.Name), yield) {
				return false
			}
		}
	}
	return true
}

func (d *directory) inArchive(a *archive, f *zip.File, kind archived, where string, yield func(Object) bool) bool {
	switch kind {
	case archivedOutside:
		return yield(Object{Where: where, Err: errors.New("the name leads out of the zip file"), Rule: mistake.DataArchive})
	case archivedOther:
		return yield(Object{Where: where, Err: errors.New("it is no object file"), Rule: mistake.DataOther})
	}
	text, err := a.readFile(f)
	return d.yieldFile(where, strings.ReplaceAll(f.Name, `\`, "/"), text, err, yield)
}

// printableName returns the name of a file in a zip file without control characters and invalid
// UTF-8.
func printableName(name string) string {
	name = strings.ToValidUTF8(name, "\ufffd")
	if strings.ContainsFunc(name, unicode.IsControl) {
		return engine.Quote(name)
	}
	return name
}
