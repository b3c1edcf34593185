package workflow

import (
	"cmp"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/query"
	"restsrv/engine/service"
)

// Definitions holds the compiled workflows of an application.
type Definitions struct {
	find      func(string) (*engine.Class, error)
	of        map[*engine.Class][]*flow // by exact class: its own workflows, then inherited ones
	variables []string                  // account variables that conditions use, except the ids

	properties []string // of accounts, that customProfile defines
}

type flow struct {
	class       *engine.Class
	name        string // name@namespace
	caption     string
	start       *state // the state of items that were never moved; nil if the workflow has no start state
	states      []*state
	transitions []*transition
}

// state is one state of a workflow.
type state struct {
	name, caption string
	when          condition // an item is in the state only if this holds
	period        *period   // how long an item may stay; nil means no limit
	items         []permission
	properties    []propertyPermission
	keepsAll      bool // no account may change any property here, because propertyPermissions is not valid
	selections    []selection
}

// permission is a permission that a state gives to a role.
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
	role     *role // the role that gets the list; nil means every account
	property string
	said     engine.Fields
}

// role stands for a group of accounts: those with a role or an id of this name or, if attribute is set, those that this
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
	roles         []role // accounts that may use it; if empty, every account that may change the item
	assignments   []*assignment
	shown         engine.Fields // the description that clients receive
}

// memberFilter returns the condition on items under which an account with these subjects has the role.
func (r role) memberFilter(subjects []string) *engine.Filter {
	switch {
	case r.attribute:
		f, _ := query.Naming(r.class, r.name, subjects) // the error was checked when the role was read
		return f
	case slices.Contains(subjects, r.name):
		return nil
	}
	return engine.Never()
}

// anyOf returns the condition under which an account with these subjects has at least one of the roles.
func anyOf(roles []role, subjects []string) *engine.Filter {
	all := make([]*engine.Filter, len(roles))
	for i, r := range roles {
		all[i] = r.memberFilter(subjects)
	}
	return engine.Either(all...)
}

// Load compiles workflows and reports mistakes as faults. A mistake never gives permission:
//
//   - A workflow is left out if its class does not exist.
//   - A condition that cannot be evaluated never holds where it gives something, and always holds where it restricts.
//
// Load sets Staged in all classes that have workflows, so it must run before these classes are used.
// Conditions may name the properties that customProfile gives accounts.
func Load(meta engine.MetaRepository, all []*service.Workflow, properties []string) (*Definitions, engine.Faults) {
	d := &Definitions{find: meta.Class, of: map[*engine.Class][]*flow{}, properties: properties}
	var faults engine.Faults
	own := map[*engine.Class][]*flow{}
	for _, w := range all {
		o := jsonfile.Object{File: w.File, Fields: w.Written, Faults: &faults, Lenient: true}
		c, err := meta.Class(w.Class)
		if err != nil {
			o.Report(mistake.WorkflowClass, o.At("wfClass"), "class "+engine.Quote(w.Class)+", which is not there", jsonfile.Choice(w.Class, classNames(meta)))
			continue
		}
		own[c] = append(own[c], (reader{Object: o, class: c, defs: d}).readFlow(w))
	}
	for _, c := range meta.Classes() {
		if flows := inheritedFlows(own, c); len(flows) > 0 {
			d.of[c], c.Staged = flows, true
		}
	}
	return d, faults
}

// Of returns the classes whose items move in workflows, sorted by full name.
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

// Of returns the classes that have workflows, sorted by full name.
func inheritedFlows(own map[*engine.Class][]*flow, c *engine.Class) (all []*flow) {
	for ; c != nil; c = c.Ancestor {
		for _, f := range own[c] {
			if !slices.ContainsFunc(all, func(nearer *flow) bool { return nearer.name == f.name }) {
				all = append(all, f)
			}
		}
	}
	return all
}

// findFlow returns the workflow of a class with this name, with or without namespace. It returns nil if there is none.
func (d *Definitions) findFlow(c *engine.Class, name string) *flow {
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

func (f *flow) findState(name string) *state {
	for _, s := range f.states {
		if s.name == name {
			return s
		}
	}
	return nil
}

func (f *flow) findTransition(name string) *transition {
	for _, t := range f.transitions {
		if t.name == name {
			return t
		}
	}
	return nil
}
