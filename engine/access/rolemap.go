package access

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// RoleMap are the roles that items give (the option roleMap of
// securedDataRepo): who has one for an item may do with it what the role may do
// with its class, or with a resource named there. nil is none.
type RoleMap struct {
	roles map[*engine.Class][]*role // own, then inherited ones
}

// role is one role that items of a class give.
type role struct {
	name     string
	resource string // "" for the class of the item
	class    *engine.Class
	who      term           // who has it
	when     *engine.Filter // for which items; nil for all
	path     string         // where it is written
}

// of are the roles that items of exactly class c give.
func (m *RoleMap) of(c *engine.Class) []*role {
	if m == nil {
		return nil
	}
	return m.roles[c.Base()]
}

// on is the resource on which the permissions of the role count for items of c.
func (r *role) on(c *engine.Class) string {
	if r.resource != "" {
		return r.resource
	}
	return engine.ClassResource + c.FullName
}

// holds is what the role may do with items of c.
func (r *role) holds(g *engine.Grants, c *engine.Class) engine.Permission {
	return g.On(r.on(c), r.name) | g.On(engine.Everything, r.name)
}

// applies is the condition under which somebody who is the subjects has it.
func (r *role) applies(subjects []string) *engine.Filter {
	return engine.Both(r.who.filter(r.class, subjects), r.when)
}

var roleNames = []string{"caption", "resource", "sids", "attribute", "conditions"}

// ParseRoleMap reads {class: {ROLE: {caption, resource: {id, caption}, sids,
// attribute, conditions}}}. Mistakes are added to the faults of o.
func ParseRoleMap(meta engine.MetaRepository, o jsonfile.Object) *RoleMap {
	m := &RoleMap{roles: map[*engine.Class][]*role{}}
	o.WarnRepeated()
	own := map[*engine.Class][]*role{}
	for _, f := range o.Fields {
		c, err := meta.Class(f.Name)
		if err != nil {
			o.Fault(o.At(f.Name), "class "+engine.Quote(f.Name)+", which does not exist", jsonfile.Choice(f.Name, classNames(meta)))
			continue
		}
		roles, _ := o.Child(f.Name)
		roles.WarnRepeated()
		for _, r := range roles.Fields {
			if child, ok := roles.Child(r.Name); ok {
				if one := parseRole(c, r.Name, child); one != nil {
					own[c] = append(own[c], one)
				}
			}
		}
	}
	for _, c := range meta.Classes() {
		m.roles[c] = inherited(own, c)
	}
	return m
}

// inherited are the roles of a class and of its ancestors; of roles of one name
// the nearest counts.
func inherited(own map[*engine.Class][]*role, c *engine.Class) (all []*role) {
	for ; c != nil; c = c.Ancestor {
		for _, r := range own[c] {
			if !slices.ContainsFunc(all, func(nearer *role) bool { return nearer.name == r.name }) {
				all = append(all, r)
			}
		}
	}
	return all
}

func classNames(meta engine.MetaRepository) (names []string) {
	for _, c := range meta.Classes() {
		names = append(names, c.FullName)
	}
	return names
}

func parseRole(c *engine.Class, name string, o jsonfile.Object) *role {
	o.WarnRepeated()
	o.WarnUnknown(roleNames)
	o.Text("caption")
	r := &role{name: name, class: c, path: o.Path}
	if resource, ok := o.Child("resource"); ok {
		resource.WarnUnknown([]string{"id", "caption"})
		r.resource = resource.Text("id")
	}
	ok := true
	r.who.op = engine.OpOr
	if v := o.Value("sids"); v != nil {
		if list, is := v.([]any); is {
			r.who, ok = parseTerms(c, engine.OpOr, list, place{o, o.At("sids")})
		} else {
			o.Fault(o.At("sids"), jsonfile.Describe(v), `an array such as ["$owner", ["admin", "$department.head"]]`)
			ok = false
		}
	}
	if attribute := o.Text("attribute"); attribute != "" {
		t, good := parsePath(c, attribute, place{o, o.At("attribute")})
		r.who.terms, ok = append(r.who.terms, t), ok && good
	}
	if ok && len(r.who.terms) == 0 {
		o.Warn(o.Path, "neither sids nor attribute", "who has the role: nobody does")
	}
	f, err := condition(c, o.Value("conditions"))
	if err != nil {
		o.Fault(o.At("conditions"), jsonfile.Describe(o.Value("conditions")), "a condition that can be told as a filter: "+err.Error())
		return nil
	}
	if !ok {
		return nil
	}
	r.when = f
	return r
}

func condition(c *engine.Class, v any) (*engine.Filter, error) {
	if fields, ok := v.(engine.Fields); ok && len(fields) == 0 {
		return nil, nil
	}
	return engine.ParseFilter(c, v, now)
}

// place is where a value is written.
type place struct {
	jsonfile.Object
	path string
}

// term says who somebody must be: a subject, one whom an attribute of the item
// names, or any or all of others.
type term struct {
	op    engine.Op // OpOr, OpAnd; OpEq for a subject; OpPath for an attribute
	text  string
	terms []term
}

// parseTerms reads sids: any of an array, all of an array in that, and so on by
// turns.
func parseTerms(c *engine.Class, op engine.Op, list []any, at place) (t term, ok bool) {
	t.op, ok = op, true
	for i, v := range list {
		path := jsonfile.Element(at.path, i)
		var one term
		good := false
		switch v := v.(type) {
		case string:
			switch {
			case len(v) > 1 && v[0] == '$':
				one, good = parsePath(c, v[1:], place{at.Object, path})
			case v != "" && v != "$":
				one, good = term{op: engine.OpEq, text: v}, true
			default:
				at.Fault(path, jsonfile.Describe(v), "a role, an account, or $attribute")
			}
		case []any:
			one, good = parseTerms(c, otherOp(op), v, place{at.Object, path})
		default:
			at.Fault(path, jsonfile.Describe(v), "a role, an account, $attribute, or an array of these")
		}
		t.terms = append(t.terms, one)
		ok = ok && good
	}
	return t, ok
}

func otherOp(op engine.Op) engine.Op {
	if op == engine.OpOr {
		return engine.OpAnd
	}
	return engine.OpOr
}

// parsePath reads the path of an attribute that names subjects.
func parsePath(c *engine.Class, path string, at place) (term, bool) {
	if _, err := engine.NamesOneOf(c, path, nil); err != nil {
		at.Fault(at.path, engine.Quote(path), "an attribute that names accounts or roles: "+err.Error())
		return term{}, false
	}
	return term{op: engine.OpPath, text: path}, true
}

// filter is the condition under which the term holds for somebody who is the
// subjects.
func (t term) filter(c *engine.Class, subjects []string) *engine.Filter {
	switch t.op {
	case engine.OpEq:
		if slices.Contains(subjects, t.text) {
			return nil
		}
		return engine.Never()
	case engine.OpPath:
		f, _ := engine.Naming(c, t.text, subjects) // that it can be told was found out when it was read
		return f
	}
	all := make([]*engine.Filter, len(t.terms))
	for i, inner := range t.terms {
		all[i] = inner.filter(c, subjects)
	}
	switch {
	case t.op == engine.OpOr:
		return engine.Either(all...)
	case len(all) == 0:
		return engine.Never()
	}
	return engine.Both(all...)
}
