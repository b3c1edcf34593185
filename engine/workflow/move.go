package workflow

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"restsrv/engine"
)

// maxAttempts limits how often a move is tried if concurrent transactions prevent it. Before each new attempt, the
// move pauses for a random time between retryPause and twice retryPause, so that the same transactions do not prevent
// it again.
const (
	maxAttempts = 5
	retryPause  = 10 * time.Millisecond
)

// Move implements engine.Workflows. Concurrent moves of one item run one after the other: the transaction of a move
// begins by reading the item, which waits for earlier moves. Therefore each move sees the changes of the earlier
// moves.
func (s *Set) Move(ctx context.Context, r engine.Repository, m engine.Move) (now string, err error) {
	for attempt := 1; ; attempt++ {
		err := engine.InTransaction(ctx, r, func(ctx context.Context) error {
			now, err = s.moveItem(ctx, r, m)
			return err
		})
		var e *engine.Error
		if errors.As(err, &e) && e.Code == engine.Unavailable && e.Reason == "busy" && attempt < maxAttempts && pauseBeforeRetry(ctx) {
			continue
		}
		return now, err
	}
}

// pauseBeforeRetry waits before the next attempt. It returns false if ctx ends first.
func pauseBeforeRetry(ctx context.Context) bool {
	select {
	case <-time.After(retryPause + rand.N(retryPause)):
		return true
	case <-ctx.Done():
		return false
	}
}

// moving is the state of one call of Move.
type moving struct {
	set  *Set
	data engine.Repository // the repository that was passed to Move; it applies the permissions of the account
	item *engine.Item
	flow *flow
	way  *transition // nil if the item is put into a state without a transition
	to   *state
}

func (s *Set) moveItem(ctx context.Context, r engine.Repository, m engine.Move) (now string, err error) {
	it, err := r.Get(ctx, m.Class, m.ID)
	if err != nil {
		return "", err
	}
	g := &moving{set: s, data: r, item: it}
	if g.flow = s.Definitions.findFlow(it.Class, m.Workflow); g.flow == nil {
		return "", refuseMove(engine.NoWorkflow, "there is no such workflow", engine.Named("workflow", m.Workflow))
	}
	caption := engine.Named("workflow", g.flow.caption)
	if m.Transition == "" {
		if g.to = g.flow.findState(m.State); g.to == nil {
			return "", refuseMove(engine.NoState, "the workflow has no such state", engine.Named("state", m.State), caption)
		}
		err = g.pushToState(ctx)
		return g.item.ID, err
	}
	if g.way = g.flow.findTransition(m.Transition); g.way == nil {
		return "", refuseMove(engine.NoTransition, "the workflow has no such transition", caption, engine.Named("trans", m.Transition))
	}
	g.to = g.way.to
	err = g.passTransition(ctx)
	return g.item.ID, err
}

// refuseMove returns the error for a refused move. reason is a code such as engine.NoState, and why is the message for
// people. The error gets the parameters params, and the message lists their values.
func refuseMove(reason, why string, params ...engine.Field) error {
	e := engine.Errorf(engine.Invalid, reason, "%s", why)
	e.Params = params
	for _, p := range params {
		text, _ := p.Value.(string)
		e.Message += ", " + p.Name + " " + engine.Quote(text)
	}
	return e
}

// refuse returns the error for a refused move in an existing workflow. It adds the workflow to params and calls
// refuseMove. If params is empty, it also adds the transition or the state.
func (g *moving) refuse(reason, why string, params ...engine.Field) error {
	all := []engine.Field{engine.Named("workflow", g.flow.caption)}
	if len(params) > 0 {
		return refuseMove(reason, why, append(all, params...)...)
	}
	if g.way != nil {
		return refuseMove(reason, why, append(all, engine.Named("trans", g.way.caption))...)
	}
	return refuseMove(reason, why, append(all, engine.Named("state", g.to.caption))...)
}

func (g *moving) infoField() engine.Field {
	return engine.Named("info", g.item.Class.FullName+"@"+g.item.ID)
}

// pushToState puts the item into a state, regardless of its present state. The account needs write permission.
func (g *moving) pushToState(ctx context.Context) error {
	if err := g.writeItem(ctx, g.data, engine.NewValues(g.item.Class.Base())); err != nil {
		return err
	}
	if err := g.checkState(ctx); err != nil {
		return err
	}
	to := g.to
	if to == g.flow.start {
		to = nil
	}
	return g.set.putStage(ctx, g.item, g.flow, to)
}

