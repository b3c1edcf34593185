//go:build unix

package module

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestReadRegular: a pipe is not read, because that could block.
func TestReadRegular(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.js")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	done := make(chan error)
	go func() {
		_, _, err := readRegular(path, 100)
		done <- err
	}()
	select {
	case err := <-done:
		if err != errNotRegular {
			t.Errorf("got %v, want %v", err, errNotRegular)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a pipe was read")
	}
}
