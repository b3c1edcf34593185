package data

import (
	"context"
	"slices"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/script/vm"
)

// aggregateMembers are the options of aggregate(class, options) that restsrv supports. Other options of IONDV are
// ignored.
var aggregateMembers = []string{"fields", "aggregates", "filter", "sort", "offset", "count", "distinct", "skipSubClasses"}

// aggregate implements aggregate(class, options). It returns an array of rows: plain objects with the requested
// fields and aggregates.
func (r *jsRepository) aggregate(call goja.FunctionCall) (vm.Operation, error) {
	c, _, err := r.readTarget(call.Argument(0))
	if err != nil {
		return vm.Operation{}, err
	}
	decoded, err := r.h.ToCondition(call.Argument(1), 1)
	if err != nil {
		return vm.Operation{}, err
	}
	given, _ := decoded.(engine.Fields)
	var members engine.Fields
	for _, f := range given {
		switch {
		case slices.Contains(aggregateMembers, f.Name):
			members = append(members, f)
		case f.Value != nil && (f.Name == "to" || f.Name == "append"):
			return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "aggregate does not take %q: it stores no rows; create items of them", f.Name)
		default:
			r.logIgnoredOption("aggregate", f.Name)
		}
	}
	if !slices.ContainsFunc(members, isComputedOption) {
		return r.storedRows(call)
	}
	a, err := query.ParseAggregation(c, members, r.h.Service.Now())
	if err != nil {
		return vm.Operation{}, err
	}
	limit := r.h.Limits.Rows
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		var rows [][]any
		err := r.repo.Aggregate(ctx, a, func(row []any) error {
			if len(rows) == limit {
				return engine.Errorf(engine.Invalid, "too-many-items",
					"aggregate made more than %d rows of %s: pass a count, or a narrower filter", limit, c.FullName)
			}
			rows = append(rows, slices.Clone(row))
			return nil
		})
		return func() goja.Value { return r.h.rowsArray(a.Names(), rows) }, err
	}}, nil
}
