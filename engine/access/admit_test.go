package access

import (
	"context"
	"errors"
	"testing"

	"restsrv/engine"
)

// admitting is an inner repository that records the calls of Admit, and returns err from each.
type admitting struct {
	*memory
	err   error
	asked []engine.Admission
}

func (m *admitting) Admit(_ context.Context, a engine.Admission) error {
	m.asked = append(m.asked, a)
	return m.err
}

const maySave = engine.MayUse | engine.MayWrite

// TestAdmissionsByPermission checks which writes the gate refuses without a call of the store:
// writes for which the account has the permission on no object of the class, and writes that set
// an attribute which the account may not change.
func TestAdmissionsByPermission(t *testing.T) {
	w := newWorld().link().grant(
		"admin", "*", "full",
		"maker", "c:::memo@test", "use", "maker", "a:::memo@test.pay", "read",
		"editor", "c:::memo@test", "write", "editor", "a:::memo@test.pay", "read",
		"remover", "c:::memo@test", "delete")
	_, m := office(t, w)
	free, pay := engine.NewValues(w.memo), engine.NewValues(w.memo)
	free[w.memo.Property("title").Index], pay[w.memo.Property("pay").Index] = "Title", int64(9)
	writes := []struct {
		name   string
		may    engine.Permission
		values engine.Values
	}{
		{"create", engine.MayUse, free}, {"update", engine.MayWrite, free}, {"delete", engine.MayDelete, nil}, {"save", maySave, free},
		{"create with pay", engine.MayUse, pay}, {"update with pay", engine.MayWrite, pay}, {"save with pay", maySave, pay},
	}
	for role, admitted := range map[string]map[string]bool{
		"admin":   {"create": true, "update": true, "delete": true, "save": true, "create with pay": true, "update with pay": true, "save with pay": true},
		"maker":   {"create": true, "save": true},
		"editor":  {"update": true, "save": true},
		"remover": {"delete": true},
		"nobody":  {},
	} {
		for _, x := range writes {
			cfg := w.config()
			inner := &admitting{memory: m}
			cfg.Inner = inner
			err := New(cfg).Admit(as(t, account("ann", role)), engine.Admission{May: x.may, Records: []engine.Record{{Class: w.memo, ID: "m1", Values: x.values}}})
			if (err == nil) != admitted[x.name] || len(inner.asked) == 1 != admitted[x.name] {
				t.Errorf("%s, %s: got %v and %d questions to the store, want admitted: %v", role, x.name, err, len(inner.asked), admitted[x.name])
			}
			if err != nil && engine.CodeOf(err) != engine.Forbidden {
				t.Errorf("%s, %s: got %v, want Forbidden", role, x.name, err)
			}
		}
	}
}

// TestAdmissionsAskTheStore checks which admissions are passed on to the store, how
// its errors are reported, and that a context without an account is refused.
func TestAdmissionsAskTheStore(t *testing.T) {
	w := newWorld().link().roleMap(t, `{"letter@test": {"OWNER": {"attribute": "owner"}}}`).
		grant("ann", "c:::memo@test", "full", "ann", "c:::letter@test", "write", "OWNER", "c:::letter@test", "read", "ann", "a:::doc@test.pay", "use")
	_, m := office(t, w)
	cfg := w.config()
	inner := &admitting{memory: m}
	cfg.Inner = inner
	r := New(cfg)
	ctx := as(t, account("ann"))
	memo, letter, dept := engine.Record{Class: w.memo, ID: "x"}, engine.Record{Class: w.letter, ID: "x"}, engine.Record{Class: w.dept, ID: "7"}
	admit := func(ctx context.Context, may engine.Permission, records ...engine.Record) error {
		return r.Admit(ctx, engine.Admission{May: may, Records: records})
	}

	refused(t, admit(t.Context(), engine.MayWrite, memo), engine.Forbidden, "no-account")
	err := admit(ctx, maySave, memo, dept)
	refused(t, err, engine.Forbidden, "denied")
	var e *engine.Error
	if !errors.As(err, &e) || !e.Bulk || e.Index != 1 {
		t.Errorf("a save with a forbidden second record: got %+v, want the index of that record", e)
	}
	denied(t, admit(ctx, engine.MayWrite, dept)) // no index
	if len(inner.asked) > 0 {
		t.Errorf("the store was asked %v, want no question about writes that are refused before", inner.asked)
	}

	view, err := r.View(ctx, w.memo)
	if err != nil || view == w.memo {
		t.Fatalf("got the view %v and %v, want another class than memo", view, err)
	}
	given := []engine.Record{{Class: view, ID: "x"}}
	if err := admit(ctx, engine.MayWrite, given...); err != nil || inner.asked[0].Records[0].Class != w.memo || given[0].Class != view {
		t.Errorf("got %v for class %v, want the store to know the class without its view", err, inner.asked)
	}

	inner.err = engine.NoItem(w.memo, "x")
	refused(t, admit(ctx, engine.MayWrite, memo), engine.NotFound, "unknown-object")
	refused(t, admit(ctx, engine.MayWrite, letter), engine.Forbidden, "denied") // it may exist and be hidden
}

// TestRightsChange checks that Rights returns another text after each change of the permissions
// of the account, and the same text after a change of the permissions of another account.
func TestRightsChange(t *testing.T) {
	w := newWorld().link().grant("admin", "*", "full", "ann", "c:::memo@test", "read")
	r, _ := office(t, w)
	rights := func(a *engine.Account) string {
		t.Helper()
		text, err := engine.RightsOf(as(t, a), r)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if _, err := r.Rights(t.Context()); engine.CodeOf(err) != engine.Forbidden {
		t.Errorf("without an account: got %v, want Forbidden", err)
	}
	if got := rights(account("x", "admin")); got != "" {
		t.Errorf("of an account that may do everything: got %q, want none", got)
	}
	scope := func(text string) *engine.Scope {
		s, err := engine.ParseScope(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	seen := map[string]int{}
	accounts := []*engine.Account{
		account("ann"), account("bob"), account("ann", "editor"),
		{ID: "ann", Client: "app"},
		{ID: "ann", Scope: scope("crud:read")}, {ID: "ann", Scope: scope("crud")},
		{ID: "ann", Scope: scope("crud"), Limit: engine.MayRead},
	}
	for i, a := range accounts {
		text := rights(a)
		if other, known := seen[text]; known || text == "" {
			t.Errorf("accounts %d and %d have the same rights %q, want others", other, i, text)
		}
		if again := rights(a); again != text {
			t.Errorf("account %d: got %q, then %q, want the same", i, text, again)
		}
		seen[text] = i
	}
	before := rights(account("ann"))
	w.grant("admin", "*", "full", "ann", "c:::memo@test", "read", "bob", "i:::memo@test@m1", "read")
	if got := rights(account("ann")); got != before {
		t.Errorf("after a grant to another account: got %q, want %q as before", got, before)
	}
	for _, granted := range [][]string{
		{"ann", "c:::memo@test", "full"},
		{"ann", "c:::memo@test", "read", "ann", "i:::memo@test@m1", "read"},
		{"ann", "c:::memo@test", "read", "bob", "a:::memo@test.title", "read"}, // the grant to bob protects the title, which hides it from ann
	} {
		w.grant(append([]string{"admin", "*", "full"}, granted...)...)
		text := rights(account("ann"))
		if other, known := seen[text]; known || text == "" {
			t.Errorf("after %q: got the rights %q of %d, want a new text", granted, text, other)
		}
		seen[text] = len(seen)
	}
}
