package file

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"restsrv/engine"
)

// TestDiskFull holds that a disk that is full, cannot be written or fails is
// answered as something that passes, and not as a failure of the server's.
func TestDiskFull(t *testing.T) {
	for _, why := range []error{syscall.ENOSPC, syscall.EACCES, syscall.EROFS, syscall.EIO} {
		err := failure(&os.PathError{Op: "write", Path: "x", Err: why})
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != engine.Unavailable || e.RetryAfter == 0 {
			t.Errorf("%v: got %v, want unavailable", why, err)
		}
	}
}
