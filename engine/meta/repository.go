// Package meta reads class metadata. It defines the format of class files, their defaults and their checks, links
// ancestors, structures and relations, and finds classes by name. It also reads the files of the user interface:
// navigation, views, workflows, masks and validators. To read deploy.json, use engine/deploy. The package does not
// know how items are stored.
//
// A mistake in a file is an engine.Fault. For most mistakes there is a rule in engine/mistake: the server reports the
// mistake and continues, often without the class or attribute that contains it. Such a class or attribute is said to
// be left out.
//
// Reading order: source.go (reads files), draft.go and property.go (read one class), version.go (chooses between
// versions of a class), link.go and structure.go (add inherited attributes and parts of structures), relation.go,
// display.go, loading.go and formula.go (resolve fields that refer to other classes), repository.go (Load).
package meta

import (
	"slices"
	"sort"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// Repository implements engine.MetaRepository. It is immutable.
type Repository struct {
	byName map[string]*engine.Class
	all    []*engine.Class
}

var _ engine.MetaRepository = (*Repository)(nil)

// Class returns the class with that full name.
func (r *Repository) Class(name string) (*engine.Class, error) {
	if c := r.byName[name]; c != nil {
		return c, nil
	}
	return nil, engine.NoClass(name)
}

// Classes returns all classes, ordered by full name. The caller must not
// change the slice.
func (r *Repository) Classes() []*engine.Class { return r.all }

// Load creates classes from the sources. The classes are ready for use: ancestors and relations are linked, structures
// are expanded, keys and display strings are inherited, formulas are compiled, and Init and Link have been called.
// Classes without a namespace get the given namespace. thumbnails are the kinds of thumbnails that responses contain
// for images.
//
// Load reports all mistakes at once, except those that only follow from other mistakes. If a fault is fatal, the
// repository is nil.
func Load(sources []Source, namespace string, thumbnails ...engine.ThumbnailKind) (*Repository, engine.Faults) {
	var faults engine.Faults
	l := newLinker(readDrafts(sources, namespace, &faults), &faults)
	l.thumbnails = thumbnails
	l.findAncestors()
	for _, d := range l.drafts {
		l.linkAncestors(d, nil)
	}
	l.findTargets()
	l.finishClasses()
	l.updateChoices()
	if faults.Stop() {
		return nil, placeFaults(faults, sources)
	}
	r := &Repository{byName: make(map[string]*engine.Class, len(l.drafts))}
	l.editAttributes()
	for _, d := range l.drafts {
		if d.state == broken || d.isKeyless() {
			continue
		}
		l.updateSource(d)
		inheritDependencies(d.class)
		d.class.Link()
		r.byName[d.class.FullName] = d.class
		r.all = append(r.all, d.class)
	}
	sort.Slice(r.all, func(i, j int) bool { return r.all[i].FullName < r.all[j].FullName })
	return r, placeFaults(faults, sources)
}

// readDrafts parses the sources. If several sources describe one class, it chooses one of them.
func readDrafts(sources []Source, namespace string, faults *engine.Faults) []*draft {
	types := make(userTypes)
	var drafts []*draft
	for _, s := range sources {
		if s.Type {
			types.parseUserType(s, faults)
		} else if d := readHead(s, namespace, faults); d != nil {
			drafts = append(drafts, d)
		}
	}
	drafts = chooseVersions(drafts)
	checkCase(drafts)
	for _, d := range drafts {
		d.readBody(types)
	}
	return drafts
}

// finishClasses does the checks and the linking that need all classes. It skips classes with fatal faults, and classes
// that depend on such classes.
func (l *linker) finishClasses() {
	for _, d := range l.drafts {
		if d.state == linked {
			keys{l}.checkKeyCircle(d)
		}
	}
	usable := l.initClasses()
	l.checkTrees(usable)
	l.relateAttributes(usable)
	l.compileDisplays(usable)
	for _, d := range usable {
		l.checkDraft(d)
	}
	if l.faults.Stop() {
		return
	}
	loading{l}.readLoading(usable)
	l.compileAll(usable)
}

// initClasses calls Init for the classes without fatal faults, and sets the descendants of each class. It returns the
// drafts of the classes without fatal faults.
func (l *linker) initClasses() []*draft {
	l.findFaulty()
	var usable []*draft
	for _, d := range l.drafts {
		if d.faulty || d.isKeyless() {
			continue
		}
		for _, p := range d.class.Properties {
			if p.Type == engine.Image {
				p.Thumbnails = l.thumbnails
			}
		}
		if err := d.class.Init(); err != nil {
			d.Fault(d.Path, err.Error(), "a class that can be used")
			d.faulty = true
			continue
		}
		usable = append(usable, d)
	}
	sorted := slices.Clone(usable)
	slices.SortFunc(sorted, func(a, b *draft) int { return strings.Compare(a.class.FullName, b.class.FullName) })
	for _, d := range sorted {
		for a := d.class.Ancestor; a != nil; a = a.Ancestor {
			a.Descendants = append(a.Descendants, d.class)
		}
	}
	return usable
}

// findFaulty sets faulty for each draft with a fatal fault, and for each draft that takes attributes from a faulty
// draft.
func (l *linker) findFaulty() {
	errs, _ := l.faults.Split(false)
	for _, d := range l.drafts {
		d.faulty = d.state != linked || slices.ContainsFunc(errs, func(f engine.Fault) bool {
			return f.File == d.File && (d.Path == "" || f.Path == d.Path || strings.HasPrefix(f.Path, d.Path+"."))
		})
	}
	for again := true; again; {
		again = false
		for _, d := range l.drafts {
			if !d.faulty && l.takesFromFaulty(d) {
				d.faulty, again = true, true
			}
		}
	}
}

func (l *linker) takesFromFaulty(d *draft) bool {
	if a := d.class.Ancestor; a != nil && l.byName[a.FullName].faulty {
		return true
	}
	return slices.ContainsFunc(d.own, func(a *attribute) bool { return a.home.faulty })
}

// placeFaults sets the line and column of faults in YAML files. For faults in JSON files, engine/deploy sets them,
// together with those of deploy.json.
func placeFaults(faults engine.Faults, sources []Source) engine.Faults {
	places := make(map[string]jsonfile.Places)
	for _, s := range sources {
		places[s.File] = s.Places
	}
	for i, f := range faults {
		if p := places[f.File]; p != nil {
			at := p.Of(f.Path)
			faults[i].Line, faults[i].Column = at.Line, at.Column
		}
	}
	return faults
}
