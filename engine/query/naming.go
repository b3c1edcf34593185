package query

import (
	"slices"
	"time"

	"restsrv/engine"
)

// MaxNames is the maximum number of subjects in one condition.
const MaxNames = 500

// NamesOneOf returns the filter for items of c in which the attribute at the end of
// path is one of the subjects, or refers to an item with such an id. The path may
// lead through references and collections. The error is Invalid.
func NamesOneOf(c *engine.Class, path string, subjects []any) (*engine.Filter, error) {
	return ParseFilter(c, engine.Fields{{Name: "in", Value: []any{"$" + path, subjects}}}, time.Time{})
}

// Naming returns the same filter as NamesOneOf, for any number of subjects. It ignores
// subjects that are not values of the attribute's type. The error is Invalid if the path
// does not exist.
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
