package appdata

import (
	"errors"
	"io/fs"

	"restsrv/engine"
)

// PlainError returns only the message of an expected error. It does not change unexpected errors,
// since their causes are useful for the user of a command.
func PlainError(err error) error {
	var e *engine.Error
	if errors.As(err, &e) && e.Code != engine.Internal && e.Code != engine.Unavailable {
		return errors.New(e.Message)
	}
	return err
}

// PathCause removes the path from an error. Use it if you print the path yourself.
func PathCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
