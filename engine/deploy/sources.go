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

// A configuration is deploy.yml and deploy.json, the files of the folder deploy,
// and those of deploy/modules, each for the module that it, or its folder, is
// named after (iondv-services.md section 5.1). Later ones count more: objects are
// merged, arrays joined, anything else replaced; null says nothing. *.override.json
// comes last. A file of another name is a configuration by itself.

// source is one file of a configuration.
type source struct {
	file   string // relative to the application directory, with slashes
	module string // its content is that of modules.module, "" for the whole
	fields engine.Fields
	places placer
}

// origin is where something in the merged configuration was written.
type origin struct{ file, path string }

// Sources lists the files that a configuration is made of, in the order in which
// they count, relative to the folder of file, the deploy.json that is asked for.
// None of them need be that file.
func Sources(file string) []string {
	dir, name := filepath.Split(file)
	if strings.TrimSuffix(name, path.Ext(name)) != "deploy" {
		return there(dir, []string{name})
	}
	files := there(dir, []string{"deploy.yml", "deploy.yaml", "deploy.json"})
	files = append(files, fragments(dir, "deploy")...)
	files = append(files, fragments(dir, "deploy/modules")...)
	modules, _ := os.ReadDir(filepath.Join(dir, "deploy", "modules"))
	for _, m := range modules {
		if m.IsDir() {
			files = append(files, fragments(dir, "deploy/modules/"+m.Name())...)
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

// there are those of the names that are files.
func there(dir string, names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err != nil || !info.Mode().IsRegular()
	})
}

// fragments are the files of a folder, by name; of two that differ in their
// extension alone YAML comes first.
func fragments(dir, folder string) []string {
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
	return there(dir, names)
}

func stemOf(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// IsSource reports whether a file may be of a configuration, by its path
// relative to the application directory.
func IsSource(file string) bool {
	ext := path.Ext(file)
	parts := strings.Split(file, "/")
	return (ext == ".json" || ext == ".yml" || ext == ".yaml") &&
		(stemOf(file) == "deploy" || len(parts) > 1 && parts[0] == "deploy" || len(parts) == 1 && isOverride(file))
}

// isOverride reports whether a file of that name replaces values of a
// parametrised configuration, arrays as a whole.
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

// decode decodes a file of JSON or YAML, as it is named. The places are found
// when they are asked for; a malformed file has none.
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

// merger merges the sources of a configuration.
type merger struct {
	origins map[string]origin // by JSON path in the whole; what is in nothing listed is of the first source
	replace bool              // arrays, too
}

// add merges a source into what those before it said.
func (m *merger) add(into engine.Fields, s source) engine.Fields {
	if s.module == "" {
		return m.object(into, s.fields, "", origin{file: s.file})
	}
	modules, _ := into.Get("modules")
	fields, _ := modules.(engine.Fields)
	inner, _ := fields.Get(s.module)
	section, _ := inner.(engine.Fields)
	at := jsonfile.Member("modules", s.module)
	if section == nil {
		m.origins[at] = origin{file: s.file}
	}
	return put(into, "modules", put(fields, s.module, m.object(section, s.fields, at, origin{file: s.file})))
}

func (m *merger) object(into, from engine.Fields, path string, at origin) engine.Fields {
	for _, f := range from {
		if f.Value == nil {
			continue
		}
		inner, of := jsonfile.Member(path, f.Name), origin{at.file, jsonfile.Member(at.path, f.Name)}
		before, there := into.Get(f.Name)
		if old, ok := before.(engine.Fields); ok && there {
			if fields, ok := f.Value.(engine.Fields); ok {
				into = put(into, f.Name, m.object(old, fields, inner, of))
				continue
			}
		}
		if old, ok := before.([]any); ok && !m.replace {
			if list, ok := f.Value.([]any); ok {
				for i := range list {
					m.origins[jsonfile.Element(inner, len(old)+i)] = origin{of.file, jsonfile.Element(of.path, i)}
				}
				into = put(into, f.Name, slices.Concat(old, list))
				continue
			}
		}
		m.origins[inner] = of
		into = put(into, f.Name, f.Value)
	}
	return into
}

// put sets the field of that name, the last one if there are several.
func put(fields engine.Fields, name string, v any) engine.Fields {
	for i := len(fields) - 1; i >= 0; i-- {
		if fields[i].Name == name {
			fields[i].Value = v
			return fields
		}
	}
	return append(fields, engine.Field{Name: name, Value: v})
}

// of finds where what stands at a path of the whole was written.
func (m *merger) of(path string) (o origin, ok bool) {
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
