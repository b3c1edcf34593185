package conns

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
	"restsrv/engine/share"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// The budget of a read in the quick lane. If the database counts the steps of a statement, as SQLite does, the number
// of steps decides, because it does not depend on the load of the machine. A time limit catches statements with
// expensive single steps, such as a regular expression on a long text. For other databases, only the time decides.
const (
	stepsPerTick   = 200                    // number of steps between two calls of Session.tick
	quickTicks     = 150000 / stepsPerTick  // budget in ticks, about 5 ms
	rowsPerStep    = 2                      // number of rows that SQLite counts in the time of one step
	quickStepped   = 25 * time.Millisecond  // time limit if steps are counted
	quickTimed     = 100 * time.Millisecond // time limit if steps are not counted; a short list on a busy machine takes more than half of it
	quickDelivered = 2 * time.Second        // time limit of a read that cannot be repeated, because its caller has received an item
)

// With SQLite, a long read runs in a goroutine of this process. The read yields to other goroutines every yieldAfter;
// otherwise they would have to wait for the scheduler, which preempts a goroutine after 10 ms. It yields to reads of
// other accounts every scanSlice.
const (
	yieldAfter = 100 * time.Microsecond
	scanSlice  = 10 * time.Millisecond
)

// maxKnown limits the number of statements that are remembered as slow.
const maxKnown = 1024

// scans is the scan lane: it shares out the places for long reads, and remembers the statements that have been slow
// before.
//
// A place is the right to run one long read. Places are shared fairly between accounts or networks (engine/share). If
// a read exceeds the budget of the quick lane, the first of these cases that applies decides:
//   - If a place is free, the read leaves the quick lane and continues.
//   - If the database can suspend the read (SQLite), the read leaves the quick lane and waits for a place in the
//     middle of its statement. It keeps its session, so only Database.Parked reads can be suspended at the same time, at
//     most half of them of one account.
//   - If the caller has not received an item yet, the read is ended. It waits for a place without a session and runs
//     again from the start.
//   - Otherwise the read cannot run again and is likely to end soon. It may stay in the quick lane for up to
//     quickDelivered before it is refused.
//
// In each case the statement is remembered as slow. The next read with a slow statement waits for a place before it
// starts. If a slow statement turns out to be short, it is forgotten.
type scans struct {
	Places *share.Pool
	parked *share.Pool    // places for suspended reads; nil if reads cannot be suspended
	quick  *share.Pool    // places in the quick lane for reads that may become long (ReadMetered); the other sessions of the lane are for reads by key
	beside int64          // maximum number of places in quick for the expensive reads of one account while other accounts use the database
	known  slowStatements // statements that were too long for the quick lane
	costly slowStatements // statements that end in the quick lane, but rest while other accounts are present
	report refusals
}

func newScans(db *sqldb.Database, cfg Config) *scans {
	seed := maphash.MakeSeed()
	sc := &scans{
		Places: share.New(share.Config{Name: "long readings", Capacity: int64(db.Scans), PerKey: int64(db.ScansPerKey),
			Waiting: cfg.Scans.Waiting, AllWaiting: cfg.Scans.AllWaiting, MaxWait: cfg.Scans.MaxWait}),
		quick: share.New(share.Config{Name: "readings", Capacity: int64(max(1, db.Readers-max(1, db.Readers/8))),
			Waiting: maxReadings, AllWaiting: 8 * maxReadings}),
		beside: int64(max(1, db.Readers/4)),
		known:  slowStatements{seed: seed},
		costly: slowStatements{seed: seed},
		report: refusals{log: cfg.Log},
	}
	if db.Parked > 0 {
		sc.parked = share.New(share.Config{Name: "long readings", Capacity: int64(db.Parked), PerKey: int64(max(1, db.Parked/2))})
	}
	return sc
}

// maxReadings is the number of reads of one account that may wait for the quick lane.
const maxReadings = 4096

// errSlow ends a read that must continue in the scan lane.
var errSlow = errors.New("the reading exceeds the budget of the quick lane")

// ReadMetered does the same as ReadFrom, for work that may take long. If work exceeds the budget of the quick lane, it
// continues in the scan lane or runs again there (see scans). name identifies the statement of work (see
// NameStatement).
func (s *Pool) ReadMetered(ctx context.Context, t *layout.Table, name uint64, work func(r *Session) error) error {
	sc := s.Readers.Scans
	if sc == nil || t.Name[0] == '#' || s.isJoined(ctx) {
		return s.ReadFrom(ctx, t, work) // every request needs the system tables, so their reads must not wait
	}
	return s.Readers.Locks.passLocks(ctx, t, false, func(pass *passage) error {
		return s.readMeteredPast(ctx, pass, name, work)
	})
}

