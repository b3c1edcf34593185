package engine

import (
	"runtime"
	"testing"
)

func initialised(t *testing.T, c *Class) *Class {
	t.Helper()
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	return c
}

// An id is looked up by the value of the key, but only in its canonical form, so
// that an item has only one address.
func TestKeyValues(t *testing.T) {
	c := initialised(t, &Class{Name: "n", Key: []string{"k"}, Properties: []*Property{{Name: "k", Type: Int}}})
	if v, ok := c.KeyValues("7"); !ok || len(v) != 1 || v[0] != int64(7) {
		t.Errorf("KeyValues(7): got %v, want 7", v)
	}
	for _, id := range []string{"", "x", "07", "7.0", " 7"} {
		if v, ok := c.KeyValues(id); ok {
			t.Errorf("KeyValues(%q): got %v, want no values", id, v)
		}
	}
}

// A key of several parts is looked up by the text of the id, because the end of a
// part is unknown if the separator occurs in it.
func TestKeyValuesOfACompositeKey(t *testing.T) {
	c := initialised(t, &Class{Name: "n", Key: []string{"a", "b"}, Properties: []*Property{{Name: "a", Type: String}, {Name: "b", Type: Int}}})
	if id := c.ID(Values{"x_1", int64(7)}); id != "x_1_7" {
		t.Errorf("ID: got %q, want x_1_7", id)
	}
	if id := c.ID(Values{"x", nil}); id != "" {
		t.Errorf("ID without the second part: got %q, want an empty text", id)
	}
	if v, ok := c.KeyValues("x_1_7"); !ok || len(v) != 1 || v[0] != "x_1_7" {
		t.Errorf("KeyValues(x_1_7): got %v, want the id", v)
	}
	if v, ok := c.KeyValues(""); ok {
		t.Errorf("KeyValues of an empty id: got %v, want no values", v)
	}
}

// The fingerprint changes with all metadata on which the JSON of an item depends,
// including the display string and the labels of a class that a reference leads
// to.
func TestFingerprintCoversTargets(t *testing.T) {
	fingerprint := func(semantic, label string) string {
		list := Fields{{"selectionProvider", Fields{{"list", []any{Fields{{"key", "m"}, {"value", label}}}}}}}
		town := initialised(t, &Class{Name: "town", Key: []string{"id"}, Semantic: semantic, Properties: []*Property{
			{Name: "id", Type: Int}, {Name: "size", Type: String, Source: list}}})
		house := initialised(t, &Class{Name: "house", Key: []string{"id"}, Semantic: "town", Properties: []*Property{
			{Name: "id", Type: Int}, {Name: "town", Type: Reference, Target: town}}})
		if town.Link(); town.Fingerprint() == "" {
			t.Fatal("the fingerprint is empty")
		}
		house.Link()
		return house.Fingerprint()
	}
	first := fingerprint("id", "Middling")
	if again := fingerprint("id", "Middling"); again != first {
		t.Errorf("fingerprint of the same classes: got %s, want %s", again, first)
	}
	if other := fingerprint("size", "Middling"); other == first {
		t.Error("the fingerprint does not depend on the display string of the target")
	}
	if other := fingerprint("id", "Small"); other == first {
		t.Error("the fingerprint does not depend on the labels of the target")
	}
}

// TestLinkingGrowsLinearly: linking twice as many classes that all refer to each
// other takes about twice the memory. A fingerprint covers all of them, so it must
// not be computed for each class when the classes are linked.
func TestLinkingGrowsLinearly(t *testing.T) {
	allocated := func(n int) uint64 {
		classes := make([]*Class, n)
		for i := range classes {
			classes[i] = &Class{Name: "c" + itoa(i), Key: []string{"id"}, Properties: []*Property{
				{Name: "id", Type: Int}, {Name: "next", Type: Reference}}}
		}
		for i, c := range classes {
			c.Properties[1].Target = classes[(i+1)%n]
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, c := range classes {
			if err := c.Init(); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range classes {
			c.Link()
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := allocated(500), allocated(1000)
	if large > 3*small {
		t.Errorf("linking 500 classes allocates %d bytes and linking 1000 allocates %d, want about twice as much", small, large)
	}
}
