package engine

import "testing"

// TestStoredFile: a description is the same after it was stored and read.
func TestStoredFile(t *testing.T) {
	for _, f := range []StoredFile{{ID: "a", Size: 0, Hash: "h"}, {ID: "a", Name: "\"чай\"", MimeType: "text/plain", Size: 1 << 40, Hash: "h"}} {
		if got := FilesIn(f.JSON()); len(got) != 1 || got[0] != f {
			t.Errorf("FilesIn(%s): got %+v, want the same description", f.JSON(), got)
		}
	}
	for _, v := range []any{nil, "text", JSONText(""), JSONText("null"), JSONText(`"x"`), JSONText("[1]"), JSONText("{}"), JSONText("[]")} {
		if got := FilesIn(v); len(got) != 0 {
			t.Errorf("FilesIn(%v): got %+v, want no files", v, got)
		}
	}
}
