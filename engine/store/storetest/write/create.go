package write

import (
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var createTests = []storetest.Test{
	{Name: "create and get", Run: createAndGet},
	{Name: "duplicates", Run: duplicates},
	{Name: "required, defaults and generated values", Run: completion},
	{Name: "passwords", Run: passwords},
	{Name: "unknown class", Run: unknownClass},
}

func createAndGet(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	it, err := r.Create(storetest.WithAccount(t, "ann@local"), c, storetest.NewValues(c, "id", "1", "title", "T", "rank", int64(5)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "created", []any{it.ID, it.Creator, it.Editor, it.Version, it.Class}, []any{"1", "ann@local", "", "1", c})
	storetest.CheckSame(t, "values", it.Values, engine.Values{"1", "T", nil, int64(5), nil})
	if it.Revision == 0 {
		t.Error("the item has no revision")
	}
	storetest.CheckSame(t, "stored", storetest.Get(t, r, c, "1"), it)
	_, err = r.Get(t.Context(), c, "2")
	e := storetest.CheckError(t, err, engine.NotFound, "unknown-object")
	storetest.CheckSame(t, "error", []string{e.Class, e.ID}, []string{c.FullName, "2"})
	_, err = r.Get(t.Context(), c, "")
	storetest.CheckError(t, err, engine.NotFound, "unknown-object")
	if err := r.Delete(t.Context(), c, "1", nil); err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(0))
}

func duplicates(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "1", "code", "x")
	storetest.Create(t, r, c, "id", "2")
	storetest.Create(t, r, c, "id", "3") // allowed, because several objects may have a null code
	for attribute, v := range map[string]engine.Values{
		"id":   storetest.NewValues(c, "id", "1", "code", "y"),
		"code": storetest.NewValues(c, "id", "4", "code", "x"),
	} {
		_, err := r.Create(t.Context(), c, v, engine.WriteOptions{})
		e := storetest.CheckError(t, err, engine.Invalid, "duplicate")
		storetest.CheckSame(t, "attribute", []string{e.Class, e.Attribute}, []string{c.FullName, attribute})
		if !strings.Contains(e.Message, `"`+v[c.Property(attribute).Index].(string)+`"`) || !strings.Contains(e.Message, c.FullName) {
			t.Errorf("message %q does not name class and value", e.Message)
		}
	}
	_, err := r.Update(t.Context(), c, "2", storetest.NewValues(c, "code", "x"), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "code")
	_, err = r.Update(t.Context(), c, "2", storetest.NewValues(c, "id", "3"), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "duplicate").Attribute, "id")
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(3))
}

func completion(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("doc",
		storetest.Prop("id", engine.GUID, storetest.Autoassigned),
		storetest.Prop("made", engine.DateTime, storetest.Autoassigned, storetest.Required),
		storetest.Prop("state", engine.String, storetest.Required, storetest.ByDefault("new")),
		storetest.Prop("owner", engine.String, storetest.Required))
	r := open(t, []*engine.Class{c})
	_, err := r.Create(t.Context(), c, storetest.NewValues(c), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "required").Attribute, "owner")
	_, err = r.Create(t.Context(), c, storetest.NewValues(c, "owner", "x", "state", nil), engine.WriteOptions{})
	storetest.CheckSame(t, "attribute", storetest.CheckError(t, err, engine.Invalid, "required").Attribute, "state")
	_, err = r.Create(t.Context(), c, storetest.NewValues(c, "owner", "x", "id", ""), engine.WriteOptions{})
	storetest.CheckError(t, err, engine.Invalid, "required")
	a, b := storetest.Create(t, r, c, "owner", "x"), storetest.Create(t, r, c, "owner", "x", "state", "old")
	if a.ID == "" || a.ID == b.ID || a.Get("made") == nil {
		t.Errorf("generated values are missing: %v, %v", a.Values, b.Values)
	}
	storetest.CheckSame(t, "states", []any{a.Get("state"), b.Get("state")}, []any{"new", "old"})
	storetest.CheckSame(t, "stored", storetest.Get(t, r, c, a.ID).Values, a.Values)
}

func passwords(t *testing.T, open storetest.Open) {
	c := storetest.NewClass("login", storetest.Prop("id", engine.String), storetest.Prop("pwd", engine.Password), storetest.Prop("pin", engine.Password, storetest.ByDefault("0000")))
	r := open(t, []*engine.Class{c})
	check := func(when, pwd, pin string) {
		t.Helper()
		it := storetest.Get(t, r, c, "1")
		storetest.CheckSame(t, when, it.Values, engine.Values{"1", "hash of " + pwd, "hash of " + pin})
		storetest.CheckSame(t, when+", readable", []any{it.Get("pwd"), it.Get("pin")}, []any{nil, nil})
		if json := string(it.AppendJSON(nil)); strings.Contains(json, "hash") {
			t.Errorf("%s: the hash is in %s", when, json)
		}
	}
	storetest.Create(t, r, c, "id", "1", "pwd", "a")
	check("created", "a", "0000")
	if _, err := r.Update(t.Context(), c, "1", storetest.NewValues(c, "pwd", "b"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	check("updated", "b", "0000")
	if _, err := r.Save(t.Context(), []engine.Record{storetest.NewRecord(c, "1", "pin", "1"), storetest.NewRecord(c, "2", "pwd", "c")}); err != nil {
		t.Fatal(err)
	}
	check("saved", "b", "1")
	storetest.CheckSame(t, "inserted by save", storetest.Get(t, r, c, "2").Values, engine.Values{"2", "hash of c", "hash of 0000"})
}

func unknownClass(t *testing.T, open storetest.Open) {
	r, _ := storetest.OpenNotes(t, open)
	other := storetest.NewClass("other", storetest.Prop("id", engine.String))
	_, err := r.Get(t.Context(), other, "1")
	storetest.CheckError(t, err, engine.NotFound, "unknown-class")
	_, err = r.Save(t.Context(), []engine.Record{storetest.NewRecord(other, "1")})
	e := storetest.CheckError(t, err, engine.NotFound, "unknown-class")
	storetest.CheckSame(t, "index", []any{e.Bulk, e.Index}, []any{true, 0})
}
