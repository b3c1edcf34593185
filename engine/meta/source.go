package meta

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"

	"restsrv/engine"
	"restsrv/engine/wire"
)

// Source is one class as decoded JSON, and where it was written.
type Source struct {
	File   string // as the user knows it, relative to the application directory
	Path   string // JSON path of the class in File, "" for the whole file
	Value  any    // as wire.Decode returns it
	Inline bool   // the defaults of deploy.json hold, not those of class files
}

// ReadDir decodes the class files of a folder, *.class.json, in the order of
// their names. A folder that is not there has none. A file that cannot be read
// or is not JSON is a fault and left out.
func ReadDir(root fs.FS, dir string) ([]Source, engine.Faults) {
	entries, err := fs.ReadDir(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, engine.Faults{{File: dir, Found: "something that cannot be read", Expected: "a folder of class files"}}
	}
	var sources []Source
	var faults engine.Faults
	for _, e := range entries {
		file := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
		case strings.HasSuffix(file, ".class.json"):
			v, fault := readFile(root, file)
			if fault != nil {
				faults = append(faults, *fault)
				continue
			}
			sources = append(sources, Source{File: file, Value: v})
		case strings.HasSuffix(file, ".class.yml"), strings.HasSuffix(file, ".class.yaml"):
			faults = append(faults, engine.Fault{File: file, Found: "a class in YAML", Expected: "a .class.json file: YAML is not supported yet"})
		}
	}
	return sources, faults
}

// Names returns the full names of the classes, whatever else is wrong with
// them; complete is false when one has no name that can be read.
func Names(sources []Source, namespace string) (names []string, complete bool) {
	complete = true
	for _, s := range sources {
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

func readFile(root fs.FS, file string) (any, *engine.Fault) {
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, &engine.Fault{File: file, Found: "a file that cannot be read", Expected: "a class file"}
	}
	v, err := wire.Decode(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil, &engine.Fault{File: file, Found: err.Error(), Expected: "a JSON object that describes a class"}
	}
	return v, nil
}
