package engine

import (
	"fmt"
	"testing"
)

// clique is so many items, each of which has loaded all of them, level below
// level: as many items as levels, and an answer of nearly items^levels.
func clique(t *testing.T, items, levels int) *Item {
	t.Helper()
	c := &Class{Name: "node", Key: []string{"id"}, Properties: []*Property{{Name: "id", Type: String}, {Name: "peers", Type: Collection}}}
	c.Properties[1].Target = c
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	var below []*Item
	for range levels {
		level := make([]*Item, items)
		for i := range level {
			id := fmt.Sprint("n", i)
			level[i] = &Item{Class: c, ID: id, Values: Values{id, nil}, Links: make([]Link, 2)}
			level[i].Links[1] = Link{Loaded: true, Shown: true, Items: below}
		}
		below = level
	}
	return below[0]
}

// TestExceeds holds that the size of an answer is known before it is made, the
// right one about, and soon also where no memory would hold the answer.
func TestExceeds(t *testing.T) {
	for _, levels := range []int{1, 2, 3} {
		it := clique(t, 20, levels)
		size := len(it.AppendJSON(nil))
		if it.Exceeds(size, nil) || !it.Exceeds(size/2, nil) {
			t.Errorf("%d levels: %d bytes exceed %v, exceed half of that %v", levels, size, it.Exceeds(size, nil), it.Exceeds(size/2, nil))
		}
	}
	if !clique(t, 1000, 12).Exceeds(1<<20, nil) {
		t.Error("1000^12 items are no more than a megabyte")
	}
	plain, err := NewProjection(clique(t, 1, 1).Class, []string{"id"})
	if err != nil || clique(t, 1000, 12).Exceeds(1000, plain) {
		t.Errorf("what is not written counts (%v)", err)
	}
}
