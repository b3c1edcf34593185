package file

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"restsrv/engine"
)

// TestDiskFull checks that a disk that is full, read-only or broken is reported
// as a temporary failure and not as an internal error.
func TestDiskFull(t *testing.T) {
	for _, why := range []error{syscall.ENOSPC, syscall.EACCES, syscall.EROFS, syscall.EIO} {
		err := uploadError(&os.PathError{Op: "write", Path: "x", Err: why})
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != engine.Unavailable || e.RetryAfter == 0 {
			t.Errorf("%v: got %v, want unavailable", why, err)
		}
	}
}
