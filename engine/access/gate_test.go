package access

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
)

// office is a world with some documents, and its gate.
func office(t testing.TB, w *world) (*Repository, *memory) {
	t.Helper()
	w.docs = []*engine.Item{
		newItem(w.memo, "m1", "title", "One", "owner", "ann", "state", 1, "pay", 10),
		newItem(w.memo, "m2", "title", "Two", "owner", "bob", "state", 2, "pay", 20),
		newItem(w.letter, "l1", "title", "Letter", "owner", "ann", "state", 1),
		newItem(w.dept, "7", "name", "Office", "budget", 5),
	}
	cfg := w.config()
	return New(cfg), cfg.Inner.(*memory)
}

func refused(t *testing.T, err error, code engine.Code, reason string) {
	t.Helper()
	e, ok := err.(*engine.Error)
	if !ok || e.Code != code || e.Reason != reason {
		t.Errorf("got %v, expected %s", err, reason)
	}
}

func denied(t *testing.T, err error) {
	t.Helper()
	refused(t, err, engine.Forbidden, "denied")
	if e, ok := err.(*engine.Error); ok && (e.Class != "" || e.ID != "" || e.Attribute != "" || e.Message != engine.Denied().Message) {
		t.Errorf("the refusal tells something: %+v", e)
	}
}

