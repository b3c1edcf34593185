package workflow

import (
	"cmp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
)

// Definitions are the workflows of an application, ready to be used.
type Definitions struct {
	find      func(string) (*engine.Class, error)
	of        map[*engine.Class][]*flow // of exactly that class: its own, then inherited ones
	variables []string                  // of accounts, that conditions name, without their ids
}

// flow is one workflow.
type flow struct {
	class       *engine.Class
	name        string // name@namespace
	caption     string
	start       *state // that of items which were never moved; nil for none
	states      []*state
	transitions []*transition
}

// state is one that items may be in.
type state struct {
	name, caption string
	when          condition // for which items
	period        *period   // how long they may be there; nil for ever
	items         []permission
	properties    []propertyPermission
	keepsAll      bool // no account may change any property here: what properties says cannot be understood
	selections    []selection
}

// permission is what a state gives to whom.
type permission struct {
	role role
	may  engine.Permission
}

type propertyPermission struct {
	property *engine.Property
	given    []permission
}

// selection is a list of values that a state offers for a property.
type selection struct {
	role     *role // to whom; nil for everybody
	property string
	said     engine.Fields
}

// role is whom something is for: a role or an account, or those that an
// attribute of the item names.
type role struct {
	class     *engine.Class
	name      string
	attribute bool
}

// transition is a way from one state to another.
type transition struct {
	name, caption string
	from, to      *state
	when          condition
	roles         []role // who may go it; none for everybody who may change the item
	assignments   []*assignment
	shown         engine.Fields // what clients are told of it
}

// is is the condition on items under which somebody who is the subjects is meant.
func (r role) is(subjects []string) *engine.Filter {
	switch {
	case r.attribute:
		f, _ := engine.Naming(r.class, r.name, subjects) // that it can be told was found out when it was read
		return f
	case slices.Contains(subjects, r.name):
		return nil
	}
	return engine.Never()
}

// anyOf is the condition under which one of the roles means somebody.
func anyOf(roles []role, subjects []string) *engine.Filter {
	all := make([]*engine.Filter, len(roles))
	for i, r := range roles {
		all[i] = r.is(subjects)
	}
	return engine.Either(all...)
}

// Load compiles workflows. It reports what they name and what is not there, and takes
// that for what gives nothing and keeps everything: a workflow whose class is missing
// is left out, a condition that cannot be evaluated never holds for what it gives and
// always for what it keeps. The classes that have workflows are Staged from now on,
// and must not be used before.
func Load(meta engine.MetaRepository, all []*engine.Workflow) (*Definitions, engine.Faults) {
	d := &Definitions{find: meta.Class, of: map[*engine.Class][]*flow{}}
	var faults engine.Faults
	own := map[*engine.Class][]*flow{}
	for _, w := range all {
		o := jsonfile.Object{File: w.File, Fields: w.Written, Faults: &faults, Lenient: true}
		c, err := meta.Class(w.Class)
		if err != nil {
			o.Report(mistake.WorkflowClass, o.At("wfClass"), "class "+engine.Quote(w.Class)+", which is not there", jsonfile.Choice(w.Class, classNames(meta)))
			continue
		}
		own[c] = append(own[c], (reader{Object: o, class: c, defs: d}).flow(w))
	}
	for _, c := range meta.Classes() {
		if flows := inherited(own, c); len(flows) > 0 {
			d.of[c], c.Staged = flows, true
		}
	}
	return d, faults
}

// Of lists the classes whose items move in workflows.
func (d *Definitions) Of() (all []*engine.Class) {
	for c := range d.of {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *engine.Class) int { return cmp.Compare(a.FullName, b.FullName) })
	return all
}

func classNames(meta engine.MetaRepository) (names []string) {
	for _, c := range meta.Classes() {
		names = append(names, c.FullName)
	}
	return names
}

// inherited are the workflows of a class and of its ancestors; of those of one
// name the nearest counts.
func inherited(own map[*engine.Class][]*flow, c *engine.Class) (all []*flow) {
	for ; c != nil; c = c.Ancestor {
		for _, f := range own[c] {
			if !slices.ContainsFunc(all, func(nearer *flow) bool { return nearer.name == f.name }) {
				all = append(all, f)
			}
		}
	}
	return all
}

// named is the workflow of that name of a class, nil when there is none.
func (d *Definitions) named(c *engine.Class, name string) *flow {
	if !strings.Contains(name, "@") {
		name = engine.FullName(name, c.Namespace)
	}
	for _, f := range d.of[c.Base()] {
		if f.name == name {
			return f
		}
	}
	return nil
}

func (f *flow) state(name string) *state {
	for _, s := range f.states {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (f *flow) transition(name string) *transition {
	for _, t := range f.transitions {
		if t.name == name {
			return t
		}
	}
	return nil
}
