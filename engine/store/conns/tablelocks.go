package conns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/share"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// Another session of the database can lock a table for a long time, for example by ALTER TABLE, VACUUM FULL or LOCK
// TABLE of an operator. Requests for other tables must not be affected. Therefore requests that wait for such a lock
// must not hold connections.
//
// A goroutine looks at the sessions every lookEvery. If a session has been busy with the same work since the last
// look, the goroutine asks the database which sessions wait for a lock on a table. For each such table:
//   - One read and one write may continue to wait in the database.
//   - A few transactions and snapshots of several calls may continue to wait too, because they cannot be repeated.
//   - All other requests are evicted: their statement is ended, and they wait for their turn without a connection, for
//     at most Config.LockTime. If the table has been locked for longer than Config.LockTime, they are refused
//     immediately.
//
// As soon as a request can use the table, the table counts as unlocked.
const lookEvery = 50 * time.Millisecond

// askEvery is the number of looks after which the goroutine asks the database again about a session that is still busy
// with the same work.
const askEvery = 10

// maxLockedTables limits the number of locked tables. For each of them, one read and one write may wait in the
// database. Requests for further locked tables are refused.
const maxLockedTables = 3

// tableLocks records which tables are locked. It is shared by all Stores of the database.
type tableLocks struct {
	db    *sqldb.Database
	limit time.Duration // maximum wait of a request
	queue int           // maximum number of requests of one account that wait for a table
	whole *share.Pool   // places of transactions and snapshots of several calls that wait in the database; nil if none may wait
	log   *slog.Logger
	Some  atomic.Bool // whether any table is locked
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu       sync.Mutex
	sessions map[*Session]bool // the sessions with a connection
	waits    map[TableUse]*tableWait
}

// TableUse is a table and whether it is read or written, because some locks do not block reads.
type TableUse struct {
	Table string // quoted
	Write bool
}

// tableWait describes a table that another session has locked for one kind of use.
type tableWait struct {
	since, seen time.Time   // when the lock was noticed, and when a request was last seen waiting for the lock
	place       *share.Pool // has one place, for the request that waits in the database
}

// newTableLocks starts the goroutine that looks at sessions. It returns nil if the database has no such locks.
func newTableLocks(db *sqldb.Database, cfg Config) *tableLocks {
	if db.Dialect.Traits().LockWaits == "" || cfg.LockTime <= 0 {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &tableLocks{db: db, limit: cfg.LockTime, queue: waitingWrites(cfg.WritesWaiting), log: cfg.Log, stop: stop, sessions: map[*Session]bool{}, waits: map[TableUse]*tableWait{}}
	if n := int64(db.Dialect.Traits().Writers-1) / 2; n > 0 {
		l.whole = share.New(share.Config{Name: "transactions that wait for a locked table", Capacity: n})
	}
	l.done.Go(func() {
		for tick := time.NewTicker(lookEvery); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				l.lookAtSessions(ctx)
			}
		}
	})
	return l
}

func (l *tableLocks) close() {
	if l != nil {
		l.stop()
		l.done.Wait()
	}
}

// watchSession adds a session to the watched sessions, or removes it.
func (l *tableLocks) watchSession(s *Session, on bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if on {
		l.sessions[s] = true
		return
	}
	delete(l.sessions, s)
}

