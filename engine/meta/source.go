package meta

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/wire"
)

// Source is one class as decoded JSON, and where it was written.
type Source struct {
	File   string // as the user knows it, relative to the application directory
	Path   string // JSON path of the class in File, "" for the whole file
	Value  any    // as wire.Decode returns it
	Inline bool   // the defaults of deploy.json hold, not those of class files
	Type   bool   // it is not a class but a type for attributes of type custom

	Places jsonfile.Places // where things stand in File, when it is YAML
}

// typesDir is the folder of user types within that of the classes.
const typesDir = "types"

// ReadDir decodes the class files of a folder, *.class.json and *.class.yml,
// and the types in its folder types, *.type.json and *.type.yml, in the order
// of their names. A folder that is not there has none. A file that cannot be
// read or is malformed is a fault and left out.
func ReadDir(root fs.FS, dir string) ([]Source, engine.Faults) {
	classes, faults := readKind(root, dir, ".class")
	types, more := readKind(root, path.Join(dir, typesDir), ".type")
	for i := range types {
		types[i].Type = true
	}
	return append(types, classes...), append(faults, more...)
}

func readKind(root fs.FS, dir, kind string) ([]Source, engine.Faults) {
	entries, err := fs.ReadDir(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, engine.Faults{{File: dir, Found: engine.UnreadableFolder(err), Expected: "a folder of " + kind[1:] + " files"}}
	}
	var sources []Source
	var faults engine.Faults
	for _, e := range entries {
		file := path.Join(dir, e.Name())
		if e.IsDir() || !written(file) || !strings.HasSuffix(strings.TrimSuffix(file, path.Ext(file)), kind) {
			continue
		}
		s, fault := readFile(root, file, "a class")
		if fault != nil {
			faults = append(faults, *fault)
			continue
		}
		sources = append(sources, s)
	}
	return sources, faults
}

// Names returns the full names of the classes, whatever else is wrong with
// them; complete is false when one has no name that can be read.
func Names(sources []Source, namespace string) (names []string, complete bool) {
	complete = true
	for _, s := range sources {
		if s.Type {
			continue
		}
		fields, _ := s.Value.(engine.Fields)
		given, _ := fields.Get("name")
		name, _ := given.(string)
		if name == "" {
			complete = false
			continue
		}
		given, _ = fields.Get("namespace")
		own, _ := given.(string)
		if own == "" {
			own = namespace
		}
		names = append(names, engine.FullName(name, own))
	}
	return names, complete
}

// readFile decodes a file that describes a class, or what else is said.
func readFile(root fs.FS, file, what string) (Source, *engine.Fault) {
	s := Source{File: file}
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return s, &engine.Fault{File: file, Found: engine.Unreadable(err), Expected: "a file that describes " + what}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if path.Ext(file) == ".json" {
		s.Value, err = wire.Decode(data)
	} else {
		s.Value, s.Places, err = jsonfile.DecodeYAML(data)
	}
	if err != nil {
		return s, jsonfile.Malformed(file, err, "an object, in JSON or YAML as the file is named, that describes "+what)
	}
	return s, nil
}

// written are the names that JSON and YAML files end with.
func written(file string) bool {
	switch path.Ext(file) {
	case ".json", ".yml", ".yaml":
		return true
	}
	return false
}
