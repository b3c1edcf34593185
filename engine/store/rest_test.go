package store_test

import (
	"fmt"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/conns"
)

// TestCostlyReadingsRest checks that an expensive read pauses if and only if another account is present.
func TestCostlyReadingsRest(t *testing.T) {
	t.Run("sqlite long", func(t *testing.T) { costlyReadingsRest(t, sqlitePlace(t), manyNotes) })
	t.Run("sqlite list", func(t *testing.T) { costlyReadingsRest(t, sqlitePlace(t), 1000) })
	t.Run("postgres list", func(t *testing.T) { costlyReadingsRest(t, postgresPlace(t), 4000) })
}

func costlyReadingsRest(t *testing.T, p place, items int) {
	st, c := openMany(t, p, conns.Scans{MaxWait: time.Hour})
	st.Stay(time.Hour)
	read := func(n int) (rests int64) {
		t.Helper()
		before := st.Rests()
		if err := st.List(as(t.Context(), "reader"), &engine.Query{Class: c, Count: n}, func(*engine.Item) error { return nil }); err != nil {
			t.Fatalf("a list of %d items: %v", n, err)
		}
		return st.Rests() - before
	}
	if rests := read(items); rests != 0 {
		t.Errorf("without another account a list of %d items rested %d times, want 0", items, rests)
	}
	if _, err := st.Get(as(t.Context(), "other"), c, "00001"); err != nil {
		t.Fatal(err)
	}
	if rests := read(items); rests == 0 {
		t.Errorf("beside another account a list of %d items did not rest", items)
	}
}

// TestCostlyWritesRest checks that a heavy write pauses if another account is present and the account of the write has
// made another heavy write before.
func TestCostlyWritesRest(t *testing.T) { onBoth(t, costlyWritesRest) }

func costlyWritesRest(t *testing.T, p place) {
	st, c := openMany(t, p, conns.Scans{})
	st.Stay(time.Hour)
	save := func() (rests int64) {
		t.Helper()
		before := st.Rests()
		records := make([]engine.Record, manyNotes/4)
		for i := range records {
			id := fmt.Sprintf("%05d", i)
			records[i] = engine.Record{Class: c, ID: id, Values: engine.Values{id, "changed"}}
		}
		if _, err := st.Save(as(t.Context(), "writer"), records); err != nil {
			t.Fatal(err)
		}
		return st.Rests() - before
	}
	save()
	if rests := save(); rests != 0 {
		t.Errorf("without another account a heavy write rested %d times, want 0", rests)
	}
	if _, err := st.Get(as(t.Context(), "other"), c, "00001"); err != nil {
		t.Fatal(err)
	}
	save()
	if rests := save(); rests == 0 {
		t.Error("beside another account a heavy write that followed another one did not rest")
	}
}