// readMeteredPast is the part of ReadMetered that follows the wait for a locked table. pass is nil if no table is
// locked.
func (s *Pool) readMeteredPast(ctx context.Context, pass *passage, name uint64, work func(r *Session) error) error {
	sc := s.Readers.Scans
	for slow := sc.known.has(name); ; slow = true {
		var grant share.Grant
		if slow {
			var err error
			if grant, err = sc.Places.Acquire(ctx, share.Key(ctx), 1); err != nil {
				return sc.report.logRefused(ctx, err)
			}
		}
		again, err := s.readMeteredOnce(ctx, pass, name, grant, work)
		if !again {
			return err
		}
	}
}

// readMeteredOnce runs work in the scan lane if grant is a place in the scan lane, and otherwise in the quick lane.
// again is true if the work must run again in the scan lane.
func (s *Pool) readMeteredOnce(ctx context.Context, pass *passage, name uint64, grant share.Grant, work func(r *Session) error) (again bool, err error) {
	rs := s.Readers
	var r *Session
	var place share.Grant
	if grant.Held() {
		if r, err = rs.borrowScan(ctx); err != nil {
			grant.Release()
			return false, err
		}
	} else {
		if place, err = rs.enterQuick(ctx, name); err != nil {
			return false, err
		}
		if r, err = rs.Borrow(ctx); err != nil {
			place.Release()
			return false, err
		}
	}
	pass.lendUses(r)
	r.Meter.place = place
	r.Meter.start(ctx, rs, r, name, grant)
	defer func() {
		ended, worked := r.Meter.end(r), time.Since(r.Meter.rested)
		rs.GiveBack(r) // before the place is released, because the next read with the place may need the connection
		if ended.Held() {
			rs.releaseRested(share.Key(ctx), ended, worked)
		}
	}()
	err = s.readOn(ctx, r, work)
	if !errors.Is(err, errSlow) {
		return false, err
	}
	if r.delivered.Load() {
		return false, rs.Scans.report.logRefused(ctx, rs.Scans.Places.Refuse())
	}
	return true, nil
}

// enterQuick waits for a place in the quick lane. While several accounts use the database, only some of the places are
// available for expensive reads of one account, because concurrent reads slow each other down.
func (rs *readers) enterQuick(ctx context.Context, name uint64) (share.Grant, error) {
	key, most := share.Key(ctx), int64(math.MaxInt64)
	if rs.Others.Note(key) && rs.Scans.costly.has(name) {
		most = rs.Scans.beside
	}
	return rs.Scans.quick.AcquireWithin(ctx, key, 1, most)
}

// meter measures the work of one read, and decides when the read must leave the quick lane, rest or end. Each session
// has one meter, which is used for one read by ReadMetered after the other.
type meter struct {
	on      bool        // the session serves a read by ReadMetered; otherwise meter does nothing
	stopped atomic.Bool // the read was ended, so no further statement may start

	mu      sync.Mutex // guards the fields below against the timer; SQLite uses no timer
	readers *readers
	ctx     context.Context
	name    uint64      // of the statement
	quick   bool        // the read is in the quick lane
	place   share.Grant // place in the quick lane
	grant   share.Grant // place in the scan lane
	over    error       // the reason why the read was ended
	ticks   int         // calls of Session.tick
	rows    int         // returned by the database
	began   time.Time
	slice   time.Time // when the read last checked whether other accounts wait for its place
	yielded time.Time // when the read last yielded to other goroutines
	rested  time.Time // when the last rest ended
	timer   *time.Timer
}

func (m *meter) start(ctx context.Context, rs *readers, r *Session, name uint64, grant share.Grant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on, m.readers, m.ctx, m.name, m.grant = true, rs, ctx, name, grant
	m.quick = !grant.Held()
	m.over, m.ticks, m.rows, m.began = nil, 0, 0, time.Now()
	m.slice, m.rested = m.began, m.began
	if rs.Scans.parked != nil || !m.quick {
		return
	}
	if m.timer == nil {
		m.timer = time.AfterFunc(quickTimed, func() { m.timeOver(r) })
		return
	}
	m.timer.Reset(quickTimed)
}

