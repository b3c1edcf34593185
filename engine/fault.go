package engine

import (
	"errors"
	"slices"
	"strings"
)

// ErrOutside is the error for a symbolic link in an application directory that
// leads out of the directory.
var ErrOutside = errors.New("a symbolic link that leaves the directory")

// Unreadable describes a file that could not be read, as Fault.Found.
func Unreadable(err error) string { return describeUnreadable(err, "a file that cannot be read") }

// UnreadableFolder is Unreadable for a folder.
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

// Stop reports whether a fault is fatal.
func (fs Faults) Stop() bool {
	return slices.ContainsFunc(fs, func(f Fault) bool { return f.Level == Fatal })
}
