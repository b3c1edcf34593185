// Package read reads items from the database: single items by key, lists, counts and aggregations. An item comes with
// the items to which it refers (load.go) and with calculated attributes (calculate.go). Values that the account may
// not see are left out (withhold.go).
//
// A write uses the same functions in its transaction, to read the items on which it depends and to compute formulas.
package read

import (
	"context"
	"database/sql"
	"time"

	"restsrv/engine"
	"restsrv/engine/share"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// Config configures a Reader.
type Config struct {
	Pool      *conns.Pool
	Layout    *layout.Layout
	Queries   *sqlquery.Queries
	MaxLoaded int              // approximate number of bytes that a read may load in addition to its items
	Now       func() time.Time // returns the present time
}

// Reader reads items with their links and formulas, without values that the account may not see. It implements the
// reading methods of engine.Repository.
type Reader struct {
	pool      *conns.Pool
	layout    *layout.Layout
	queries   *sqlquery.Queries
	dialect   sqldb.Dialect
	traits    sqldb.Traits
	maxLoaded int
	now       func() time.Time
}

// New returns a Reader.
func New(c Config) *Reader {
	return &Reader{pool: c.Pool, layout: c.Layout, queries: c.Queries, dialect: c.Layout.Dialect, traits: c.Layout.Traits, maxLoaded: c.MaxLoaded, now: c.Now}
}

// GuardOf returns the guard of a call.
func (s *Reader) GuardOf(ctx context.Context) *rights.Guard { return rights.Of(ctx, s.layout.RowsRead) }

// Get implements engine.Repository.
func (s *Reader) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	p, err := s.layout.PlanOf(c)
	if err != nil {
		return nil, err
	}
	return s.GetFor(ctx, p, id, Getting{engine.MayRead, load})
}

// Getting describes how to read one item: the permission that the account needs, and the links to load with the item.
type Getting struct {
	May  engine.Permission
	Load []*engine.Load
}

// GetFor reads the item with an id. It returns an error if the account does not have the permission how.May for this
// item.
func (s *Reader) GetFor(ctx context.Context, p *layout.Plan, id string, how Getting) (*engine.Item, error) {
	if p.Class.FullName[0] != '#' {
		s.pool.Readers.Others.Note(share.Key(ctx))
	}
	g, load := s.GuardOf(ctx), how.Load
	if err := g.CheckLoads(p.Class, load); err != nil {
		return nil, err
	}
	key, ok := p.Class.KeyValues(id)
	if !ok {
		return nil, g.NoItem(p.Class, id)
	}
	text, args, err := s.queries.SelectByKey(p, g, how.May, key)
	if err != nil {
		return nil, err
	}
	held := s.heldClause(ctx, p)
	computes := g.ComputesFor(p)
	enriched := len(load) > 0 || p.Needy || computes
	if enriched { // a read of the row alone is too short for a time limit
		var done func()
		ctx, done = s.pool.WithReadTime(ctx)
		defer done()
	}
	it := &engine.Item{}
	work := func(r *conns.Session) error {
		found, err := OneHeld(r, ctx, text, held, p, it, args)
		if err == nil && !found {
			return s.AbsentError(r, p, g, how.May, id)
		}
		if err != nil || !enriched {
			return err
		}
		r.Guard = g
		return s.enrichRead(ctx, r, []*engine.Item{it}, load)
	}
	switch {
	case len(load) > 0 || p.Several || computes:
		err = s.pool.ReadMetered(ctx, s.neededTable(p, load), s.pool.Readers.Scans.NameStatement(text, load, 1), s.pool.AtOneMoment(work))
	case enriched:
		err = s.pool.ReadMetered(ctx, s.neededTable(p, load), s.pool.Readers.Scans.NameStatement(text, load, 1), work)
	default:
		err = s.pool.ReadFrom(ctx, p.Table, work)
	}
	if err != nil {
		return nil, err
	}
	return it, nil
}

// AbsentError returns the error for an item that was not found by a statement with the conditions of the account. The
// error is Denied if the account may read all items of the class but does not have the permission may for this item.
// Otherwise it is the error for a missing item. This also applies if AbsentError finds that the account has the
// permission: the item must have been created after the statement, so it counts as missing.
func (s *Reader) AbsentError(r *conns.Session, p *layout.Plan, g *rights.Guard, may engine.Permission, id string) error {
	f := g.RowFilter(may, p.Class)
	if f == nil || g.RowFilter(engine.MayRead, p.Class) != nil {
		return g.NoItem(p.Class, id)
	}
	key, _ := p.Class.KeyValues(id)
	b := s.queries.GuardedBuilder(g)
	b.Add("SELECT 1 FROM ", p.Table.Quoted)
	p.WhereKey(&b.Builder, key)
	b.Add(" AND (", b.StandaloneFilter(sqlquery.TopSource(p), f), ") IS NOT TRUE")
	if err := b.Finish(s.traits); err != nil {
		return err
	}
	refused := false
	if err := r.VisitRows(&b.Builder, 1, func([]any) { refused = true }); err != nil {
		return err
	}
	if refused {
		return engine.Denied()
	}
	return g.NoItem(p.Class, id)
}

