package store_test

import (
	"math"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

// TestCounterPastItsEnd checks a counter above the greatest int, which earlier versions could create on SQLite, where
// the counter became a real number. The counter must be exportable, and must start again.
func TestCounterPastItsEnd(t *testing.T) { onBoth(t, counterPastItsEnd) }

func counterPastItsEnd(t *testing.T, p place) {
	c := storetest.NewClass("note", storetest.Prop("id", engine.Int, func(p *engine.Property) { p.Autoassigned = true }))
	st := openAt(t, p, c)
	create := func() string {
		t.Helper()
		it, err := st.Create(t.Context(), c, engine.NewValues(c), engine.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return it.ID
	}
	create()
	if got := create(); got != "2" {
		t.Fatalf("the second object has the id %s, want 2", got)
	}
	db, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Write.Close()
	past := `UPDATE "##counter" SET "value" = 9223372036854775807`
	if !db.Dialect.Traits().Numbered {
		past += " + 1"
	}
	if _, err := db.Write.ExecContext(t.Context(), past); err != nil {
		t.Fatal(err)
	}
	counters, err := st.Counters(t.Context())
	if err != nil || counters["note@test#id"] != math.MaxInt64 {
		t.Errorf("got counters %v, %v, want %d", counters, err, math.MaxInt64)
	}
	if got := create(); got != "3" {
		t.Errorf("the next object has the id %s, want 3", got)
	}
}