// checkState returns an error if the condition of the target state is not true for the item.
func (g *moving) checkState(ctx context.Context) error {
	holds, err := g.set.evaluateConditions(ctx, g.item, []*engine.Filter{g.to.when.permittingFilter(engine.AccountFrom(ctx))})
	if err == nil && !holds[0] {
		err = g.refuse(engine.WrongState, "the conditions of the state do not hold", g.infoField(), engine.Named("state", g.to.caption))
	}
	return err
}

// passTransition moves the item along a transition. If the transition has roles, an account with one of them can use
// the transition without any other permission on the item. If it has no roles, the account needs write permission.
func (g *moving) passTransition(ctx context.Context) error {
	all, err := g.set.readReached(ctx, g.item, []*flow{g.flow})
	if err != nil {
		return err
	}
	at := all[0].state
	if at == nil {
		return g.refuse(engine.NotInWorkflow, "the object is not in the workflow", g.infoField())
	}
	account := engine.AccountFrom(ctx)
	holds, err := g.set.evaluateConditions(ctx, g.item, []*engine.Filter{at.when.permittingFilter(account), g.way.when.permittingFilter(account), g.way.allowedFilter(subjectsOf(ctx))})
	switch {
	case err != nil:
		return err
	case !holds[0]:
		return g.refuse(engine.NotInWorkflow, "the object is not in the workflow", g.infoField())
	case at != g.way.from || !holds[1]:
		return g.refuse(engine.NotPossible, "the transition is not possible now")
	case !holds[2] || !mayWrite(ctx):
		return g.refuse(engine.NotAllowed, "the account may not do this")
	}
	values, others, err := g.assignValues(ctx)
	if err != nil {
		return err
	}
	if err := g.writeOthers(ctx, values, others); err != nil {
		return err
	}
	if len(g.way.roles) > 0 {
		err = g.writeItem(engine.WithGuard(ctx, nil), g.set.Data, values)
	} else {
		err = g.writeItem(ctx, g.data, values)
	}
	if err != nil {
		return err
	}
	if err := g.checkState(ctx); err != nil {
		return err
	}
	return g.set.putStage(ctx, g.item, g.flow, g.to)
}

// mayWrite reports whether the access token of the request permits writes. A token without a scope permits writes.
func mayWrite(ctx context.Context) bool {
	a := engine.AccountFrom(ctx)
	return a == nil || a.Scope == nil || a.Limit.Has(engine.MayWrite)
}

// assignValues computes the values that the transition assigns to the item, and to objects to which the item refers.
// Later assignments use the results of earlier ones. If the transition has roles, formulas can read all data.
// Otherwise they can read only the data that the account may read.
func (g *moving) assignValues(ctx context.Context) (_ engine.Values, others []*other, err error) {
	c := g.item.Class.Base()
	values := engine.NewValues(c)
	data := lookups{set: g.set, now: engine.InstantOf(g.set.Now()), store: g.set.Store, ctx: engine.AsServer}
	if len(g.way.roles) == 0 {
		data.store, data.ctx = g.data, func(ctx context.Context) context.Context { return ctx }
	}
	for _, a := range g.way.assignments {
		it := g.item
		if a.formula != nil {
			if it, err = data.readItem(ctx, c, g.item.ID, engine.Loads(a.formula)); err != nil {
				return nil, nil, err
			}
			for i, v := range values {
				if v != engine.Absent && c.Properties[i].Type != engine.Collection {
					it.Values[i] = v
				}
			}
		}
		of, changed := c, values
		if len(a.path) > 0 {
			o, err := g.findOther(ctx, &others, a, values)
			if err != nil {
				return nil, nil, err
			}
			of, changed = o.class, o.values
		}
		v, err := a.computeValue(ctx, of, it, data)
		if err != nil {
			return nil, nil, g.convertError(err)
		}
		changed[of.Property(a.property.Name).Index] = v
	}
	return values, others, nil
}

