package storetest

import (
	"strings"
	"testing"

	"restsrv/engine"
)

var createTests = []test{
	{"create and get", createAndGet},
	{"duplicates", duplicates},
	{"required, defaults and generated values", completion},
	{"passwords", passwords},
	{"unknown class", unknownClass},
}

func createAndGet(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	it, err := r.Create(as(t, "ann@local"), c, values(c, "id", "1", "title", "T", "rank", int64(5)), engine.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "created", []any{it.ID, it.Creator, it.Editor, it.Version, it.Class}, []any{"1", "ann@local", "", "1", c})
	same(t, "values", it.Values, engine.Values{"1", "T", nil, int64(5), nil})
	if it.Revision == 0 {
		t.Error("the item has no revision")
	}
	same(t, "stored", get(t, r, c, "1"), it)
	_, err = r.Get(t.Context(), c, "2")
	e := fails(t, err, engine.NotFound, "unknown-object")
	same(t, "error", []string{e.Class, e.ID}, []string{c.FullName, "2"})
	_, err = r.Get(t.Context(), c, "")
	fails(t, err, engine.NotFound, "unknown-object")
	if err := r.Delete(t.Context(), c, "1", nil); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", count(t, r, c), int64(0))
}

func duplicates(t *testing.T, open Open) {
	r, c := openNotes(t, open)
	create(t, r, c, "id", "1", "code", "x")
	create(t, r, c, "id", "2")
	create(t, r, c, "id", "3") // several objects may have no code
	for attribute, v := range map[string]engine.Values{
		"id":   values(c, "id", "1", "code", "y"),
		"code": values(c, "id", "4", "code", "x"),
	} {
		_, err := r.Create(t.Context(), c, v, engine.WriteOptions{})
		e := fails(t, err, engine.Invalid, "duplicate")
		same(t, "attribute", []string{e.Class, e.Attribute}, []string{c.FullName, attribute})
		if !strings.Contains(e.Message, `"`+v[c.Property(attribute).Index].(string)+`"`) || !strings.Contains(e.Message, c.FullName) {
			t.Errorf("message %q does not name class and value", e.Message)
		}
	}
	_, err := r.Update(t.Context(), c, "2", values(c, "code", "x"), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "code")
	_, err = r.Update(t.Context(), c, "2", values(c, "id", "3"), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "duplicate").Attribute, "id")
	same(t, "rows", count(t, r, c), int64(3))
}

func completion(t *testing.T, open Open) {
	c := NewClass("doc",
		Prop("id", engine.GUID, autoassigned),
		Prop("made", engine.DateTime, autoassigned, required),
		Prop("state", engine.String, required, byDefault("new")),
		Prop("owner", engine.String, required))
	r := open(t, []*engine.Class{c})
	_, err := r.Create(t.Context(), c, values(c), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "required").Attribute, "owner")
	_, err = r.Create(t.Context(), c, values(c, "owner", "x", "state", nil), engine.WriteOptions{})
	same(t, "attribute", fails(t, err, engine.Invalid, "required").Attribute, "state")
	_, err = r.Create(t.Context(), c, values(c, "owner", "x", "id", ""), engine.WriteOptions{})
	fails(t, err, engine.Invalid, "required")
	a, b := create(t, r, c, "owner", "x"), create(t, r, c, "owner", "x", "state", "old")
	if a.ID == "" || a.ID == b.ID || a.Get("made") == nil {
		t.Errorf("generated values are missing: %v, %v", a.Values, b.Values)
	}
	same(t, "states", []any{a.Get("state"), b.Get("state")}, []any{"new", "old"})
	same(t, "stored", get(t, r, c, a.ID).Values, a.Values)
}

func passwords(t *testing.T, open Open) {
	c := NewClass("login", Prop("id", engine.String), Prop("pwd", engine.Password), Prop("pin", engine.Password, byDefault("0000")))
	r := open(t, []*engine.Class{c})
	check := func(when, pwd, pin string) {
		t.Helper()
		it := get(t, r, c, "1")
		same(t, when, it.Values, engine.Values{"1", "hash of " + pwd, "hash of " + pin})
		same(t, when+", readable", []any{it.Get("pwd"), it.Get("pin")}, []any{nil, nil})
		if json := string(it.AppendJSON(nil)); strings.Contains(json, "hash") {
			t.Errorf("%s: the hash is in %s", when, json)
		}
	}
	create(t, r, c, "id", "1", "pwd", "a")
	check("created", "a", "0000")
	if _, err := r.Update(t.Context(), c, "1", values(c, "pwd", "b"), engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	check("updated", "b", "0000")
	if _, err := r.Save(t.Context(), []engine.Record{record(c, "1", "pin", "1"), record(c, "2", "pwd", "c")}); err != nil {
		t.Fatal(err)
	}
	check("saved", "b", "1")
	same(t, "inserted by save", get(t, r, c, "2").Values, engine.Values{"2", "hash of c", "hash of 0000"})
}

func unknownClass(t *testing.T, open Open) {
	r, _ := openNotes(t, open)
	other := NewClass("other", Prop("id", engine.String))
	_, err := r.Get(t.Context(), other, "1")
	fails(t, err, engine.NotFound, "unknown-class")
	_, err = r.Save(t.Context(), []engine.Record{record(other, "1")})
	e := fails(t, err, engine.NotFound, "unknown-class")
	same(t, "index", []any{e.Bulk, e.Index}, []any{true, 0})
}
