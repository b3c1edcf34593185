package store_test

import (
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/storetest"
)

func autoassigned(p *engine.Property) { p.Autoassigned = true }
func search(p *engine.Property)       { p.Search = true }

func mustCreate(t *testing.T, st *store.Store, c *engine.Class, v ...any) {
	t.Helper()
	if _, err := st.Create(t.Context(), c, v, engine.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// logged opens a store, closes it, and returns the text that it has logged.
func logged(t *testing.T, p place, classes ...*engine.Class) string {
	t.Helper()
	db, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	st, err := store.Open(t.Context(), db, store.Config{Classes: classes, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, st)
	return log.String()
}

// TestSchemaWarnings changes classes in ways that lose no data but may be unintended.
func TestSchemaWarnings(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		before := note(prop("x", engine.Int))
		st := mustOpen(t, p, before)
		mustCreate(t, st, before, "a", nil)
		closeStore(t, st)
		after := note(prop("x", engine.Int, required))
		if log := logged(t, p, after); !strings.Contains(log, "class=note@test property=x objects=1") {
			t.Errorf("got %q, want a warning of an object without x", log)
		}
		if log := logged(t, p, after); log != "" {
			t.Errorf("got %q again", log)
		}
		renamed := storetest.NewClass("paper", prop("id", engine.String))
		if log := logged(t, p, renamed); !strings.Contains(log, "class=note@test objects=1") {
			t.Errorf("got %q, want a warning of an object that is not seen", log)
		}
		system := &engine.Class{Name: "#account", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.String}}}
		if err := system.Init(); err != nil {
			t.Fatal(err)
		}
		if log := logged(t, p, system); log != "" {
			t.Errorf("got %q for a command that knows no class", log)
		}
	})
}

// TestNumberedLater makes a property autoassigned after items with values of this property exist.
func TestNumberedLater(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		before := storetest.NewClass("note", prop("id", engine.Int))
		st := mustOpen(t, p, before)
		mustCreate(t, st, before, int64(41))
		closeStore(t, st)
		after := storetest.NewClass("note", prop("id", engine.Int, autoassigned))
		st = openAt(t, p, after)
		it, err := st.Create(t.Context(), after, engine.NewValues(after), engine.WriteOptions{})
		if err != nil || it.ID != "42" {
			t.Errorf("got %v, %v, want object 42", it, err)
		}
	})
}

// TestCollectionRemoved removes a collection twice: with links, and after the links are deleted.
func TestCollectionRemoved(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		club := func(collections ...*engine.Property) *engine.Class {
			c := note(collections...)
			for _, p := range collections {
				p.Target = c
			}
			c.Link()
			return c
		}
		with := club(prop("others", engine.Collection))
		st := mustOpen(t, p, with)
		mustCreate(t, st, with, "a", &engine.Links{Add: []any{"a"}})
		closeStore(t, st)
		_, err := tryOpen(t, p, club())
		refused(t, err, []string{`class note@test: collection "others" was removed, or its links would be kept with those of another, but it has 1 links`})
		st = mustOpen(t, p, with)
		if _, err := st.Update(t.Context(), with, "a", engine.Values{engine.Absent, &engine.Links{Replace: true}}, engine.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		closeStore(t, st)
		closeStore(t, mustOpen(t, p, club()))
		st = openAt(t, p, with)
		mustCreate(t, st, with, "b", &engine.Links{Add: []any{"a"}})
	})
}

// TestCompositeIndexLater makes an index unique although there are duplicate values, and changes the type of one of its
// properties.
func TestCompositeIndexLater(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		with := func(typ engine.PropertyType, isUnique bool) *engine.Class {
			c := note(prop("x", engine.Int), prop("y", typ))
			c.Indexes = []engine.CompositeIndex{{Properties: []string{"x", "y"}, Unique: isUnique}}
			return c
		}
		c := with(engine.Int, false)
		st := mustOpen(t, p, c)
		for _, id := range []string{"a", "b"} {
			mustCreate(t, st, c, id, int64(1), int64(2))
		}
		mustCreate(t, st, c, "c", int64(1), nil)
		mustCreate(t, st, c, "d", int64(1), nil)
		closeStore(t, st)
		_, err := tryOpen(t, p, with(engine.Int, true))
		refused(t, err, []string{"the index note@test#composite#x#y would become unique, but 1 of its values are there more than once"})
		st = mustOpen(t, p, c)
		for _, id := range []string{"a", "b"} {
			if _, err := st.Update(t.Context(), c, id, engine.Values{engine.Absent, engine.Absent, nil}, engine.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		closeStore(t, st)
		c = with(engine.String, true)
		st = openAt(t, p, c)
		mustCreate(t, st, c, "e", int64(1), "z")
		if _, err := st.Create(t.Context(), c, engine.Values{"f", int64(1), "z"}, engine.WriteOptions{}); engine.CodeOf(err) != engine.Invalid {
			t.Errorf("got %v, want a duplicate", err)
		}
	})
}

// TestSearchedAgain removes a property from the search and adds it again. The search must find words of items that
// were written in the meantime.
func TestSearchedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		searched, not := note(prop("x", engine.String, search)), note(prop("x", engine.String))
		closeStore(t, mustOpen(t, p, searched))
		st := mustOpen(t, p, not)
		mustCreate(t, st, not, "a", "words")
		closeStore(t, st)
		st = mustOpen(t, p, searched)
		if n, err := st.Count(t.Context(), &engine.Query{Class: searched, Search: "words"}); n != 1 || err != nil {
			t.Errorf("found %d, %v, want 1", n, err)
		}
		if err := st.Delete(t.Context(), searched, "a", nil); err != nil {
			t.Fatal(err)
		}
		closeStore(t, st)
		// If the key changes, an empty table is created again. The table of its search words must be created again,
		// too.
		closeStore(t, mustOpen(t, p, storetest.NewClass("note", prop("x", engine.String), prop("id", engine.String))))
		st = openAt(t, p, searched)
		mustCreate(t, st, searched, "b", "words")
	})
}

// TestMoveClassInTree makes a class without objects a descendant of another class, and reverts this.
func TestMoveClassInTree(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		thing := storetest.NewClass("thing", prop("id", engine.String))
		car := storetest.Extend(thing, "car", prop("x", engine.Int, indexed))
		alone := storetest.NewClass("car", prop("id", engine.String), prop("x", engine.Int, indexed))
		plain := storetest.NewClass("thing", prop("id", engine.String))
		closeStore(t, mustOpen(t, p, plain, alone))
		closeStore(t, mustOpen(t, p, thing, car))
		st := openAt(t, p, plain, alone)
		mustCreate(t, st, alone, "a", int64(1))
	})
}

// TestLongTexts changes the type of an indexed property to long texts, which no index limits.
func TestLongTexts(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		closeStore(t, mustOpen(t, p, note(prop("x", engine.String, indexed))))
		after := note(prop("x", engine.Text, indexed))
		st := openAt(t, p, after)
		var long strings.Builder
		random := rand.New(rand.NewPCG(1, 2)) // random, so that the text cannot be compressed
		for range 20_000 {
			long.WriteByte(byte(' ' + random.IntN(90)))
		}
		mustCreate(t, st, after, "a", long.String())
	})
}
