package schema

import (
	"context"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/sqldb"
)

// Sequences implements service.Sequences for the counters that formulas use. It can also raise all counters for an
// import.
type Sequences struct {
	Pool   *conns.Pool
	Traits sqldb.Traits
}

// NextNumber implements service.Sequences.
func (s *Sequences) NextNumber(ctx context.Context, name string) (n int64, err error) {
	err = s.Pool.Writer.DoStatement(ctx, nil, func(w *conns.Session) error {
		n, err = NextNumber(w, name)
		return err
	})
	return n, err
}

// LastNumbers implements service.Sequences.
func (s *Sequences) LastNumbers(ctx context.Context, name string) (map[string]int64, error) {
	b := sqldb.NewBuilder(s.Traits)
	b.Add(`SELECT "name", `, StoredNumber, ` FROM `, CounterTable, ` WHERE `)
	if name == "" {
		b.Add(`substr("name", 1, 1) = `)
	} else {
		b.Add(`"name" = `)
	}
	b.Bind(NamedCounter(name))
	all := map[string]int64{}
	err := s.Pool.RunRead(ctx, func(r *conns.Session) error {
		return r.VisitRows(b, 2, func(row []any) {
			name := sqldb.TextOf(row[0])[len(NamedCounter("")):]
			if n, _ := sqldb.ReadValue(engine.Int, row[1]).(int64); !strings.Contains(name, "#") { // a counter with a # in its name is for items of the server itself
				all[name] = n
			}
		})
	})
	return all, err
}

// SetNumber implements service.Sequences.
func (s *Sequences) SetNumber(ctx context.Context, name string, last int64) error {
	return s.Pool.Writer.DoStatement(ctx, nil, func(w *conns.Session) error {
		return SetCounter(w, NamedCounter(name), last)
	})
}

// RaiseNumbers raises counters of formulas to at least the given numbers. Use it when numbers are imported.
func (s *Sequences) RaiseNumbers(ctx context.Context, last map[string]int64) error {
	counters := make(map[string]int64, len(last))
	for name, n := range last {
		counters[NamedCounter(name)] = n
	}
	return s.ImportCounters(ctx, counters)
}

// ImportCounters raises counters to at least the given numbers.
func (s *Sequences) ImportCounters(ctx context.Context, counters map[string]int64) error {
	return s.Pool.Writer.Do(ctx, func(w *conns.Session) error {
		for name, value := range counters {
			if err := RaiseCounter(w, name, value); err != nil {
				return err
			}
		}
		return nil
	})
}
