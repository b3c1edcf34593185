package workflow

import "restsrv/engine"

// Any reports whether the application has workflows.
func (d *Definitions) Any() bool { return d != nil && len(d.of) > 0 }

// Rows implements access.Stages. It returns the condition on items of exactly class c that are in a state in which the
// account has the permission. States cannot give permission to create items, because a new item has no state before.
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

// Keeps implements access.Stages. If the propertyPermissions of a state list a property, only the roles with write
// permission in this list can change the property. If the condition of the state cannot be evaluated, the restriction
// applies to all items in the state.
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

// orAlways prepares a filter for the results of Rows and Keeps, in which nil means no items. It replaces nil, which
// means all items in a filter, by a filter that is always true.
func orAlways(f *engine.Filter) *engine.Filter {
	if f == nil {
		return &engine.Filter{Op: engine.OpConst, Value: true}
	}
	return f
}

// inState returns the condition that an item is in state s. If s is the start state, the condition is that no other
// state of the workflow is stored for the item.
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
