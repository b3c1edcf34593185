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
	"restsrv/engine/service"
)

// PresentationDirs returns the folders that contain the presentation of an application. Their subfolders are included.
func PresentationDirs() []string {
	return []string{navigationDir, viewsDir, workflowsDir, stateViewsDir, masksDir, validatorsDir}
}

// Presentation reads the navigation, views, workflows, masks and validators of an application, which describe its user
// interface. It reads a folder when the folder is first needed. It keeps unknown fields, because clients may use them.
type Presentation struct {
	root      fs.FS
	namespace string

	navigation lazy[*navigation]
	models     lazy[*models]
	workflows  lazy[map[string][]*service.Workflow] // by class
	masks      lazy[[]described]
	validators lazy[[]described]
}

var _ service.Presentation = (*Presentation)(nil)

// NewPresentation returns the presentation of the application in the folder root. namespace is the namespace of the
// application. NewPresentation does not read files.
func NewPresentation(root fs.FS, namespace string) *Presentation {
	return &Presentation{root: root, namespace: namespace}
}

// Check reads all files except workflows, and returns the faults, including those about unknown classes and
// attributes. Each call reads the files again and discards their contents.
func (p *Presentation) Check(classes engine.MetaRepository) engine.Faults {
	r := &presentationReader{root: p.root, namespace: p.namespace, classes: classes}
	readNavigation(r)
	for _, m := range indexModels(r).all {
		m.readModel(r)
	}
	readMasks(r)
	readValidators(r)
	return placeFaults(r.faults, r.sources)
}

// lazy is a value that is read when it is first used. If reading fails, the next use reads it again.
type lazy[T any] struct {
	mu    sync.Mutex
	value T
	done  bool

	faults engine.Faults // faults found while reading, all of them not fatal
}

func (l *lazy[T]) get(p *Presentation, what string, read func(*presentationReader) T) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return l.value, nil
	}
	r := &presentationReader{root: p.root, namespace: p.namespace}
	value := read(r)
	faults := placeFaults(r.faults, r.sources)
	if faults.Stop() {
		var none T
		return none, engine.Wrap(faults, what+" cannot be read")
	}
	l.value, l.done, l.faults = value, true, faults
	return value, nil
}

// presentationReader reads files and collects their faults.
type presentationReader struct {
	root      fs.FS
	namespace string
	classes   engine.MetaRepository // used to check the names of classes; nil if they are not checked
	faults    engine.Faults
	sources   []Source // YAML files, with the places of their values
}

// walkDir calls visit for each JSON and YAML file below the folder dir, in the order of their names. It skips a file
// or folder if its name begins with a dot. folders contains the names of the folders between dir and the file.
func (r *presentationReader) walkDir(dir string, visit func(file string, folders []string)) {
	err := fs.WalkDir(r.root, dir, func(file string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			r.reportUnreadable(dir, file, err)
			return nil
		case file != dir && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir() || !isSourceFile(file):
			return nil
		}
		visit(file, strings.Split(path.Dir(file), "/")[1:])
		return nil
	})
	if err != nil {
		r.reportUnreadable(dir, dir, err)
	}
}

// reportUnreadable reports a folder that cannot be read. For the folder of workflows, the fault is fatal, because
// workflows may restrict the attributes that accounts can use.
func (r *presentationReader) reportUnreadable(dir, folder string, err error) {
	o := jsonfile.Object{File: folder, Faults: &r.faults}
	if dir == workflowsDir {
		o.Fault("", engine.UnreadableFolder(err), "a folder")
	} else {
		o.Report(mistake.PresentationFile, "", engine.UnreadableFolder(err), "a folder")
	}
}

// readObject reads a file that contains one object. what describes the object in messages. If reading fails, ok is
// false, and readObject reports rule as a mistake or, if rule is nil, a fatal fault.
func (r *presentationReader) readObject(file, what string, rule *mistake.Rule) (o jsonfile.Object, ok bool) {
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

// readName reads a field that contains the name of an object. If the name is missing, readName reports this and
// returns "", and the caller should ignore the file.
func (r *presentationReader) readName(o jsonfile.Object, field string) string {
	name, _ := o.Value(field).(string)
	if name == "" {
		o.Report(mistake.PresentationFile, o.At(field), describeFound(o.Value(field)), "a name")
	}
	return name
}

func describeFound(v any) string {
	if v == nil {
		return ""
	}
	return jsonfile.Describe(v)
}

// className returns the full name for the name of a class. A name without a namespace gets the given namespace. If the
// class does not exist, className adds a warning at the JSON path at.
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

// textOr returns a text field. If the field is absent, empty or not text, it returns def.
func textOr(fields engine.Fields, name, def string) string {
	v, _ := fields.Get(name)
	if s, ok := v.(string); ok && s != "" {
		return s
	}
	return def
}

// orderNumber returns the position of an object among its siblings, or 0 if it has no
// orderNumber.
func orderNumber(fields engine.Fields) float64 {
	v, _ := fields.Get("orderNumber")
	n, _ := v.(json.Number)
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

// baseName returns the name of a file without its folder and extension.
func baseName(file string) string { return strings.TrimSuffix(path.Base(file), path.Ext(file)) }
