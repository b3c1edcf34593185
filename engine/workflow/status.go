package workflow

import (
	"context"
	"slices"
	"time"

	"restsrv/engine"
)

// questions are conditions on one item, which are asked together, and the answers.
type questions struct {
	conditions []*engine.Filter
	holds      []bool
}

// ask adds the condition that all of these hold, and returns its number.
func (q *questions) ask(all ...*engine.Filter) int {
	q.conditions = append(q.conditions, engine.Both(all...))
	return len(q.conditions) - 1
}

// whoAsks are the subjects that the account of ctx is.
func whoAsks(ctx context.Context) []string {
	if a := engine.AccountFrom(ctx); a != nil {
		return a.Names()
	}
	return nil
}

// limit is what counts for the account of ctx of what a state gives: what its
// token leaves, and never use, which is no permission on an item.
func limit(ctx context.Context) engine.Permission {
	may := engine.MayRead | engine.MayWrite | engine.MayDelete
	if a := engine.AccountFrom(ctx); a != nil && a.Scope != nil {
		may &= a.Limit
	}
	return may
}

// Status is engine.Workflows'. It takes two statements besides the reading of the
// item, however many workflows there are, as long as their conditions are few.
func (s *Set) Status(ctx context.Context, r engine.Repository, c *engine.Class, id string) (engine.Fields, error) {
	it, err := r.Get(ctx, c, id)
	if err != nil {
		return nil, err
	}
	stages, permissions, properties, selections := engine.Fields{}, engine.Permission(0), engine.Fields{}, engine.Fields{}
	if flows := s.Definitions.of[it.Class.Base()]; len(flows) > 0 {
		all, asked, q, err := s.inquire(ctx, r, it, flows)
		if err != nil {
			return nil, err
		}
		for i, at := range all {
			if at.state == nil || !q.holds[asked[i].state] {
				continue
			}
			stages = append(stages, engine.Named(at.flow.name, at.fields(s.Now(), asked[i].next(q))))
			permissions |= given(at.state.items, asked[i].items, q)
			for n, of := range at.state.properties {
				if it.Class.Property(of.property.Name) == nil {
					continue // it is hidden
				}
				properties = addPermission(properties, of.property.Name, given(of.given, asked[i].properties[n], q))
			}
			for n, of := range at.state.selections {
				if q.holds[asked[i].selections[n]] && it.Class.Property(of.property) != nil {
					selections = append(selections, engine.Named(of.property, it.Class.Told(of.said)))
				}
			}
		}
	}
	for i := range properties {
		properties[i].Value = (properties[i].Value.(engine.Permission) & limit(ctx)).Fields()
	}
	return engine.Fields{engine.Named("stages", stages), engine.Named("itemPermissions", (permissions & limit(ctx)).Fields()),
		engine.Named("propertyPermissions", properties), engine.Named("selectionProviders", selections)}, nil
}

// maxInquiries is how often Status begins again because the item is moved meanwhile.
const maxInquiries = 10

// inquire finds out where an item is in workflows, and asks what the account of ctx
// may do there. The answers are of a moment at which the item is there: if it was
// moved in between, inquire begins again.
func (s *Set) inquire(ctx context.Context, r engine.Repository, it *engine.Item, flows []*flow) (all []reached, asked []asking, q *questions, err error) {
	for attempt := 1; ; attempt++ {
		if all, err = s.reached(ctx, it, flows); err != nil {
			return nil, nil, nil, err
		}
		q, asked = &questions{}, make([]asking, len(all))
		for i, at := range all {
			if asked[i], err = at.ask(ctx, r, it.Class.Base(), q); err != nil {
				return nil, nil, nil, err
			}
		}
		if q.holds, err = s.hold(ctx, it, q.conditions); err != nil {
			return nil, nil, nil, err
		}
		moved := slices.ContainsFunc(asked, func(a asking) bool { return a.at.state != nil && !q.holds[a.there] })
		if !moved || attempt == maxInquiries {
			return all, asked, q, nil
		}
	}
}

// asking are the numbers of the questions about a state.
type asking struct {
	at          reached
	there       int // that the item is still in the state
	state       int
	transitions []int // those of the workflow that begin there, in their order
	items       []int
	properties  [][]int
	selections  []int
}

