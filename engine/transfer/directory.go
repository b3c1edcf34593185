package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"sort"
	"strconv"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/wire"
)

// sequencesFile is the name of the file with the last numbers of sequences, such as {"orders": 12}.
const sequencesFile = "sequences.data"

// Directory returns the source for an IONDV data folder. The folder has a file for each object.
// The name of the file is one of these, with each part escaped as in a URL:
//
//   - class@namespace@id.json
//   - class@id.json, with the parameter namespace as the namespace of the class
//   - class.json, with the same namespace; the object must contain its key
//
// The source yields the objects first, then the numbers of sequences in sequences.data, then the
// contents of zip files with such files. It reports other files.
func Directory(folder fs.FS, namespace string) (Source, error) {
	d := &directory{folder: folder, namespace: namespace}
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			d.addFile(name)
		}
		return err
	})
	s := Source{Objects: d.eachObject, Contents: folder, Total: int64(len(d.objects) + len(d.sequences))}
	for _, name := range d.archives {
		s.Total += d.countObjects(name)
	}
	return s, err
}

// directory is a data folder with the names of its files by kind.
type directory struct {
	folder                               fs.FS
	namespace                            string
	objects, sequences, archives, others []string // names of files
}

// addFile adds the name of a file to the list of its kind.
func (d *directory) addFile(name string) {
	list := &d.others
	switch extension := path.Ext(name); {
	case path.Base(name) == sequencesFile:
		list = &d.sequences
	case extension == ".json":
		list = &d.objects
	case strings.EqualFold(extension, ".zip"):
		list = &d.archives
	}
	*list = append(*list, name)
}

// eachObject yields the objects of the folder in the order that Directory describes.
func (d *directory) eachObject(yield func(Object) bool) {
	for _, names := range [][]string{d.objects, d.sequences} {
		sort.Strings(names)
		for _, name := range names {
			text, err := readRegular(d.folder, name)
			if !d.yieldFile(name, name, text, err, yield) {
				return
			}
		}
	}
	sort.Strings(d.archives)
	for _, name := range d.archives {
		if !d.yieldArchive(name, yield) {
			return
		}
	}
	for _, name := range d.others {
		if !yield(Object{Where: name, Err: errors.New("it is no object file"), Rule: mistake.DataOther}) {
			return
		}
	}
}

// yieldFile yields the object or the sequences in a file. where is the place for reports. If err is
// not nil, it is the error of reading text.
func (d *directory) yieldFile(where, name string, text []byte, err error, yield func(Object) bool) bool {
	if path.Base(name) == sequencesFile {
		return readSequences(where, text, err, yield)
	}
	var o Object
	if err == nil {
		o, err = d.readObject(name, text)
	}
	if err != nil {
		o = Object{Err: err}
	}
	o.Where, o.Size = where, 1
	return yield(o)
}

var errName = errors.New("the file is not named class@namespace@id.json")

// readObject decodes the object in a file with this name.
func (d *directory) readObject(name string, text []byte) (Object, error) {
	parts := strings.SplitN(strings.TrimSuffix(path.Base(name), ".json"), "@", 3)
	switch len(parts) {
	case 1:
		parts = []string{parts[0], d.namespace, ""}
	case 2:
		parts = []string{parts[0], d.namespace, parts[1]}
	}
	keyed := parts[2] == ""
	for i, part := range parts {
		unescaped, err := url.PathUnescape(part)
		if err != nil || unescaped == "" && i == 0 {
			return Object{}, errName
		}
		parts[i] = unescaped
	}
	fields, err := decodeObject(text)
	return Object{Class: engine.FullName(parts[0], parts[1]), ID: parts[2], Keyed: keyed, Fields: fields, Text: text}, err
}

// readRegular reads a file of the data folder that has at most maxLine bytes.
func readRegular(folder fs.FS, name string) ([]byte, error) {
	info, err := statRegular(folder, name)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxLine {
		return nil, fmt.Errorf("the file is longer than %d bytes", maxLine)
	}
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, errUnreadable
	}
	return text, nil
}

var errUnreadable = errors.New("the file cannot be read")

// statRegular returns information about a regular file. For a file of another kind it returns an
// error, so that the caller does not open the file: opening a pipe would block.
func statRegular(folder fs.FS, name string) (fs.FileInfo, error) {
	info, err := fs.Stat(folder, name)
	switch {
	case errors.Is(err, engine.ErrOutside):
		return nil, fmt.Errorf("the file is %w", engine.ErrOutside)
	case err != nil:
		return nil, errUnreadable
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no file")
	}
	return info, nil
}

// readSequences yields the numbers in sequences.data, and an error for each entry that is not a
// valid number. It stops and returns false when yield returns false.
func readSequences(where string, text []byte, err error, yield func(Object) bool) bool {
	var fields engine.Fields
	if err == nil {
		fields, err = decodeObject(text)
	}
	if err != nil {
		return yield(Object{Where: where, Size: 1, Err: err})
	}
	numbers := map[string]int64{}
	for _, f := range fields {
		n, ok := wholeNumber(f.Value)
		if ok {
			numbers[f.Name] = n
			continue
		}
		path := jsonfile.Member("", f.Name)
		at := jsonfile.Locate(bytes.TrimPrefix(text, []byte("\ufeff")), []string{path}).Of(path)
		err := engine.Errorf(engine.Invalid, "type", "sequence %s takes a whole number that is not negative, found %s", path, jsonfile.Describe(f.Value))
		err.Attribute = path
		if !yield(Object{Where: where, At: at, Err: err, Rule: mistake.DataSequences}) {
			return false
		}
	}
	return yield(Object{Where: where, Size: 1, Numbers: numbers})
}

// wholeNumber returns the number in v, which can be a JSON number or text. ok is false if v has
// another form, or if the number is negative or not whole.
func wholeNumber(v any) (int64, bool) {
	text, ok := v.(string)
	if n, is := v.(json.Number); is {
		text, ok = string(n), true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, ok && err == nil && n >= 0
}

// decodeObject decodes a text that is one JSON object.
func decodeObject(text []byte) (engine.Fields, error) {
	v, err := wire.Decode(text)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(engine.Fields)
	if !ok {
		return nil, engine.Errorf(engine.Invalid, "type", "the file takes a JSON object, found %s", jsonfile.Describe(v))
	}
	return fields, nil
}
