package store_test

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// TestReadersAreReused: consecutive reads use one connection, because opening more would cost a start some
// milliseconds.
func TestReadersAreReused(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		var db *sqldb.Database
		open := p.open
		p.open = func() (*sqldb.Database, error) {
			d, err := open()
			db = d
			return d, err
		}
		c := note()
		s := openAt(t, p, c)
		before := db.Read.Stats().OpenConnections
		for range 5 {
			if _, err := s.Count(t.Context(), &engine.Query{Class: c}); err != nil {
				t.Fatal(err)
			}
		}
		if n := db.Read.Stats().OpenConnections; n > max(before, 1) {
			t.Errorf("5 readings, one after the other, have %d connections open", n)
		}
	})
}
