package query

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"testing"

	"restsrv/engine"
)

// TestCursorIsUnreadable checks that a cursor does not disclose its content: neither the values nor the number of
// stored items, which may be greater than the number of items that the account can see.
func TestCursorIsUnreadable(t *testing.T) {
	c := &engine.Class{Name: "note", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.String}, {Name: "title", Type: engine.String, Nullable: true}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	c.Link()
	key := CursorKey("key")
	sorted := &engine.Query{Class: c, Sort: []engine.Sort{{Property: c.Property("title")}}}
	seen := map[string]bool{}
	for _, test := range []struct {
		q  *engine.Query
		at engine.Position
	}{
		{sorted, engine.Position{Values: []any{"a title"}, Sequence: 123456}}, {sorted, engine.Position{Values: []any{"a title"}, Sequence: 123457}},
		{sorted, engine.Position{Values: []any{nil}, Sequence: 123456}}, {&engine.Query{Class: c}, engine.Position{Sequence: 123456}},
	} {
		cursor := key.Encode(test.q, []engine.Position{test.at}, nil)
		raw, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("12345")) || bytes.Contains(raw, []byte("title")) || bytes.Contains(raw, []byte("[")) && bytes.Contains(raw, []byte("null")) {
			t.Errorf("the cursor of %v contains readable values: %q", test.at, raw)
		}
		// The bytes must not disclose that two cursors have common parts.
		if start := string(raw[sealSize : sealSize+5]); seen[start] {
			t.Errorf("the cursor of %v begins like another one: %q", test.at, raw)
		} else {
			seen[start] = true
		}
		back, err := key.Decode(test.q, cursor)
		if err != nil || back.Sequence != test.at.Sequence || len(back.Values) != len(test.at.Values) || len(back.Values) > 0 && back.Values[0] != test.at.Values[0] {
			t.Errorf("Decode: got %v, %v, want %v", back, err, test.at)
		}
	}
}

// TestCursorOfLongValues checks that a cursor for long values is short and does not disclose the values. It refers to
// the items of the page and to the item after the page.
func TestCursorOfLongValues(t *testing.T) {
	c := &engine.Class{Name: "note", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.String}, {Name: "title", Type: engine.String, Nullable: true}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	c.Link()
	key := CursorKey("key")
	long := func(n int64) engine.Position {
		return engine.Position{Values: []any{strings.Repeat("long ", 200_000) + strconv.FormatInt(n, 10)}, Sequence: n}
	}
	var page []engine.Position
	for n := range int64(CursorItems) {
		page = append(page, long(10+n))
	}
	next := long(99)
	q := &engine.Query{Class: c, Sort: []engine.Sort{{Property: c.Property("title")}}}
	cursor := key.Encode(q, page, &next)
	if len(cursor) >= 1024 {
		t.Errorf("the cursor has %d bytes, want less than 1024", len(cursor))
	}
	if raw, err := base64.RawURLEncoding.DecodeString(cursor); err != nil || bytes.Contains(raw, []byte("long")) || raw[sealSize] == landmarksMark {
		t.Errorf("the cursor contains readable values: %q, %v", raw, err)
	}
	at, err := key.Decode(q, cursor)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, l := range at.Landmarks {
		if l.Digest != DigestOf(long(l.Sequence)) || l.Digest == DigestOf(long(l.Sequence+1)) || l.Ahead != (l.Sequence == 99) {
			t.Errorf("got landmark %+v, want the one of item %d", l, l.Sequence)
		}
		got = append(got, l.Sequence)
	}
	if want := []int64{13, 99, 12, 11, 10}; !slices.Equal(got, want) {
		t.Errorf("landmarks %v, want %v", got, want)
	}
	// After a page with a single item, the cursor also refers to items of the previous cursor.
	q.After = at
	if at, err = key.Decode(q, key.Encode(q, []engine.Position{next}, nil)); err != nil || len(at.Landmarks) != CursorItems+1 || at.Landmarks[1].Sequence != 13 {
		t.Errorf("after a page of one item: got %+v, %v, want %d landmarks", at, err, CursorItems+1)
	}
}

// TestDigest checks that different values have different digests.
func TestDigest(t *testing.T) {
	seen := map[engine.Digest][]any{}
	for _, values := range [][]any{{}, {nil}, {nil, nil}, {""}, {"", nil}, {nil, ""}, {"a"}, {"a", "b"}, {"ab"}, {"ab", ""}, {"", "ab"}, {int64(1)}, {engine.Instant(1)}, {1.0}, {true}, {false},
		{"1"}, {int64(0)}, {0.0}, {"s"}, {"\x00\x00\x00\x00\x00\x00\x00\x01"}} {
		d := DigestOf(engine.Position{Values: values})
		if other, taken := seen[d]; taken {
			t.Errorf("%#v has the same digest as %#v", values, other)
		}
		seen[d] = values
	}
}

// TestCursorWithLongValues checks that cursors of earlier versions, which contain long values, still work.
func TestCursorWithLongValues(t *testing.T) {
	c := &engine.Class{Name: "note", Key: []string{"id"}, Properties: []*engine.Property{{Name: "id", Type: engine.String}, {Name: "title", Type: engine.String, Nullable: true}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	c.Link()
	key, q, title := CursorKey("key"), &engine.Query{Class: c, Sort: []engine.Sort{{Property: c.Property("title")}}}, strings.Repeat("long ", 2000)
	body := engine.AppendValue(nil, []any{int64(7), title})
	sealed := append(key.computeSeal(q, body), body...)
	key.applyCipher(sealed)
	at, err := key.Decode(q, base64.RawURLEncoding.EncodeToString(sealed))
	if err != nil || at.Sequence != 7 || at.Values[0] != title || at.Landmarks != nil {
		t.Errorf("got %+v, %v, want item 7 without landmarks", at, err)
	}
}
