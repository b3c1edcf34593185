package store

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/wire"
)

var update = flag.Bool("update", false, "write the SQL into the golden files")

// plainDialect answers what the planner asks; what a database adds to it
// stays out of the golden files.
type plainDialect struct{ Dialect }

func (plainDialect) Match(column, placeholder string) string {
	return "match(" + column + ", " + placeholder + ")"
}

// TestQuerySQL reads testdata/query/*.txt: a filter, a line of sort if there
// is one, and for both styles of placeholders the SQL and its arguments.
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
			got := strings.TrimRight(input, "\n") + "\n" + render(t, input, false) + render(t, input, true)
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

func render(t *testing.T, input string, numbered bool) string {
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
	s := &Store{traits: Traits{Numbered: numbered, MaxVariables: 1000}, db: &Database{Dialect: plainDialect{}}}
	if err := s.layOut([]*engine.Class{c}); err != nil {
		t.Fatal(err)
	}
	p := s.plans[c]
	p.write(s.traits)
	text, args, err := s.listStatement(p, q)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = strings.Cut(text, " FROM ")
	for _, word := range []string{" WHERE ", " ORDER BY ", " LIMIT "} {
		text = strings.Replace(text, word, "\n"+word[1:], 1)
	}
	return fmt.Sprintf("-- %s\n%s\n%#v\n", map[bool]string{false: "?", true: "$"}[numbered], text, args)
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
		{Name: "age", Type: engine.Int, Nullable: true}, {Name: "due", Type: engine.DateTime, Nullable: true},
		{Name: "ok", Type: engine.Boolean, Nullable: true}, {Name: "pay", Type: engine.DecimalNum, Nullable: true},
	}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return c
}
