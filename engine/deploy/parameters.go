package deploy

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/wire"
)

// placeholder matches a placeholder such as [[db.host]] in a text.
var placeholder = regexp.MustCompile(`\[\[([A-Za-z0-9_.]+)\]\]`)

// parameters replaces the placeholders of a configuration with "parametrised": true.
type parameters struct {
	env   func(name string) (string, bool)
	files map[string]any    // values of the *.ini files, texts or arrays, by name or section.name
	lacks map[string]string // placeholders without a value, by JSON path
}

// replacePlaceholders replaces all placeholders of the configuration. The value of [[db.host]] is
// the first of these that is set:
//
//   - the environment variable db.host
//   - the environment variable DB_HOST
//   - db.host in the *.ini files beside deploy.json
//
// If the whole text is one placeholder, a value that looks like a number or a boolean is
// converted to that type. Such a text is removed if its placeholder has no value.
func (l *loader) replacePlaceholders(top *jsonfile.Object) {
	env := l.known.Env
	if env == nil {
		env = os.LookupEnv
	}
	p := &parameters{env: env, files: readParameters(l.config.Dir), lacks: map[string]string{}}
	if v, ok := p.fillValue("", top.Fields); ok {
		top.Fields, _ = v.(engine.Fields)
	}
	l.lacks = p.lacks
}

// fillValue returns v with its placeholders replaced. If v as a whole is a placeholder without a
// value, ok is false.
func (p *parameters) fillValue(path string, v any) (filled any, ok bool) {
	switch v := v.(type) {
	case string:
		return p.fillText(path, v)
	case []any:
		list := make([]any, 0, len(v))
		for i, e := range v {
			if e, ok := p.fillValue(jsonfile.Element(path, i), e); ok {
				list = append(list, e)
			}
		}
		return list, true
	case engine.Fields:
		fields := make(engine.Fields, 0, len(v))
		for _, f := range v {
			if value, ok := p.fillValue(jsonfile.Member(path, f.Name), f.Value); ok {
				fields = append(fields, engine.Field{Name: f.Name, Value: value})
			}
		}
		return fields, true
	}
	return v, true
}

func (p *parameters) fillText(path, s string) (any, bool) {
	whole := placeholder.FindString(s)
	if whole == "" {
		return s, true
	}
	if whole == s {
		v, ok := p.lookupValue(s[2 : len(s)-2])
		if !ok {
			p.lacks[path] = s
			return nil, false
		}
		return v, true
	}
	return placeholder.ReplaceAllStringFunc(s, func(one string) string {
		v, ok := p.lookupValue(one[2 : len(one)-2])
		if !ok {
			p.lacks[path] = one
			return ""
		}
		if text, ok := v.(string); ok {
			return text
		}
		return strings.Trim(string(engine.AppendValue(nil, v)), `"`)
	}), true
}

// lookupValue returns the value of a placeholder.
func (p *parameters) lookupValue(name string) (any, bool) {
	if s, ok := p.env(name); ok {
		return parseTyped(s), true
	}
	if s, ok := p.env(strings.ToUpper(strings.ReplaceAll(name, ".", "_"))); ok {
		return parseTyped(s), true
	}
	v, ok := p.files[name]
	if s, text := v.(string); text {
		return parseTyped(s), ok
	}
	return v, ok
}

// parseTyped returns a number or a boolean if the text looks like one, or else the text.
func parseTyped(s string) any {
	switch v, err := wire.Decode([]byte(s)); v := v.(type) {
	case bool, json.Number:
		if err == nil {
			return v
		}
	}
	return s
}

// readParameters reads the *.ini files of a folder in the order of their names. A later file
// replaces values of earlier files. Files that cannot be read are ignored. If a value is missing
// for that reason, the fault is reported at its placeholder.
func readParameters(dir string) map[string]any {
	all := map[string]any{}
	files, _ := filepath.Glob(filepath.Join(globEscape(dir), "*.ini")) // the pattern is well-formed
	sort.Strings(files)
	for _, file := range files {
		if data, err := fs.ReadFile(Directory(dir), filepath.Base(file)); err == nil {
			readINI(string(data), all)
		}
	}
	return all
}

// globEscape escapes the name of a folder for use in a glob pattern.
func globEscape(dir string) string {
	return regexp.MustCompile(`[\\*?\[]`).ReplaceAllString(dir, `\$0`)
}

func readINI(text string, into map[string]any) {
	section := ""
	fresh := map[string]bool{} // array values that this file has begun; they replace values of earlier files
	for _, line := range strings.Split(strings.TrimPrefix(text, string(byteOrderMark)), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == ';' || line[0] == '#':
			continue
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = strings.TrimSpace(line[1:len(line)-1]) + "."
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		name, list := strings.CutSuffix(strings.TrimSpace(name), "[]")
		name, value = section+name, unquote(strings.TrimSpace(value))
		if !list {
			into[name] = value
			continue
		}
		if !fresh[name] {
			fresh[name], into[name] = true, []any{}
		}
		before, _ := into[name].([]any)
		into[name] = append(before, parseTyped(value))
	}
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// markRead records that the server uses the value at a JSON path. warnLacking reports placeholders
// without a value only at such paths.
func (l *loader) markRead(path string) { l.effective = append(l.effective, path) }

// warnLacking reports placeholders without a value in parts of the file that the server uses. The
// fault is fatal if the placeholder is in a setting of the server: with the default of the
// setting, the server could use another database.
func (l *loader) warnLacking(top, globals jsonfile.Object) {
	l.markRead("namespace")
	l.markRead("classes")
	l.markRead("objects")
	l.markRead("modules.rest")
	var settings []string
	for _, name := range settingNames {
		settings = append(settings, globals.At(name), "modules.rest.globals."+name)
	}
	for path, written := range l.lacks {
		name := written[2 : len(written)-2]
		expected := "a value in the environment (" + strings.ToUpper(strings.ReplaceAll(name, ".", "_")) + ") or in an *.ini file beside " + top.File
		switch {
		case isBelow(path, settings):
			top.Fault(path, engine.Quote(written), expected)
		case isBelow(path, l.effective):
			top.Warn(path, engine.Quote(written)+", which nothing fills in", expected)
		}
	}
}

// isBelow reports whether a JSON path is equal to one of the paths in others, or below one of
// them.
func isBelow(path string, others []string) bool {
	for _, other := range others {
		if rest, ok := strings.CutPrefix(path, other); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}