// end stops measuring and releases the read's place in the quick lane. It returns the read's place in the scan lane,
// if the read has one. The caller must release the returned place after it has returned the session.
func (m *meter) end(r *Session) (ended share.Grant) {
	if m.timer != nil {
		m.timer.Stop()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.turn.Load()%turnStates == turnEvicted { // the time was spent waiting, not working
		m.began = time.Now()
		m.rested = m.began
		m.readers.Scans.known.remove(m.name)
	}
	if m.over != nil && r.Interrupt.Spends {
		r.disconnect() // a late cancellation could hit the next statement of the connection
	}
	if m.quick && m.ticks >= quickTicks {
		m.readers.Scans.known.add(m.name)
	}
	if m.grant.Held() {
		short := time.Since(m.began) < quickTimed/2
		if r.Interrupt.Tick != nil {
			short = m.ticks < quickTicks/2
		}
		if short && m.over == nil {
			m.readers.Scans.known.remove(m.name)
			if !m.isCostly() {
				m.rested = time.Now() // a short read needs no rest
			}
		}
	}
	m.leaveQuick(m.quick && m.isCostly(), m.rows)
	ended, m.grant = m.grant, share.Grant{}
	m.on, m.ctx = false, nil
	m.stopped.Store(false)
	return ended
}

// leaveQuick releases the read's place in the quick lane. If the read was expensive and other accounts are present,
// the place is released after a delay, so that the account rests. rows is the number of rows that the caller still has
// to send.
func (m *meter) leaveQuick(costly bool, rows int) {
	if !m.quick {
		return
	}
	m.quick = false
	if known := &m.readers.Scans.costly; known.has(m.name) != costly {
		known.set(m.name, costly)
	}
	if costly {
		m.readers.releaseRested(share.Key(m.ctx), m.place, time.Since(m.began)+time.Duration(rows)*rowSends)
		m.place = share.Grant{}
		return
	}
	m.place.Release()
}

// releaseRested releases the place of an account that has worked for some time. If other accounts are present, the
// place is released after a rest, unless the rest is too short to be worth a timer.
func (rs *readers) releaseRested(key string, place share.Grant, worked time.Duration) {
	if worked < restEvery/10 || !rs.Others.present(key) {
		place.Release()
		return
	}
	rs.Others.Rests.Add(1)
	time.AfterFunc(restAfter(worked, restShare), func() { place.Release() })
}

// isCostly reports whether a read in the quick lane was much more expensive than a short list.
func (m *meter) isCostly() bool {
	if m.readers.Scans.parked != nil {
		return m.ticks*stepsPerTick+m.rows*stepsPerRow >= costlySteps
	}
	return m.rows >= costlyRows || time.Since(m.began) >= costlyTimed
}

// stopError returns the error with which the meter ended the read, or nil if it did not end the read.
func (m *meter) stopError() error {
	if !m.on || !m.stopped.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over
}

// tick is called by SQLite every stepsPerTick steps of a statement, in the goroutine of the statement. It may block,
// which suspends the statement. It returns false to end the statement.
func (s *Session) tick() bool {
	m := &s.Meter
	if !m.on {
		return true
	}
	m.ticks++
	now := time.Now()
	if m.quick {
		if m.ticks < quickTicks && now.Sub(m.began) < quickStepped {
			return true
		}
		return m.suspend(s)
	}
	if now.Sub(m.yielded) >= yieldAfter {
		runtime.Gosched()
		m.yielded = time.Now()
	}
	if ran := now.Sub(m.rested); ran >= restEvery {
		if m.readers.Others.present(share.Key(m.ctx)) {
			m.readers.Others.Rests.Add(1)
			time.Sleep(restAfter(ran, restShare))
			m.grant.Discount(time.Since(now))
		}
		m.rested = time.Now()
	}
	if now.Sub(m.slice) < scanSlice || !m.grant.Held() {
		return true
	}
	m.slice = now
	return m.offerTurn()
}

// suspend moves a read that has exceeded its budget to the scan lane. If the scan lane has no free place, suspend
// blocks the statement until it has one. It returns false if the statement must end.
func (m *meter) suspend(s *Session) bool {
	sc, key := m.readers.Scans, share.Key(m.ctx)
	sc.known.add(m.name)
	grant, ok := sc.Places.TryAcquire(key, 1)
	if ok {
		m.moveToScan(s, grant)
		return true
	}
	place, ok := sc.parked.TryAcquire(key, 1)
	if !ok {
		return m.stop(errSlow)
	}
	defer place.Release()
	if !m.moveToScan(s, share.Grant{}) {
		return true
	}
	grant, err := sc.Places.Acquire(m.ctx, key, 1)
	if err != nil {
		return m.stop(sc.report.logRefused(m.ctx, err))
	}
	m.grant, m.slice = grant, time.Now()
	m.rested = m.slice
	return true
}

// moveToScan moves a read from the quick lane to the scan lane. If the database is being closed, the read continues
// without a limit, and moveToScan returns false.
func (m *meter) moveToScan(s *Session, grant share.Grant) bool {
	moved := m.readers.moveToScan(s)
	if moved {
		m.grant = grant
	} else {
		grant.Release()
	}
	m.leaveQuick(true, 0) // pass 0, because another goroutine is using m.rows
	m.slice = time.Now()
	return moved
}

// offerTurn lets a waiting read of another account use the place of this read for a while, if that account has used
// the scan lane less. It then waits until this read gets a place again. If this read cannot be suspended, it keeps its
// place. offerTurn returns false if this read must end.
func (m *meter) offerTurn() bool {
	sc := m.readers.Scans
	key := share.Key(m.ctx)
	if _, waiting := sc.Places.Waiting(key); waiting == 0 {
		return true
	}
	place, ok := sc.parked.TryAcquire(key, 1)
	if !ok {
		return true
	}
	defer place.Release()
	if err := m.grant.Yield(m.ctx); err != nil {
		return m.stop(err)
	}
	m.slice = time.Now()
	m.rested = m.slice
	return true
}

// AddCounted adds the cost of rows that the database counted within one step, as SQLite does for count(*).
func (m *meter) AddCounted(rows int64) {
	if m.on {
		m.ticks += int(rows / (rowsPerStep * stepsPerTick))
	}
}

func (m *meter) stop(why error) bool {
	m.over = why
	m.stopped.Store(true)
	return false
}

// timeOver is called when a read that cannot be suspended has used up the time of the quick lane.
func (m *meter) timeOver(s *Session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.on || !m.quick || time.Since(m.began) < quickTimed {
		return // the timer was started for an earlier read
	}
	if s.mayWait() && time.Since(m.began) < m.readers.Locks.limit {
		m.timer.Reset(quickTimed)
		return
	}
	sc := m.readers.Scans
	sc.known.add(m.name)
	if grant, ok := sc.Places.TryAcquire(share.Key(m.ctx), 1); ok {
		m.moveToScan(s, grant)
		return
	}
	if s.delivered.Load() && time.Since(m.began) < quickDelivered {
		m.timer.Reset(quickTimed)
		return
	}
	m.stop(errSlow)
	over := false
	s.endStep(&over)
}

// slowStatements is a set of slow statements. When it is full, half of them are removed.
type slowStatements struct {
	seed  maphash.Seed
	count atomic.Int32
	mu    sync.RWMutex
	names map[uint64]struct{}
}

// NameStatement returns a number that identifies a kind of read. It is computed from the text of the statement, from
// the links that are loaded with its items, and from the magnitude of most, the maximum number of items, where -1
// means all. The magnitude matters because a page of 5 items and a page of 1,000 have the same text.
func (sc *scans) NameStatement(text string, load []*engine.Load, most int) uint64 {
	if sc == nil {
		return 0
	}
	return maphash.String(sc.known.seed, text) ^ loadName(sc.known.seed, load) ^ uint64(bits.Len(uint(most)))
}

func loadName(seed maphash.Seed, load []*engine.Load) (name uint64) {
	for _, l := range load {
		name = name*31 + maphash.String(seed, l.Property.Name) + 7*loadName(seed, l.Next)
	}
	return name
}

func (k *slowStatements) has(name uint64) bool {
	if k.count.Load() == 0 {
		return false
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.names[name]
	return ok
}

func (k *slowStatements) add(name uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names == nil {
		k.names = map[uint64]struct{}{}
	}
	if len(k.names) >= maxKnown {
		for other := range k.names { // in random order
			if delete(k.names, other); len(k.names) <= maxKnown/2 {
				break
			}
		}
	}
	k.names[name] = struct{}{}
	k.count.Store(int32(len(k.names)))
}

// set adds or removes a statement.
func (k *slowStatements) set(name uint64, in bool) {
	if in {
		k.add(name)
		return
	}
	k.remove(name)
}

func (k *slowStatements) remove(name uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.names, name)
	k.count.Store(int32(len(k.names)))
}
