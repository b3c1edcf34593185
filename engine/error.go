package engine

import (
	"errors"
	"fmt"
	"time"
)

// Code is the class of a failure. Each has exactly one HTTP status, in the
// table of engine/rest/error.go.
type Code int

// The codes. Internal is the zero value, so that an error nobody classified is
// treated as our own failure.
const (
	Internal        Code = iota
	Invalid              // the client can mend the request
	Unauthenticated      // credentials are missing or wrong
	Forbidden            // the account may not do this
	NotFound             // no such class, item or service
	Conflict             // the request contradicts another one
	Unmatched            // If-Match named another revision
	Unprocessable        // an Idempotency-Key came before, with another request
	TooLarge             // over a size limit
	Unsupported          // the body has a Content-Encoding
	TooMany              // over a rate limit
	Unavailable          // the database is away or a queue is full
	Timeout              // a time limit ended the work
)

// Error is the one error type. Message is for the client and never holds SQL,
// stacks, paths or secrets; Err is the cause, for the log only.
type Error struct {
	Code       Code
	Reason     string // machine word, "code" on the wire: "required", "type", "duplicate" ...
	Message    string
	Class      string        // class the failure is about, or ""
	ID         string        // item the failure is about, or ""
	Attribute  string        // property the failure is about, or ""
	Params     Fields        // of moves in workflows: what Message is made of
	Index      int           // 0-based record of a bulk request; meaningful when Bulk
	Bulk       bool          // Index is set
	RetryAfter time.Duration // for TooMany and Unavailable; 0 means 1 s
	Err        error
}

// Error returns the message and, for the log, the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error. A %w in format sets the cause without showing it in
// the message only if it is passed through Wrap instead.
func Errorf(code Code, reason, format string, args ...any) *Error {
	return &Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an Internal error that keeps err for the log.
func Wrap(err error, doing string) *Error {
	return &Error{Reason: "internal", Message: doing, Err: err}
}

// AtRecord says of which record of a bulk request an Error is; any other error
// is left as it is.
func AtRecord(err error, i int) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Bulk, c.Index = true, i
	return &c
}

// CodeOf returns the code of the first Error in err's chain, Internal if none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// NoClass is the error for a class name that no class has.
func NoClass(name string) *Error {
	e := Errorf(NotFound, "unknown-class", "class %s does not exist", Quote(name))
	e.Class = name
	return e
}

// NoItem is the error for an id that no item of the class has.
func NoItem(c *Class, id string) *Error {
	e := Errorf(NotFound, "unknown-object", "%s has no object %s", c.FullName, Quote(id))
	e.Class, e.ID = c.FullName, id
	return e
}

// Quote returns s in double quotes, escaped and cut to 80 characters, so that
// whatever a client sent can be named in a message.
func Quote(s string) string { return fmt.Sprintf("%q", Cut(s, 80)) }

// Cut returns the first characters of s; "…" stands for the rest.
func Cut(s string, characters int) string {
	if len(s) <= characters {
		return s
	}
	n := 0
	for i := range s {
		if n == characters {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
