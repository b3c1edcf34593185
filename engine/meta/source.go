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

// Source is the decoded contents of a class file, or a class in deploy.json.
type Source struct {
	File   string // file name relative to the application directory
	Path   string // JSON path of the class in File; "" if the class is the whole file
	Value  any    // the result of wire.Decode
	Inline bool   // the class is in deploy.json, where the defaults of fields differ from those in class files
	Type   bool   // the file describes a user type, not a class (see userTypes)

	Places jsonfile.Places // places of the values if File is YAML
}

// typesDir is the folder of user types, a subfolder of the folder with the classes.
const typesDir = "types"

// ReadDir decodes the files in a folder that describe classes, *.class.json and *.class.yml, and the files in its
// subfolder types, *.type.json and *.type.yml. In the result, types come first; types and classes are in the order of
// the file names. A missing folder counts as empty. If a file cannot be read or is malformed, ReadDir returns a fault
// and leaves out the file.
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
		if e.IsDir() || !isSourceFile(file) || !strings.HasSuffix(strings.TrimSuffix(file, path.Ext(file)), kind) {
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

// Names returns the full names of the classes in the sources, even if the sources contain mistakes. complete is false
// if the name of a class cannot be read.
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

// readFile decodes a JSON or YAML file. noun describes the contents in messages, for example "a class".
func readFile(root fs.FS, file, noun string) (Source, *engine.Fault) {
	s := Source{File: file}
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return s, &engine.Fault{File: file, Found: engine.Unreadable(err), Expected: "a file that describes " + noun}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if path.Ext(file) == ".json" {
		s.Value, err = wire.Decode(data)
	} else {
		s.Value, s.Places, err = jsonfile.DecodeYAML(data)
	}
	if err != nil {
		return s, jsonfile.Malformed(file, err, "an object, in JSON or YAML as the file is named, that describes "+noun)
	}
	return s, nil
}

// isSourceFile reports whether the file has an extension of JSON or YAML.
func isSourceFile(file string) bool {
	switch path.Ext(file) {
	case ".json", ".yml", ".yaml":
		return true
	}
	return false
}
