package access

import (
	"context"
	"slices"
	"testing"

	"restsrv/engine"
)

// TestEmptyLists checks that Config.Empty is called for the lists that are empty because of
// permissions, and only for these.
func TestEmptyLists(t *testing.T) {
	w := newWorld().link()
	w.docs = []*engine.Item{newItem(w.memo, "1"), newItem(w.memo, "2")}
	w.grant("ann", "c:::memo@test", "read", "bob", "i:::memo@test@1", "read", "eve", "i:::memo@test@gone", "read")
	var got []string
	c := w.config()
	c.Empty = func(ctx context.Context, c *engine.Class, all bool) {
		text := engine.AccountFrom(ctx).ID + " " + c.FullName
		if all {
			text += " all"
		}
		got = append(got, text)
	}
	r := New(c)
	for _, name := range []string{"ann", "bob", "eve", "sue"} {
		ctx := engine.WithAccount(t.Context(), account(name))
		total := int64(7)
		items := 0
		err := r.List(ctx, &engine.Query{Class: w.memo, Count: -1, Total: &total}, func(*engine.Item) error { items++; return nil })
		if want := map[string]int{"ann": 2, "bob": 1}[name]; err != nil || items != want {
			t.Errorf("the list of %s: got %d items and %v, want %d", name, items, err, want)
		}
	}
	if want := []string{account("eve").ID + " memo@test", account("sue").ID + " memo@test all"}; !slices.Equal(got, want) {
		t.Errorf("empty lists: got %q, want %q", got, want)
	}
}
