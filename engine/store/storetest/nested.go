package storetest

import (
	"testing"

	"restsrv/engine"
)

// NestedRecord returns a nested record for a reference or a member.
func NestedRecord(c *engine.Class, pairs ...any) *engine.Record {
	return &engine.Record{Class: c, Values: NewValues(c, pairs...)}
}

// Update updates an item, and fails the test if that fails.
func Update(t *testing.T, r engine.Repository, c *engine.Class, id string, pairs ...any) *engine.Item {
	t.Helper()
	it, err := r.Update(t.Context(), c, id, NewValues(c, pairs...), engine.WriteOptions{})
	if err != nil {
		t.Fatalf("update %s: %v", id, err)
	}
	return it
}
