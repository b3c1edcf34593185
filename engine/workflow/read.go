package workflow

import (
	"errors"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
)

// reader reads a part of the file of one workflow.
type reader struct {
	jsonfile.Object
	class *engine.Class // nil when it is not there: then states alone are looked at
	defs  *Definitions
}

// within is the reader of an element of an array; ok is false when it is no
// object.
func (r reader) within(name string, i int) (reader, bool) {
	o, ok := r.Element(name, i)
	return reader{o, r.class, r.defs}, ok
}

// each reads the elements of an array of objects.
func (r reader) each(name string, read func(reader)) {
	for i := range r.List(name) {
		if one, ok := r.within(name, i); ok {
			read(one)
		}
	}
}

func (r reader) flow(w *engine.Workflow) *flow {
	f := &flow{class: r.class, name: engine.FullName(w.Name, w.Namespace)}
	f.caption = r.captionOr(w.Name)
	r.each("states", func(r reader) {
		if s := r.state(); s.name != "" {
			f.states = append(f.states, s)
		}
	})
	f.start, _ = r.named(f, "startState")
	r.each("transitions", func(r reader) {
		if t := r.transition(f); t != nil {
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

// named is the state that a field names; ok is false when there is none of that
// name.
func (r reader) named(f *flow, field string) (s *state, ok bool) {
	name := r.Text(field)
	if name == "" {
		return nil, true
	}
	if s = f.state(name); s == nil {
		var known []string
		for _, s := range f.states {
			known = append(known, s.name)
		}
		r.Warn(r.At(field), engine.Quote(name)+", which is no state of the workflow", jsonfile.Choice(name, known))
	}
	return s, s != nil
}

func (r reader) state() *state {
	s := &state{name: r.Text("name")}
	if r.class == nil {
		return s
	}
	s.when, s.caption = r.condition("conditions"), r.captionOr(s.name)
	if text := r.Text("maxPeriod"); text != "" {
		var ok bool
		if s.period, ok = parsePeriod(text); !ok {
			r.Warn(r.At("maxPeriod"), jsonfile.Describe(text), `a period such as "2w 3d 12h": numbers and y, M, w, d, h, m or s`)
		}
	}
	r.each("itemPermissions", func(r reader) { s.items = r.permission(s.items) })
	r.each("propertyPermissions", func(r reader) {
		p := r.property("property")
		if p == nil {
			return
		}
		of := propertyPermission{property: p}
		r.each("permissions", func(r reader) { of.given = r.permission(of.given) })
		s.properties = append(s.properties, of)
	})
	r.each("selectionProviders", func(r reader) {
		if r.Value("property") == nil { // as the ancestor's studio writes one for nothing
			return
		}
		if p := r.property("property"); p != nil {
			one := selection{property: p.Name, said: r.Fields}
			if r.Text("role") != "" {
				is := r.role(r.Text("role"))
				one.role = &is
			}
			s.selections = append(s.selections, one)
		}
	})
	return s
}

func (r reader) permission(all []permission) []permission {
	name := r.Name("role")
	may, ok := r.Whole("permissions", 0, int64(engine.MayAll))
	switch {
	case name == "":
		r.Warn(r.At("role"), "", "a role, an account, or an attribute that names one: it is given to nobody")
		return all
	case !ok:
		return all
	}
	return append(all, permission{r.role(name), engine.Permission(may)})
}

// role is what a name stands for: an attribute before a role or an account.
func (r reader) role(name string) role {
	_, err := engine.NamesOneOf(r.class, name, nil)
	return role{r.class, name, err == nil}
}

func (r reader) property(field string) *engine.Property {
	name := r.Text(field)
	p := r.class.Property(name)
	if p == nil {
		p = r.class.Property(dotted.Replace(name))
	}
	if p == nil {
		var known []string
		for _, p := range r.class.Properties {
			known = append(known, p.Name)
		}
		found := ""
		if name != "" {
			found = engine.Quote(name) + ", which is no attribute of class " + r.class.FullName
		}
		r.Warn(r.At(field), found, jsonfile.Choice(name, known))
	}
	return p
}

// condition reads one on the item: nil for always. One that cannot be told never
// holds.
func (r reader) condition(field string) *engine.Filter {
	f, err := engine.ParseOwnFilter(r.class, r.Value(field))
	if err != nil {
		r.Warn(r.At(field), jsonfile.Describe(r.Value(field)), "a condition that can be told as a filter: "+message(err))
		return engine.Never()
	}
	return f
}

// transition is nil for one that nobody can go.
func (r reader) transition(f *flow) *transition {
	t := &transition{name: r.Text("name")}
	usable := t.name != ""
	for _, end := range []struct {
		field string
		at    **state
	}{{"startState", &t.from}, {"finishState", &t.to}} {
		s, ok := r.named(f, end.field)
		if s == nil && ok {
			r.Warn(r.At(end.field), "", "a state of the workflow")
		}
		*end.at, usable = s, usable && s != nil
	}
	if r.class == nil {
		return nil
	}
	t.when, t.caption = r.condition("conditions"), r.captionOr(t.name)
	for i, v := range r.List("roles") {
		name, ok := v.(string)
		if !ok || name == "" {
			r.Warn(jsonfile.Element(r.At("roles"), i), jsonfile.Describe(v), "a role, an account, or an attribute that names one")
			usable = false
			continue
		}
		t.roles = append(t.roles, r.role(name))
	}
	r.each("assignments", func(r reader) {
		a := r.assignment()
		t.assignments = append(t.assignments, a)
		usable = usable && a != nil
	})
	t.shown = engine.Fields{engine.Named("name", t.name), engine.Named("caption", t.caption),
		engine.Named("signBefore", r.Flag("signBefore", false)), engine.Named("signAfter", r.Flag("signAfter", false)),
		engine.Named("confirm", r.Flag("confirm", false)), engine.Named("confirmMessage", r.Value("confirmMessage"))}
	if !usable {
		return nil
	}
	return t
}

// message is what an error says, without its cause.
func message(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
