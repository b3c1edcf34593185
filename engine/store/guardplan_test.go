package store_test

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/storetest"
)

// archive has many documents of departments. Few of the documents have an owner.
type archive struct {
	*store.Store
	dept, doc *engine.Class
}

// archived is the number of documents. Each department has 10 documents; each owner has 10 too.
const archived = 8000

func openArchive(t *testing.T, p place) *archive {
	prop := storetest.Prop
	index := func(p *engine.Property) { p.Indexed = true }
	a := &archive{}
	a.dept = storetest.NewClass("dept", prop("id", engine.String), prop("chief", engine.String, index))
	in := storetest.Ref("dept", a.dept)
	index(in)
	a.doc = storetest.NewClass("doc", prop("id", engine.String), prop("owner", engine.String, index), prop("code", engine.String, index), in, prop("text", engine.String, searched), prop("hush", engine.String))
	storetest.Link(a.dept, a.doc)
	a.Store = openAt(t, p, a.dept, a.doc)
	var records []engine.Record
	add := func(c *engine.Class, pairs ...any) {
		records = append(records, engine.Record{Class: c, Values: row(c, pairs...)})
	}
	for i := range archived / 10 {
		add(a.dept, "id", fmt.Sprint("d", i), "chief", fmt.Sprint("chief", i))
	}
	for i := range archived {
		n := i % (archived / 10)
		add(a.doc, "id", fmt.Sprint(i), "owner", fmt.Sprint("owner", n), "code", fmt.Sprint("code", i), "dept", fmt.Sprint("d", n), "text", fmt.Sprint("word", i))
	}
	if _, err := a.Save(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	return a
}

// guards returns guards that allow reading a few documents.
func (a *archive) guards(t *testing.T) map[string]engine.Guard {
	condition := func(name, value string) *engine.Filter {
		f, err := query.ParseFilter(a.doc, engine.Fields{{Name: name, Value: value}}, networkTime)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	items := func(n int) *engine.Filter {
		f := &engine.Filter{Op: engine.OpIn, Left: engine.Attribute(a.doc.Property("id"))}
		for i := range n {
			f.List = append(f.List, fmt.Sprint(i*3))
		}
		return f
	}
	of := func(any ...*engine.Filter) engine.Guard {
		return &owners{map[*engine.Class]*engine.Filter{a.doc: {Op: engine.OpOr, Args: any}}}
	}
	owner := condition("owner", "owner7")
	return map[string]engine.Guard{
		"all": &owners{}, "its owner": of(owner), "its department": of(condition("dept.chief", "chief7")), "5 items": of(items(5)),
		"1000 items": of(items(1000)), "5 items, its owner": of(items(5), owner), "1000 items, its owner": of(items(1000), owner),
	}
}

// TestGuardPlans checks that the database does not read a whole table because of a guard, if the account may read only
// a few rows or the query asks for only a few.
func TestGuardPlans(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		a := openArchive(t, p)
		db, err := p.open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Read.Close(); _ = db.Write.Close() })
		if _, err := db.Write.ExecContext(t.Context(), "ANALYZE"); err != nil {
			t.Fatal(err)
		}
		coded, err := query.Equal(a.doc.Property("code"), "code77")
		if err != nil {
			t.Fatal(err)
		}
		for name, g := range a.guards(t) {
			ctx := engine.WithGuard(t.Context(), g)
			whole := name == "all" || strings.HasPrefix(name, "1000") && db.Dialect.Traits().Lock != "" // the planner of PostgreSQL sees that 1000 of 8000 items are many
			for what, statement := range map[string]func() (string, []any, error){
				"get": func() (string, []any, error) { return a.GetStatement(ctx, a.doc, "77") },
				"filter": func() (string, []any, error) {
					return a.ListStatement(ctx, &engine.Query{Class: a.doc, Filter: coded, Count: 50})
				},
				"list":  func() (string, []any, error) { return a.ListStatement(ctx, &engine.Query{Class: a.doc, Count: 50}) },
				"count": func() (string, []any, error) { return a.CountStatement(ctx, &engine.Query{Class: a.doc}) },
			} {
				text, args, err := statement()
				if err != nil {
					t.Fatal(err)
				}
				if whole && (what == "list" || what == "count") {
					continue
				}
				if steps := explain(t, db, text, args); strings.Contains(steps, `SCAN doc@test`+"\n") || strings.Contains(steps, "SCAN doc@test USING COVERING") ||
					strings.Contains(steps, `Seq Scan on "doc@test"`) || strings.Contains(steps, `using "doc@test_pkey"`) {
					t.Errorf("%s, for %s: got a scan of the whole table, want a search by an index:\n%s\n%s", what, name, text, steps)
				}
			}
		}
	})
}

// explain returns the steps of the plan of a statement.
func explain(t *testing.T, db *sqldb.Database, text string, args []any) string {
	t.Helper()
	how := "EXPLAIN QUERY PLAN "
	if db.Dialect.Traits().Lock != "" {
		how = "EXPLAIN "
	}
	rows, err := db.Read.QueryContext(t.Context(), how+text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	raw, dest := make([]any, len(columns)), make([]any, len(columns))
	for i := range raw {
		dest[i] = &raw[i]
	}
	var steps strings.Builder
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&steps, raw[len(raw)-1])
	}
	if err := rows.Err(); err != nil || steps.Len() == 0 {
		t.Fatal("got no steps of the plan: ", err)
	}
	return steps.String()
}