// ask asks what the account of ctx may do in the state, with items of c in
// repository r.
func (at reached) ask(ctx context.Context, r engine.Repository, c *engine.Class, q *questions) (a asking, err error) {
	a.at = at
	if at.state == nil {
		return a, nil
	}
	subjects := whoAsks(ctx)
	a.there = q.ask(at.flow.in(at.state))
	account := engine.AccountFrom(ctx)
	a.state = q.ask(at.state.when.gives(account))
	for _, t := range at.flow.transitions {
		if t.from == at.state {
			open, err := t.open(ctx, r, c, subjects)
			if err != nil {
				return a, err
			}
			a.transitions = append(a.transitions, q.ask(t.when.gives(account), open))
		}
	}
	roles := func(all []permission) (asked []int) {
		for _, p := range all {
			asked = append(asked, q.ask(p.role.is(subjects)))
		}
		return asked
	}
	a.items = roles(at.state.items)
	for _, p := range at.state.properties {
		a.properties = append(a.properties, roles(p.given))
	}
	for _, one := range at.state.selections {
		if one.role == nil {
			a.selections = append(a.selections, q.ask())
		} else {
			a.selections = append(a.selections, q.ask(one.role.is(subjects)))
		}
	}
	return a, nil
}

// changer is a repository in which not everybody may change everything: that of
// engine/access.
type changer interface {
	Changes(ctx context.Context, c *engine.Class, names []string) (*engine.Filter, error)
}

// open is the condition on items under which the account of ctx may go the
// transition in repository r: its roles, or, when it has none, that it may make
// the change that the transition makes.
func (t *transition) open(ctx context.Context, r engine.Repository, c *engine.Class, subjects []string) (*engine.Filter, error) {
	guarded, ok := r.(changer)
	switch {
	case !writes(ctx):
		return engine.Never(), nil
	case !ok:
		return t.allowed(subjects), nil
	}
	var names []string
	for _, a := range t.assignments {
		if len(a.path) == 0 {
			names = append(names, a.property.Name)
			continue
		}
		// Which object the references lead to is not looked at before the move.
		other, err := guarded.Changes(ctx, a.target(), []string{a.property.Name})
		if err != nil || other.Never() {
			return engine.Never(), err
		}
	}
	if len(t.roles) > 0 {
		return t.allowed(subjects), nil
	}
	return guarded.Changes(ctx, c, names)
}

// allowed is the condition on items under which the roles let somebody go the
// transition.
func (t *transition) allowed(subjects []string) *engine.Filter {
	if len(t.roles) == 0 {
		return nil
	}
	return anyOf(t.roles, subjects)
}

// next are the transitions that can be gone.
func (a asking) next(q *questions) engine.Fields {
	next := engine.Fields{}
	n := 0
	for _, t := range a.at.flow.transitions {
		if t.from != a.at.state {
			continue
		}
		if q.holds[a.transitions[n]] {
			next = append(next, engine.Named(t.name, t.shown))
		}
		n++
	}
	return next
}

// given is what is given to whoever asks.
func given(all []permission, asked []int, q *questions) (may engine.Permission) {
	for i, p := range all {
		if q.holds[asked[i]] {
			may |= p.may
		}
	}
	return may
}

func addPermission(all engine.Fields, name string, may engine.Permission) engine.Fields {
	for i := range all {
		if all[i].Name == name {
			all[i].Value = all[i].Value.(engine.Permission) | may
			return all
		}
	}
	if may == 0 {
		return all
	}
	return append(all, engine.Named(name, may))
}

// fields are what clients are told of a stage.
func (at reached) fields(now time.Time, next engine.Fields) engine.Fields {
	f := engine.Fields{engine.Named("stage", at.state.name)}
	if !at.since.IsZero() {
		f = append(f, engine.Named("since", engine.InstantOf(at.since)))
		if p := at.state.period; p != nil {
			expires := p.after(at.since)
			f = append(f, engine.Named("expires", engine.InstantOf(expires)), engine.Named("expired", expires.Before(now)))
		}
	}
	return append(f, engine.Named("next", next), engine.Named("workflowCaption", at.flow.caption), engine.Named("stageCaption", at.state.caption))
}