// One reads the item with a key into the parameter it. text is a statement that takes the key as its arguments, such
// as Texts.Get. found is false if there is no such item.
func One(r *conns.Session, ctx context.Context, text string, p *layout.Plan, it *engine.Item, key []any) (found bool, err error) {
	for i := range key {
		key[i] = sqldb.Encode(key[i])
	}
	st, err := r.Prepare(text)
	if err != nil {
		return false, err
	}
	if !r.Interrupt.Spends {
		return Fetch(r, context.WithoutCancel(ctx), st, p, it, key) // no context to watch, because the statement would end before the watcher has started
	}
	ctx, unwatch := r.WatchContext(ctx)
	defer func() { err = unwatch(err) }()
	return Fetch(r, ctx, st, p, it, key)
}

// OneHeld does the same as One, and appends lock, a clause that locks the row, to the statement. If lock is "", the
// item is not locked.
func OneHeld(r *conns.Session, ctx context.Context, text, lock string, p *layout.Plan, it *engine.Item, key []any) (found bool, err error) {
	if lock == "" {
		return One(r, ctx, text, p, it, key)
	}
	for range conns.MaxAttempts {
		if found, err = One(r, ctx, text+lock, p, it, key); found || err != nil {
			break
		}
		// The statement may have waited for a transaction that has given the key to another item. It does not find
		// this item, but the next statement does, without waiting.
		if found, err = One(r, ctx, text, p, it, key); !found || err != nil {
			break
		}
	}
	return found, err
}

// Fetch runs a statement that returns the columns Texts.Selected of at most one row, and reads the row into the
// parameter it. It returns false if there is no row.
func Fetch(r *conns.Session, ctx context.Context, st *sql.Stmt, p *layout.Plan, it *engine.Item, args []any) (bool, error) {
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := r.NewScanner(p.SQL().Selected)(rows); err != nil {
		return false, err
	}
	p.LoadRow(it, r.Raw)
	return true, rows.Close()
}

// List implements engine.Repository. It holds a connection while it calls visit, so visit must not call the repository.
func (s *Reader) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	p, err := s.layout.PlanOf(q.Class)
	if err != nil {
		return err
	}
	g := s.GuardOf(ctx)
	if q, err = s.locatePosition(ctx, p, g, q); err != nil {
		return err
	}
	l, err := s.queries.NewListing(p, g, q)
	switch {
	case err != nil:
		return err
	case q.Count == 0 && q.Total != nil:
		*q.Total, err = s.CountFor(ctx, p, sqlquery.UnpagedQuery(q), engine.MayRead)
		return err
	case q.Count == 0:
		return nil
	}
	l.Text += s.heldClause(ctx, p)
	ctx, done := s.pool.WithReadTime(ctx)
	defer done()
	most := q.Count
	if most >= 0 {
		most += q.Offset
	}
	computes := g.ComputesFor(p)
	work := func(r *conns.Session) error {
		if len(q.Load) > 0 || p.Needy || computes {
			r.Guard = g
			return s.eachLoaded(ctx, r, p, l, q, visit)
		}
		return Each(r, ctx, p, l, func(it *engine.Item) error {
			r.MarkDelivered()
			return visit(it)
		})
	}
	several := len(q.Load) > 0 || p.Several || computes
	name := s.pool.Readers.Scans.NameStatement(l.Text, q.Load, most)
	switch {
	case q.Total != nil:
		return s.listCounted(ctx, p, name, &countedList{query: q, listing: l, guard: g, read: work, several: several})
	case several:
		work = s.pool.AtOneMoment(work)
	}
	return s.pool.ReadMetered(ctx, s.neededTable(p, q.Load), name, work)
}

// countedList is a list with a query that asks for the number of all items (Query.Total).
type countedList struct {
	query   *engine.Query
	listing sqlquery.Listing
	guard   *rights.Guard
	read    func(r *conns.Session) error
	several bool // the list needs several statements
}

