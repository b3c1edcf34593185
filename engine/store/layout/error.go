package layout

import (
	"fmt"
	"strings"
)

// SchemaError lists all changes of the classes that the stored data does not permit, and invalid names. If it is
// returned, the database is unchanged.
type SchemaError struct{ Problems []string }

// Error lists the problems, one per line.
func (e *SchemaError) Error() string {
	return "the classes do not fit the stored data:\n  " + strings.Join(e.Problems, "\n  ")
}

// Add adds a problem.
func (e *SchemaError) Add(format string, args ...any) {
	e.Problems = append(e.Problems, fmt.Sprintf(format, args...))
}

// OrNil returns e, or nil if there are no problems.
func (e *SchemaError) OrNil() error {
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}
