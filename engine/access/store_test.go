package access

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/store/storetest"
)

// stored stores the documents of a world, and the items loaded with them, in a
// database.
func stored(t *testing.T, w *world) *store.Store { return storedIn(t, w, w.docs) }

// storedIn stores items, and the items loaded with them, in a new database with the classes of
// meta.
func storedIn(t *testing.T, meta engine.MetaRepository, docs []*engine.Item) *store.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), db, store.Config{Classes: meta.Classes(), HashPassword: storetest.HashPassword})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	there := map[string]bool{}
	var put func(it *engine.Item)
	put = func(it *engine.Item) {
		if key := it.Class.Root().Name + it.ID; there[key] {
			return
		} else {
			there[key] = true
		}
		v := slices.Clone(it.Values)
		for i, link := range it.Links {
			if link.Item != nil {
				put(link.Item)
			}
			if it.Class.Properties[i].Type != engine.Collection {
				continue
			}
			members := &engine.Links{Replace: true}
			for _, m := range link.Items {
				put(m)
				members.Add = append(members.Add, m.ID)
			}
			v[i] = members
		}
		if _, err := st.Create(t.Context(), it.Class, v, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, it := range docs {
		put(it)
	}
	return st
}

// storedDocs adds random documents and departments to the world.
func storedDocs(r *rand.Rand, w *world) {
	people := []string{"ann", "bob", "clerk"}
	for i := range 12 {
		c := []*engine.Class{w.memo, w.letter, w.stamped}[i%3]
		it := newItem(c, fmt.Sprint(i), "title", fmt.Sprint("doc ", i), "owner", pick(r, people), "state", r.IntN(3), "pay", r.IntN(100))
		w.shared(it, pick(r, people), "eve")
		if r.IntN(2) == 0 {
			head := r.IntN(3)
			dept := newItem(w.dept, fmt.Sprint(head), "head", people[head])
			dept.Values[0] = int64(head)
			refer(it, "dept", dept)
		}
		w.docs = append(w.docs, it)
	}
}

// TestStoreShowsWhatGrantsSay compares the results of a database through the gate
// with permissions that are computed for each item, for random grants and
// accounts. The owner and the state, on which roles depend, are hidden from all
// accounts.
func TestStoreShowsWhatGrantsSay(t *testing.T) {
	w := newWorld().link().roleMap(t, `{
		"doc@test": {"OWNER": {"attribute": "owner"},
		             "HEAD": {"sids": [["$dept.head", ["boss", "$readers.who"]]], "resource": {"id": "my::res"}, "conditions": {"eq": ["$state", 1]}}},
		"letter@test": {"OWNER": {"sids": ["$readers.who", "clerk"]}}}`)
	storedDocs(rand.New(rand.NewPCG(1, 5)), w)
	st := stored(t, w)
	subjects := []string{"ann", "bob", "boss", "clerk", "OWNER", "HEAD", engine.Everyone}
	resources := []string{"*", "c:::doc@test", "c:::memo@test", "c:::letter@test", "c:::stamped@test", "my::res", "i:::memo@test@0", "i:::letter@test@1", "i:::stamped@test@2", "i:::memo@test@1"}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 6))
		granted := []string{"nobody", "a:::doc@test.owner", "read", "nobody", "a:::doc@test.state", "read"}
		for range 1 + r.IntN(8) {
			granted = append(granted, pick(r, subjects), pick(r, resources), pick(r, engine.PermissionNames()))
		}
		w.grant(granted...)
		if w.stages = nil; r.IntN(4) == 0 {
			w.stages = firstStage{}
		}
		cfg := w.config()
		cfg.Inner = st
		gate := New(cfg)
		a := account(pick(r, []string{"ann", "bob"}), subjects[2:2+r.IntN(3)]...)
		compareStore(t, w, gate, a, fmt.Sprintf("seed %d: %v, grants %v", seed, a.Subjects(), granted))
	}
}

func compareStore(t *testing.T, w *world, r *Repository, a *engine.Account, what string) {
	t.Helper()
	ctx := as(t, a)
	may := func(p engine.Permission, it *engine.Item) bool { return w.says(a, engine.MayAll, p, it) }
	for _, c := range []*engine.Class{w.doc, w.memo, w.letter, w.stamped} {
		var want []string
		for _, it := range w.docs {
			if slices.Contains(withDescendants(c), it.Class) && may(engine.MayRead, it) {
				want = append(want, it.ID)
			}
		}
		if got := ids(t, r, ctx, c); got != strings.Join(want, " ") {
			t.Fatalf("%s: of %s are listed %s, expected %s", what, c.Name, got, want)
		}
		if n, err := r.Count(ctx, &engine.Query{Class: c}); err != nil || n != int64(len(want)) {
			t.Fatalf("%s: of %s are %d (%v), expected %d", what, c.Name, n, err, len(want))
		}
	}
	for _, it := range w.docs {
		got, err := r.Get(ctx, w.doc, it.ID)
		if (err == nil) != may(engine.MayRead, it) || err != nil && err.Error() != engine.Denied().Error() {
			t.Fatalf("%s: getting %s: %v", what, it.ID, err)
		}
		if err == nil && got.Get("title") != it.Get("title") {
			t.Fatalf("%s: got %v", what, got)
		}
		reads := w.grants.On(engine.Everything, append([]string{a.ID}, a.Roles...)...).Has(engine.MayRead) // the attributes too
		if err == nil && (got.Get("owner") != nil) != reads {
			t.Fatalf("%s: the owner of %s is %v", what, it.ID, got.Get("owner"))
		}
		v := engine.NewValues(it.Class)
		v[it.Class.Property("title").Index] = it.Get("title")
		back, err := r.Update(ctx, it.Class, it.ID, v, engine.WriteOptions{})
		if (err == nil) != may(engine.MayWrite, it) {
			t.Fatalf("%s: updating %s: %v", what, it.ID, err)
		}
		if err == nil && (back.ID != it.ID || (back.Get("title") != nil) != may(engine.MayRead, it)) {
			t.Fatalf("%s: updating %s gives %v", what, it.ID, back.Values)
		}
	}
}

