package workflow

import (
	"errors"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/mistake"
	"restsrv/engine/query"
	"restsrv/engine/service"
)

// reader reads one object in a workflow file.
type reader struct {
	jsonfile.Object
	class *engine.Class
	defs  *Definitions

	stateless bool // the workflow has no list of states, so unknown states are not reported
}

// eachObject calls read for each element of an array of objects. If an element is not an object, it reports rule as a
// mistake.
func (r reader) eachObject(name string, rule *mistake.Rule, read func(reader)) {
	for i, v := range r.List(name) {
		at := jsonfile.Element(r.At(name), i)
		if fields, ok := v.(engine.Fields); ok {
			read(reader{r.Within(at, fields), r.class, r.defs, r.stateless})
		} else {
			r.Report(rule, at, jsonfile.Describe(v), "an object")
		}
	}
}

// requireList reports a mistake if the list is missing.
func (r reader) requireList(name string) {
	if r.Value(name) == nil {
		r.Report(mistake.WorkflowList, r.At(name), "", "an array, which may be empty")
	}
}

// entryName returns the name of a state or transition. If the name is missing, entryName reports rule as a mistake and
// returns "".
func (r reader) entryName(rule *mistake.Rule) string {
	name, ok := r.Value("name").(string)
	if !ok || name == "" {
		r.Report(rule, r.At("name"), describeWritten(r.Value("name")), "a name")
		return ""
	}
	return name
}

func describeWritten(v any) string {
	if v == nil {
		return ""
	}
	return jsonfile.Describe(v)
}

func (r reader) readFlow(w *service.Workflow) *flow {
	f := &flow{class: r.class, name: engine.FullName(w.Name, w.Namespace)}
	f.caption = r.captionOr(w.Name)
	r.requireList("states")
	_, isArray := r.Value("states").([]any)
	r.stateless = !isArray
	r.eachObject("states", mistake.StateEntry, func(r reader) {
		if s := r.readState(); s != nil {
			f.states = append(f.states, s)
		}
	})
	f.start, _ = r.readStateName(f, "startState")
	r.requireList("transitions")
	r.eachObject("transitions", mistake.TransitionEntry, func(r reader) {
		if t := r.readTransition(f); t != nil {
			f.transitions = append(f.transitions, t)
		}
	})
	return f
}

func (r reader) captionOr(name string) string {
	if s := r.Text("caption"); s != "" {
		return s
	}
	return name
}

// readStateName returns the state that a field names. If the field is empty, s is nil and ok is true. If the state
// does not exist, readStateName reports the mistake, s is nil and ok is false.
func (r reader) readStateName(f *flow, field string) (s *state, ok bool) {
	name := r.Text(field)
	if name == "" {
		return nil, true
	}
	if s = f.findState(name); s == nil && !r.stateless {
		var known []string
		for _, s := range f.states {
			known = append(known, s.name)
		}
		r.Report(mistake.StateMissing, r.At(field), engine.Quote(name)+", which is no state of the workflow", jsonfile.Choice(name, known))
	}
	return s, s != nil
}

// readState reads a state. It returns nil if the state has no name.
func (r reader) readState() *state {
	s := &state{name: r.entryName(mistake.StateEntry)}
	if s.name == "" {
		return nil
	}
	s.when, s.caption = r.readCondition("conditions", mistake.StateCondition), r.captionOr(s.name)
	if text := r.Text("maxPeriod"); text != "" {
		var ok bool
		if s.period, ok = parsePeriod(text); !ok {
			r.Warn(r.At("maxPeriod"), jsonfile.Describe(text), `a period such as "2w 3d 12h": numbers and y, M, w, d, h, m or s`)
		}
	}
	r.eachObject("itemPermissions", mistake.NotObject, func(r reader) { s.items = r.readPermission(s.items) })
	r.readPropertyPermissions(s)
	r.eachObject("selectionProviders", mistake.NotObject, func(r reader) {
		if r.Value("property") == nil { // ignore it, because IONDV Studio writes such an entry for an empty row
			return
		}
		if p := r.readProperty("property"); p != nil {
			one := selection{property: p.Name, said: r.Fields}
			if r.Text("role") != "" {
				is := r.resolveRole(r.Text("role"))
				one.role = &is
			}
			s.selections = append(s.selections, one)
		}
	})
	return s
}

