// Package meta makes classes of class metadata: it owns the shape of class
// files, their defaults and every check of them, links ancestors and finds
// classes by name. It is not for reading deploy.json (engine/deploy) and knows
// nothing of how items are stored.
package meta

import (
	"sort"

	"restsrv/engine"
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

// Load makes the classes of the sources, ready for use: ancestors linked, keys
// and display strings inherited, Init called. namespace is that of a class
// without its own. All mistakes of all sources are found in one pass; when one
// of them is more than a warning, the repository is nil.
func Load(sources []Source, namespace string) (*Repository, engine.Faults) {
	var faults engine.Faults
	l := linker{byName: make(map[string]*draft), faults: &faults}
	for _, s := range sources {
		if d := parse(s, namespace, &faults); d != nil {
			l.add(d)
		}
	}
	for _, d := range l.drafts {
		l.link(d, nil)
	}
	l.checkTrees()
	if errs, _ := faults.Split(); len(errs) > 0 {
		return nil, faults
	}
	r := &Repository{byName: make(map[string]*engine.Class, len(l.drafts))}
	for _, d := range l.drafts {
		if err := d.class.Init(); err != nil {
			d.Fault(d.Path, err.Error(), "a class that can be used")
			continue
		}
		r.byName[d.class.FullName] = d.class
		r.all = append(r.all, d.class)
	}
	if errs, _ := faults.Split(); len(errs) > 0 {
		return nil, faults
	}
	sort.Slice(r.all, func(i, j int) bool { return r.all[i].FullName < r.all[j].FullName })
	for _, c := range r.all {
		for a := c.Ancestor; a != nil; a = a.Ancestor {
			a.Descendants = append(a.Descendants, c)
		}
	}
	return r, faults
}
