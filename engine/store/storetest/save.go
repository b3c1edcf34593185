package storetest

import (
	"testing"

	"restsrv/engine"
)

// Save saves records, and stops the test if that fails.
func Save(t *testing.T, r engine.Repository, records ...engine.Record) []*engine.Item {
	t.Helper()
	items, err := r.Save(t.Context(), records)
	if err != nil {
		t.Fatalf("save: %v", err)
	}
	if len(items) != len(records) {
		t.Fatalf("save returned %d items for %d records", len(items), len(records))
	}
	return items
}

// CheckStored checks that the items which a write has returned are equal to the stored items.
func CheckStored(t *testing.T, r engine.Repository, items []*engine.Item) {
	t.Helper()
	for _, it := range items {
		CheckSame(t, "stored "+it.ID, Get(t, r, it.Class, it.ID), it)
	}
}
