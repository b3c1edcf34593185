package engine

import (
	"errors"
	"fmt"
	"time"
)

// Code is the class of a failure. Each has exactly one HTTP status, in the
// table of engine/rest/error.go.
type Code int

// The codes. Internal is the zero value, so that an unclassified error is
// treated as a failure of the server.
const (
	Internal        Code = iota
	Invalid              // the client can correct the request; see also IsDuplicate
	Unauthenticated      // credentials are missing or wrong
	Forbidden            // the account may not do this
	NotFound             // no such class, item or service
	Conflict             // the request conflicts with another one
	Unmatched            // If-Match does not match the revision of the item
	Unprocessable        // the Idempotency-Key was used before with another request
	TooLarge             // over a size limit
	Unsupported          // the body has a Content-Encoding
	TooMany              // over a rate limit
	Unavailable          // the database cannot be reached or a queue is full
	Timeout              // a time limit was exceeded
)

// Error is the error type of the server. Message is for the client and must not
// contain SQL, stack traces, paths or secrets. Err is the cause, for the log
// only.
type Error struct {
	Code       Code
	Reason     string // code for programs, "code" on the wire: "required", "type", "duplicate" ...
	Message    string
	Class      string        // class that the failure concerns, or ""
	ID         string        // id of the item that the failure concerns, or ""
	Attribute  string        // property that the failure concerns, or ""
	Params     Fields        // for moves in workflows: the parameters of Message
	Index      int           // 0-based record of a bulk request; valid if Bulk
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

// Errorf returns an Error with a formatted message and without a cause. Do not
// use %w: use Wrap to keep a cause.
func Errorf(code Code, reason, format string, args ...any) *Error {
	return &Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an Internal error with the cause err, which only the log
// contains.
func Wrap(err error, doing string) *Error {
	return &Error{Reason: "internal", Message: doing, Err: err}
}

// AtRecord sets the record of a bulk request that an Error concerns. It returns
// other errors unchanged.
func AtRecord(err error, i int) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Bulk, c.Index = true, i
	return &c
}

// CodeOf returns the code of the first Error in err's chain, or Internal if
// there is no Error in it.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// IsDuplicate reports whether err is the Invalid error for a key or a unique value
// that another item has already.
func IsDuplicate(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == Invalid && e.Reason == "duplicate"
}

// NoClass returns the error for the name of a class that does not exist.
func NoClass(name string) *Error {
	e := Errorf(NotFound, "unknown-class", "class %s does not exist", Quote(name))
	e.Class = name
	return e
}

// NoItem returns the error for the id of an item that does not exist.
func NoItem(c *Class, id string) *Error {
	e := Errorf(NotFound, "unknown-object", "%s has no object %s", c.FullName, Quote(id))
	e.Class, e.ID = c.FullName, id
	return e
}

// Quote returns s in double quotes, escaped and cut to 80 characters, so that a
// message can contain any input of a client.
func Quote(s string) string { return fmt.Sprintf("%q", Cut(s, 80)) }

// Cut returns s if it has at most that many characters, else its first
// characters followed by "…".
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
