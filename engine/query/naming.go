package query

import (
	"slices"
	"time"

	"restsrv/engine"
)

// MaxNames is the maximum number of subjects in one condition.
const MaxNames = 500

// NamesOneOf returns a filter for items of c by an attribute that names subjects, such as accounts. path leads to the
// attribute, possibly through references and collections. The filter matches items in which the value of the attribute
// is one of the subjects. For a reference, the id of its target counts as the value. The error is Invalid.
func NamesOneOf(c *engine.Class, path string, subjects []any) (*engine.Filter, error) {
	return ParseFilter(c, engine.Fields{{Name: "in", Value: []any{"$" + path, subjects}}}, time.Time{})
}

// Naming returns the same filter as NamesOneOf, but accepts any number of subjects. It ignores subjects that are not
// values of the attribute's type. If the path does not exist, the error is Invalid.
func Naming(c *engine.Class, path string, subjects []string) (*engine.Filter, error) {
	if _, err := NamesOneOf(c, path, nil); err != nil {
		return engine.Never(), err
	}
	var fit []any
	for _, s := range subjects {
		if _, err := NamesOneOf(c, path, []any{s}); err == nil {
			fit = append(fit, s)
		}
	}
	var all []*engine.Filter
	for part := range slices.Chunk(fit, MaxNames) {
		if f, err := NamesOneOf(c, path, part); err == nil {
			all = append(all, f)
		}
	}
	return engine.Either(all...), nil
}
