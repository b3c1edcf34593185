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

// placeholder is [[name]] in a text of a parametrised deploy.json.
var placeholder = regexp.MustCompile(`\[\[([A-Za-z0-9_.]+)\]\]`)

// parameters fill placeholders in.
type parameters struct {
	env   func(name string) (string, bool)
	files map[string]any    // of *.ini: texts, and lists of them, by name or section.name
	lacks map[string]string // placeholders that nothing fills in, by the JSON path where they stood
}

// parametrise fills the placeholders of the whole file in: from the
// environment, by their name or by the same in capitals with _ for dots, and
// from the *.ini files beside deploy.json. A text that is only a placeholder
// becomes what the value looks like, or goes when there is none.
func (l *loader) parametrise(top *jsonfile.Object) {
	env := l.known.Env
	if env == nil {
		env = os.LookupEnv
	}
	p := &parameters{env: env, files: readParameters(l.config.Dir), lacks: map[string]string{}}
	if v, ok := p.fill("", top.Fields); ok {
		top.Fields, _ = v.(engine.Fields)
	}
	l.lacks = p.lacks
}

// fill returns v with placeholders filled in; ok is false when nothing is left.
func (p *parameters) fill(path string, v any) (filled any, ok bool) {
	switch v := v.(type) {
	case string:
		return p.text(path, v)
	case []any:
		list := make([]any, 0, len(v))
		for i, e := range v {
			if e, ok := p.fill(jsonfile.Element(path, i), e); ok {
				list = append(list, e)
			}
		}
		return list, true
	case engine.Fields:
		fields := make(engine.Fields, 0, len(v))
		for _, f := range v {
			if value, ok := p.fill(jsonfile.Member(path, f.Name), f.Value); ok {
				fields = append(fields, engine.Field{Name: f.Name, Value: value})
			}
		}
		return fields, true
	}
	return v, true
}

func (p *parameters) text(path, s string) (any, bool) {
	whole := placeholder.FindString(s)
	if whole == "" {
		return s, true
	}
	if whole == s {
		v, ok := p.value(s[2 : len(s)-2])
		if !ok {
			p.lacks[path] = s
			return nil, false
		}
		return v, true
	}
	return placeholder.ReplaceAllStringFunc(s, func(one string) string {
		v, ok := p.value(one[2 : len(one)-2])
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

// value finds what a placeholder stands for.
func (p *parameters) value(name string) (any, bool) {
	if s, ok := p.env(name); ok {
		return typed(s), true
	}
	if s, ok := p.env(strings.ToUpper(strings.ReplaceAll(name, ".", "_"))); ok {
		return typed(s), true
	}
	v, ok := p.files[name]
	if s, text := v.(string); text {
		return typed(s), ok
	}
	return v, ok
}

// typed reads a text as what it looks like: a number, true, false, or itself.
func typed(s string) any {
	switch v, err := wire.Decode([]byte(s)); v := v.(type) {
	case bool, json.Number:
		if err == nil {
			return v
		}
	}
	return s
}

// readParameters reads the *.ini files of a folder, in the order of their
// names; later ones count more. What cannot be read is left out: who lacks a
// value is told so.
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

// globEscape writes a folder so that it stands for itself in a pattern.
func globEscape(dir string) string {
	return regexp.MustCompile(`[\\*?\[]`).ReplaceAllString(dir, `\$0`)
}

func readINI(text string, into map[string]any) {
	section := ""
	fresh := map[string]bool{} // lists that this file has begun
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
		into[name] = append(before, typed(value))
	}
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// read notes that what stands at the path has an effect, so that a placeholder
// there that nothing fills in is worth telling.
func (l *loader) read(path string) { l.effective = append(l.effective, path) }

// warnLacking tells the placeholders without a value where that matters. A
// setting must have one: its default may be another database.
func (l *loader) warnLacking(top, globals jsonfile.Object) {
	l.read("namespace")
	l.read("classes")
	l.read("objects")
	l.read("modules.rest")
	var settings []string
	for _, name := range settingNames {
		settings = append(settings, globals.At(name), "modules.rest.globals."+name)
	}
	for path, written := range l.lacks {
		name := written[2 : len(written)-2]
		expected := "a value in the environment (" + strings.ToUpper(strings.ReplaceAll(name, ".", "_")) + ") or in an *.ini file beside " + top.File
		switch {
		case below(path, settings):
			top.Fault(path, engine.Quote(written), expected)
		case below(path, l.effective):
			top.Warn(path, engine.Quote(written)+", which nothing fills in", expected)
		}
	}
}

// below reports whether a JSON path leads to one of the others or into it.
func below(path string, others []string) bool {
	for _, other := range others {
		if rest, ok := strings.CutPrefix(path, other); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}
