package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"path"
	"sort"
	"strings"

	"restsrv/engine"
	"restsrv/engine/wire"
)

// Directory reads a data folder of IONDV: a file for each object, named
// class@namespace@id.json, its parts escaped like those of a URL. Two parts are
// class and id, in the given namespace. Other files are refused by name.
func Directory(folder fs.FS, namespace string) (Source, error) {
	var names []string
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	sort.Strings(names)
	objects := func(yield func(Object) bool) {
		for _, name := range names {
			o, err := readFile(folder, name, namespace)
			if err != nil {
				o = Object{Err: err}
			}
			o.Where, o.Size = name, 1
			if !yield(o) {
				return
			}
		}
	}
	return Source{Total: int64(len(names)), Objects: iter.Seq[Object](objects)}, err
}

var errName = errors.New("the file is not named class@namespace@id.json")

func readFile(folder fs.FS, name, namespace string) (Object, error) {
	base, isJSON := strings.CutSuffix(path.Base(name), ".json")
	parts := strings.SplitN(base, "@", 3)
	if len(parts) == 2 {
		parts = []string{parts[0], namespace, parts[1]}
	}
	if !isJSON || len(parts) != 3 {
		return Object{}, errName
	}
	for i, part := range parts {
		text, err := url.PathUnescape(part)
		if err != nil || text == "" && i != 1 {
			return Object{}, errName
		}
		parts[i] = text
	}
	info, err := fs.Stat(folder, name)
	switch {
	case errors.Is(err, engine.ErrOutside):
		return Object{}, fmt.Errorf("the file is %w", engine.ErrOutside)
	case err != nil:
		return Object{}, errors.New("the file cannot be read")
	case !info.Mode().IsRegular(): // a pipe would be waited for
		return Object{}, errors.New("it is no file")
	case info.Size() > maxLine:
		return Object{}, fmt.Errorf("the file is longer than %d bytes", maxLine)
	}
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		return Object{}, errors.New("the file cannot be read")
	}
	fields, err := decodeObject(text)
	return Object{Class: engine.FullName(parts[0], parts[1]), ID: parts[2], Fields: fields}, err
}

// decodeObject decodes one JSON object.
func decodeObject(text []byte) (engine.Fields, error) {
	v, err := wire.Decode(text)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(engine.Fields)
	if !ok {
		return nil, errors.New("a JSON object was expected")
	}
	return fields, nil
}
