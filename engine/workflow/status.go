package workflow

import (
	"context"
	"slices"
	"time"

	"restsrv/engine"
	"restsrv/engine/describe"
)

// questions collects conditions on one item, so that they can be evaluated with one SQL statement.
type questions struct {
	conditions []*engine.Filter
	holds      []bool // results, by index of the condition
}

// addQuestion adds the condition that all filters are true, and returns its index.
func (q *questions) addQuestion(all ...*engine.Filter) int {
	q.conditions = append(q.conditions, engine.Both(all...))
	return len(q.conditions) - 1
}

// subjectsOf returns the id and the roles of the account of the request (see engine.Account.Names).
func subjectsOf(ctx context.Context) []string {
	if a := engine.AccountFrom(ctx); a != nil {
		return a.Names()
	}
	return nil
}

// permissionLimit returns the permissions in states that the access token of the request allows. A token without a
// scope allows all of them. MayUse is never included, because it does not apply to existing items.
func permissionLimit(ctx context.Context) engine.Permission {
	may := engine.MayRead | engine.MayWrite | engine.MayDelete
	if a := engine.AccountFrom(ctx); a != nil && a.Scope != nil {
		may &= a.Limit
	}
	return may
}

// Status implements engine.Workflows. It uses three SQL statements: for the item, for its states in all workflows, and
// for the conditions. If there are more than maxAsked conditions, they take several statements.
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
			stages = append(stages, engine.Named(at.flow.name, at.stageFields(s.Now(), asked[i].nextTransitions(q))))
			permissions |= grantedPermissions(at.state.items, asked[i].items, q)
			for n, of := range at.state.properties {
				if it.Class.Property(of.property.Name) == nil {
					continue // the attribute is hidden from the account
				}
				properties = addPermission(properties, of.property.Name, grantedPermissions(of.given, asked[i].properties[n], q))
			}
			for n, of := range at.state.selections {
				if q.holds[asked[i].selections[n]] && it.Class.Property(of.property) != nil {
					selections = append(selections, engine.Named(of.property, describe.Redact(it.Class, of.said)))
				}
			}
		}
	}
	for i := range properties {
		properties[i].Value = (properties[i].Value.(engine.Permission) & permissionLimit(ctx)).Fields()
	}
	return engine.Fields{engine.Named("stages", stages), engine.Named("itemPermissions", (permissions & permissionLimit(ctx)).Fields()),
		engine.Named("propertyPermissions", properties), engine.Named("selectionProviders", selections)}, nil
}

// maxInquiries limits how often inquire starts again because the item was moved in the meantime.
const maxInquiries = 10

// inquire reads the states of an item, and then evaluates the actions that the account may take in these states. If
// the item is moved between the two steps, inquire starts again, so that all results belong to the same states. After
// maxInquiries attempts, it returns the last results.
func (s *Set) inquire(ctx context.Context, r engine.Repository, it *engine.Item, flows []*flow) (all []reached, asked []asking, q *questions, err error) {
	for attempt := 1; ; attempt++ {
		if all, err = s.readReached(ctx, it, flows); err != nil {
			return nil, nil, nil, err
		}
		q, asked = &questions{}, make([]asking, len(all))
		for i, at := range all {
			if asked[i], err = at.askState(ctx, r, it.Class.Base(), q); err != nil {
				return nil, nil, nil, err
			}
		}
		if q.holds, err = s.evaluateConditions(ctx, it, q.conditions); err != nil {
			return nil, nil, nil, err
		}
		moved := slices.ContainsFunc(asked, func(a asking) bool { return a.at.state != nil && !q.holds[a.there] })
		if !moved || attempt == maxInquiries {
			return all, asked, q, nil
		}
	}
}

// asking holds, for one state, the indexes of its conditions in questions.
type asking struct {
	at          reached
	there       int // for the condition that the item is still in the state
	state       int
	transitions []int // for the transitions from the state, in their order
	items       []int
	properties  [][]int
	selections  []int
}