// writeItem stores v in the item. v can contain key attributes, so the id of the item can change. writeItem returns an
// error if the account may not write.
func (g *moving) writeItem(ctx context.Context, data engine.Repository, v engine.Values) error {
	if !mayWrite(ctx) {
		return g.refuse(engine.NotAllowed, "the account may not do this")
	}
	if hear := g.set.Entering; hear != nil {
		admission := engine.Admission{May: engine.MayWrite, Records: []engine.Record{{Class: g.item.Class.Base(), ID: g.item.ID, Values: v}}}
		if err := engine.Admit(ctx, data, admission); err != nil {
			return g.convertError(err)
		}
		if err := hear(ctx, g.item.Class.Base(), g.item.ID, g.flow.name, g.to.name, v); err != nil {
			return g.convertError(err)
		}
	}
	it, err := data.Update(ctx, g.item.Class.Base(), g.item.ID, v, engine.WriteOptions{})
	if err != nil {
		return g.convertError(err)
	}
	g.item = &engine.Item{Class: g.item.Class, ID: it.ID}
	return nil
}

// convertError converts errors that the client can correct to errors for a refused move. It returns other errors
// unchanged.
func (g *moving) convertError(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	var refusal error
	switch e.Code {
	case engine.Forbidden:
		refusal = g.refuse(engine.NotAllowed, "the account may not do this")
	case engine.Invalid, engine.Conflict:
		refusal = g.refuse(engine.NotTransferred, "the values of the transition cannot be stored")
	default:
		return err
	}
	g.set.Log.Debug("a move failed", "class", g.item.Class.FullName, "id", g.item.ID, "workflow", g.flow.name, "error", err)
	refusal.(*engine.Error).Err = err
	return refusal
}

// lookups implements engine.FormulaData. It reads with all permissions from the store, or with the permissions of the
// account from the account's repository (see assignValues).
type lookups struct {
	set   *Set
	now   engine.Instant
	store engine.Repository
	ctx   func(context.Context) context.Context
}

// readItem reads the item for a formula, with the items in loads. It leaves out attributes and links that are hidden
// from the account.
func (l lookups) readItem(ctx context.Context, c *engine.Class, id string, loads []*engine.Load) (*engine.Item, error) {
	ctx = l.ctx(ctx)
	view, err := engine.ViewOf(ctx, l.store, c)
	if err != nil {
		return nil, err
	}
	it, err := l.store.Get(ctx, c, id, knownLoads(view, loads)...)
	if err != nil {
		return nil, err
	}
	own := it.Clone()
	own.Class = it.Class.Base()
	return own, nil
}

// knownLoads returns the loads that the account is allowed to make. view is the class without the properties that are
// hidden from the account. Loads of hidden properties are left out.
func knownLoads(view *engine.Class, loads []*engine.Load) (all []*engine.Load) {
	for _, l := range loads {
		if view.Hides(l.Property) {
			continue
		}
		one := *l
		one.Next = knownLoads(view.TargetOf(l.Property), l.Next)
		all = append(all, &one)
	}
	return all
}

// ignoreHidden returns nil if err means that an attribute is hidden from the account. The failed lookup then counts as
// empty. Other errors are returned unchanged.
func ignoreHidden(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Code == engine.Invalid && (e.Reason == "unknown-attribute" || e.Reason == "calculated") {
		return nil
	}
	return err
}

// Find implements engine.FormulaData.
func (l lookups) Find(ctx context.Context, q *engine.Query) (all []*engine.Item, err error) {
	ctx = l.ctx(ctx)
	view, err := engine.ViewOf(ctx, l.store, q.Class)
	if err != nil {
		return nil, err
	}
	of := *q
	of.Load = knownLoads(view, q.Load)
	err = l.store.List(ctx, &of, func(it *engine.Item) error {
		all = append(all, it.Clone())
		return nil
	})
	return all, ignoreHidden(err)
}

// Count implements engine.FormulaData.
func (l lookups) Count(ctx context.Context, q *engine.Query) (int64, error) {
	n, err := l.store.Count(l.ctx(ctx), q)
	return n, ignoreHidden(err)
}

// Next implements engine.FormulaData.
func (l lookups) Next(ctx context.Context, counter string) (int64, error) {
	return l.set.Sequences.NextNumber(ctx, counter)
}

// Class implements engine.FormulaData.
func (l lookups) Class(name string) (*engine.Class, error) { return l.set.Definitions.find(name) }

// Now implements engine.FormulaData.
func (l lookups) Now() engine.Instant { return l.now }
