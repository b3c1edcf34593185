package storetest

import (
	"testing"

	"restsrv/engine"
)

// CheckDenied checks that an error is exactly engine.Denied, without details that could disclose hidden data.
func CheckDenied(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s is allowed", what)
		return
	}
	e := CheckError(t, err, engine.Forbidden, "denied")
	plain := *e
	plain.Index, plain.Bulk = 0, false
	CheckSame(t, what, &plain, engine.Denied())
}

// TryCreate creates an item and returns only the error. Use it when the test expects an error.
func TryCreate(t *testing.T, r engine.Repository, c *engine.Class, pairs ...any) error {
	t.Helper()
	_, err := r.Create(t.Context(), c, NewValues(c, pairs...), engine.WriteOptions{})
	return err
}

// TrySave saves records and returns only the error. Use it when the test expects an error.
func TrySave(t *testing.T, r engine.Repository, records ...engine.Record) error {
	t.Helper()
	_, err := r.Save(t.Context(), records)
	return err
}
