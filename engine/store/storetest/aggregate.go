package storetest

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/query"
)

// ListRows runs an aggregation given as JSON and returns its rows as JSON.
func ListRows(t *testing.T, r engine.Repository, c *engine.Class, aggregation string) []string {
	t.Helper()
	a, err := query.ParseAggregation(c, DecodeJSON(t, aggregation), Now)
	if err != nil {
		t.Fatalf("%s: %v", aggregation, err)
	}
	rows := []string{}
	err = r.Aggregate(t.Context(), a, func(row []any) error {
		rows = append(rows, string(engine.AppendValue(nil, append([]any(nil), row...))))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", aggregation, err)
	}
	return rows
}
