package sqlite_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/journal"
	"restsrv/engine/store"
	"restsrv/engine/store/dbtest"
	"restsrv/engine/store/storetest"
)

// weighing is a journal that measures the memory in use, at every thousandth record.
type weighing struct {
	journal.Journal
	records int
	most    uint64
}

func (w *weighing) Record(ctx context.Context, c engine.Change) engine.Values {
	if w.records++; w.records%1000 == 0 {
		w.most = max(w.most, inMemory())
	}
	return w.Journal.Record(ctx, c)
}

func inMemory() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// ranked is an engine.Guard that gives all permissions for items that have a rank.
type ranked struct{ *engine.Property }

func (r ranked) Rows(_ engine.Permission, c *engine.Class) *engine.Filter {
	if c.Property(r.Name) != r.Property {
		return nil
	}
	return &engine.Filter{Op: engine.OpGt, Left: engine.Attribute(r.Property), Right: engine.Constant(engine.Int, int64(-1))}
}

func (r ranked) Creates(*engine.Class) bool { return true }

func (r ranked) Hides(engine.Permission, *engine.Property) bool { return false }

// TestMemoryOfJournaledChange checks that a change of many journaled items does not hold all items in memory at the
// same time.
func TestMemoryOfJournaledChange(t *testing.T) {
	const items, size, limit = 5000, 4 << 10, 12 << 20
	c := storetest.NewClass("note", storetest.Prop("id", engine.String), storetest.Prop("text", engine.Text), storetest.Prop("rank", engine.Int))
	c.Journaling = true
	w := &weighing{Journal: journal.New(journal.Class())}
	s := dbtest.New(t).OpenWith(t, store.Config{Classes: []*engine.Class{c, w.Class()}, Journal: w})
	text := strings.Repeat("x", size)
	for from := 0; from < items; from += 500 {
		var records []engine.Record
		for i := range 500 {
			v := engine.NewValues(c)
			v[c.Property("id").Index], v[c.Property("text").Index], v[c.Property("rank").Index] = fmt.Sprint(from+i), text, int64(0)
			records = append(records, engine.Record{Class: c, Values: v})
		}
		if _, err := s.Save(engine.Unjournaled(t.Context()), records); err != nil {
			t.Fatal(err)
		}
	}
	before := inMemory()
	v := engine.NewValues(c)
	v[c.Property("rank").Index] = int64(1)
	all := &engine.Query{Class: c, Count: -1}
	guarded := engine.WithGuard(t.Context(), ranked{c.Property("rank")})
	if n, err := s.UpdateAll(guarded, all, v); n != items || err != nil {
		t.Fatal(n, err)
	}
	if n, err := s.DeleteAll(guarded, all); n != items || err != nil {
		t.Fatal(n, err)
	}
	if w.records != 2*items || w.most > before+limit {
		t.Errorf("%d records, and %d bytes more in memory, want at most %d", w.records, int64(w.most)-int64(before), limit)
	}
}
