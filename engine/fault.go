package engine

import (
	"errors"
	"strings"
)

// ErrOutside is the error for a symbolic link in an application directory that
// leads out of the directory.
var ErrOutside = errors.New("a symbolic link that leaves the directory")

// Unreadable describes a file that could not be read, as Fault.Found.
func Unreadable(err error) string { return unreadable(err, "a file that cannot be read") }

// UnreadableFolder is Unreadable for a folder.
func UnreadableFolder(err error) string { return unreadable(err, "something that cannot be read") }

func unreadable(err error, otherwise string) string {
	if errors.Is(err, ErrOutside) {
		return ErrOutside.Error()
	}
	return otherwise
}

// Fault is one mistake in a file that people write: a deploy.json or a class
// file. Line and Column are 0 when only the JSON path is known.
type Fault struct {
	File     string // path as the user knows it, relative to the application directory
	Path     string // JSON path, such as classes[0].properties[2].type; "" for the whole file
	Line     int
	Column   int
	Found    string // what is there, "" when something is missing
	Expected string // what should be there
	Warning  bool   // the server can start all the same
}

// String is the one-line form: file: path: found X, expected Y.
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
		b.WriteString(": found " + f.Found)
	}
	b.WriteString(": expected " + f.Expected)
	return b.String()
}

// Faults is the error that carries every mistake found in one pass.
type Faults []Fault

// Error lists the faults, one a line.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Split separates what stops the start from what is only worth a warning.
func (fs Faults) Split() (errors, warnings Faults) {
	for _, f := range fs {
		if f.Warning {
			warnings = append(warnings, f)
		} else {
			errors = append(errors, f)
		}
	}
	return errors, warnings
}
