// Package meta makes classes of class metadata: it owns the shape of class
// files, their defaults and every check of them, links ancestors, structures
// and relations, and finds classes by name. It is not for reading deploy.json
// (engine/deploy) and knows nothing of how items are stored.
//
// Reading order: source.go (files), draft.go and property.go (what one class
// says), version.go (which of several files counts), link.go and structure.go
// (what it takes over), relation.go, display.go, loading.go and formula.go
// (what it says of others), repository.go (the whole).
package meta

import (
	"slices"
	"sort"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// Repository is an engine.MetaRepository over classes that never change.
type Repository struct {
	byName map[string]*engine.Class
	all    []*engine.Class
}

var _ engine.MetaRepository = (*Repository)(nil)

// Class returns the class of that full name.
func (r *Repository) Class(name string) (*engine.Class, error) {
	if c := r.byName[name]; c != nil {
		return c, nil
	}
	return nil, engine.NoClass(name)
}

// Classes returns all classes, ordered by full name. The caller must not
// change the slice.
func (r *Repository) Classes() []*engine.Class { return r.all }

// Load makes the classes of the sources, ready for use: ancestors and relations
// linked, structures flattened, keys and display strings inherited, formulas
// compiled, Init and Link called. namespace is that of a class without its own,
// thumbnails are what answers show of images.
// Mistakes are found in one pass as far as they do not follow from others;
// when one of them is more than a warning, the repository is nil.
func Load(sources []Source, namespace string, thumbnails ...engine.ThumbnailKind) (*Repository, engine.Faults) {
	var faults engine.Faults
	l := newLinker(read(sources, namespace, &faults), &faults)
	l.thumbnails = thumbnails
	l.findAncestors()
	for _, d := range l.drafts {
		l.link(d, nil)
	}
	l.findTargets()
	if l.finish(); faults.Stop() {
		return nil, placed(faults, sources)
	}
	r := &Repository{byName: make(map[string]*engine.Class, len(l.drafts))}
	for _, d := range l.drafts {
		if d.state == broken || d.keyless() {
			continue
		}
		d.describe()
		inheritDependencies(d.class)
		d.class.Link()
		r.byName[d.class.FullName] = d.class
		r.all = append(r.all, d.class)
	}
	sort.Slice(r.all, func(i, j int) bool { return r.all[i].FullName < r.all[j].FullName })
	return r, placed(faults, sources)
}

// read parses the sources and chooses one for each class.
func read(sources []Source, namespace string, faults *engine.Faults) []*draft {
	types := make(userTypes)
	var drafts []*draft
	for _, s := range sources {
		if s.Type {
			types.parseUserType(s, faults)
		} else if d := head(s, namespace, faults); d != nil {
			drafts = append(drafts, d)
		}
	}
	drafts = choose(drafts)
	checkCase(drafts)
	for _, d := range drafts {
		d.body(types)
	}
	return drafts
}

// finish does what needs all classes linked: whatever looks at another class.
// Classes with faults are left out, and so is what depends on them.
func (l *linker) finish() {
	for _, d := range l.drafts {
		if d.state == linked {
			l.checkKeyCircle(d)
		}
	}
	usable := l.initialise()
	l.checkTrees(usable)
	l.relate(usable)
	l.display(usable)
	for _, d := range usable {
		l.check(d)
	}
	if l.faults.Stop() {
		return
	}
	l.loading(usable)
	l.compileAll(usable)
}

// initialise calls Init of the classes without faults, and tells each who
// descends from it.
func (l *linker) initialise() []*draft {
	l.findFaulty()
	var usable []*draft
	for _, d := range l.drafts {
		if d.faulty || d.keyless() {
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

// findFaulty marks the drafts with a fault, and those that take attributes
// from one.
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

// placed fills in where the faults of YAML files stand. Those of JSON files are
// found by engine/deploy, together with those of deploy.json.
func placed(faults engine.Faults, sources []Source) engine.Faults {
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
