package access

import (
	"slices"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/query"
)

// RoleMap holds the roles that items give (the option roleMap of securedDataRepo). For example,
// each note can make the account in its attribute owner an editor of that note. The account may
// then do with the item what the role may do with the class of the item. If the option names a
// resource for the role, the permissions on that resource count instead. A nil RoleMap has no
// roles.
type RoleMap struct {
	roles map[*engine.Class][]*role // roles of the class, then inherited ones
}

// role is one role that items of a class give.
type role struct {
	name     string
	resource string // "" means the class of the item
	class    *engine.Class
	who      term           // which accounts have the role
	when     *engine.Filter // which items give it; nil means all
	path     string         // position in the configuration
}

// rolesOf returns the roles that items of exactly class c give.
func (m *RoleMap) rolesOf(c *engine.Class) []*role {
	if m == nil {
		return nil
	}
	return m.roles[c.Base()]
}

// grantResource returns the resource on which the permissions of the role count for items of c.
func (r *role) grantResource(c *engine.Class) string {
	if r.resource != "" {
		return r.resource
	}
	return engine.ClassResource + c.FullName
}

// permissionsOn returns the permissions that the role has on items of c.
func (r *role) permissionsOn(g *engine.Grants, c *engine.Class) engine.Permission {
	return g.On(r.grantResource(c), r.name) | g.On(engine.Everything, r.name)
}

// holderFilter returns a condition on items: an account with the subjects has the role for the
// items that match.
func (r *role) holderFilter(subjects []string) *engine.Filter {
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
			o.Report(mistake.RoleMapClass, o.At(f.Name), "class "+engine.Quote(f.Name)+", which does not exist", jsonfile.Choice(f.Name, classNames(meta)))
			continue
		}
		roles, _ := o.Child(f.Name)
		roles.WarnRepeated()
		for _, r := range roles.Fields {
			if r.Value == nil {
				continue
			}
			// If the value is not an object, the class gets a role that no account has. It hides
			// roles of the same name in ancestors.
			child, _ := roles.Child(r.Name)
			own[c] = append(own[c], parseRole(c, r.Name, child))
		}
	}
	for _, c := range meta.Classes() {
		m.roles[c] = inheritedRoles(own, c)
	}
	return m
}

// inheritedRoles returns the roles of a class and of its ancestors. If several roles have
// the same name, the nearest one counts.
func inheritedRoles(own map[*engine.Class][]*role, c *engine.Class) (all []*role) {
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
	understood := true
	if v := o.Value("resource"); v != nil {
		resource := o.Within(o.At("resource"), nil)
		resource.Fields, _ = v.(engine.Fields)
		resource.WarnUnknown([]string{"id", "caption"})
		id := resource.Value("id")
		if r.resource, understood = id.(string); !understood && resource.Fields != nil && id == nil {
			understood = true
		}
		if !understood {
			o.Report(mistake.RoleMapRole, resource.Path, jsonfile.Describe(v), `an object such as {"id": "n:::reports", "caption": "Reports"}`)
		}
	}
	r.who.op = engine.OpOr
	if v := o.Value("sids"); v != nil {
		if list, is := v.([]any); is {
			r.who = parseTerms(c, engine.OpOr, list, place{o, o.At("sids")})
		} else {
			o.Report(mistake.RoleMapSid, o.At("sids"), jsonfile.Describe(v), `an array such as ["$owner", ["admin", "$department.head"]]`)
		}
	}
	if attribute := o.Text("attribute"); attribute != "" {
		r.who.terms = append(r.who.terms, parsePath(c, attribute, place{o, o.At("attribute")}))
	}
	if o.Fields != nil && o.Value("sids") == nil && o.Value("attribute") == nil {
		o.Warn(o.Path, "neither sids nor attribute", "who has the role: nobody does")
	}
	f, err := parseCondition(c, o.Value("conditions"))
	if err != nil {
		o.Report(mistake.RoleMapRole, o.At("conditions"), jsonfile.Describe(o.Value("conditions"))+" ("+err.Error()+")", "a condition that can be evaluated")
	}
	if r.when = f; err != nil || !understood {
		r.when = engine.Never()
	}
	return r
}

func parseCondition(c *engine.Class, v any) (*engine.Filter, error) {
	if fields, ok := v.(engine.Fields); ok && len(fields) == 0 {
		return nil, nil
	}
	return query.ParseFilter(c, v, now)
}

// place is the position of a value in the configuration.
type place struct {
	jsonfile.Object
	path string
}

// term is a condition on an account:
//
//   - A term with OpEq holds for the account with the named subject.
//   - A term with OpPath holds for the accounts that an attribute of the item names.
//   - A term with OpOr holds if at least one of its terms holds.
//   - A term with OpAnd holds if all its terms hold.
type term struct {
	op    engine.Op // OpOr, OpAnd; OpEq means a subject; OpPath means an attribute
	text  string
	terms []term
}

// noAccountTerm returns a term that holds for no account: an empty OpOr. As an element of an OpOr
// it has no effect. As an element of an OpAnd it makes the whole OpAnd false.
func noAccountTerm() term { return term{op: engine.OpOr} }

// parseTerms reads the option sids, an array of subjects and arrays. At least one element of the
// outer array must hold. An element that is itself an array holds if all its elements hold. In an
// array inside it, at least one element must hold, and so on, alternating with the depth. An
// element that names no subject holds for no account.
func parseTerms(c *engine.Class, op engine.Op, list []any, at place) term {
	t := term{op: op}
	for i, v := range list {
		path := jsonfile.Element(at.path, i)
		one := noAccountTerm()
		switch v := v.(type) {
		case string:
			switch {
			case len(v) > 1 && v[0] == '$':
				one = parsePath(c, v[1:], place{at.Object, path})
			case v != "" && v != "$":
				one = term{op: engine.OpEq, text: v}
			default:
				at.Report(mistake.RoleMapSid, path, jsonfile.Describe(v), "a role, an account, or $attribute")
			}
		case []any:
			one = parseTerms(c, otherOp(op), v, place{at.Object, path})
		default:
			at.Report(mistake.RoleMapSid, path, jsonfile.Describe(v), "a role, an account, $attribute, or an array of these")
		}
		t.terms = append(t.terms, one)
	}
	return t
}

func otherOp(op engine.Op) engine.Op {
	if op == engine.OpOr {
		return engine.OpAnd
	}
	return engine.OpOr
}

// parsePath reads the path of an attribute that names subjects.
func parsePath(c *engine.Class, path string, at place) term {
	if _, err := query.NamesOneOf(c, path, nil); err != nil {
		at.Report(mistake.RoleMapSid, at.path, engine.Quote(path)+" ("+err.Error()+")", "an attribute that names accounts or roles")
		return noAccountTerm()
	}
	return term{op: engine.OpPath, text: path}
}

// filter returns a condition on items: the term holds for an account with the subjects if the item
// matches.
func (t term) filter(c *engine.Class, subjects []string) *engine.Filter {
	switch t.op {
	case engine.OpEq:
		if slices.Contains(subjects, t.text) {
			return nil
		}
		return engine.Never()
	case engine.OpPath:
		f, _ := query.Naming(c, t.text, subjects) // parsePath has checked the path
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
