package workflow

import "restsrv/engine"

// Any reports whether there are workflows.
func (d *Definitions) Any() bool { return d != nil && len(d.of) > 0 }

// Rows implements access.Stages. It returns the condition on items of exactly class c that are in a state which gives
// the account the permission. A permission to create items has no effect in a state, because the item does not exist
// yet.
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
				all = append(all, engine.Both(f.inState(s), s.when.permittingFilter(a), whom))
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return orAlways(engine.Either(all...))
}

// Variables implements access.Stages.
func (d *Definitions) Variables() []string { return d.variables }

// Keeps implements access.Stages. If a state names a property, only the roles that it names there with write permission
// may change the property. If the condition of the state cannot be evaluated, the restriction applies to all items in
// that state.
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
				all = append(all, orAlways(engine.Both(f.inState(s), s.when.restrictingFilter(a))))
			default:
				all = append(all, engine.Both(f.inState(s), s.when.restrictingFilter(a), engine.Not(whom)))
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return orAlways(engine.Either(all...))
}

// orAlways replaces nil by a constant true condition, because Rows and Keeps return nil if they apply to no item.
func orAlways(f *engine.Filter) *engine.Filter {
	if f == nil {
		return &engine.Filter{Op: engine.OpConst, Value: true}
	}
	return f
}

// inState returns the condition that an item is in a state. For the start state, this means that no other state is
// stored.
func (f *flow) inState(s *state) *engine.Filter {
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