// lookAtSessions finds the sessions that wait for a lock on a table.
func (l *tableLocks) lookAtSessions(ctx context.Context) {
	suspects := map[int64]suspect{} // by the number of the session in the database
	ask := false
	l.mu.Lock()
	for s := range l.sessions {
		turn := s.turn.Load()
		if turn != s.seenTurn || turn%turnStates == turnIdle {
			s.seenTurn, s.seenTimes = turn, 0
			continue
		}
		s.seenTimes++
		ask = ask || s.seenTimes <= 3 || s.seenTimes%askEvery == 0
		if number := s.serving.Load(); number != 0 {
			suspects[number] = suspect{s, turn}
		}
	}
	l.mu.Unlock()
	if ask && len(suspects) > 0 {
		ctx, cancel := context.WithTimeout(ctx, l.limit)
		defer cancel()
		if err := l.askDatabase(ctx, suspects); err != nil && ctx.Err() == nil {
			l.log.Debug("could not query the locks that statements wait for", "error", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for use, w := range l.waits {
		if time.Since(w.seen) > 2*askEvery*lookEvery {
			l.forgetUse(use)
		}
	}
}

// suspect is a session that has been in the same turn for several looks (see turnStates).
type suspect struct {
	session *Session
	turn    uint64
}

// askDatabase asks the database for which tables the suspects wait, and evicts the suspects that may not continue to
// wait in the database.
func (l *tableLocks) askDatabase(ctx context.Context, suspects map[int64]suspect) error {
	numbers := make([]any, 0, len(suspects))
	for n := range suspects {
		numbers = append(numbers, n)
	}
	_, list := l.db.Dialect.Array(engine.Int, numbers)
	rows, err := l.db.Read.QueryContext(ctx, l.db.Dialect.Traits().LockWaits, list)
	if err != nil {
		return err
	}
	defer rows.Close()
	var out []any
	for rows.Next() {
		var number int64
		var table string
		if err := rows.Scan(&number, &table); err != nil {
			return err
		}
		s, ok := suspects[number]
		if use := (TableUse{sqldb.QuoteName(table), s.session.writes}); ok && !l.mayWait(s, use) && s.session.evictTurn(s.turn, use) {
			defer s.session.ending.Unlock()
			out = append(out, number)
		}
	}
	if err := rows.Err(); err != nil || len(out) == 0 {
		return err
	}
	_, list = l.db.Dialect.Array(engine.Int, out)
	_, err = l.db.Read.ExecContext(ctx, l.db.Dialect.Traits().EndWaits, list)
	return err
}

// mayWait records a lock, and reports whether a session may continue to wait for the lock in the database.
func (l *tableLocks) mayWait(s suspect, use TableUse) bool {
	l.mu.Lock()
	w := l.waits[use]
	if w == nil {
		w = &tableWait{since: time.Now(), place: share.New(share.Config{Name: "requests for a locked table", Capacity: 1, Waiting: l.queue, AllWaiting: max(l.queue, queueLength)})}
		l.waits[use] = w
		l.Some.Store(true)
		l.log.Warn("another session of the database locks a table; one request waits for it there, others wait without a connection", "table", use.Table, "writes", use.Write)
	}
	w.seen = time.Now()
	all := len(l.waits)
	l.mu.Unlock()
	if may := s.session.may.Load(); may != nil && slices.Contains(*may, use) || s.session.reserved.Load() {
		return true
	}
	places := w.place
	switch {
	case s.session.whole.Load():
		places = l.whole
	case !l.hasPlace(use, all):
		places = nil
	}
	if places == nil {
		return false
	}
	place, ok := places.TryAcquire("", 1)
	if ok {
		s.session.keepWaiting(s.turn, place)
	}
	return ok
}

// hasPlace reports whether a request may wait in the database for the use of a table. all is the number of uses that
// wait for a lock. If there is only one writer, a write must not wait in the database.
func (l *tableLocks) hasPlace(use TableUse, all int) bool {
	return all <= maxLockedTables && (!use.Write || l.db.Dialect.Traits().Writers > 1)
}

// reservePlace permits one call of a transaction or snapshot to wait in the database for a table, until release is
// called. It returns an error if too many transactions and snapshots wait already. The call must have the permission
// before it begins: a waiting call is noticed only after a while, and until then many such calls could block the
// connections that other tables need.
func (l *tableLocks) reservePlace(s *Session, t *layout.Table, write bool) (release func(), err error) {
	if l == nil || t == nil || !l.Some.Load() || s.reserved.Load() {
		return func() {}, nil
	}
	if w, _ := l.FindWait(TableUse{t.Quoted, write}); w == nil {
		return func() {}, nil
	}
	if l.whole != nil {
		if place, ok := l.whole.TryAcquire("", 1); ok {
			s.reserved.Store(true)
			return func() {
				s.reserved.Store(false)
				place.Release()
			}, nil
		}
	}
	return nil, lockedTable(t.Quoted, nil)
}

// forgetUse removes a use that no longer waits. l.mu must be held.
func (l *tableLocks) forgetUse(use TableUse) {
	if l.waits[use] == nil {
		return
	}
	delete(l.waits, use)
	l.Some.Store(len(l.waits) > 0)
	l.log.Info("a table is no longer locked", "table", use.Table, "writes", use.Write)
}

// passage holds the permissions of one request to wait in the database for locked tables.
type passage struct {
	locks  *tableLocks
	uses   []TableUse    // tables for which the request may wait in the database
	places []share.Grant // its places (tableWait.place), one for each of uses
}

// evicted is the error of work that was ended because it waited for a lock on a table. The work had no effect. Its
// request continues to wait, without a connection.
type evicted struct{ use TableUse }

// errEvicted is the error of a transaction that was evicted after its last statement.
var errEvicted = errors.New("the transaction was ended")

func (e evicted) Error() string { return "the statement waited for a lock on " + e.use.Table }

// passLocks calls run, which does the work of a request for items of table t; t is nil if the table is not known. If
// the request is evicted, passLocks waits for the table and calls run again. The argument of run is nil if no table is
// locked.
func (l *tableLocks) passLocks(ctx context.Context, t *layout.Table, write bool, run func(p *passage) error) error {
	if l == nil {
		return run(nil)
	}
	if t != nil && l.Some.Load() {
		return l.passSlowly(ctx, TableUse{t.Quoted, write}, run)
	}
	err := run(nil)
	if err == nil {
		return nil
	}
	var out evicted
	if !errors.As(err, &out) {
		return err
	}
	return l.passSlowly(ctx, out.use, run)
}

// passSlowly waits until the request may use a locked table, and then calls run. If the request is evicted because of
// a second table, passSlowly waits for this table too and calls run again.
func (l *tableLocks) passSlowly(ctx context.Context, use TableUse, run func(p *passage) error) error {
	p := &passage{locks: l}
	defer p.releasePlaces()
	for begun := time.Now(); ; {
		if time.Since(begun) > l.limit {
			return lockedTable(use.Table, nil)
		}
		if err := p.enterTable(ctx, use); err != nil {
			return err
		}
		err := run(p)
		var out evicted
		if err == nil || !errors.As(err, &out) {
			p.endRequest(err)
			return err
		}
		if use = out.use; slices.Contains(p.uses, use) {
			return lockedTable(use.Table, err)
		}
	}
}

// enterTable waits until the request may run its statement on a table. This is the case when the table is unlocked;
// all requests that wait without a connection then continue. It is also the case when the request gets the single
// place of the table; its statement may then wait in the database.
func (p *passage) enterTable(ctx context.Context, use TableUse) error {
	l := p.locks
	for {
		w, all := l.FindWait(use)
		switch {
		case w == nil:
			return nil
		case !l.hasPlace(use, all):
			return lockedTable(use.Table, nil)
		}
		place, ok := w.place.TryAcquire(share.Key(ctx), 1)
		if !ok {
			var err error
			if place, err = l.waitForPlace(ctx, w, use); err != nil {
				return err
			}
			if still, _ := l.FindWait(use); still != w {
				place.Release()
				continue
			}
			// The request that had the place before may have waited in vain for almost the whole time.
			if time.Since(w.since) > l.limit*9/10 {
				place.Release()
				return lockedTable(use.Table, nil)
			}
		}
		p.uses, p.places = append(p.uses, use), append(p.places, place)
		return nil
	}
}

// waitForPlace waits until the request gets the place of the table, that is, may wait for the table in the database.
func (l *tableLocks) waitForPlace(ctx context.Context, w *tableWait, use TableUse) (share.Grant, error) {
	if time.Since(w.since) >= l.limit {
		return share.Grant{}, lockedTable(use.Table, nil)
	}
	limited, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	place, err := w.place.Acquire(limited, share.Key(ctx), 1)
	if err != nil && engine.CodeOf(err) == engine.Timeout && ctx.Err() == nil {
		err = lockedTable(use.Table, err)
	}
	return place, err
}

// FindWait returns the lock that blocks a use of a table, or nil if the use is not blocked. all is the number of
// blocked uses of all tables.
func (l *tableLocks) FindWait(use TableUse) (w *tableWait, all int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waits[use], len(l.waits)
}

// endRequest must be called with the result of the request. If the request was able to use its tables, endRequest
// records that they are no longer locked.
func (p *passage) endRequest(err error) {
	if code := engine.CodeOf(err); err != nil && (code == engine.Unavailable || code == engine.Timeout) {
		return
	}
	p.locks.mu.Lock()
	defer p.locks.mu.Unlock()
	for _, use := range p.uses {
		p.locks.forgetUse(use)
	}
}

// releasePlaces gives the places of the request to other requests that wait.
func (p *passage) releasePlaces() {
	for i := range p.places {
		p.places[i].Release()
	}
}

// lendUses gives session s the permissions of the request, so that its current turn may wait for these locked tables.
func (p *passage) lendUses(s *Session) {
	if p != nil && len(p.uses) > 0 {
		uses := slices.Clone(p.uses)
		s.may.Store(&uses)
	}
}

// lockedTable returns the error for a request that needs a table which another session of the database has locked.
func lockedTable(table string, err error) error {
	what := "an object or a table"
	if table != "" {
		what = "the table " + table
	}
	return &engine.Error{Code: engine.Unavailable, Reason: "locked", RetryAfter: RetryAfter,
		Message: fmt.Sprintf("%s is locked in the database, longer than a request waits for it (lockTimeout)", what), Err: err}
}

// A turn is one use of a session. Session.turn modulo turnStates is the state of the turn, one of these constants. The
// quotient grows by 1 with each turn.
const (
	turnIdle    = iota
	turnBusy    // the turn may be evicted
	turnEvicted // the statement of the turn was ended
	turnStays   // the turn must not be evicted
	turnStates
)

// beginTurn must be called when a session begins to work for a request.
func (s *Session) beginTurn() {
	if s.locks != nil {
		s.turn.Add(turnBusy - turnIdle)
	}
}

// endTurn must be called when the work has ended.
func (s *Session) endTurn() {
	if s.locks == nil {
		return
	}
	next := (s.turn.Load()/turnStates + 1) * turnStates
	state := s.turn.Swap(next) % turnStates
	if state == turnEvicted || state == turnStays {
		s.ending.Lock() // wait until the eviction is complete; otherwise it could end the next statement
		s.place.Release()
		s.ending.Unlock()
	}
	if s.may.Load() != nil {
		s.may.Store(nil)
	}
}

// mayWait reports whether the current turn has the permission to wait in the database for a locked table.
func (s *Session) mayWait() bool {
	return s.locks != nil && (s.turn.Load()%turnStates == turnStays || s.may.Load() != nil)
}

// evictTurn marks a turn as evicted. If the turn is still running, it returns true and holds s.ending; the caller must
// then end the statement and unlock s.ending.
func (s *Session) evictTurn(turn uint64, use TableUse) bool {
	s.ending.Lock()
	if turn%turnStates == turnBusy && s.turn.CompareAndSwap(turn, turn+turnEvicted-turnBusy) {
		s.out = use
		return true
	}
	s.ending.Unlock()
	return false
}

// keepWaiting gives a turn a place, the permission to wait for a lock in the database. From then on, the turn cannot
// be evicted. If the turn has already ended, keepWaiting releases the place.
func (s *Session) keepWaiting(turn uint64, place share.Grant) {
	s.ending.Lock()
	defer s.ending.Unlock()
	if turn%turnStates == turnBusy && s.turn.CompareAndSwap(turn, turn+turnStays-turnBusy) {
		s.place = place
		return
	}
	place.Release()
}

// evictedFrom returns an error of type evicted if the current turn was evicted, otherwise nil.
func (s *Session) evictedFrom() error {
	if s.turn.Load()%turnStates != turnEvicted {
		return nil
	}
	s.ending.Lock()
	defer s.ending.Unlock()
	return evicted{s.out}
}

// ForbidEviction prevents the eviction of the current turn from now on. It returns false if the turn is already
// evicted.
func (s *Session) ForbidEviction() bool {
	turn := s.turn.Load()
	return turn%turnStates != turnBusy && turn%turnStates != turnEvicted || s.turn.CompareAndSwap(turn, turn+turnStays-turnBusy)
}
