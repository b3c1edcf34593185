package file

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"restsrv/engine"
)

// TestDiskFull holds that a full disk is answered as something that passes, and
// not as a failure of the server's.
func TestDiskFull(t *testing.T) {
	err := failure(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	var e *engine.Error
	if !errors.As(err, &e) || e.Code != engine.Unavailable || e.RetryAfter == 0 {
		t.Errorf("got %v, want unavailable", err)
	}
}
