package read

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/storetest"
)

var listTests = []storetest.Test{
	{Name: "order and pages", Run: pages},
	{Name: "sort with nulls and ties", Run: sorting},
	{Name: "visit", Run: visiting},
	{Name: "context", Run: contexts},
}

func pages(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	want := []string{}
	for _, i := range []int{5, 3, 9, 1, 7, 2, 8} {
		want = append(want, storetest.Create(t, r, c, "id", fmt.Sprint(i), "rank", int64(i%2)).ID)
	}
	storetest.CheckSame(t, "insertion order", storetest.ListIDs(t, r, storetest.All(c)), want)
	for _, sort := range [][]engine.Sort{nil, {{Property: c.Property("rank")}}} {
		whole := storetest.All(c)
		whole.Sort = sort
		var paged []string
		for offset := 0; offset < 9; offset += 2 {
			q := &engine.Query{Class: c, Sort: sort, Offset: offset, Count: 2}
			paged = append(paged, storetest.ListIDs(t, r, q)...)
		}
		storetest.CheckSame(t, "pages", paged, storetest.ListIDs(t, r, whole))
	}
	storetest.CheckSame(t, "none", storetest.ListIDs(t, r, &engine.Query{Class: c, Count: 0}), []string{})
	storetest.CheckSame(t, "beyond", storetest.ListIDs(t, r, &engine.Query{Class: c, Count: 5, Offset: 100}), []string{})
	storetest.CheckSame(t, "offset without count", storetest.ListIDs(t, r, &engine.Query{Class: c, Count: -1, Offset: 5}), want[5:])
	n, err := r.Count(t.Context(), &engine.Query{Class: c, Count: 2, Offset: 3})
	storetest.CheckSame(t, "count", []any{n, err}, []any{int64(7), nil})
}

func sorting(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	for i, row := range [][]any{{"b", int64(1)}, {nil, int64(2)}, {"a", nil}, {"B", int64(1)}, {"a", int64(3)}, {nil, int64(2)}} {
		storetest.Create(t, r, c, "id", fmt.Sprint(i), "title", row[0], "rank", row[1])
	}
	title, rank := c.Property("title"), c.Property("rank")
	for _, s := range []struct {
		sort []engine.Sort
		want []string
	}{
		{[]engine.Sort{{Property: title}}, []string{"1", "5", "3", "2", "4", "0"}},
		{[]engine.Sort{{Property: title, Descending: true}}, []string{"0", "2", "4", "3", "1", "5"}},
		{[]engine.Sort{{Property: rank}, {Property: title, Descending: true}}, []string{"2", "0", "3", "1", "5", "4"}},
		{[]engine.Sort{{Property: rank, Descending: true}, {Property: rank}}, []string{"4", "1", "5", "0", "3", "2"}},
	} {
		q := storetest.All(c)
		q.Sort = s.sort
		storetest.CheckSame(t, "order", storetest.ListIDs(t, r, q), s.want)
		q.Count, q.Offset = 2, 3
		storetest.CheckSame(t, "page", storetest.ListIDs(t, r, q), s.want[3:5])
	}
}

func visiting(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "1", "title", "a")
	storetest.Create(t, r, c, "id", "2", "title", "b")
	var kept []*engine.Item
	err := r.List(t.Context(), storetest.All(c), func(it *engine.Item) error {
		kept = append(kept, it.Clone())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.CheckSame(t, "clones", []any{kept[0].Get("title"), kept[1].Get("title")}, []any{"a", "b"})
	mine, visits := errors.New("mine"), 0
	err = r.List(t.Context(), storetest.All(c), func(*engine.Item) error {
		visits++
		return mine
	})
	storetest.CheckSame(t, "stopped", []any{err, visits}, []any{mine, 1})
	failure := engine.Errorf(engine.Forbidden, "x", "y")
	if err := r.List(t.Context(), storetest.All(c), func(*engine.Item) error { return failure }); err != failure {
		t.Errorf("got %v, want the error of visit", err)
	}
}

func contexts(t *testing.T, open storetest.Open) {
	r, c := storetest.OpenNotes(t, open)
	storetest.Create(t, r, c, "id", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := storetest.All(c)
	q.Filter = &engine.Filter{Op: engine.OpLike, Left: engine.Attribute(c.Property("id")), Pattern: "1"}
	_, getErr := r.Get(ctx, c, "1")
	_, countErr := r.Count(ctx, q)
	_, createErr := r.Create(ctx, c, storetest.NewValues(c, "id", "2"), engine.WriteOptions{})
	_, updateErr := r.Update(ctx, c, "1", storetest.NewValues(c, "title", "x"), engine.WriteOptions{})
	_, saveErr := r.Save(ctx, []engine.Record{storetest.NewRecord(c, "3")})
	for what, err := range map[string]error{
		"get": getErr, "count": countErr, "create": createErr, "update": updateErr, "save": saveErr,
		"delete": r.Delete(ctx, c, "1", nil),
		"list":   r.List(ctx, q, func(*engine.Item) error { return nil }),
	} {
		if engine.CodeOf(err) != engine.Timeout {
			t.Errorf("%s: got %v, want a timeout", what, err)
		}
	}
	storetest.CheckSame(t, "rows", storetest.Count(t, r, c), int64(1))
	storetest.CheckSame(t, "title", storetest.Get(t, r, c, "1").Get("title"), nil)
}
