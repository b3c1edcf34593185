package workflow

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"restsrv/engine"
	"restsrv/engine/service"
)

// Config configures a Set.
type Config struct {
	Definitions *Definitions
	Store       engine.Repository // repository of items and stages (see Stage); it must support transactions
	Data        engine.Repository // the same repository with event listeners; items are written through it
	Sequences   service.Sequences // for formulas
	// Entering is called in the transaction before an item enters a state. It can add values to v, and it can return
	// an error to refuse the move. It may be nil.
	Entering func(ctx context.Context, c *engine.Class, id, workflow, state string, v engine.Values) error
	Stages   *engine.Class    // the result of Class; Store must contain this class
	Now      func() time.Time // if nil, time.Now is used
	Log      *slog.Logger     // if nil, log records are discarded
}

// Set implements engine.Workflows. It reads and writes stages with all permissions. It applies the permissions of the
// account when it moves items and when it reports the actions that the account may take.
type Set struct {
	Config
}

var _ engine.Workflows = (*Set)(nil)

// New returns a Set with the given configuration.
func New(c Config) *Set {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Set{c}
}

// Has implements engine.Workflows.
func (s *Set) Has(workflow, state string) bool {
	for _, flows := range s.Definitions.of {
		for _, f := range flows {
			if f.name == workflow && f.findState(state) != nil {
				return true
			}
		}
	}
	return false
}

// reached is the state that an item has reached in one workflow.
type reached struct {
	flow  *flow
	state *state    // nil if the item is in no state
	since time.Time // zero if the item was never moved
}

// readReached returns the states that an item has reached in the given workflows, with one SQL statement.
func (s *Set) readReached(ctx context.Context, it *engine.Item, flows []*flow) ([]reached, error) {
	ids := make([]any, len(flows))
	for i, f := range flows {
		ids[i] = stageID(it.Class, it.ID, f.name)
	}
	q := &engine.Query{Class: s.Stages, Filter: &engine.Filter{Op: engine.OpIn, Left: engine.Attribute(s.Stages.Property("id")), List: ids}, Count: -1}
	found := map[any]reached{}
	err := s.Store.List(engine.AsServer(ctx), q, func(stage *engine.Item) error {
		found[stage.ID] = reached{state: &state{name: stage.Text("stage")}, since: stage.When("since")}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all := make([]reached, len(flows))
	for i, f := range flows {
		all[i] = reached{flow: f, state: f.start}
		if stored, ok := found[ids[i]]; ok {
			// Ignore a stored state that the workflow no longer has.
			if known := f.findState(stored.state.name); known != nil {
				all[i].state, all[i].since = known, stored.since
			}
		}
	}
	return all, nil
}

// putStage stores that an item has entered the state to. If to is nil, it deletes the stored state, so that the item
// is in the start state.
func (s *Set) putStage(ctx context.Context, it *engine.Item, f *flow, to *state) error {
	ctx = engine.AsServer(ctx)
	stage := Stage(s.Stages, it.Class.Base(), it.ID, f.name, "")
	if to == nil {
		err := s.Store.Delete(ctx, s.Stages, s.Stages.ID(stage.Values), nil)
		if engine.CodeOf(err) == engine.NotFound {
			err = nil
		}
		return err
	}
	stage.Values[s.Stages.Property("stage").Index] = to.name
	stage.Values[s.Stages.Property("since").Index] = engine.InstantOf(s.Now())
	_, err := s.Store.Save(ctx, []engine.Record{{Class: s.Stages, Values: stage.Values}})
	return err
}

// maxAsked limits the number of conditions in one SQL statement, because each condition can add joins.
const maxAsked = 8

// evaluateConditions returns whether each condition is true for an item. A nil condition is true. If a condition has a
// fixed result, it is not sent to the database.
func (s *Set) evaluateConditions(ctx context.Context, it *engine.Item, conditions []*engine.Filter) ([]bool, error) {
	holds := make([]bool, len(conditions))
	var asked []int
	for i, f := range conditions {
		if holds[i] = f.Always(); !holds[i] && !f.Never() {
			asked = append(asked, i)
		}
	}
	all := func(ctx context.Context) error {
		for some := range slices.Chunk(asked, maxAsked) {
			if err := s.askConditions(ctx, it, conditions, some, holds); err != nil {
				return err
			}
		}
		return nil
	}
	if len(asked) > maxAsked {
		return holds, engine.InSnapshot(ctx, s.Store, all)
	}
	return holds, all(ctx)
}

func (s *Set) askConditions(ctx context.Context, it *engine.Item, conditions []*engine.Filter, asked []int, holds []bool) error {
	c := it.Class.Base()
	a := &engine.Aggregation{Class: c, Exact: true, Count: 1}
	key, ok := c.KeyValues(it.ID)
	if !ok {
		return engine.NoItem(c, it.ID)
	}
	id := engine.ItemID
	if of := c.KeyProperties(); len(of) == 1 {
		id = of[0]
	}
	a.Filter = &engine.Filter{Op: engine.OpEq, Left: engine.Attribute(id), Right: engine.Constant(id.ValueType(), key[0])}
	for _, i := range asked {
		a.Columns = append(a.Columns, engine.Column{Expr: &engine.Expr{Op: engine.OpCase, Type: engine.Int,
			Conds: []*engine.Filter{conditions[i]}, Args: []*engine.Expr{engine.Constant(engine.Int, int64(1)), engine.Constant(engine.Int, int64(0))}}})
	}
	found := false
	err := s.Store.Aggregate(engine.AsServer(ctx), a, func(row []any) error {
		found = true
		for n, i := range asked {
			holds[i] = row[n] == int64(1)
		}
		return nil
	})
	if err == nil && !found {
		return engine.NoItem(c, it.ID)
	}
	return err
}
