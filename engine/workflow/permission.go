package workflow

import "restsrv/engine"

// Any reports whether there is a workflow at all.
func (d *Definitions) Any() bool { return d != nil && len(d.of) > 0 }

// Rows is access.Stages': the condition on items of exactly class c that are in a
// state which gives the account the permission. What a state gives for creating
// items counts for nobody: there is no item yet.
func (d *Definitions) Rows(may engine.Permission, c *engine.Class, a *engine.Account) *engine.Filter {
	if may == engine.MayUse {
		return nil
	}
	subjects := a.Names()
	var all []*engine.Filter
	for _, f := range d.of[c.Base()] {
		for _, s := range f.states {
			var roles []role
			for _, p := range s.items {
				if p.may.Has(may) {
					roles = append(roles, p.role)
				}
			}
			if whom := anyOf(roles, subjects); !whom.Never() {
				all = append(all, engine.Both(f.in(s), s.when.gives(a), whom))
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return orAlways(engine.Either(all...))
}

// Variables is access.Stages'.
func (d *Definitions) Variables() []string { return d.variables }

// Keeps is access.Stages': a state that names a property lets nobody change it but
// whom it names there with write. A state whose condition cannot be evaluated does so
// for all items that are in it.
func (d *Definitions) Keeps(property string, c *engine.Class, a *engine.Account) *engine.Filter {
	subjects := a.Names()
	var all []*engine.Filter
	for _, f := range d.of[c.Base()] {
		for _, s := range f.states {
			var roles []role
			named := s.keepsAll
			for _, p := range s.properties {
				if p.property.Name != property {
					continue
				}
				named = true
				for _, one := range p.given {
					if one.may.Has(engine.MayWrite) {
						roles = append(roles, one.role)
					}
				}
			}
			if !named {
				continue
			}
			whom := anyOf(roles, subjects)
			if s.keepsAll {
				whom = engine.Never()
			}
			switch {
			case whom == nil:
			case whom.Never():
				all = append(all, orAlways(engine.Both(f.in(s), s.when.keeps(a))))
			default:
				all = append(all, engine.Both(f.in(s), s.when.keeps(a), engine.Not(whom)))
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return orAlways(engine.Either(all...))
}

// orAlways is a condition for who takes nil for none.
func orAlways(f *engine.Filter) *engine.Filter {
	if f == nil {
		return &engine.Filter{Op: engine.OpConst, Value: true}
	}
	return f
}

// in is the condition that an item is in a state: stored, or, of the first state,
// in no other.
func (f *flow) in(s *state) *engine.Filter {
	if s != f.start {
		return &engine.Filter{Op: engine.OpReached, Pattern: f.name, List: []any{s.name}}
	}
	var others []any
	for _, other := range f.states {
		if other != s {
			others = append(others, other.name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return engine.Not(&engine.Filter{Op: engine.OpReached, Pattern: f.name, List: others})
}
