package store

import (
	"context"

	"restsrv/engine"
)

// ListSQL is the statement, and what it binds, with which a database of the
// dialect answers q.
func ListSQL(d Dialect, q *engine.Query) (text string, args []any, err error) {
	s := &Store{traits: d.Traits(), db: &Database{Dialect: d}}
	if err := s.layOut([]*engine.Class{q.Class}); err != nil {
		return "", nil, err
	}
	p := s.plans[q.Class]
	p.write(s.traits)
	return s.listStatement(p, q)
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
