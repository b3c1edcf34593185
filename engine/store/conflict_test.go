package store

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/table"
)

// TestDuplicateOfKey checks a write that did not find its item and then violates a unique index. If the index is that
// of the key, the write must always be repeated, because the next attempt finds the item. If it is that of another
// attribute, the duplicate must be reported after some attempts.
func TestDuplicateOfKey(t *testing.T) {
	for _, id := range []string{"id", layout.IDColumn} {
		p := &layout.Plan{Table: &layout.Table{ID: &layout.Column{Name: id}}}
		for attempts := 1; attempts <= conns.MaxAttempts; attempts++ {
			for _, broken := range []string{id, "code"} {
				d := engine.Errorf(engine.Invalid, "duplicate", "class %s already has such an object", "c@test")
				d.Err = &table.Conflict{Plan: p, Index: sqldb.Index{Columns: []string{broken}}}
				sv := &save{attempts: attempts}
				sv.makeSteps()
				got := conns.IsMarked(sv.rows.duplicateError(atRecord(1, d)))
				if want := broken == id || attempts < duplicateAttempts; got != want {
					t.Errorf("key %s, duplicate of %s, attempt %d: got another attempt: %t, want %t", id, broken, attempts, got, want)
				}
			}
		}
	}
}
