package access

import (
	"context"
	"errors"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/storetest"
)

// shop has orders with lines, tags and a customer. The lines of an order and the
// order of a line are two sides of the same links; a tag has no reference to its
// order.
type shop struct {
	order, line, tag, customer *engine.Class
}

func (s *shop) Classes() []*engine.Class {
	return []*engine.Class{s.customer, s.line, s.order, s.tag}
}

func (s *shop) Class(name string) (*engine.Class, error) {
	for _, c := range s.Classes() {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

func newShop(t *testing.T) *shop {
	t.Helper()
	collection := func(name string, of *engine.Class) *engine.Property {
		return storetest.Prop(name, engine.Collection, func(p *engine.Property) { p.Target = of })
	}
	s := &shop{}
	s.customer = storetest.NewClass("customer", text("id"), text("name"))
	s.tag = storetest.NewClass("tag", text("id"), text("word"))
	s.line = storetest.NewClass("line", text("id"), text("amount"))
	s.order = storetest.NewClass("order", text("id"), text("title"), text("owner"), text("total"),
		storetest.Ref("customer", s.customer), collection("lines", s.line), collection("tags", s.tag))
	extend(s.line, storetest.Ref("order", s.order))
	s.order.Property("lines").Back = s.line.Property("order")
	calculated(t, s.order, "total", `{"concat":["$title","!"]}`)
	storetest.Link(s.Classes()...)
	return s
}

// values returns values of c from pairs of a name and a value.
func values(c *engine.Class, pairs ...any) engine.Values {
	v := engine.NewValues(c)
	for i := 0; i < len(pairs); i += 2 {
		v[c.Property(pairs[i].(string)).Index] = pairs[i+1]
	}
	return v
}

// keeping is a Stages with these rules:
//
//   - Every account may write the item with the id "stage".
//   - The stage of an item forbids to change the property with the same name as the id of the item.
type keeping struct{}

func (keeping) Rows(may engine.Permission, c *engine.Class, _ *engine.Account) *engine.Filter {
	if may != engine.MayWrite {
		return nil
	}
	return must(query.Equal(c.KeyProperties()[0], "stage"))
}

func (keeping) Keeps(property string, c *engine.Class, _ *engine.Account) *engine.Filter {
	return must(query.Equal(c.KeyProperties()[0], property))
}

// counter returns the gate of a shop and its inner repository.
func (s *shop) counter(stages Stages, granted ...string) (*Repository, *memory) {
	w := (&world{}).grant(granted...)
	w.docs = []*engine.Item{newItem(s.order, "stage", "title", "One", "owner", "ann"), newItem(s.tag, "stage")}
	m := &memory{world: w}
	return New(Config{Inner: m, Policy: w, Meta: s, Stages: stages}), m
}

// kept returns, as text, the condition under which keeping lets these properties change together.
func kept(names ...string) string {
	if len(names) == 0 {
		return "id eq stage"
	}
	all := "id eq stage"
	for _, name := range names {
		all = "and(" + all + ", not(id eq " + name + "))"
	}
	return all
}

// TestStagesKeepEachProperty checks a write that only a stage allows. The write depends on every
// property that it contains: of the item, of records nested in it, and of the other side of its
// links.
func TestStagesKeepEachProperty(t *testing.T) {
	s := newShop(t)
	order := func(pairs ...any) engine.Values { return values(s.order, pairs...) }
	record := func(c *engine.Class, pairs ...any) *engine.Record {
		return &engine.Record{Class: c, Values: values(c, pairs...)}
	}
	for _, x := range []struct {
		name                       string
		given                      engine.Values
		order, line, tag, customer []string
	}{
		{name: "nothing", given: order()},
		{name: "a value", given: order("title", "New"), order: []string{"title"}},
		{name: "null", given: order("title", nil), order: []string{"title"}},
		{name: "two values", given: order("title", "New", "owner", "bob"), order: []string{"title", "owner"}},
		{name: "a calculated attribute, which is ignored", given: order("total", "9")},
		{name: "a collection that was not loaded", given: order("lines", nil)},
		{name: "values of a class that has one more property", given: append(order("title", "New"), "beyond"), order: []string{"title"}},
		{name: "a nested record", given: order("customer", record(s.customer, "name", "Eve")), order: []string{"customer"}, customer: []string{"name"}},
		{name: "no nested record", given: order("customer", (*engine.Record)(nil)), order: []string{"customer"}},
		{name: "members named by id", given: order("lines", &engine.Links{Add: []any{"l1"}}), order: []string{"lines"}, line: []string{"order"}},
		{name: "nested members", given: order("lines", &engine.Links{Add: []any{record(s.line, "amount", "5"), (*engine.Record)(nil)}}),
			order: []string{"lines"}, line: []string{"order", "amount"}},
		{name: "no links", given: order("lines", (*engine.Links)(nil)), order: []string{"lines"}},
		{name: "members without a reference back", given: order("tags", &engine.Links{Add: []any{"t1"}}), order: []string{"tags"}},
		{name: "the same property twice", given: order("tags", &engine.Links{Add: []any{record(s.tag, "word", "a"), record(s.tag, "word", "b")}}),
			order: []string{"tags"}, tag: []string{"word"}},
	} {
		for call, write := range map[string]func(*Repository, context.Context) error{
			"Update": func(r *Repository, ctx context.Context) error {
				_, err := r.Update(ctx, s.order, "stage", x.given, engine.WriteOptions{})
				return err
			},
			"UpdateAll": func(r *Repository, ctx context.Context) error {
				_, err := r.UpdateAll(ctx, &engine.Query{Class: s.order}, x.given)
				return err
			},
			"Save": func(r *Repository, ctx context.Context) error {
				_, err := r.Save(ctx, []engine.Record{{Class: s.order, ID: "stage", Values: x.given}})
				return err
			},
		} {
			r, m := s.counter(keeping{}, "ann", "c:::order@test", "read")
			ctx := as(t, account("ann"))
			if err := write(r, ctx); err != nil {
				t.Errorf("%s with %s: got error %v, want none", call, x.name, err)
				continue
			}
			guard := m.guards[0]
			for c, names := range map[*engine.Class][]string{s.order: x.order, s.line: x.line, s.tag: x.tag, s.customer: x.customer} {
				if got, want := describeRows(guard.Rows(engine.MayWrite, c)), kept(names...); got != want {
					t.Errorf("%s with %s: %s may be written if %s, want %s", call, x.name, c.Name, got, want)
				}
			}
			if got := describeRows(guard.Rows(engine.MayRead, s.order)); got != "always" {
				t.Errorf("%s with %s: orders may be read if %s, want always", call, x.name, got)
			}
			if got := describeRows(guard.Rows(engine.MayDelete, s.order)); got != "never" {
				t.Errorf("%s with %s: orders may be deleted if %s, want never", call, x.name, got)
			}
		}
	}
}

// TestGrantsPrevailOverStages checks that stages restrict neither an account with a grant on the
// class nor records of the server, and that the guard depends on the values of a write only if
// there are stages.
func TestGrantsPrevailOverStages(t *testing.T) {
	s := newShop(t)
	ctx := as(t, account("ann"))
	title := values(s.order, "title", "New")
	made := engine.Record{Class: s.order, ID: "stage", Values: title, Make: func([]*engine.Item) (engine.Values, error) { return title, nil }}
	for _, x := range []struct {
		name    string
		stages  Stages
		granted []string
		record  engine.Record
		want    string
	}{
		{"a grant to write", keeping{}, []string{"ann", "c:::order@test", "write"}, engine.Record{Class: s.order, ID: "stage", Values: title}, "always"},
		{"a record of the server", keeping{}, []string{"ann", "c:::order@test", "read"}, made, kept()},
		{"a grant on one item", keeping{}, []string{"ann", "i:::order@test@stage", "write"}, engine.Record{Class: s.order, ID: "stage", Values: title},
			"or(id in [stage], " + kept("title") + ")"},
		{"no stages", nil, []string{"ann", "i:::order@test@stage", "write"}, engine.Record{Class: s.order, ID: "stage", Values: title}, "id in [stage]"},
	} {
		r, m := s.counter(x.stages, x.granted...)
		if _, err := r.Save(ctx, []engine.Record{x.record}); err != nil {
			t.Errorf("%s: got error %v, want none", x.name, err)
			continue
		}
		if got := describeRows(m.guards[0].Rows(engine.MayWrite, s.order)); got != x.want {
			t.Errorf("%s: the order may be written if %s, want %s", x.name, got, x.want)
		}
	}
}

// TestChanges checks Changes, which returns the condition under which an account may change some
// properties together.
func TestChanges(t *testing.T) {
	s := newShop(t)
	title := []string{"title", "nothing like this"}
	for _, x := range []struct {
		name    string
		stages  Stages
		granted []string
		names   []string
		want    string
	}{
		{"a full account", keeping{}, []string{"ann", "*", "full"}, title, "always"},
		{"a grant on the class", keeping{}, []string{"ann", "c:::order@test", "write"}, title, "always"},
		{"a grant on the class, no stages", nil, []string{"ann", "c:::order@test", "write"}, title, "always"},
		{"no grant", nil, nil, title, "never"},
		{"a grant on one item, no stages", nil, []string{"ann", "i:::order@test@stage", "write"}, title, "id in [stage]"},
		{"a stage", keeping{}, nil, []string{"title"}, kept("title")},
		{"a stage, of no property", keeping{}, nil, nil, kept()},
		{"an attribute that may not be written", keeping{}, []string{"ann", "c:::order@test", "write", "ann", "a:::order@test.title", "read"}, title, "never"},
		{"beside such an attribute", keeping{}, []string{"ann", "c:::order@test", "write", "ann", "a:::order@test.title", "read"}, []string{"owner"}, "always"},
	} {
		r, _ := s.counter(x.stages, x.granted...)
		view, err := r.View(as(t, account("ann")), s.order)
		if err != nil {
			t.Fatal(err)
		}
		f, err := r.Changes(as(t, account("ann")), view, x.names)
		if got := describeRows(f); err != nil || got != x.want {
			t.Errorf("%s: changes are allowed if %s (%v), want %s", x.name, got, err, x.want)
		}
	}
	r, _ := s.counter(nil)
	_, err := r.Changes(t.Context(), s.order, title)
	refused(t, err, engine.Forbidden, "no-account")
}

// TestListsAreRedacted checks that a list leaves out attributes that the account may not
// read.
func TestListsAreRedacted(t *testing.T) {
	w := newWorld().link().grant("ann", "c:::memo@test", "full", "bob", "a:::memo@test.pay", "read")
	r, _ := office(t, w)
	seen := 0
	err := r.List(as(t, account("ann")), &engine.Query{Class: w.memo, Count: -1}, func(it *engine.Item) error {
		if seen++; it.Get("pay") != nil || it.Get("title") == nil {
			t.Errorf("%s: got pay %v and title %v, want the title alone", it.ID, it.Get("pay"), it.Get("title"))
		}
		return nil
	})
	if err != nil || seen != 2 {
		t.Errorf("got %d items and error %v, want 2 items", seen, err)
	}
}

// recaching is a repository that can compute cached formulas again.
type recaching struct {
	*memory
	of []string
}

func (r *recaching) Recache(ctx context.Context, c *engine.Class, id string) error {
	if engine.GuardFrom(ctx) != nil {
		return errors.New("cached values are computed without a guard")
	}
	r.of = append(r.of, c.Name+" "+id)
	return nil
}

// TestRecache checks that an account which may read an item may also have its formulas computed
// again.
func TestRecache(t *testing.T) {
	w := newWorld().link().grant("ann", "i:::memo@test@m1", "read")
	plain, m := office(t, w)
	inner := &recaching{memory: m}
	cfg := w.config()
	cfg.Inner = inner
	r := New(cfg)
	ctx := as(t, account("ann"))
	denied(t, r.Recache(ctx, w.memo, "m2"))
	denied(t, r.Recache(as(t, account("bob")), w.memo, "m1"))
	if len(inner.of) > 0 {
		t.Errorf("hidden items were computed: %v", inner.of)
	}
	if err := r.Recache(ctx, w.memo, "m1"); err != nil || strings.Join(inner.of, ",") != "memo m1" {
		t.Errorf("got error %v after computing %v, want memo m1", err, inner.of)
	}
	refused(t, plain.Recache(ctx, w.memo, "m1"), engine.Invalid, "recache")
}

// TestTransactionNeedsAnAccount checks that no transaction begins without an account.
func TestTransactionNeedsAnAccount(t *testing.T) {
	w := newWorld().link().grant("ann", "c:::memo@test", "read")
	cfg := w.config()
	cfg.Inner = stored(t, w)
	r := New(cfg)
	ran := false
	work := func(context.Context) error { ran = true; return nil }
	if err := r.Transaction(t.Context(), work); engine.CodeOf(err) != engine.Forbidden || ran {
		t.Errorf("without an account: got error %v, ran %v; want it refused before it runs", err, ran)
	}
	if err := r.Transaction(as(t, account("ann")), work); err != nil || !ran {
		t.Errorf("with an account: got error %v, ran %v; want it to run", err, ran)
	}
}

func (keeping) Variables() []string { return nil }