// listCounted reads a list and sets Query.Total. Normally the statement of the list also counts the items. A second
// statement counts them in two cases: if the first one would have too many values, or if it returned no row, because
// the page is behind the last item.
func (s *Reader) listCounted(ctx context.Context, p *layout.Plan, name uint64, l *countedList) error {
	total := l.query.Total
	l.several = l.several || l.listing.Total == nil
	for {
		work := func(r *conns.Session) error {
			*total = -1
			err := l.read(r)
			switch {
			case err != nil:
			case *total >= 0:
				r.Meter.AddCounted(*total)
			case l.listing.Total != nil && l.query.Offset <= 0 && l.query.After == nil:
				*total = 0
			case l.several:
				*total, err = s.countOn(ctx, r, p, l.guard, l.query)
			}
			return err
		}
		if l.several {
			work = s.pool.AtOneMoment(work)
		}
		if err := s.pool.ReadMetered(ctx, s.neededTable(p, l.query.Load), name, work); err != nil || *total >= 0 {
			return err
		}
		l.several = true
	}
}

// countOn counts the items that q finds on all pages.
func (s *Reader) countOn(ctx context.Context, r *conns.Session, p *layout.Plan, g *rights.Guard, q *engine.Query) (int64, error) {
	text, args, err := s.queries.CountStatement(p, g, sqlquery.UnpagedQuery(q), engine.MayRead)
	if err != nil {
		return 0, err
	}
	n, err := r.QueryNumber(ctx, text, args)
	r.Meter.AddCounted(n)
	return n, err
}

// eachLoaded reads all items of a list, loads their links, and then calls visit with each item.
func (s *Reader) eachLoaded(ctx context.Context, r *conns.Session, p *layout.Plan, l sqlquery.Listing, q *engine.Query, visit func(*engine.Item) error) error {
	items, err := Clone(r, ctx, p, l)
	if err != nil {
		return err
	}
	if err := s.enrichRead(ctx, r, items, q.Load); err != nil {
		return err
	}
	r.MarkDelivered()
	for _, it := range items {
		if err := visit(it); err != nil {
			return &conns.Stop{Err: err}
		}
	}
	return nil
}

// Each runs the statement of a listing and calls visit with each item. The item is valid only during the call.
func Each(r *conns.Session, ctx context.Context, p *layout.Plan, l sqlquery.Listing, visit func(*engine.Item) error) error {
	columns := len(l.Types)
	if l.Total != nil {
		columns++
	}
	more, dest := make([]any, columns), make([]any, columns)
	for i := range more {
		dest[i] = &more[i]
	}
	scan := r.NewScanner(p.SQL().Listed, dest...)
	it := &engine.Item{}
	return r.EachRow(ctx, l.Text, l.Args, func(rows *sql.Rows) error {
		if err := scan(rows); err != nil {
			return err
		}
		if l.Total != nil && *l.Total < 0 {
			*l.Total, _ = more[len(l.Types)].(int64)
		}
		p.LoadRow(it, r.Raw)
		l.SetPosition(it, more[:len(l.Types)])
		if err := visit(it); err != nil {
			return &conns.Stop{Err: err}
		}
		return nil
	})
}

// Clone returns copies of the items of a listing, which the caller may retain.
func Clone(r *conns.Session, ctx context.Context, p *layout.Plan, l sqlquery.Listing) (items []*engine.Item, err error) {
	err = Each(r, ctx, p, l, func(it *engine.Item) error {
		items = append(items, it.Clone())
		return nil
	})
	return items, err
}

// Count implements engine.Repository.
func (s *Reader) Count(ctx context.Context, q *engine.Query) (int64, error) {
	p, err := s.layout.PlanOf(q.Class)
	if err != nil {
		return 0, err
	}
	return s.CountFor(ctx, p, q, engine.MayRead)
}

// CountFor counts the items of q for which the account has the permission.
func (s *Reader) CountFor(ctx context.Context, p *layout.Plan, q *engine.Query, may engine.Permission) (int64, error) {
	g := s.GuardOf(ctx)
	q, err := s.locatePosition(ctx, p, g, q)
	if err != nil {
		return 0, err
	}
	text, args, err := s.queries.CountStatement(p, g, q, may)
	if err != nil {
		return 0, err
	}
	ctx, done := s.pool.WithReadTime(ctx)
	defer done()
	var n int64
	err = s.pool.ReadMetered(ctx, p.Table, s.pool.Readers.Scans.NameStatement(text, nil, -1), func(r *conns.Session) error {
		n, err = r.QueryNumber(ctx, text, args)
		r.Meter.AddCounted(n)
		return err
	})
	return n, err
}

// heldClause returns a clause at the end of a SELECT of rows of p. In a transaction of several calls, the clause locks
// the rows, so that other transactions cannot change them before this transaction ends. Otherwise, and if the database
// has only one writer, the clause is "".
func (s *Reader) heldClause(ctx context.Context, p *layout.Plan) string {
	if s.traits.Lock == "" || s.pool.TransactionOf(ctx) == nil {
		return ""
	}
	return s.traits.Lock + " OF " + p.Table.Quoted
}
