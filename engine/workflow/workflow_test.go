package workflow_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/service"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/postgres/pgtest"
	"restsrv/engine/store/storetest"
	"restsrv/engine/wire"
	"restsrv/engine/workflow"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// classes implements engine.MetaRepository.
type classes []*engine.Class

func (cs classes) Classes() []*engine.Class { return cs }

func (cs classes) Class(name string) (*engine.Class, error) {
	for _, c := range cs {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

// newOrder returns a class of orders, and a descendant of it.
func newOrder() (order, rush *engine.Class) {
	order = storetest.NewClass("order", storetest.Prop("id", engine.String), storetest.Prop("items", engine.Int), storetest.Prop("note", engine.String),
		storetest.Prop("owner", engine.User), storetest.Prop("sent", engine.DateTime), storetest.Prop("done", engine.Boolean))
	return order, storetest.Extend(order, "rush")
}

// load compiles workflows from files that are named a.wf.json, b.wf.json and so on. It returns the reported mistakes.
func load(t *testing.T, cs classes, files ...string) (*workflow.Definitions, []string) {
	t.Helper()
	var all []*service.Workflow
	for i, text := range files {
		v, err := wire.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		said := v.(engine.Fields)
		name, _ := said.Get("name")
		class, _ := said.Get("wfClass")
		all = append(all, &service.Workflow{Name: name.(string), Namespace: "test", Class: class.(string), File: string(rune('a'+i)) + ".wf.json", Written: said})
	}
	d, faults := workflow.Load(cs, all, nil)
	var lines []string
	for _, f := range faults {
		if f.Level == engine.Fatal {
			t.Errorf("%s keeps the server from starting", f)
		}
		if f.Code == "workflow-list-missing" {
			continue // not needed here
		}
		lines = append(lines, f.String())
	}
	return d, lines
}

// TestLoadReportsMistakes checks that a workflow that refers to missing things is reported, with its file and the
// place in the file.
func TestLoadReportsMistakes(t *testing.T) {
	order, rush := newOrder()
	const states = `"name": "w", "wfClass": "order@test", "startState": "a", "states": [{"name": "a"}, {"name": "b"}]`
	state := func(more string) string {
		return `{"name": "w", "wfClass": "order@test", "states": [{"name": "a", ` + more + `}]}`
	}
	transition := func(more string) string {
		return `{` + states + `, "transitions": [{"name": "t", "startState": "a", "finishState": "b", ` + more + `}]}`
	}
	for _, c := range []struct{ file, want string }{
		{transition(`"conditions": {"gt": ["$items", 1]}, "roles": ["owner", "clerk"], "assignments": [{"key": "note", "value": "$items"}, {"key": "owner", "value": "$$uid"}, {"key": "sent", "value": "$$now"}, {"key": "items", "value": "7"}, {"key": "note", "value": "concat(a, $id)"}, {"key": "items", "value": {"add": ["$items", 1]}}]`), ""},
		{`{"name": "w", "wfClass": "ordre@test", "startState": "z", "states": []}`, `wfClass: found class "ordre@test", which is not there, expected "order@test"`},
		{`{"name": "w", "wfClass": "order@test", "startState": "z", "states": [{"name": "a"}]}`, `startState: found "z", which is no state of the workflow, expected one of a`},
		{`{` + states + `, "transitions": [{"name": "t", "startState": "c", "finishState": "b"}]}`, `transitions[0].startState: found "c", which is no state of the workflow, expected one of a, b`},
		{`{` + states + `, "transitions": [{"name": "t", "startState": "a"}]}`, `transitions[0].finishState: expected a state of the workflow`},
		{state(`"conditions": {"gt": ["$itms", 1]}`), `states[0].conditions: found an object (class order@test has no attribute "itms"), expected a condition that can be evaluated`},
		{state(`"conditions": {"greater": ["$items", 1]}`), `unknown operator "greater"`},
		{state(`"conditions": [{"property": "items", "operation": 99, "value": [1]}]`), `states[0].conditions: found an array (unknown operation 99`},
		{state(`"maxPeriod": "soon"`), `states[0].maxPeriod: found "soon", expected a period`},
		{state(`"itemPermissions": [{"role": "clerk", "permissions": 32}]`), `states[0].itemPermissions[0].permissions: found 32, expected a whole number from 0 to 31`},
		{state(`"itemPermissions": [{"permissions": 1}]`), `states[0].itemPermissions[0].role: expected a role, an account, or an attribute`},
		{state(`"propertyPermissions": [{"property": "itms", "permissions": []}]`), `states[0].propertyPermissions[0].property: found "itms", which is no attribute of class order@test, expected "items"`},
		{state(`"selectionProviders": [{"property": "x"}, {"property": null}]`), `states[0].selectionProviders[0].property: found "x", which is no attribute of class order@test`},
		{transition(`"conditions": {"eq": ["$items", "many"]}`), `transitions[0].conditions: found an object (`},
		{transition(`"roles": [1]`), `transitions[0].roles[0]: found 1, expected a role, an account, or an attribute`},
		{transition(`"assignments": [{"key": "itms", "value": "1"}]`), `transitions[0].assignments[0].key: found "itms", which is no attribute of class order@test, expected "items"`},
		{transition(`"assignments": [{"key": "items", "value": "many"}]`), `transitions[0].assignments[0].value: found "many", expected a value of type int`},
		{transition(`"assignments": [{"key": "items", "value": "$itms"}]`), `transitions[0].assignments[0].value: found "$itms", expected a formula`},
		{transition(`"assignments": [{"key": "items", "value": "$$uix"}]`), `transitions[0].assignments[0].value: found "$$uix", expected "$$uid"`},
		{transition(`"assignments": [{"key": "items", "value": {"addd": ["$items", 1]}}]`), `transitions[0].assignments[0].value: found an object, expected a formula`},
		{transition(`"assignments": [{"key": "note", "value": {"get": ["nosuch@test", "1"]}}]`), `there is no class "nosuch@test"`},
	} {
		_, faults := load(t, classes{order, rush}, c.file)
		got := strings.Join(faults, "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || c.want != "" && !strings.HasPrefix(got, "a.wf.json: ") {
			t.Errorf("%s\n got %s\nwant %s", c.file, got, c.want)
		}
	}
}

// sale is a workflow of orders.
const sale = `{"name": "sale", "caption": "Sale", "wfClass": "order@test", "startState": "new",
 "states": [{"name": "new"}, {"name": "paid", "maxPeriod": "1M 2d"}, {"name": "sent", "conditions": {"gt": ["$items", 0]}}, {"name": "lost"}],
 "transitions": [
  {"name": "pay", "startState": "new", "finishState": "paid", "assignments": [{"key": "note", "value": {"concat": ["$note", "+"]}}]},
  {"name": "lose", "startState": "new", "finishState": "lost", "assignments": [{"key": "note", "value": {"concat": ["$note", "-"]}}]},
  {"name": "send", "startState": "paid", "finishState": "sent", "assignments": [{"key": "items", "value": {"sub": ["$items", 1]}}, {"key": "note", "value": "$items"}]},
  {"name": "rename", "startState": "paid", "finishState": "new", "assignments": [{"key": "id", "value": {"concat": ["$id", "2"]}}]}]}`

// shop is a store of orders in the workflow sale.
type shop struct {
	*workflow.Set
	store       *store.Store
	order, rush *engine.Class
	clock       *dbtest.Clock
}

func openShop(t *testing.T, db dbtest.DB) *shop {
	s := &shop{clock: dbtest.NewClock()}
	s.order, s.rush = newOrder()
	d, faults := load(t, classes{s.order, s.rush}, sale)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	stages := workflow.Class()
	s.store = db.OpenWith(t, store.Config{Classes: []*engine.Class{s.order, s.rush, stages}, StageClass: stages, Now: s.clock.Now})
	s.Set = workflow.New(workflow.Config{Definitions: d, Store: s.store, Data: s.store, Sequences: s.store, Stages: stages, Now: s.clock.Now})
	return s
}

func (s *shop) create(t *testing.T, c *engine.Class, id string, items int64) {
	t.Helper()
	v := engine.NewValues(c)
	v[c.Property("id").Index], v[c.Property("items").Index] = id, items
	if _, err := s.store.Create(t.Context(), c, v, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// stage returns the state of an order, or "" if no state is stored.
func (s *shop) stage(t *testing.T, id string) string {
	t.Helper()
	status, err := s.Status(t.Context(), s.store, s.order, id)
	if err != nil {
		t.Fatal(err)
	}
	text := string(engine.AppendValue(nil, status))
	_, text, _ = strings.Cut(text, `"stage":"`)
	text, _, _ = strings.Cut(text, `"`)
	return text
}

func (s *shop) get(t *testing.T, id string) *engine.Item {
	t.Helper()
	it, err := s.store.Get(t.Context(), s.order, id)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func reason(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// TestConcurrentMoves runs several concurrent moves of one order in two processes. Exactly one of them must succeed.
// The others must fail because the transition is no longer possible.
func TestConcurrentMoves(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		shops := []*shop{openShop(t, db), openShop(t, db)}
		for _, transitions := range [][]string{{"pay"}, {"pay", "lose"}} {
			for _, id := range []string{"a" + transitions[len(transitions)-1], "b" + transitions[len(transitions)-1]} {
				shops[0].create(t, shops[0].rush, id, 5)
				var wait sync.WaitGroup
				errs := make([]error, 12)
				for i := range errs {
					wait.Go(func() {
						s := shops[i%2]
						_, errs[i] = s.Move(t.Context(), s.store, engine.Move{Class: s.order, ID: id, Workflow: "sale@test", Transition: transitions[i/2%len(transitions)]})
					})
				}
				wait.Wait()
				moved := 0
				for _, err := range errs {
					if err == nil {
						moved++
					} else if reason(err) != engine.NotPossible {
						t.Errorf("a later concurrent move: got %v, want %s", err, engine.NotPossible)
					}
				}
				if note := shops[1].get(t, id).Text("note"); moved != 1 || len(note) != 1 || (note == "+") != (shops[1].stage(t, id) == "paid") {
					t.Errorf("got %d successful moves, want 1; the note is %q and the state is %s", moved, note, shops[1].stage(t, id))
				}
			}
		}
	})
}

// busy is a store that refuses its first transactions, as if concurrent transactions were in the way.
type busy struct {
	*store.Store
	times int
	begun []time.Time
}

func (b *busy) Transaction(ctx context.Context, work func(context.Context) error) error {
	if b.begun = append(b.begun, time.Now()); len(b.begun) <= b.times {
		return engine.Errorf(engine.Unavailable, "busy", "others are in the way")
	}
	return b.Store.Transaction(ctx, work)
}

// TestMoveRetries checks that a move that a concurrent transaction prevents is tried again after a pause. The number
// of attempts must be limited, and there must be no attempt after the request has ended.
func TestMoveRetries(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		s := openShop(t, db)
		s.create(t, s.order, "o", 1)
		move := func(ctx context.Context, b *busy) error {
			_, err := s.Move(ctx, b, engine.Move{Class: s.order, ID: "o", Workflow: "sale", Transition: "pay"})
			return err
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		gone := &busy{Store: s.store, times: 5}
		if err := move(ctx, gone); reason(err) != "busy" || len(gone.begun) != 1 {
			t.Errorf("after the request ended: got %v after %d attempts, want busy after 1", err, len(gone.begun))
		}
		always := &busy{Store: s.store, times: 100}
		if err := move(t.Context(), always); reason(err) != "busy" || len(always.begun) != 5 {
			t.Errorf("with permanent conflicts: got %v after %d attempts, want busy after 5", err, len(always.begun))
		}
		b := &busy{Store: s.store, times: 3}
		if err := move(t.Context(), b); err != nil || s.stage(t, "o") != "paid" {
			t.Errorf("after three conflicts: got %v and state %s, want paid", err, s.stage(t, "o"))
		}
		for i := range 3 {
			if d := b.begun[i+1].Sub(b.begun[i]); d < 10*time.Millisecond {
				t.Errorf("attempt %d comes after %v", i+2, d)
			}
		}
	})
}

// TestMoveIsAtomic checks that a move is atomic, and that it is a part of the surrounding transaction.
func TestMoveIsAtomic(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		s := openShop(t, db)
		s.create(t, s.order, "o", 1)
		move := func(ctx context.Context, id, transition string) error {
			_, err := s.Move(ctx, s.store, engine.Move{Class: s.order, ID: id, Workflow: "sale", Transition: transition})
			return err
		}
		undone := errors.New("undone")
		err := s.store.Transaction(t.Context(), func(ctx context.Context) error {
			if err := move(ctx, "o", "pay"); err != nil {
				return err
			}
			if err := move(ctx, "o", "pay"); reason(err) != engine.NotPossible {
				t.Errorf("a second move in the transaction: got %v, want %s", err, engine.NotPossible)
			}
			return undone
		})
		if !errors.Is(err, undone) || s.stage(t, "o") != "new" || s.get(t, "o").Text("note") != "" {
			t.Errorf("after the rollback: got %v and state %s, want new", err, s.stage(t, "o"))
		}
		if err := move(t.Context(), "o", "pay"); err != nil {
			t.Fatal(err)
		}
		// The assigned values violate the conditions of the state, so the move is rolled back.
		err = move(t.Context(), "o", "send")
		if reason(err) != engine.WrongState || s.stage(t, "o") != "paid" || s.get(t, "o").Get("items") != int64(1) {
			t.Errorf("%v: it is %s, %v", err, s.stage(t, "o"), s.get(t, "o").Get("items"))
		}
		now, err := s.Move(t.Context(), s.store, engine.Move{Class: s.order, ID: "o", Workflow: "sale", Transition: "rename"})
		if err != nil || now != "o2" || s.stage(t, "o2") != "new" {
			t.Errorf("a move that changes the key: got id %q, %v, want o2", now, err)
		}
		if err := move(t.Context(), "o", "pay"); engine.CodeOf(err) != engine.NotFound {
			t.Errorf("a move by the old key: got %v, want NotFound", err)
		}
		if err := move(t.Context(), "o2", "pay"); err != nil {
			t.Errorf("a move by the new key: %v", err)
		}
	})
}

// TestStagesEndWithItems deletes an order that was moved. A new order with the same id must be in the start state.
func TestStagesEndWithItems(t *testing.T) {
	dbtest.Both(t, func(t *testing.T, db dbtest.DB) {
		s := openShop(t, db)
		for range 2 {
			s.create(t, s.rush, "o", 1)
			if _, err := s.Move(t.Context(), s.store, engine.Move{Class: s.order, ID: "o", Workflow: "sale", Transition: "pay"}); err != nil {
				t.Fatal(err)
			}
			if err := s.store.Delete(t.Context(), s.order, "o", nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestStatusOfPeriods checks the two times in the status: the time at which the object entered its state, and the time
// until which it may stay, computed by the calendar.
func TestStatusOfPeriods(t *testing.T) {
	s := openShop(t, dbtest.New(t))
	s.clock.Advance(-24 * time.Hour * 92) // 30 January 2024
	s.create(t, s.order, "o", 1)
	if _, err := s.Move(t.Context(), s.store, engine.Move{Class: s.order, ID: "o", Workflow: "sale", State: "paid"}); err != nil {
		t.Fatal(err)
	}
	for _, expired := range []string{"false", "true"} {
		status, err := s.Status(t.Context(), s.store, s.order, "o")
		want := `"since":"2024-01-30T12:00:00.000Z","expires":"2024-03-02T12:00:00.000Z","expired":` + expired
		if got := string(engine.AppendValue(nil, status)); err != nil || !strings.Contains(got, want) {
			t.Errorf("%v, got %s, want %s", err, got, want)
		}
		s.clock.Advance(24 * time.Hour * 40)
	}
}

// TestStatusOfReadOnlyToken checks an access token that permits only reads: the status must contain no transitions,
// and a move with this token must be refused.
func TestStatusOfReadOnlyToken(t *testing.T) {
	s := openShop(t, dbtest.New(t))
	s.create(t, s.order, "1", 5)
	for _, limit := range []engine.Permission{engine.MayRead, engine.MayWrite} {
		want := map[engine.Permission]string{engine.MayRead: `"next":{},`, engine.MayWrite: `"next":{"pay":`}[limit]
		ctx := engine.WithAccount(t.Context(), &engine.Account{ID: "ann@local", Scope: &engine.Scope{}, Limit: limit})
		status, err := s.Status(ctx, s.store, s.order, "1")
		if got := string(engine.AppendValue(nil, status)); err != nil || !strings.Contains(got, want) {
			t.Errorf("a token that may %s: got %s, %v, want %s", limit, got, err, want)
		}
		_, err = s.Move(ctx, s.store, engine.Move{Class: s.order, ID: "1", Workflow: "sale@test", Transition: "pay"})
		if moved := err == nil; moved != (limit == engine.MayWrite) {
			t.Errorf("a token that may %s: got %v", limit, err)
		}
	}
}
