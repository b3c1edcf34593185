package store

import (
	"context"
	"time"

	"restsrv/engine"
)

// ListSQL is the statement, and what it binds, with which a database of the
// dialect answers q.
func ListSQL(d Dialect, q *engine.Query, classes ...*engine.Class) (text string, args []any, err error) {
	s, err := planned(d, classes)
	if err != nil {
		return "", nil, err
	}
	l, err := s.listing(s.plans[q.Class], nil, q)
	return l.text, l.args, err
}

// AggregateSQL is ListSQL for an aggregation.
func AggregateSQL(d Dialect, a *engine.Aggregation, classes ...*engine.Class) (text string, args []any, err error) {
	s, err := planned(d, classes)
	if err != nil {
		return "", nil, err
	}
	b := s.builder()
	b.aggregation(s.plans[a.Class], a)
	return b.text(), b.args, b.finish(s.traits)
}

func planned(d Dialect, classes []*engine.Class) (*Store, error) {
	s := &Store{traits: d.Traits(), db: &Database{Dialect: d}, cfg: Config{Now: func() time.Time { return time.UnixMilli(1e12) }}}
	if err := s.layOut(classes); err != nil {
		return nil, err
	}
	for _, p := range s.plans {
		p.write(s.traits)
	}
	return s, nil
}

// Write runs statements as one write.
func (s *Store) Write(ctx context.Context, statements ...string) error {
	return s.writer.do(ctx, func(w *session) error {
		for _, text := range statements {
			_ = w.exec(text) // a mistake: what follows must not be taken for saved
		}
		return nil
	})
}
