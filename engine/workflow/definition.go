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
	of        map[*engine.Class][]*flow // workflows by class; for each class its own workflows, then the inherited ones
	variables []string                  // account variables that conditions use, except the id of the account

	properties []string // account properties that customProfile defines
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
	// properties are those that only some roles can change in this state.
	properties []propertyPermission
	keepsAll   bool // propertyPermissions is not valid, so no account can change any property in this state
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
	role     *role // role for which the list is offered; nil means all accounts
	property string
	said     engine.Fields // the list as written
}

// role is a group of accounts. If attribute is false, the group consists of the accounts whose id or role is name. If
// attribute is true, name is an attribute of the item that contains accounts: the group consists of these accounts, so
// it depends on the item.
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
	roles         []role // roles that may use the transition; if empty, all accounts that may change the item
	assignments   []*assignment
	shown         engine.Fields // description of the transition for clients
}

// memberFilter returns the condition on items for which an account has the role; nil matches all items. subjects are
// the id and the roles of the account (see engine.Account.Names).
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

// anyOf returns the condition on items for which an account has at least one of the roles. subjects are the id and the
// roles of the account.
func anyOf(roles []role, subjects []string) *engine.Filter {
	all := make([]*engine.Filter, len(roles))
	for i, r := range roles {
		all[i] = r.memberFilter(subjects)
	}
	return engine.Either(all...)
}

// Load compiles workflows and reports mistakes as faults. properties are the names of the account properties that
// customProfile defines; conditions can use them. A mistake never gives a permission:
//
//   - A workflow is left out if its class does not exist.
//   - A condition that allows something is false if it cannot be evaluated.
//   - A condition that forbids something is true if it cannot be evaluated.
//
// Load sets Staged in all classes that have workflows, so it must be called before these classes are used.
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

// inheritedFlows returns the workflows of class c: its own, then those of its ancestors. A workflow of an ancestor is
// left out if a nearer class has a workflow with the same name. own holds the workflows by the class that declares
// them.
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

// findFlow returns the workflow of class c with this name, or nil if there is none. If the name has no namespace, the
// namespace of the class is used.
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