// askState adds conditions to q that determine the actions that the account may take with an item of class c in the
// state. r is the repository of the account.
func (at reached) askState(ctx context.Context, r engine.Repository, c *engine.Class, q *questions) (a asking, err error) {
	a.at = at
	if at.state == nil {
		return a, nil
	}
	subjects := subjectsOf(ctx)
	a.there = q.addQuestion(at.flow.inState(at.state))
	account := engine.AccountFrom(ctx)
	a.state = q.addQuestion(at.state.when.permittingFilter(account))
	for _, t := range at.flow.transitions {
		if t.from == at.state {
			open, err := t.openFilter(ctx, r, c, subjects)
			if err != nil {
				return a, err
			}
			a.transitions = append(a.transitions, q.addQuestion(t.when.permittingFilter(account), open))
		}
	}
	roles := func(all []permission) (asked []int) {
		for _, p := range all {
			asked = append(asked, q.addQuestion(p.role.memberFilter(subjects)))
		}
		return asked
	}
	a.items = roles(at.state.items)
	for _, p := range at.state.properties {
		a.properties = append(a.properties, roles(p.given))
	}
	for _, one := range at.state.selections {
		if one.role == nil {
			a.selections = append(a.selections, q.addQuestion())
		} else {
			a.selections = append(a.selections, q.addQuestion(one.role.memberFilter(subjects)))
		}
	}
	return a, nil
}

// changer is a repository that restricts changes. The repository of engine/access implements it.
type changer interface {
	Changes(ctx context.Context, c *engine.Class, names []string) (*engine.Filter, error)
}

// openFilter returns the condition on items for which the account may use the transition. r is the repository of the
// account. A transition can change the item, and objects to which the item refers. For the item, the account needs one
// of the roles of the transition or, if the transition has no roles, permission for the changes. For the other
// objects, it always needs permission for the changes.
func (t *transition) openFilter(ctx context.Context, r engine.Repository, c *engine.Class, subjects []string) (*engine.Filter, error) {
	guarded, ok := r.(changer)
	switch {
	case !mayWrite(ctx):
		return engine.Never(), nil
	case !ok:
		return t.allowedFilter(subjects), nil
	}
	var names []string
	for _, a := range t.assignments {
		if len(a.path) == 0 {
			names = append(names, a.property.Name)
			continue
		}
		// This condition does not check the permission on the object to which the item refers. It is checked when the
		// item is moved.
		other, err := guarded.Changes(ctx, a.targetClass(), []string{a.property.Name})
		if err != nil || other.Never() {
			return engine.Never(), err
		}
	}
	if len(t.roles) > 0 {
		return t.allowedFilter(subjects), nil
	}
	return guarded.Changes(ctx, c, names)
}

// allowedFilter returns the condition on items for which an account with these subjects has a role of the transition.
// nil matches all items.
func (t *transition) allowedFilter(subjects []string) *engine.Filter {
	if len(t.roles) == 0 {
		return nil
	}
	return anyOf(t.roles, subjects)
}

// nextTransitions returns the descriptions of the transitions that are now possible.
func (a asking) nextTransitions(q *questions) engine.Fields {
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

// grantedPermissions returns the union of those permissions in all for which the condition is true for the item. asked
// contains, for each permission, the index of its condition in q.
func grantedPermissions(all []permission, asked []int, q *questions) (may engine.Permission) {
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

// stageFields returns the description of the state for clients.
func (at reached) stageFields(now time.Time, next engine.Fields) engine.Fields {
	f := engine.Fields{engine.Named("stage", at.state.name)}
	if !at.since.IsZero() {
		f = append(f, engine.Named("since", engine.InstantOf(at.since)))
		if p := at.state.period; p != nil {
			expires := p.addTo(at.since)
			f = append(f, engine.Named("expires", engine.InstantOf(expires)), engine.Named("expired", expires.Before(now)))
		}
	}
	return append(f, engine.Named("next", next), engine.Named("workflowCaption", at.flow.caption), engine.Named("stageCaption", at.state.caption))
}
