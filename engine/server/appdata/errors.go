package appdata

import (
	"errors"
	"io/fs"

	"restsrv/engine"
)

// PlainError reduces an expected error to its message. If the error is unexpected,
// it keeps the cause, which is useful on the command line.
func PlainError(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Code != engine.Internal && e.Code != engine.Unavailable {
		return errors.New(e.Message)
	}
	return err
}

// PathCause removes the path from an error, if the caller prints the path
// itself.
func PathCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
