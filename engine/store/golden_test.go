package store_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store"
	"restsrv/engine/store/postgres"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/wire"
)

var update = flag.Bool("update", false, "write the SQL into the golden files")

// TestQuerySQL reads testdata/query/*.txt: a filter, a line of sort if there
// is one, and for each database the SQL and its arguments.
func TestQuerySQL(t *testing.T) {
	files, err := filepath.Glob("testdata/query/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			golden, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, _, _ := strings.Cut(string(golden), "\n-- ")
			got := strings.TrimRight(input, "\n") + "\n" + render(t, input, "sqlite", sqlite.Dialect()) + render(t, input, "postgres", postgres.Dialect())
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(golden) {
				t.Errorf("got\n%s\nwant\n%s", got, golden)
			}
		})
	}
}

func render(t *testing.T, input, name string, d store.Dialect) string {
	t.Helper()
	c := goldenClass(t)
	filter, order, _ := strings.Cut(strings.TrimSpace(input), "\nsort ")
	q := &engine.Query{Class: c, Count: 5, Offset: 10}
	var err error
	if q.Filter, err = engine.ParseFilter(c, decoded(t, filter), time.UnixMilli(0)); err != nil {
		t.Fatal(err)
	}
	if order != "" {
		if q.Sort, err = engine.ParseSort(c, decoded(t, order)); err != nil {
			t.Fatal(err)
		}
	}
	text, args, err := store.ListSQL(d, q)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = strings.Cut(text, " FROM ")
	for _, word := range []string{" WHERE ", " ORDER BY ", " LIMIT "} {
		text = strings.Replace(text, word, "\n"+word[1:], 1)
	}
	return fmt.Sprintf("-- %s\n%s\n%#v\n", name, text, args)
}

func decoded(t *testing.T, json string) any {
	t.Helper()
	v, err := wire.Decode([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func goldenClass(t *testing.T) *engine.Class {
	t.Helper()
	c := &engine.Class{Name: "note", Namespace: "test", Key: []string{"id"}, Properties: []*engine.Property{
		{Name: "id", Type: engine.GUID}, {Name: "name", Type: engine.String, Nullable: true}, {Name: "nick", Type: engine.String, Nullable: true},
		{Name: "age", Type: engine.Int, Nullable: true}, {Name: "size", Type: engine.Real, Nullable: true}, {Name: "due", Type: engine.DateTime, Nullable: true},
		{Name: "ok", Type: engine.Boolean, Nullable: true}, {Name: "pay", Type: engine.DecimalNum, Nullable: true},
	}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return c
}
