package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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

// AtRecord marks err as the error of record i of a bulk request; i counts from 0. If err is not an *Error, AtRecord
// returns it unchanged.
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

// InternalText is the only text that clients get for internal errors. The cause is logged.
const InternalText = "Internal server error"

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

// ErrOutside is the error for a symbolic link in an application directory that
// leads out of the directory.
var ErrOutside = errors.New("a symbolic link that leaves the directory")

// Unreadable returns the text for Fault.Found about a file that could not be read because of err.
func Unreadable(err error) string { return describeUnreadable(err, "a file that cannot be read") }

// UnreadableFolder returns the text for Fault.Found about a folder that could not be read
// because of err.
func UnreadableFolder(err error) string {
	return describeUnreadable(err, "something that cannot be read")
}

func describeUnreadable(err error, otherwise string) string {
	if errors.Is(err, ErrOutside) {
		return ErrOutside.Error()
	}
	return otherwise
}

// Level is the effect of a fault on the start of the server.
type Level int

const (
	Fatal   Level = iota // the server does not start
	Mistake              // the server starts unless it is strict, and acts as Resolution says
	Warning              // the server starts
)

// String returns "fatal", "mistake" or "warning".
func (l Level) String() string { return [...]string{"fatal", "mistake", "warning"}[l] }

// Fault is an error in a file that people write, such as a deploy.json or a class
// file. Line and Column are 0 if only the JSON path is known.
type Fault struct {
	File       string // path as shown to the user, relative to the application directory
	Path       string // JSON path, such as classes[0].properties[2].type; "" for the whole file
	Line       int
	Column     int
	Level      Level
	Code       string // code of the rule for such faults; "" if there is none
	Found      string // found value; "" if a value is missing
	Expected   string // expected value
	Resolution string // action of the server instead; every mistake has one
}

// String returns the fault on one line: file:line:column: path: found X, expected
// Y: resolution.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		b.WriteString(":" + itoa(f.Line) + ":" + itoa(f.Column))
	}
	if f.Path != "" {
		b.WriteString(": " + f.Path)
	}
	if f.Found != "" {
		b.WriteString(": found " + f.Found + ", expected " + f.Expected)
	} else {
		b.WriteString(": expected " + f.Expected)
	}
	if f.Resolution != "" {
		b.WriteString(": " + f.Resolution)
	}
	return b.String()
}

// Faults is an error with all faults that were found in one pass.
type Faults []Fault

// Error lists the faults, one per line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Split separates the faults that prevent the start from those that are only
// reported. A strict server does not start with mistakes either.
func (fs Faults) Split(strict bool) (errors, warnings Faults) {
	for _, f := range fs {
		if f.Level == Fatal || strict && f.Level == Mistake {
			errors = append(errors, f)
		} else {
			warnings = append(warnings, f)
		}
	}
	return errors, warnings
}

// Stop reports whether any of the faults is Fatal.
func (fs Faults) Stop() bool {
	return slices.ContainsFunc(fs, func(f Fault) bool { return f.Level == Fatal })
}