func ids(t *testing.T, r engine.Repository, ctx context.Context, c *engine.Class) string {
	t.Helper()
	var all []string
	err := r.List(ctx, &engine.Query{Class: c, Count: -1}, func(it *engine.Item) error {
		all = append(all, it.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestNobodyIsRefused(t *testing.T) {
	w := newWorld().link().grant()
	r, m := office(t, w)
	_, err := r.Get(t.Context(), w.memo, "m1")
	refused(t, err, engine.Forbidden, "no-account")
	_, err = r.Save(t.Context(), []engine.Record{{Class: w.memo}})
	refused(t, err, engine.Forbidden, "no-account")
	if err := r.Aggregate(t.Context(), &engine.Aggregation{Class: w.memo}, nil); err == nil {
		t.Error("an aggregation for nobody")
	}
	if _, err := r.View(t.Context(), w.memo); err == nil {
		t.Error("a view for nobody")
	}
	if len(m.calls) > 0 {
		t.Errorf("the store was asked: %v", m.calls)
	}
	defer func() {
		if recover() == nil {
			t.Error("a gate without a policy")
		}
	}()
	New(Config{Inner: m, Meta: w})
}

// TestFullAccess checks that an account that may do everything gets no guard and sees all data.
// The same is true of every account if the gate is unrestricted.
func TestFullAccess(t *testing.T) {
	w := newWorld().link().grant("admin", "*", "full", "x", "a:::memo@test.pay", "read")
	r, m := office(t, w)
	four := account("four")
	w.grant("admin", "*", "full", "four", "*", "read", "four", "*", "write", "four", "*", "use", "four", "*", "delete", "x", "a:::memo@test.pay", "read")
	open := New(Config{Inner: m, Meta: w, Unrestricted: true})
	for _, ctx := range []context.Context{as(t, account("demo", "admin")), as(t, four)} {
		for _, r := range []*Repository{r, open} {
			it, err := r.Get(engine.WithGuard(ctx, &profile{}), w.memo, "m1")
			if err != nil || it != w.docs[0] || m.guards[len(m.guards)-1] != nil {
				t.Errorf("got %v, %v under guard %v", it, err, m.guards[len(m.guards)-1])
			}
			if c, err := r.View(ctx, w.memo); err != nil || c != w.memo {
				t.Errorf("a view %v, %v", c, err)
			}
			if err := r.Allow(ctx, w.memo, engine.MayAll); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestNoRightAtAll checks an account that has the permission on no object: the gate rejects the
// call without calling the store, and lists are empty.
func TestNoRightAtAll(t *testing.T) {
	w := newWorld().link().grant("x", "c:::letter@test", "full", engine.Everyone, "*", "full", "use", "c:::stamped@test", "use")
	r, m := office(t, w)
	for _, a := range []*engine.Account{account("ann"), engine.Anonymous, account("x", ""), account("y", engine.Everyone)} {
		ctx := as(t, a)
		_, err := r.Get(ctx, w.memo, "m1")
		denied(t, err)
		_, err = r.Create(ctx, w.memo, engine.NewValues(w.memo), engine.WriteOptions{})
		denied(t, err)
		_, err = r.Update(ctx, w.memo, "m1", engine.NewValues(w.memo), engine.WriteOptions{})
		denied(t, err)
		denied(t, r.Delete(ctx, w.memo, "m1", nil))
		_, err = r.UpdateAll(ctx, &engine.Query{Class: w.memo}, engine.NewValues(w.memo))
		denied(t, err)
		_, err = r.DeleteAll(ctx, &engine.Query{Class: w.memo})
		denied(t, err)
		for _, p := range permissions {
			denied(t, r.Allow(ctx, w.memo, p))
		}
		if n, err := r.Count(ctx, &engine.Query{Class: w.memo}); n != 0 || err != nil {
			t.Errorf("count: %d, %v", n, err)
		}
		if got := ids(t, r, ctx, w.memo); got != "" {
			t.Errorf("list: %s", got)
		}
	}
	// A permission to create items of the subclass does not allow to create letters.
	_, err := r.Create(as(t, account("use")), w.letter, engine.NewValues(w.letter), engine.WriteOptions{})
	denied(t, err)
	if len(m.calls) > 0 {
		t.Errorf("the store was asked: %v", m.calls)
	}
	_, err = r.Save(as(t, account("x")), []engine.Record{{Class: w.letter, ID: "l1"}, {Class: w.memo, ID: "m1"}})
	e := err.(*engine.Error)
	if e.Reason != "denied" || !e.Bulk || e.Index != 1 || len(m.calls) > 0 {
		t.Errorf("got %+v after %v", e, m.calls)
	}
	if err := r.Aggregate(as(t, account("ann")), &engine.Aggregation{Class: w.memo}, nil); err != nil || !m.guards[0].Rows(engine.MayRead, w.memo).Never() {
		t.Errorf("an aggregation of nothing: %v, %v", err, m.guards)
	}
}

// TestHiddenIsAsMissing checks that hidden and missing items give the same error if the account
// may not read the whole class.
func TestHiddenIsAsMissing(t *testing.T) {
	w := newWorld().link().roleMap(t, `{"doc@test": {"OWNER": {"attribute": "owner"}}}`).
		grant("OWNER", "c:::memo@test", "full", "all", "c:::memo@test", "read", "blind", "c:::memo@test", "write", "blind", "c:::memo@test", "delete")
	r, m := office(t, w)
	ctx := as(t, account("ann"))
	if it, err := r.Get(ctx, w.memo, "m1"); err != nil || it.ID != "m1" {
		t.Errorf("got %v, %v", it, err)
	}
	if got := ids(t, r, ctx, w.doc); got != "m1" {
		t.Errorf("the list is %q", got)
	}
	for _, id := range []string{"m2", "none"} {
		_, err := r.Get(ctx, w.memo, id)
		denied(t, err)
		_, err = r.Update(ctx, w.memo, id, engine.NewValues(w.memo), engine.WriteOptions{})
		denied(t, err)
		denied(t, r.Delete(ctx, w.memo, id, nil))
		_, err = r.Save(ctx, []engine.Record{{Class: w.memo, ID: "m1"}, {Class: w.memo, ID: id}})
		if e := err.(*engine.Error); e.Reason != "denied" || e.Bulk || e.ID != "" {
			t.Errorf("the refusal of a hidden or missing item is %+v, want one without the record", e)
		}
	}
	_, err := r.Get(as(t, account("all")), w.memo, "none")
	refused(t, err, engine.NotFound, "unknown-object")
	_, err = r.Get(as(t, account("all")), w.doc, "none") // the item might be a letter, which the account may not read
	denied(t, err)
	_, err = r.Update(as(t, account("blind")), w.memo, "none", engine.NewValues(w.memo), engine.WriteOptions{})
	denied(t, err)
	denied(t, r.Delete(as(t, account("blind")), w.memo, "none", nil))
	if n := len(m.docs); n != 4 {
		t.Errorf("%d documents", n)
	}
}

// TestScopeLimits checks that the scope of a token limits all grants, even "full" on everything.
func TestScopeLimits(t *testing.T) {
	w := newWorld().link().grant("admin", "*", "full", "x", "a:::memo@test.pay", "read")
	r, _ := office(t, w)
	a := account("demo", "admin")
	a.Scope, _ = engine.ParseScope("crud:read")
	a.Limit = engine.MayRead
	ctx := as(t, a)
	if it, err := r.Get(ctx, w.memo, "m1"); err != nil || it.Get("pay") != int64(10) {
		t.Errorf("got %v, %v", it, err)
	}
	denied(t, r.Delete(ctx, w.memo, "m1", nil))
	denied(t, r.Allow(ctx, w.memo, engine.MayUse))
	a.Limit = 0
	_, err := r.Get(ctx, w.memo, "m1")
	denied(t, err)
	a.Scope = nil // without a scope, Limit is not used
	if _, err := r.Get(ctx, w.memo, "m1"); err != nil {
		t.Error(err)
	}
}

// TestGrantsChange checks that changes of the grants and of the account take effect at once.
func TestGrantsChange(t *testing.T) {
	w := newWorld().link().grant("ann", "c:::memo@test", "read")
	r, _ := office(t, w)
	ctx := as(t, account("ann"))
	if got := ids(t, r, ctx, w.memo); got != "m1 m2" {
		t.Errorf("the list is %q", got)
	}
	if got := ids(t, r, as(t, account("ann", "boss")), w.letter); got != "" {
		t.Errorf("the list is %q", got)
	}
	w.grant("boss", "c:::letter@test", "read")
	if got := ids(t, r, ctx, w.memo) + ids(t, r, as(t, account("ann", "boss")), w.letter); got != "l1" {
		t.Errorf("the list is %q", got)
	}
	coactor := account("ann")
	coactor.Coactors = []string{"boss"}
	if got := ids(t, r, as(t, coactor), w.letter); got != "l1" {
		t.Errorf("the list is %q", got)
	}
}

// TestAnswersOfWrites checks that the result of a write contains only values that the account may
// read, and only the id if the account may not read the item.
func TestAnswersOfWrites(t *testing.T) {
	w := newWorld().link().roleMap(t, `{"doc@test": {"OWNER": {"attribute": "owner"}}}`).
		grant("writer", "c:::memo@test", "write", "writer", "c:::memo@test", "use", "OWNER", "c:::memo@test", "read", "reader", "c:::memo@test", "read")
	r, m := office(t, w)
	ctx := as(t, account("bob", "writer"))
	for id, readable := range map[string]bool{"m1": false, "m2": true} {
		it, err := r.Update(ctx, w.memo, id, engine.NewValues(w.memo), engine.WriteOptions{})
		if err != nil || it.ID != id || (it.Get("title") != nil) != readable || it.Revision != 1 {
			t.Errorf("%s: got %v, %v", id, it, err)
		}
		if want := `{"_id":"m1","__string":"m1","__class":"memo@test","__classTitle":"memo","id":"m1"}`; !readable && string(it.AppendJSON(nil)) != want {
			t.Errorf("%s: got %s", id, it.AppendJSON(nil))
		}
		// Different bodies need different entity tags, or a cache would mix them up.
		if whole := (&engine.Item{Class: w.memo, Revision: 1}).ETag(); readable == (it.ETag() != whole) {
			t.Errorf("%s: the tag is %s, that of the whole object %s", id, it.ETag(), whole)
		}
	}
	items, err := r.Save(ctx, []engine.Record{{Class: w.memo, ID: "m2"}, {Class: w.memo, ID: "m1"}, {Class: w.memo, ID: "m2"}})
	if err != nil || items[0].Get("title") != "Two" || items[1].Get("title") != nil || items[1].ID != "m1" || items[2].Get("title") != "Two" {
		t.Errorf("got %v, %v", items, err)
	}
	if got := strings.Join(m.calls, " "); got != "update aggregate update aggregate save aggregate" {
		t.Errorf("the calls are %s", got)
	}
	if it, err := r.Create(ctx, w.memo, engine.NewValues(w.memo), engine.WriteOptions{}); err != nil || it.Get("title") != "New" {
		t.Errorf("got %v, %v", it, err) // the account owns the new memo
	}
	m.calls = nil
	if it, err := r.Update(as(t, account("x", "writer")), w.memo, "m1", engine.NewValues(w.memo), engine.WriteOptions{}); err != nil || it.Get("title") != nil {
		t.Errorf("got %v, %v", it, err)
	}
	if it, err := r.Update(as(t, account("x", "writer", "reader")), w.memo, "m1", engine.NewValues(w.memo), engine.WriteOptions{}); err != nil || it.Get("title") != "One" {
		t.Errorf("got %v, %v", it, err)
	}
	if got := strings.Join(m.calls, " "); got != "update aggregate update" { // no aggregate, because the account may read the whole class
		t.Errorf("the calls are %s", got)
	}
}

// TestCreatingByRole checks that an account may create an item if the new item itself gives the
// account a role with this permission. A grant on a single item does not allow it.
func TestCreatingByRole(t *testing.T) {
	w := newWorld().link().roleMap(t, `{"memo@test": {"OWNER": {"attribute": "owner"}}}`).
		grant("OWNER", "c:::memo@test", "use", "OWNER", "c:::memo@test", "read", "one", "i:::letter@test@l1", "use")
	r, m := office(t, w)
	if _, err := r.Create(as(t, account("ann")), w.memo, engine.NewValues(w.memo), engine.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if got := describeRows(m.guards[0].Rows(engine.MayUse, w.memo)); got != "owner in [ann]" {
		t.Errorf("the store is told %s", got)
	}
	if _, err := r.Save(as(t, account("ann")), []engine.Record{{Class: w.memo, ID: "m1"}}); err == nil || len(m.calls) != 3 {
		t.Errorf("got %v after %v: whether it is new, the store finds out", err, m.calls)
	}
	_, err := r.Create(as(t, account("one")), w.letter, engine.NewValues(w.letter), engine.WriteOptions{})
	denied(t, err)
	denied(t, r.Allow(as(t, account("one")), w.letter, engine.MayUse))
	denied(t, engine.AllowSave(as(t, account("one")), r, w.letter))
	if err := r.Allow(as(t, account("ann")), w.memo, engine.MayUse); err != nil {
		t.Errorf("an account that may create memos in a role: got %v, want no error", err)
	}
}

// TestViewsStayOutside checks that every call of the inner repository gets classes, not views.
func TestViewsStayOutside(t *testing.T) {
	w := newWorld().link().grant("ann", "*", "read", "ann", "*", "write", "ann", "*", "use", "ann", "*", "delete")
	w.grant("ann", "c:::memo@test", "full", "ann", "c:::dept@test", "full", "x", "a:::doc@test.pay", "read")
	r, m := office(t, w)
	ctx := as(t, account("ann"))
	view, err := r.View(ctx, w.memo)
	if err != nil || view == w.memo || view.Base() != w.memo || view.Property("pay") != nil || view.Property("title") == nil {
		t.Fatalf("the view is %v, %v", view, err)
	}
	nested := &engine.Record{Class: view, Values: engine.NewValues(w.memo)}
	deeper := &engine.Record{Class: view, Values: engine.NewValues(w.memo)}
	nested.Values[w.memo.Property("readers").Index] = &engine.Links{Add: []any{"id", deeper}}
	v := engine.NewValues(w.memo)
	v[w.memo.Property("dept").Index] = nested
	for _, call := range []func() error{
		func() error { _, err := r.Get(ctx, view, "m1"); return err },
		func() error { return r.List(ctx, &engine.Query{Class: view}, func(*engine.Item) error { return nil }) },
		func() error { _, err := r.Count(ctx, &engine.Query{Class: view}); return err },
		func() error {
			a := &engine.Aggregation{Class: view, Columns: []engine.Column{{Name: "t", Expr: engine.Attribute(w.memo.Property("title"))}}}
			return r.Aggregate(ctx, a, func([]any) error { return nil })
		},
		func() error { _, err := r.Create(ctx, view, v, engine.WriteOptions{}); return err },
		func() error { _, err := r.Update(ctx, view, "m1", v, engine.WriteOptions{}); return err },
		func() error { return r.Delete(ctx, view, "m1", nil) },
		func() error {
			_, err := r.UpdateAll(ctx, &engine.Query{Class: view}, engine.NewValues(w.memo))
			return err
		},
		func() error { _, err := r.DeleteAll(ctx, &engine.Query{Class: view}); return err },
		func() error { _, err := r.Save(ctx, []engine.Record{{Class: view, ID: "m1", Values: v}}); return err },
	} {
		m.class = nil
		if err := call(); err != nil {
			t.Error(err)
		}
		if m.class != w.memo {
			t.Errorf("%v: the class is %p", m.calls, m.class)
		}
	}
	if nested.Class != w.memo || deeper.Class != w.memo || m.saved[0].Class != w.memo {
		t.Error("a view came through in a record")
	}
}

// TestAttributesNotToWrite checks that a value of an attribute that the account may not write is
// rejected wherever a write can contain it.
func TestAttributesNotToWrite(t *testing.T) {
	w := newWorld().link().grant("ann", "c:::memo@test", "full", "ann", "a:::doc@test.pay", "read", "bob", "c:::memo@test", "full", "bob", "a:::doc@test.pay", "write")
	r, m := office(t, w)
	pay := engine.NewValues(w.memo)
	pay[w.memo.Property("pay").Index] = int64(5)
	nested := engine.NewValues(w.memo)
	nested[w.memo.Property("dept").Index] = &engine.Record{Class: w.memo, Values: pay}
	for _, v := range []engine.Values{pay, nested} {
		ctx := as(t, account("ann"))
		_, err := r.Create(ctx, w.memo, v, engine.WriteOptions{})
		denied(t, err)
		_, err = r.Update(ctx, w.memo, "m1", v, engine.WriteOptions{})
		denied(t, err)
		_, err = r.UpdateAll(ctx, &engine.Query{Class: w.memo}, v)
		denied(t, err)
		_, err = r.Save(ctx, []engine.Record{{Class: w.memo, ID: "m1", Values: v}})
		if e := err.(*engine.Error); e.Reason != "denied" || e.Index != 0 {
			t.Errorf("got %+v", e)
		}
		if len(m.calls) > 0 {
			t.Errorf("the store was asked: %v", m.calls)
		}
		if it, err := r.Update(as(t, account("bob")), w.memo, "m1", v, engine.WriteOptions{}); err != nil || it.Get("pay") != nil {
			t.Errorf("who may write but not read: %v, %v", it, err)
		}
		m.calls = nil
	}
	if it, err := r.Get(as(t, account("ann")), w.memo, "m1"); err != nil || it.Get("pay") != int64(10) {
		t.Errorf("who may read but not write: %v, %v", it, err)
	}
	made := engine.Record{Class: w.memo, ID: "m1", Make: func([]*engine.Item) (engine.Values, error) { return nil, nil }}
	if _, err := r.Save(as(t, account("ann")), []engine.Record{{Class: w.memo, ID: "m1"}, made}); err != nil {
		t.Error(err)
	}
}

// TestManySubjects checks that the cached profile is found for keys of every length.
func TestManySubjects(t *testing.T) {
	w := newWorld().link().grant("role 300", "c:::memo@test", "read")
	r, _ := office(t, w)
	var roles []string
	for i := range 301 {
		roles = append(roles, fmt.Sprintf("role %d", i))
	}
	for range 2 {
		if got := ids(t, r, as(t, account("ann", roles...)), w.memo); got != "m1 m2" {
			t.Errorf("the list is %q", got)
		}
	}
	if got := ids(t, r, as(t, account("ann", roles[:300]...)), w.memo); got != "" {
		t.Errorf("the list is %q", got)
	}
	if n := len(r.gate.known.now.profiles); n != 2 {
		t.Errorf("%d profiles", n)
	}
}
