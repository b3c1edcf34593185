package remember

import (
	"testing"
	"time"
)

type thing struct {
	Entry
	name string
}

func named(name string, expires time.Duration) *thing {
	return &thing{Entry{Expires: expires}, name}
}

// TestMemoryIsBounded checks that a full memory removes all expired entries or, if there are
// none, another entry.
func TestMemoryIsBounded(t *testing.T) {
	m := New[*thing]()
	for i := range Most + 500 {
		m.Put(Key{byte(i), byte(i >> 8), byte(i >> 16)}, named("", time.Hour), 0, 0)
	}
	if n := len(m.entries); n != Most {
		t.Errorf("%d entries are remembered, want %d", n, Most)
	}
	late := named("late", 2*time.Hour)
	m.Put(Key{255, 255, 255}, late, 0, time.Hour)
	if n := len(m.entries); n != 1 || m.Find(Key{255, 255, 255}) != late {
		t.Errorf("%d entries are left once the others expired, want 1", n)
	}
}

// TestMemoryForgets checks that a proof is not stored if its check began before a call of Forget.
func TestMemoryForgets(t *testing.T) {
	m := New[*thing]()
	ann, bob := named("ann", time.Hour), named("bob", time.Hour)
	m.Put(Key{1}, ann, m.Generation(), 0)
	m.Put(Key{2}, bob, m.Generation(), 0)
	before := m.Generation()
	m.Forget(func(e *thing) bool { return e.name == "ann" })
	if m.Find(Key{1}) != nil || !ann.Ended() || m.Find(Key{2}) != bob || bob.Ended() {
		t.Error("Forget did not remove exactly the entry of ann")
	}
	m.Put(Key{3}, named("late", time.Hour), before, 0)
	if m.Find(Key{3}) != nil {
		t.Error("a proof from before Forget was stored")
	}
	m.Put(Key{3}, named("late", time.Hour), m.Generation(), time.Hour)
	if m.Find(Key{3}) != nil {
		t.Error("an expired entry was stored")
	}
}

// TestMemoryDrops checks that Drop ends an entry, but not the entry that has replaced it.
func TestMemoryDrops(t *testing.T) {
	m := New[*thing]()
	old, young := named("old", time.Hour), named("young", time.Hour)
	m.Put(Key{1}, old, 0, 0)
	m.Put(Key{1}, young, 0, 0)
	m.Drop(Key{1}, old)
	if !old.Ended() || young.Ended() || m.Find(Key{1}) != young {
		t.Error("dropping the old entry ended its replacement")
	}
	m.Drop(Key{1}, young)
	if m.Find(Key{1}) != nil || m.Generation() != 0 {
		t.Error("the entry was not removed, or the generation changed")
	}
}
