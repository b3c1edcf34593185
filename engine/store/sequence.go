package store

import (
	"context"
	"strings"
)

// NextNumber implements engine.Sequences for the counters that formulas use.
func (s *Store) NextNumber(ctx context.Context, name string) (n int64, err error) {
	err = s.writer.doStatement(ctx, nil, func(w *session) error {
		n, err = nextNumber(w, name)
		return err
	})
	return n, err
}

// LastNumbers implements engine.Sequences.
func (s *Store) LastNumbers(ctx context.Context, name string) (map[string]int64, error) {
	b := newBuilder(s.traits)
	b.add(`SELECT "name", `, storedNumber, ` FROM `, counterTable, ` WHERE `)
	if name == "" {
		b.add(`substr("name", 1, 1) = `)
	} else {
		b.add(`"name" = `)
	}
	b.bind(namedCounter(name))
	all := map[string]int64{}
	var counter string
	var n int64
	err := s.dumpRows(ctx, b, &result{}, []any{&counter, &n}, func(*session) error {
		if name := counter[len(namedCounter("")):]; !strings.Contains(name, "#") { // counters of the server's own items have a #
			all[name] = n
		}
		return nil
	})
	return all, err
}

// SetNumber implements engine.Sequences.
func (s *Store) SetNumber(ctx context.Context, name string, last int64) error {
	return s.writer.doStatement(ctx, nil, func(w *session) error {
		return setCounter(w, namedCounter(name), last)
	})
}

// RaiseNumbers raises counters to the given numbers. It never lowers a counter.
func (s *Store) RaiseNumbers(ctx context.Context, last map[string]int64) error {
	counters := make(map[string]int64, len(last))
	for name, n := range last {
		counters[namedCounter(name)] = n
	}
	return s.ImportCounters(ctx, counters)
}
