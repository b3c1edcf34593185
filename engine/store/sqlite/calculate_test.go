package sqlite_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/formula"
	"restsrv/engine/store"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/store/storetest"
)

// TestLookupsOfAList checks a list with a formula that does not depend on the item. The formula must add only one
// statement to the list, regardless of the length of the list.
func TestLookupsOfAList(t *testing.T) {
	prop := storetest.Prop
	c := storetest.NewClass("note", prop("id", engine.String), prop("best", engine.Int), prop("all", engine.Int), prop("rank", engine.Int))
	for name, source := range map[string]string{"best": "max(note, rank)", "all": "count(note)"} {
		f, err := formula.Compile(c, source)
		if err != nil {
			t.Fatal(err)
		}
		c.Property(name).Formula = f
	}
	c.Link()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	st, err := store.Open(t.Context(), db, store.Config{Classes: []*engine.Class{c}, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var records []engine.Record
	for i := range int64(50) {
		v := engine.NewValues(c)
		v[c.Property("id").Index], v[c.Property("rank").Index] = engine.ValueText(i), i
		records = append(records, engine.Record{Class: c, Values: v})
	}
	if _, err := st.Save(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	n := 0
	err = st.List(t.Context(), &engine.Query{Class: c, Count: -1}, func(it *engine.Item) error {
		if n++; it.Get("best") != int64(49) || it.Get("all") != int64(50) {
			t.Errorf("%s has %v of %v", it.ID, it.Get("best"), it.Get("all"))
		}
		return nil
	})
	if statements := strings.Count(log.String(), "SELECT"); err != nil || n != 50 || statements != 3 {
		t.Errorf("%d items (%v) took %d statements, expected 3:\n%s", n, err, statements, log.String())
	}
}
