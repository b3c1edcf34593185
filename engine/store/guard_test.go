package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
)

// statementLog collects the statements that a store logs.
type statementLog struct {
	mu  sync.Mutex
	all []string
}

func (l *statementLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *statementLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *statementLog) WithGroup(string) slog.Handler            { return l }

func (l *statementLog) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if r.Message == "statement" {
			l.all = append(l.all, a.Value.String())
		}
		return true
	})
	return nil
}

// of calls run and returns the statements that are logged during the call.
func (l *statementLog) of(run func()) []string {
	l.mu.Lock()
	l.all = nil
	l.mu.Unlock()
	run()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// owners is an engine.Guard. In classes with an owner, an account may do everything with its own items and may not
// access other items. The attribute secret is hidden.
type owners struct {
	limits map[*engine.Class]*engine.Filter
}

func (o *owners) Rows(_ engine.Permission, c *engine.Class) *engine.Filter { return o.limits[c] }
func (o *owners) Creates(*engine.Class) bool                               { return true }
func (o *owners) Hides(_ engine.Permission, p *engine.Property) bool       { return p.Name == "secret" }

// shop has orders of customers, with lines and marks.
type shop struct {
	*store.Store
	log                         *statementLog
	customer, order, line, mark *engine.Class
}

func openShop(t *testing.T, p place) *shop {
	prop := storetest.Prop
	s := &shop{log: &statementLog{}}
	s.customer = storetest.NewClass("customer", prop("id", engine.String), prop("owner", engine.String), prop("name", engine.String), prop("secret", engine.String))
	s.mark = storetest.NewClass("mark", prop("id", engine.String), prop("owner", engine.String))
	s.order = storetest.NewClass("order", prop("id", engine.String), prop("owner", engine.String), prop("n", engine.Int), storetest.Ref("customer", s.customer), prop("marks", engine.Collection), prop("lines", engine.Collection))
	s.line = storetest.NewClass("line", prop("id", engine.String), prop("owner", engine.String), prop("n", engine.Int), storetest.Ref("order", s.order))
	s.order.Property("marks").Target = s.mark
	s.order.Property("lines").Target, s.order.Property("lines").Back = s.line, s.line.Property("order")
	s.order.Semantic = "customer.name"
	classes := []*engine.Class{s.customer, s.order, s.line, s.mark}
	for _, c := range classes {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	storetest.Link(classes...)
	s.Store = openLogged(t, p, s.log, classes...)
	return s
}

// openLogged opens a store that logs its statements.
func openLogged(t *testing.T, p place, log *statementLog, classes ...*engine.Class) *store.Store {
	t.Helper()
	db, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), db, store.Config{Classes: classes, Log: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, st) })
	return st
}

func row(c *engine.Class, pairs ...any) engine.Values {
	v := engine.NewValues(c)
	for i := 0; i < len(pairs); i += 2 {
		v[c.Property(pairs[i].(string)).Index] = pairs[i+1]
	}
	return v
}

