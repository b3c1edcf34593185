package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine/script/limits"
)

// TestLargeFile checks that the size of a file is checked before it is read.
func TestLargeFile(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.write("svc.js", "")
	if err := os.Truncate(filepath.Join(a.dir, "svc.js"), 1<<40); err != nil {
		t.Skip("no sparse files here:", err)
	}
	if _, err := a.rt.Load(a.service("svc.js")); err == nil || !strings.Contains(err.Error(), "the file has 1099511627776 bytes, at most ") {
		t.Errorf("got %v", err)
	}
}
