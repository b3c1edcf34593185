package store

import (
	"context"
	"strings"

	"restsrv/engine/store/conns"
	"restsrv/engine/store/schema"
	"restsrv/engine/store/sqldb"
)

// NextNumber implements engine.Sequences for the counters that formulas use.
func (s *Store) NextNumber(ctx context.Context, name string) (n int64, err error) {
	err = s.pool.Writer.DoStatement(ctx, nil, func(w *conns.Session) error {
		n, err = schema.NextNumber(w, name)
		return err
	})
	return n, err
}

// LastNumbers implements engine.Sequences.
func (s *Store) LastNumbers(ctx context.Context, name string) (map[string]int64, error) {
	b := sqldb.NewBuilder(s.traits)
	b.Add(`SELECT "name", `, schema.StoredNumber, ` FROM `, schema.CounterTable, ` WHERE `)
	if name == "" {
		b.Add(`substr("name", 1, 1) = `)
	} else {
		b.Add(`"name" = `)
	}
	b.Bind(schema.NamedCounter(name))
	all := map[string]int64{}
	var counter string
	var n int64
	err := s.dumpRows(ctx, b, &sqldb.Result{}, []any{&counter, &n}, func(*conns.Session) error {
		if name := counter[len(schema.NamedCounter("")):]; !strings.Contains(name, "#") { // counters of the server's own items have a #
			all[name] = n
		}
		return nil
	})
	return all, err
}

// SetNumber implements engine.Sequences.
func (s *Store) SetNumber(ctx context.Context, name string, last int64) error {
	return s.pool.Writer.DoStatement(ctx, nil, func(w *conns.Session) error {
		return schema.SetCounter(w, schema.NamedCounter(name), last)
	})
}

// RaiseNumbers raises counters to the given numbers. It never lowers a counter.
func (s *Store) RaiseNumbers(ctx context.Context, last map[string]int64) error {
	counters := make(map[string]int64, len(last))
	for name, n := range last {
		counters[schema.NamedCounter(name)] = n
	}
	return s.ImportCounters(ctx, counters)
}
