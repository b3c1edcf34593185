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
	"restsrv/engine/query"
	"restsrv/engine/store"
	"restsrv/engine/store/postgres"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlite"
	"restsrv/engine/store/storetest"
	"restsrv/engine/wire"
)

var update = flag.Bool("update", false, "write the SQL into the golden files")

// TestQuerySQL reads testdata/query/*.txt. A file has a filter, an optional line with the sort, and
// the SQL with its arguments for each database.
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

func render(t *testing.T, input, name string, d sqldb.Dialect) string {
	t.Helper()
	classes := goldenClasses(t)
	text, args, err := "", []any(nil), error(nil)
	lines := strings.Split(strings.TrimSpace(input), "\n")
	if aggregation, ok := strings.CutPrefix(lines[0], "aggregate "); ok {
		a, parseErr := query.ParseAggregation(classes[0], decoded(t, aggregation), time.UnixMilli(0))
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		text, args, err = store.AggregateSQL(d, a, classes...)
	} else {
		lines, guard := goldenGuard(t, classes, lines)
		text, args, err = store.GuardedSQL(d, guard, goldenQuery(t, classes[0], lines), classes...)
		_, text, _ = strings.Cut(text, " FROM ")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{" LEFT JOIN ", " WHERE ", " GROUP BY ", " ORDER BY ", " LIMIT "} {
		text = strings.ReplaceAll(text, word, "\n"+word[1:])
	}
	return fmt.Sprintf("-- %s\n%s\n%#v\n", name, text, args)
}

// readers is an engine.Guard that maps classes to the conditions for reading their items.
type readers map[*engine.Class]*engine.Filter

func (r readers) Rows(may engine.Permission, c *engine.Class) *engine.Filter {
	if may != engine.MayRead {
		return engine.Never()
	}
	return r[c]
}

func (r readers) Creates(*engine.Class) bool { return false }

func (r readers) Hides(_ engine.Permission, p *engine.Property) bool { return p.Name == "nick" }

// goldenGuard returns a guard with the conditions in the lines "may CLASS {..}", and the other lines.
func goldenGuard(t *testing.T, classes []*engine.Class, lines []string) (others []string, g engine.Guard) {
	t.Helper()
	rows := &readers{}
	for _, line := range lines {
		rest, found := strings.CutPrefix(line, "may ")
		if !found {
			others = append(others, line)
			continue
		}
		name, filter, _ := strings.Cut(rest, " ")
		for _, c := range classes {
			if c.Name == name {
				f, err := query.ParseFilter(c, decoded(t, filter), time.UnixMilli(0))
				if err != nil {
					t.Fatal(err)
				}
				(*rows)[c] = f
			}
		}
		g = rows
	}
	return others, g
}

// goldenQuery parses a filter and these optional lines:
//   - "sort {..}"
//   - "search .."
//   - "after [..]": the values of the sort, then the sequence
func goldenQuery(t *testing.T, c *engine.Class, lines []string) *engine.Query {
	t.Helper()
	q := &engine.Query{Class: c, Count: 5, Offset: 10}
	var err error
	if q.Filter, err = query.ParseFilter(c, decoded(t, lines[0]), time.UnixMilli(0)); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "sort":
			if q.Sort, err = query.ParseSort(c, decoded(t, rest)); err != nil {
				t.Fatal(err)
			}
		case "search":
			q.Search = rest
		case "class":
			q.Class = q.Class.Descendants[0]
		case "exact":
			q.Exact = true
		case "after":
			values, _ := decoded(t, rest).([]any)
			q.After = &engine.Position{Sequence: 42}
			for i, s := range q.Sort {
				v, err := s.Property.Cast(values[i])
				if err != nil {
					t.Fatal(err)
				}
				q.After.Values = append(q.After.Values, v)
			}
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return q
}

func decoded(t *testing.T, json string) any {
	t.Helper()
	v, err := wire.Decode([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// goldenClasses returns the classes of the tests: notes with a town (in a region), lines that refer to notes, labels
// in a table of links, and letters, a descendant of notes.
func goldenClasses(t *testing.T) []*engine.Class {
	t.Helper()
	prop := storetest.Prop
	region := storetest.NewClass("region", prop("code", engine.Int), prop("name", engine.String))
	town := storetest.NewClass("town", prop("id", engine.String), prop("name", engine.String), storetest.Ref("region", region))
	label := storetest.NewClass("label", prop("id", engine.String), prop("name", engine.String, func(p *engine.Property) { p.Search = true }))
	seat := storetest.NewClass("seat", prop("row", engine.Int), prop("place", engine.Int))
	seat.Key = []string{"row", "place"}
	labels := prop("labels", engine.Collection)
	labels.Target = label
	note := storetest.NewClass("note", prop("id", engine.GUID), prop("name", engine.String), prop("nick", engine.String), prop("age", engine.Int),
		prop("size", engine.Real), prop("due", engine.DateTime), prop("ok", engine.Boolean), prop("pay", engine.DecimalNum), prop("tags", engine.Set),
		storetest.Ref("town", town), storetest.Ref("seat", seat), labels)
	line := storetest.NewClass("line", prop("id", engine.String), prop("text", engine.String), storetest.Ref("note", note), prop("n", engine.Int))
	for _, p := range []*engine.Property{prop("lines", engine.Collection), prop("line", engine.Reference)} {
		p.Target, p.Back = line, line.Property("note")
		p.OrderNumber, p.Definition = len(note.Properties), note.FullName
		note.Properties = append(note.Properties, p)
	}
	for _, c := range []*engine.Class{seat, note} {
		if err := c.Init(); err != nil {
			t.Fatal(err)
		}
	}
	letter := storetest.Extend(note, "letter", prop("to", engine.String))
	classes := []*engine.Class{note, letter, region, town, label, seat, line}
	storetest.Link(classes...)
	return classes
}