// work calls every method of the repository once, with n records if the method takes several, and deletes the records
// that it has created.
func (s *shop) work(t *testing.T, ctx context.Context, n int) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	save := func(c *engine.Class, pairs func(i int) []any) {
		t.Helper()
		var records []engine.Record
		for i := range n {
			records = append(records, engine.Record{Class: c, Values: row(c, append([]any{"id", fmt.Sprint(i), "owner", "ann"}, pairs(i)...)...)})
		}
		_, err := s.Save(ctx, records)
		check(err)
	}
	none := func(int) []any { return nil }
	save(s.customer, none)
	save(s.mark, none)
	customer := func(i int) []any { return []any{"customer", fmt.Sprint(i)} }
	save(s.order, customer)
	save(s.order, func(i int) []any { return append(customer(i), "n", int64(i)) }) // saved again, now that the items exist
	save(s.line, func(i int) []any { return []any{"order", fmt.Sprint(i)} })
	_, err := s.Update(ctx, s.order, "0", row(s.order, "customer", "1", "marks", &engine.Links{Add: []any{"0", "1"}}, "lines", &engine.Links{Replace: true, Add: []any{"0", "1"}}), engine.WriteOptions{})
	check(err)
	_, err = s.Create(ctx, s.mark, row(s.mark, "id", "x", "owner", "ann"), engine.WriteOptions{})
	check(err)
	_, err = s.UpdateAll(ctx, &engine.Query{Class: s.order, Count: -1}, row(s.order, "n", int64(5), "customer", "0"))
	check(err)
	sorted := []engine.Sort{{Via: []*engine.Property{s.order.Property("customer")}, Property: s.customer.Property("name")}}
	check(s.List(ctx, &engine.Query{Class: s.order, Count: -1, Sort: sorted, Load: []*engine.Load{{Property: s.order.Property("lines")}, {Property: s.order.Property("marks")}}}, func(*engine.Item) error { return nil }))
	_, err = s.Count(ctx, &engine.Query{Class: s.order})
	check(err)
	_, err = s.Get(ctx, s.order, "0")
	check(err)
	check(s.Delete(ctx, s.order, "0", nil))
	for _, c := range []*engine.Class{s.customer, s.mark, s.order, s.line} {
		_, err = s.DeleteAll(ctx, &engine.Query{Class: c, Count: -1})
		check(err)
	}
}

// TestGuardStatements counts the statements that a guard adds. There must be no additional statements if the account
// may do everything with all items of a class. Otherwise their number must not grow with the number of items.
func TestGuardStatements(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		s := openShop(t, p)
		free := s.log.of(func() { s.work(t, t.Context(), 4) })
		wide := s.log.of(func() { s.work(t, engine.WithGuard(t.Context(), &owners{}), 4) })
		if len(free) != len(wide) {
			t.Errorf("got %[2]d statements with a guard that allows all items, want %[1]d as without a guard", len(free), len(wide))
		}
		for i, text := range free {
			other := wide[min(i, len(wide)-1)]
			for digit := range strings.SplitSeq("0 1 2 3 4 5 6 7 8 9", " ") { // placeholders under a guard have numbers: remove them to compare the texts
				text, other = strings.ReplaceAll(text, "?"+digit, "?"), strings.ReplaceAll(other, "?"+digit, "?")
			}
			if text != other {
				t.Errorf("without a guard\n%s\nfor all items\n%s", text, other)
			}
		}
		limits := map[*engine.Class]*engine.Filter{}
		for _, c := range []*engine.Class{s.customer, s.order, s.line, s.mark} {
			f, err := query.Equal(c.Property("owner"), "ann")
			if err != nil {
				t.Fatal(err)
			}
			limits[c] = f
		}
		ctx := engine.WithGuard(t.Context(), &owners{limits})
		extra := func(n int) int {
			free := s.log.of(func() { s.work(t, t.Context(), n) })
			return len(s.log.of(func() { s.work(t, ctx, n) })) - len(free)
		}
		few, many := extra(4), extra(400)
		if few < 1 || many > few {
			t.Errorf("a guard adds %d statements for few items and %d for many, want the same number", few, many)
		}
	})
}

// TestGuardedSeed creates a database during the request of an account. The permissions of the account must not affect
// the initial items.
func TestGuardedSeed(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		c := storetest.NewClass("note", storetest.Prop("id", engine.String))
		st := openAt(t, p, c)
		ctx := engine.WithGuard(t.Context(), &owners{map[*engine.Class]*engine.Filter{c: engine.Never()}})
		done, err := st.Seed(ctx, []engine.Record{{Class: c, Values: row(c, "id", "1")}})
		if err != nil || !done {
			t.Fatal(done, err)
		}
		if _, err := st.Get(ctx, c, "1"); engine.CodeOf(err) != engine.Forbidden {
			t.Errorf("got %v for a hidden item, want code Forbidden", err)
		}
		if _, err := st.Get(t.Context(), c, "1"); err != nil {
			t.Error(err)
		}
	})
}
