package store

import (
	"context"
	"time"

	"restsrv/engine"
)

// ListSQL returns the statement with its arguments that a store with the dialect uses for q.
func ListSQL(d Dialect, q *engine.Query, classes ...*engine.Class) (text string, args []any, err error) {
	return GuardedSQL(d, nil, q, classes...)
}

// GuardedSQL is ListSQL for an account.
func GuardedSQL(d Dialect, g engine.Guard, q *engine.Query, classes ...*engine.Class) (text string, args []any, err error) {
	s, err := planned(d, classes)
	if err != nil {
		return "", nil, err
	}
	l, err := s.newListing(s.plans[q.Class], s.guardOf(engine.WithGuard(context.Background(), g)), q)
	return l.text, l.args, err
}

// AggregateSQL is ListSQL for an aggregation.
func AggregateSQL(d Dialect, a *engine.Aggregation, classes ...*engine.Class) (text string, args []any, err error) {
	s, err := planned(d, classes)
	if err != nil {
		return "", nil, err
	}
	b := s.statementBuilder()
	b.writeAggregation(s.plans[a.Class], a)
	return b.text(), b.args, b.finish(s.traits)
}

func planned(d Dialect, classes []*engine.Class) (*Store, error) {
	s := &Store{traits: d.Traits(), db: &Database{Dialect: d}, cfg: Config{Now: func() time.Time { return time.UnixMilli(1e12) }}}
	if err := s.layOut(classes, newMemory(nil)); err != nil {
		return nil, err
	}
	return s, nil
}

// Write runs statements as one write.
func (s *Store) Write(ctx context.Context, statements ...string) error {
	return s.writer.do(ctx, func(w *session) error {
		for _, text := range statements {
			_ = w.exec(text) // simulates a bug: ignore the error; the statements after it must not count as saved
		}
		return nil
	})
}

// Do runs a write: of a single statement if single is true, else of any statements.
func (s *Store) Do(ctx context.Context, single bool, work func(w *Session) error) error {
	do := s.writer.doTo
	if single {
		do = s.writer.doStatement
	}
	return do(ctx, nil, func(w *session) error { return work(&Session{s, w}) })
}

// Waiting returns the number of waiting writes.
func (s *Store) Waiting() int { return s.writer.jobs.len() }

// Session is the session of a write.
type Session struct {
	store *Store
	*session
}

// Exec runs a statement.
func (w *Session) Exec(text string) error { return w.exec(text) }

// Raw calls use with the connection of the driver.
func (w *Session) Raw(use func(driverConn any) error) error { return w.conn.Raw(use) }

// Lose closes the connection as a broken one.
func (w *Session) Lose() { w.store.loseConnection(w.session) }

// ListStatement, CountStatement and GetStatement return the statements of List, Count and Get for
// the guard of ctx.
func (s *Store) ListStatement(ctx context.Context, q *engine.Query) (string, []any, error) {
	l, err := s.newListing(s.plans[q.Class], s.guardOf(ctx), q)
	return l.text, l.args, err
}

func (s *Store) CountStatement(ctx context.Context, q *engine.Query) (string, []any, error) {
	return s.countStatement(s.plans[q.Class], s.guardOf(ctx), q, engine.MayRead)
}

func (s *Store) GetStatement(ctx context.Context, c *engine.Class, id string) (string, []any, error) {
	key, _ := c.KeyValues(id)
	return s.selectByKey(s.plans[c], s.guardOf(ctx), engine.MayRead, key)
}

// Scanning returns how many long readings run, and how many wait for a place.
func (s *Store) Scanning() (running, waiting int) {
	_, held := s.readers.scans.places.Held("")
	_, waiting = s.readers.scans.places.Waiting("")
	return int(held), waiting
}

// ScansWaiting returns how many long readings of one account wait for a place, and how many of all
// accounts.
func (s *Store) ScansWaiting(key string) (own, all int) { return s.readers.scans.places.Waiting(key) }

// BatchWithin sets the time after which a batch accepts no more writes. It must be called before
// the first write.
func (s *Store) BatchWithin(d time.Duration) { s.writer.most = d }

// Stay sets how long an account counts as present after its last request. It must be called before
// the first request.
func (s *Store) Stay(d time.Duration) { s.readers.others.stay = d }

// Rests returns how often work has paused in favour of other accounts.
func (s *Store) Rests() int64 { return s.readers.others.rests.Load() }

// Moves is a list of changes of keys in one table.
type Moves struct{ all moves }

// Add records that an item gets another key.
func (m *Moves) Add(from, to string) { m.all.add(nil, from, to) }

// Key returns the key after all changes from number on.
func (m *Moves) Key(number int, key string) string {
	return m.all.presentKey(number, nil, key).(string)
}

// InOneStatement reports whether an Update is one statement, without a transaction.
func (s *Store) InOneStatement(ctx context.Context, c *engine.Class, id string, v engine.Values) bool {
	key, _ := c.KeyValues(id)
	return s.newWrite(ctx, nil, 0).isSingle(&entry{plan: s.plans[c], given: v, key: key, how: modify})
}

// TableOf returns the name of the table of a class.
func (s *Store) TableOf(c *engine.Class) string { return s.plans[c].table.name }

// ColumnOf returns the name of the column of a property, or "" if it has none.
func (s *Store) ColumnOf(c *engine.Class, property string) string {
	if col := s.plans[c].table.columnOf(c, property); col != nil {
		return col.name
	}
	return ""
}
