package store

import (
	"errors"
	"testing"

	"restsrv/engine"
)

// TestDuplicateOfKey: a write whose item was not found, and then has the key of
// another one, is always made again, because the next attempt finds that item. If
// another attribute is taken, the duplicate counts after some attempts.
func TestDuplicateOfKey(t *testing.T) {
	for _, id := range []string{"id", idColumn} {
		p := &plan{table: &table{id: &column{name: id}}}
		for attempts := 1; attempts <= maxAttempts; attempts++ {
			for _, broken := range []string{id, "code"} {
				d := engine.Errorf(engine.Invalid, "duplicate", "class %s already has such an object", "c@test")
				d.Err = &conflict{plan: p, index: Index{Columns: []string{broken}}}
				sv := &save{attempts: attempts}
				var mark again
				got := errors.As(sv.duplicated(atRecord(1, d)), &mark)
				if want := broken == id || attempts < duplicateAttempts; got != want {
					t.Errorf("key %s, duplicate of %s, attempt %d: got another attempt: %t, want %t", id, broken, attempts, got, want)
				}
			}
		}
	}
}