// readPropertyPermissions reads propertyPermissions, a list of properties that only some roles can change in the
// state. If an entry is not valid, no account can change any property in the state.
func (r reader) readPropertyPermissions(s *state) {
	const name = "propertyPermissions"
	all := func(path string, v any, expected string) {
		s.keepsAll = true
		r.Report(mistake.PropertyPermissions, path, describeWritten(v), expected)
	}
	list, ok := r.Value(name).([]any)
	if v := r.Value(name); !ok && v != nil {
		all(r.At(name), v, "an array")
	}
	for i, v := range list {
		at := jsonfile.Element(r.At(name), i)
		fields, ok := v.(engine.Fields)
		if !ok {
			all(at, v, "an object")
			continue
		}
		one := reader{r.Within(at, fields), r.class, r.defs, r.stateless}
		if text, ok := one.Value("property").(string); !ok || text == "" {
			all(one.At("property"), one.Value("property"), "the name of an attribute")
			continue
		}
		p := one.readProperty("property")
		if p == nil {
			continue
		}
		of := propertyPermission{property: p}
		one.eachObject("permissions", mistake.NotObject, func(r reader) { of.given = r.readPermission(of.given) })
		s.properties = append(s.properties, of)
	}
}

func (r reader) readPermission(all []permission) []permission {
	name := r.Name("role")
	may, ok := r.Whole("permissions", 0, int64(engine.MayAll))
	switch {
	case name == "":
		r.Report(mistake.PermissionRole, r.At("role"), "", "a role, an account, or an attribute that names one")
		return all
	case !ok:
		return all
	}
	return append(all, permission{r.resolveRole(name), engine.Permission(may)})
}

// resolveRole returns the role with a name. If the class has an attribute with this name that can contain accounts,
// the role depends on the item: the accounts in this attribute have the role.
func (r reader) resolveRole(name string) role {
	_, err := query.NamesOneOf(r.class, name, nil)
	return role{r.class, name, err == nil}
}

func (r reader) readProperty(field string) *engine.Property {
	name := r.Text(field)
	p := r.class.Property(name)
	if p == nil {
		p = r.class.Property(dotted.Replace(name))
	}
	if p == nil {
		found := ""
		if name != "" {
			found = engine.Quote(name) + ", which is no attribute of class " + r.class.FullName
		}
		r.Report(mistake.StateAttribute, r.At(field), found, jsonfile.Choice(name, r.attributeNames()))
	}
	return p
}

func (r reader) attributeNames() (names []string) {
	for _, p := range r.class.Properties {
		names = append(names, p.Name)
	}
	return names
}

// readTransition reads a transition. It returns nil if a mistake makes the transition unusable.
func (r reader) readTransition(f *flow) *transition {
	t := &transition{name: r.entryName(mistake.TransitionEntry)}
	if t.name == "" {
		return nil
	}
	usable := true
	for _, end := range []struct {
		field string
		at    **state
	}{{"startState", &t.from}, {"finishState", &t.to}} {
		s, ok := r.readStateName(f, end.field)
		if s == nil && ok {
			r.Report(mistake.StateMissing, r.At(end.field), "", "a state of the workflow")
		}
		*end.at, usable = s, usable && s != nil
	}
	t.when, t.caption = r.readCondition("conditions", mistake.TransitionCondition), r.captionOr(t.name)
	wrongRole := func(path string, v any, expected string) {
		r.Report(mistake.TransitionRoles, path, jsonfile.Describe(v), expected)
		usable = false
	}
	roles, ok := r.Value("roles").([]any)
	if v := r.Value("roles"); !ok && v != nil {
		wrongRole(r.At("roles"), v, "an array")
	}
	for i, v := range roles {
		name, ok := v.(string)
		if !ok || name == "" {
			wrongRole(jsonfile.Element(r.At("roles"), i), v, "a role, an account, or an attribute that names one")
			continue
		}
		t.roles = append(t.roles, r.resolveRole(name))
	}
	r.requireList("assignments")
	r.eachObject("assignments", mistake.AssignmentTarget, func(r reader) {
		a, without := r.readAssignment()
		if a != nil {
			t.assignments = append(t.assignments, a)
		}
		usable = usable && (a != nil || without)
	})
	t.shown = engine.Fields{engine.Named("name", t.name), engine.Named("caption", t.caption),
		engine.Named("signBefore", r.Flag("signBefore", false)), engine.Named("signAfter", r.Flag("signAfter", false)),
		engine.Named("confirm", r.Flag("confirm", false)), engine.Named("confirmMessage", r.Value("confirmMessage"))}
	if !usable {
		return nil
	}
	return t
}

// messageOf returns the message of an error, without that of its cause.
func messageOf(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
