package store_test

import (
	"fmt"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store"
)

// TestKeysetSeeks checks how the databases find a page in the middle of a list that is sorted by an indexed attribute.
// They must use the index to go to the first row of the page directly. If they went only to the first row with the
// same value, they would have to skip all rows of earlier pages with this value.
func TestKeysetSeeks(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		c := note(prop("x", engine.String, indexed))
		_, beside := openBeside(t, p, c)
		order, err := query.ParseSortList(c, "x")
		if err != nil {
			t.Fatal(err)
		}
		text, args, err := store.ListSQL(beside.Dialect, &engine.Query{Class: c, Sort: order, Count: 20, WantPosition: true,
			After: &engine.Position{Values: []any{"a"}, Sequence: 7}}, c)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := beside.Read.Connx(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		explain, want := "EXPLAIN QUERY PLAN ", `SEARCH note@test USING INDEX note@test#index#x ((x,rowid)>(?,?))`
		if beside.Dialect.Traits().Numbered {
			explain, want = "EXPLAIN ", `Index Cond: (ROW(x, "#seq") > ROW('a'::text, `
			if _, err := conn.ExecContext(t.Context(), "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off"); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := conn.QueryxContext(t.Context(), explain+text, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var plan []string
		for rows.Next() {
			columns, err := rows.SliceScan()
			if err != nil {
				t.Fatal(err)
			}
			last := columns[len(columns)-1]
			if raw, ok := last.([]byte); ok {
				last = string(raw)
			}
			plan = append(plan, fmt.Sprint(last))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(plan, "\n")
		if !strings.Contains(got, want) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("got the plan\n%s\nwant %s", got, want)
		}
	})
}
