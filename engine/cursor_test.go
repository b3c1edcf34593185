package engine

import (
	"bytes"
	"encoding/base64"
	"testing"
)

// A cursor shows nobody what is in it: neither values, nor how many items were
// ever stored, which may be more than the account sees.
func TestCursorIsUnreadable(t *testing.T) {
	c := &Class{Name: "note", Key: []string{"id"}, Properties: []*Property{{Name: "id", Type: String}, {Name: "title", Type: String, Nullable: true}}}
	if err := c.Init(); err != nil {
		t.Fatal(err)
	}
	c.Link()
	key := CursorKey("key")
	sorted := &Query{Class: c, Sort: []Sort{{Property: c.Property("title")}}}
	seen := map[string]bool{}
	for _, test := range []struct {
		q  *Query
		at Position
	}{
		{sorted, Position{Values: []any{"a title"}, Sequence: 123456}}, {sorted, Position{Values: []any{"a title"}, Sequence: 123457}},
		{sorted, Position{Values: []any{nil}, Sequence: 123456}}, {&Query{Class: c}, Position{Sequence: 123456}},
	} {
		cursor := key.Encode(test.q, test.at)
		raw, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("12345")) || bytes.Contains(raw, []byte("title")) || bytes.Contains(raw, []byte("[")) && bytes.Contains(raw, []byte("null")) {
			t.Errorf("%v can be read: %q", test.at, raw)
		}
		// What two cursors have in common is not told by their bytes either.
		if start := string(raw[sealSize : sealSize+5]); seen[start] {
			t.Errorf("%v begins as another: %q", test.at, raw)
		} else {
			seen[start] = true
		}
		back, err := key.Decode(test.q, cursor)
		if err != nil || back.Sequence != test.at.Sequence || len(back.Values) != len(test.at.Values) || len(back.Values) > 0 && back.Values[0] != test.at.Values[0] {
			t.Errorf("%v comes back as %v, %v", test.at, back, err)
		}
	}
}
