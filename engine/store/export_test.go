package store

import (
	"context"
	"time"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// ListSQL returns the statement that a store with the dialect uses for q, and its arguments.
func ListSQL(d sqldb.Dialect, q *engine.Query, classes ...*engine.Class) (text string, args []any, err error) {
	return GuardedSQL(d, nil, q, classes...)
}

// GuardedSQL returns the statement that a store uses for q in a call with the guard g, and its arguments.
func GuardedSQL(d sqldb.Dialect, g engine.Guard, q *engine.Query, classes ...*engine.Class) (text string, args []any, err error) {
	s, err := planned(d, classes)
	if err != nil {
		return "", nil, err
	}
	l, err := s.queries.NewListing(s.layout.Plans[q.Class], s.reader.GuardOf(engine.WithGuard(context.Background(), g)), q)
	return l.Text, l.Args, err
}

// AggregateSQL returns the statement that a store uses for an aggregation, and its arguments.
func AggregateSQL(d sqldb.Dialect, a *engine.Aggregation, classes ...*engine.Class) (text string, args []any, err error) {
	s, err := planned(d, classes)
	if err != nil {
		return "", nil, err
	}
	b := s.queries.StatementBuilder()
	sqlquery.WriteAggregation(b, s.layout.Plans[a.Class], a)
	return b.Text(), b.Args, b.Finish(s.traits)
}

func planned(d sqldb.Dialect, classes []*engine.Class) (*Store, error) {
	s := &Store{traits: d.Traits(), db: &sqldb.Database{Dialect: d}, cfg: Config{Now: func() time.Time { return time.UnixMilli(1e12) }}}
	if err := s.layOut(classes); err != nil {
		return nil, err
	}
	return s, nil
}

// Write runs statements as one write.
func (s *Store) Write(ctx context.Context, statements ...string) error {
	return s.pool.Writer.Do(ctx, func(w *conns.Session) error {
		for _, text := range statements {
			_ = w.Exec(text) // simulates a bug: the error is ignored; the later statements must not count as saved
		}
		return nil
	})
}

// Do runs a write. If single is true, the write consists of a single statement.
func (s *Store) Do(ctx context.Context, single bool, work func(w *Session) error) error {
	do := s.pool.Writer.DoTo
	if single {
		do = s.pool.Writer.DoStatement
	}
	return do(ctx, nil, func(w *conns.Session) error { return work(&Session{s, w}) })
}

// Waiting returns the number of waiting writes.
func (s *Store) Waiting() int { return s.pool.Writer.Jobs.Len() }

// Session gives tests access to the session of a write.
type Session struct {
	store *Store
	*conns.Session
}

// Exec runs a statement.
func (w *Session) Exec(text string) error { return w.Session.Exec(text) }

// Raw calls use with the connection of the driver.
func (w *Session) Raw(use func(driverConn any) error) error { return w.Conn.Raw(use) }

// Lose closes the connection of the session, as if the connection were broken.
func (w *Session) Lose() { w.store.pool.LoseConnection(w.Session) }

// ListStatement, CountStatement and GetStatement return the statements of List, Count and Get for
// the guard of ctx.
func (s *Store) ListStatement(ctx context.Context, q *engine.Query) (string, []any, error) {
	l, err := s.queries.NewListing(s.layout.Plans[q.Class], s.reader.GuardOf(ctx), q)
	return l.Text, l.Args, err
}

func (s *Store) CountStatement(ctx context.Context, q *engine.Query) (string, []any, error) {
	return s.queries.CountStatement(s.layout.Plans[q.Class], s.reader.GuardOf(ctx), q, engine.MayRead)
}

func (s *Store) GetStatement(ctx context.Context, c *engine.Class, id string) (string, []any, error) {
	key, _ := c.KeyValues(id)
	return s.queries.SelectByKey(s.layout.Plans[c], s.reader.GuardOf(ctx), engine.MayRead, key)
}

// Scanning returns the number of long reads that run, and the number of those that wait for a place.
func (s *Store) Scanning() (running, waiting int) {
	_, held := s.pool.Readers.Scans.Places.Held("")
	_, waiting = s.pool.Readers.Scans.Places.Waiting("")
	return int(held), waiting
}

// ScansWaiting returns the number of waiting long reads of one account, and the number of those of all accounts.
func (s *Store) ScansWaiting(key string) (own, all int) {
	return s.pool.Readers.Scans.Places.Waiting(key)
}

// BatchWithin sets the time after which a batch accepts no more writes. It must be called before
// the first write.
func (s *Store) BatchWithin(d time.Duration) { s.pool.Writer.Most = d }

// Stay sets how long an account counts as present after its last request. It must be called before
// the first request.
func (s *Store) Stay(d time.Duration) { s.pool.Readers.Others.Stay = d }

// Rests returns how often work has paused in favour of other accounts.
func (s *Store) Rests() int64 { return s.pool.Readers.Others.Rests.Load() }

// Moves is a list of changes of keys in one table.
type Moves struct{ all moves }

// Add records that an item gets another key.
func (m *Moves) Add(from, to string) { m.all.add(nil, from, to) }

// Key returns the present key of an item. key is the key that the item had before the change with this number.
func (m *Moves) Key(number int, key string) string {
	return m.all.presentKey(number, nil, key).(string)
}

// InOneStatement reports whether an Update with these values is one statement, without a transaction.
func (s *Store) InOneStatement(ctx context.Context, c *engine.Class, id string, v engine.Values) bool {
	key, _ := c.KeyValues(id)
	return s.newWrite(ctx, nil, 0).isSingle(&entry{plan: s.layout.Plans[c], given: v, key: key, how: modify})
}

// TableOf returns the name of the table of a class.
func (s *Store) TableOf(c *engine.Class) string { return s.layout.Plans[c].Table.Name }

// ColumnOf returns the name of the column of a property, or "" if it has none.
func (s *Store) ColumnOf(c *engine.Class, property string) string {
	if col := s.layout.Plans[c].Table.ColumnOf(c, property); col != nil {
		return col.Name
	}
	return ""
}