// TestHiddenAttributesAreUnknown checks that a hidden attribute, at every place of a request,
// causes the same error as a name that does not exist.
func TestHiddenAttributesAreUnknown(t *testing.T) {
	w := newWorld().link()
	storedDocs(rand.New(rand.NewPCG(1, 5)), w)
	st := stored(t, w)
	w.grant("ann", "c:::memo@test", "full", "ann", "c:::letter@test", "full", "ann", "c:::stamped@test", "full", "nobody", "a:::doc@test.pay", "read")
	cfg := w.config()
	cfg.Inner = st
	r := New(cfg)
	ctx := as(t, account("ann"))
	pay := w.memo.Property("pay")
	filter := must(query.Equal(pay, int64(5)))
	seen := func(*engine.Item) error { return nil }
	row := func([]any) error { return nil }
	view, err := r.View(ctx, w.memo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := query.ParseFilter(view, engine.Fields{{Name: "pay", Value: int64(5)}}, now); err == nil || !strings.Contains(err.Error(), `has no attribute "pay"`) {
		t.Errorf("the view knows it: %v", err)
	}
	for what, err := range map[string]error{
		"filter": r.List(ctx, &engine.Query{Class: view, Filter: filter, Count: -1}, seen),
		"not":    r.List(ctx, &engine.Query{Class: view, Filter: engine.Not(filter), Count: -1}, seen),
		"order":  r.List(ctx, &engine.Query{Class: view, Sort: []engine.Sort{{Property: pay}}, Count: -1}, seen),
		"count":  func() error { _, err := r.Count(ctx, &engine.Query{Class: view, Filter: filter}); return err }(),
		"column": r.Aggregate(ctx, &engine.Aggregation{Class: view, Columns: []engine.Column{{Name: "p", Expr: engine.Attribute(pay)}}, Count: -1}, row),
		"sum":    r.Aggregate(ctx, &engine.Aggregation{Class: view, Aggregates: []engine.Aggregate{{Name: "p", Function: engine.SumOf, Expr: engine.Attribute(pay)}}, Count: -1}, row),
		"delete": func() error {
			_, err := r.DeleteAll(ctx, &engine.Query{Class: view, Filter: filter, Count: -1})
			return err
		}(),
	} {
		refused(t, err, engine.Invalid, "unknown-attribute")
		if err != nil && !strings.Contains(err.Error(), `class memo@test has no attribute "pay"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	v := engine.NewValues(w.memo)
	v[pay.Index] = int64(1)
	_, err = r.Update(ctx, view, "0", v, engine.WriteOptions{})
	denied(t, err)
	if it, err := st.Get(t.Context(), w.memo, "0"); err != nil || it.Get("pay") != w.docs[0].Get("pay") {
		t.Errorf("it was changed: %v, %v", it, err)
	}
}

// TestAnswerIsSentBack checks that a client may send a response back unchanged. It may contain
// attributes that the account may not write, if their values have no effect.
func TestAnswerIsSentBack(t *testing.T) {
	w := newWorld().link()
	storedDocs(rand.New(rand.NewPCG(1, 5)), w)
	cfg := w.config()
	cfg.Inner = stored(t, w)
	r := New(cfg)
	w.grant("ann", "c:::memo@test", "full", "ann", "c:::share@test", "full", "ann", "a:::doc@test.readers", "read")
	ctx := as(t, account("ann"))
	readers := w.memo.Property("readers")
	v := engine.NewValues(w.memo)
	v[readers.Index] = nil // the response has null for a collection that was not loaded
	if _, err := r.Update(ctx, w.memo, "0", v, engine.WriteOptions{}); err != nil {
		t.Error("a collection that was not loaded:", err)
	}
	if _, err := r.Save(ctx, []engine.Record{{Class: w.memo, ID: "0", Values: v}}); err != nil {
		t.Error("in a save:", err)
	}
	v[readers.Index] = &engine.Links{Replace: true}
	_, err := r.Update(ctx, w.memo, "0", v, engine.WriteOptions{})
	denied(t, err)
}
