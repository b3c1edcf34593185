package meta

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// PresentationDirs returns the folders of an application that its presentation
// is read from, with all that is below them.
func PresentationDirs() []string {
	return []string{navigationDir, viewsDir, workflowsDir, stateViewsDir, masksDir, validatorsDir}
}

// Presentation is an engine.Presentation that reads the folders of an application
// when it is asked, each file once. What it does not know it keeps: it is the
// application's.
type Presentation struct {
	root      fs.FS
	namespace string

	navigation lazy[*navigation]
	models     lazy[*models]
	workflows  lazy[map[string][]*engine.Workflow] // by class
	masks      lazy[[]described]
	validators lazy[[]described]
}

var _ engine.Presentation = (*Presentation)(nil)

// NewPresentation is the presentation of the application in a folder, of that
// namespace. It reads nothing yet.
func NewPresentation(root fs.FS, namespace string) *Presentation {
	return &Presentation{root: root, namespace: namespace}
}

// Check reads all there is besides workflows, keeping none of it, and returns what is
// wrong with it, also with the names of classes and attributes.
func (p *Presentation) Check(classes engine.MetaRepository) engine.Faults {
	r := &presentationReader{root: p.root, namespace: p.namespace, classes: classes}
	readNavigation(r)
	for _, m := range indexModels(r).all {
		m.read(r)
	}
	readMasks(r)
	readValidators(r)
	return placed(r.faults, r.sources)
}

// lazy is read when it is asked for. What fails is read again the next time.
type lazy[T any] struct {
	mu    sync.Mutex
	value T
	done  bool

	faults engine.Faults // of the reading; none of them is fatal
}

func (l *lazy[T]) get(p *Presentation, what string, read func(*presentationReader) T) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return l.value, nil
	}
	r := &presentationReader{root: p.root, namespace: p.namespace}
	value := read(r)
	faults := placed(r.faults, r.sources)
	if faults.Stop() {
		var none T
		return none, engine.Wrap(faults, what+" cannot be read")
	}
	l.value, l.done, l.faults = value, true, faults
	return value, nil
}

// presentationReader reads files and collects what is wrong with them.
type presentationReader struct {
	root      fs.FS
	namespace string
	classes   engine.MetaRepository // nil for not to look at the names in the files
	faults    engine.Faults
	sources   []Source // those with places
}

// walk visits the JSON and YAML files below a folder, in the order of their
// names, with the names of the folders on the way. What begins with a dot is
// passed over.
func (r *presentationReader) walk(dir string, visit func(file string, folders []string)) {
	err := fs.WalkDir(r.root, dir, func(file string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			r.unreadable(dir, file, err)
			return nil
		case file != dir && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir() || !written(file):
			return nil
		}
		visit(file, strings.Split(path.Dir(file), "/")[1:])
		return nil
	})
	if err != nil {
		r.unreadable(dir, dir, err)
	}
}

// unreadable reports a folder that cannot be read. Workflows may keep attributes from
// accounts, so theirs is fatal.
func (r *presentationReader) unreadable(dir, folder string, err error) {
	o := jsonfile.Object{File: folder, Faults: &r.faults}
	if dir == workflowsDir {
		o.Fault("", engine.UnreadableFolder(err), "a folder")
	} else {
		o.Report(mistake.PresentationFile, "", engine.UnreadableFolder(err), "a folder")
	}
}

// object reads a file that holds one object; ok is false when it does not. The rule
// is that for such files; without one they are fatal.
func (r *presentationReader) object(file, what string, rule *mistake.Rule) (o jsonfile.Object, ok bool) {
	s, fault := readFile(r.root, file, what)
	if fault == nil {
		if s.Places != nil {
			r.sources = append(r.sources, s)
		}
		o = jsonfile.Object{File: file, Faults: &r.faults, Lenient: true}
		if o.Fields, ok = s.Value.(engine.Fields); ok {
			return o, true
		}
		fault = jsonfile.WholeFile(file, jsonfile.Describe(s.Value), "an object that describes "+what)
	}
	if rule != nil {
		fault.Level, fault.Code, fault.Resolution = rule.Level, rule.Code, rule.Resolution
	}
	r.faults = append(r.faults, *fault)
	return o, false
}

// name reads the name of what a file describes, "" when it has none: the file is left
// out.
func (r *presentationReader) name(o jsonfile.Object, field string) string {
	name, _ := o.Value(field).(string)
	if name == "" {
		o.Report(mistake.PresentationFile, o.At(field), found(o.Value(field)), "a name")
	}
	return name
}

func found(v any) string {
	if v == nil {
		return ""
	}
	return jsonfile.Describe(v)
}

// className completes the name of a class; a class that is not there is told
// of at the JSON path.
func (r *presentationReader) className(o jsonfile.Object, at, name, namespace string) string {
	if name != "" && !strings.Contains(name, "@") {
		name = engine.FullName(name, namespace)
	}
	if r.classes == nil || name == "" {
		return name
	}
	if _, err := r.classes.Class(name); err != nil {
		var known []string
		for _, c := range r.classes.Classes() {
			known = append(known, c.FullName)
		}
		o.Warn(at, "class "+engine.Quote(name)+", which is not there", jsonfile.Choice(name, known))
	}
	return name
}

// textOr is a text field, or def without one.
func textOr(fields engine.Fields, name, def string) string {
	v, _ := fields.Get(name)
	if s, ok := v.(string); ok && s != "" {
		return s
	}
	return def
}

// orderNumber is where something stands among its like, 0 when that is not
// said.
func orderNumber(fields engine.Fields) float64 {
	v, _ := fields.Get("orderNumber")
	n, _ := v.(json.Number)
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

// base is the name of a file without its ending.
func base(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }
