package deploy

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/wire"
)

// A configuration consists of several files, which are merged in this order:
//
//   - deploy.yml
//   - deploy.json
//   - the files of the folder deploy
//   - the files of deploy/modules, each for the module with the name of the file or of its
//     folder
//   - *.override.json, only if "parametrised" is true
//
// Merging joins arrays, merges objects field by field, and replaces other values; null has no
// effect. If the command line names a file with another name than deploy, that file is the whole
// configuration.

// source is one file of a configuration.
type source struct {
	file   string // path relative to the application directory, with slashes
	module string // the module that the file configures, "" for the whole configuration
	fields engine.Fields
	places placer
}

// origin is the source of a value in the merged configuration: its file and its JSON path there.
type origin struct{ file, path string }

// Sources lists the files of a configuration in the order in which they are merged (see the top of
// this file). The parameter file is the path of the requested deploy.json. The returned names are
// relative to its folder. A file that does not exist is not in the list.
func Sources(file string) []string {
	dir, name := filepath.Split(file)
	if strings.TrimSuffix(name, path.Ext(name)) != "deploy" {
		return existingFiles(dir, []string{name})
	}
	files := existingFiles(dir, []string{"deploy.yml", "deploy.yaml", "deploy.json"})
	files = append(files, listFragments(dir, "deploy")...)
	files = append(files, listFragments(dir, "deploy/modules")...)
	modules, _ := os.ReadDir(filepath.Join(dir, "deploy", "modules"))
	for _, m := range modules {
		if m.IsDir() {
			files = append(files, listFragments(dir, "deploy/modules/"+m.Name())...)
		}
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if isOverride(e.Name()) {
			files = append(files, e.Name())
		}
	}
	return files
}

// existingFiles returns the names of regular files among the names.
func existingFiles(dir string, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err != nil || !info.Mode().IsRegular()
	})
}

// listFragments returns the JSON and YAML files of a folder, ordered by name. If two names differ
// only in their extension, the YAML file comes first.
func listFragments(dir, folder string) []string {
	entries, _ := os.ReadDir(filepath.Join(dir, folder))
	var names []string
	for _, e := range entries {
		if slices.Contains([]string{".json", ".yml", ".yaml"}, path.Ext(e.Name())) {
			names = append(names, folder+"/"+e.Name())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		if stemOf(a) != stemOf(b) {
			return strings.Compare(stemOf(a), stemOf(b))
		}
		return -strings.Compare(path.Ext(a), path.Ext(b))
	})
	return existingFiles(dir, names)
}

func stemOf(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// IsSource reports whether a file can be part of a configuration, given its path
// relative to the application directory.
func IsSource(file string) bool {
	ext := path.Ext(file)
	parts := strings.Split(file, "/")
	return (ext == ".json" || ext == ".yml" || ext == ".yaml") &&
		(stemOf(file) == "deploy" || len(parts) > 1 && parts[0] == "deploy" || len(parts) == 1 && isOverride(file))
}

// isOverride reports whether the file overrides values of a parametrised configuration. Arrays of
// such a file replace earlier arrays, whereas arrays of other files are joined with earlier
// arrays.
func isOverride(name string) bool { return strings.HasSuffix(name, ".override.json") }

// readSource reads one file of a configuration.
func readSource(dir, file string) (s source, fault *engine.Fault) {
	s.file = file
	if rest, ok := strings.CutPrefix(file, "deploy/modules/"); ok {
		s.module, _, _ = strings.Cut(rest, "/")
		if s.module == rest {
			s.module = stemOf(rest)
		}
	}
	data, err := fs.ReadFile(Directory(dir), file)
	if err != nil {
		return s, &engine.Fault{File: file, Found: engine.Unreadable(err), Expected: "a part of the configuration"}
	}
	var v any
	v, s.places, err = decode(file, data)
	isJSON, expected := path.Ext(file) == ".json", "an object"
	if isJSON {
		expected = "a JSON object"
	}
	if err != nil {
		return s, jsonfile.Malformed(file, err, expected)
	}
	var ok bool
	if s.fields, ok = v.(engine.Fields); !ok && (v != nil || isJSON) {
		return s, jsonfile.WholeFile(file, jsonfile.Describe(v), expected)
	}
	return s, nil
}

// decode decodes YAML or JSON, depending on the extension of the file. The placer of a JSON file
// computes places only when it is called. A malformed file has no places.
func decode(file string, data []byte) (any, placer, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if ext := path.Ext(file); ext == ".yml" || ext == ".yaml" {
		v, places, err := jsonfile.DecodeYAML(data)
		return v, func([]string) jsonfile.Places { return places }, err
	}
	v, err := wire.Decode(data)
	if err != nil {
		return nil, nil, err
	}
	return v, func(paths []string) jsonfile.Places { return jsonfile.Locate(data, paths) }, nil
}

// merger merges the files of a configuration and records which file each value comes from.
type merger struct {
	origins map[string]origin // by JSON path in the merged configuration; paths without an entry come from the first file
	replace bool              // replace arrays instead of joining them
}

// addSource merges file s into the configuration and returns the result.
func (m *merger) addSource(into engine.Fields, s source) engine.Fields {
	if s.module == "" {
		return m.mergeObject(into, s.fields, "", origin{file: s.file})
	}
	modules, _ := into.Get("modules")
	fields, _ := modules.(engine.Fields)
	inner, _ := fields.Get(s.module)
	section, _ := inner.(engine.Fields)
	at := jsonfile.Member("modules", s.module)
	if section == nil {
		m.origins[at] = origin{file: s.file}
	}
	return setField(into, "modules", setField(fields, s.module, m.mergeObject(section, s.fields, at, origin{file: s.file})))
}

func (m *merger) mergeObject(into, from engine.Fields, path string, at origin) engine.Fields {
	for _, f := range from {
		if f.Value == nil {
			continue
		}
		inner, of := jsonfile.Member(path, f.Name), origin{at.file, jsonfile.Member(at.path, f.Name)}
		before, there := into.Get(f.Name)
		if old, ok := before.(engine.Fields); ok && there {
			if fields, ok := f.Value.(engine.Fields); ok {
				into = setField(into, f.Name, m.mergeObject(old, fields, inner, of))
				continue
			}
		}
		if old, ok := before.([]any); ok && !m.replace {
			if list, ok := f.Value.([]any); ok {
				for i := range list {
					m.origins[jsonfile.Element(inner, len(old)+i)] = origin{of.file, jsonfile.Element(of.path, i)}
				}
				into = setField(into, f.Name, slices.Concat(old, list))
				continue
			}
		}
		m.origins[inner] = of
		into = setField(into, f.Name, f.Value)
	}
	return into
}

// setField sets the field with this name. If there are several, it sets the last one, which counts.
func setField(fields engine.Fields, name string, v any) engine.Fields {
	for i := len(fields) - 1; i >= 0; i-- {
		if fields[i].Name == name {
			fields[i].Value = v
			return fields
		}
	}
	return append(fields, engine.Field{Name: name, Value: v})
}

// originOf returns the origin of the value at a path of the merged configuration. ok is false if
// the value comes from the first file.
func (m *merger) originOf(path string) (o origin, ok bool) {
	for at := path; at != ""; at = jsonfile.Around(at) {
		if o, ok := m.origins[at]; ok {
			rest := path[len(at):]
			if o.path == "" {
				rest = strings.TrimPrefix(rest, ".")
			}
			return origin{o.file, o.path + rest}, true
		}
	}
	return origin{}, false
}
