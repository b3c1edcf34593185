package storetest

import (
	"testing"

	"restsrv/engine"
)

// NestedRecord returns a record to be used as the value of a reference or as a member of a collection.
func NestedRecord(c *engine.Class, pairs ...any) *engine.Record {
	return &engine.Record{Class: c, Values: NewValues(c, pairs...)}
}

// Update updates an item, and stops the test if that fails.
func Update(t *testing.T, r engine.Repository, c *engine.Class, id string, pairs ...any) *engine.Item {
	t.Helper()
	it, err := r.Update(t.Context(), c, id, NewValues(c, pairs...), engine.WriteOptions{})
	if err != nil {
		t.Fatalf("update %s: %v", id, err)
	}
	return it
}
