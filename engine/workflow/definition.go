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

// Definitions holds the compiled workflows of all classes.
type Definitions struct {
	find      func(string) (*engine.Class, error)
	of        map[*engine.Class][]*flow // workflows by exact class: its own, then inherited ones
	variables []string                  // account variables that conditions use, except the id

	properties []string // properties of accounts that customProfile defines
}

type flow struct {
	class       *engine.Class
	name        string // name@namespace
	caption     string
	start       *state // state of items without a stored state; nil if the workflow has no start state
	states      []*state
	transitions []*transition
}

// state is one state of a workflow.
type state struct {
	name, caption string
	when          condition    // items are in the state only if this condition is true
	period        *period      // maximum time in the state; nil means no limit
	items         []permission // permissions on the items in the state
	// properties that only some roles may change
	properties []propertyPermission
	keepsAll   bool // no account may change any property in this state, because propertyPermissions is not valid
	selections []selection
}

// permission is a permission that a state gives to the accounts of a role.
type permission struct {
	role role
	may  engine.Permission
}

type propertyPermission struct {
	property *engine.Property
	given    []permission
}

// selection is a list of values that forms offer for a property in a state.
type selection struct {
	role     *role // role that gets the list; nil means all accounts
	property string
	said     engine.Fields // the list as written
}

// role is a group of accounts. If attribute is false, name is a role or the id of an account: the
// group consists of the accounts with this role or id. If attribute is true, name is an attribute
// of the item: the group consists of the accounts in this attribute, so it depends on the item.
type role struct {
	class     *engine.Class
	name      string
	attribute bool
}

// transition leads from one state to another.
type transition struct {
	name, caption string
	from, to      *state
	when          condition
	roles         []role // roles that may use it; if empty, all accounts that may change the item
	assignments   []*assignment
	shown         engine.Fields // description for clients
}

// memberFilter returns a condition on items: an account with these subjects has the role for the
// items that match. subjects are the account's id and roles (see engine.Account.Names). A nil
// condition matches all items.
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

// anyOf returns a condition on items: an account with these subjects has at least one of the roles
// for the items that match.
func anyOf(roles []role, subjects []string) *engine.Filter {
	all := make([]*engine.Filter, len(roles))
	for i, r := range roles {
		all[i] = r.memberFilter(subjects)
	}
	return engine.Either(all...)
}

// Load compiles workflows and reports mistakes as faults. properties are the names of account
// properties that customProfile defines; conditions may use them. A mistake never gives a
// permission:
//
//   - A workflow is left out if its class does not exist.
//   - If a condition that allows something cannot be evaluated, it is never true. If it forbids
//     something, it is always true.
//
// Load sets Staged in all classes that have workflows, so call it before these classes are used.
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

// Of returns the classes that have workflows, sorted by full name.
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

// inheritedFlows returns the workflows of class c: its own, then those of its ancestors. If an
// ancestor has a workflow with the same name, it is left out. own holds the workflows by the class
// that declares them.
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

// findFlow returns the workflow of class c with this name, or nil. If the name has no namespace, it
// is in the namespace of the class.
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
