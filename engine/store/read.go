package store

import (
	"context"
	"database/sql"

	"restsrv/engine"
	"restsrv/engine/share"
)

// Get implements engine.Repository.
func (s *Store) Get(ctx context.Context, c *engine.Class, id string, load ...*engine.Load) (*engine.Item, error) {
	p, err := s.planOf(c)
	if err != nil {
		return nil, err
	}
	return s.getFor(ctx, p, id, getting{engine.MayRead, load})
}

// getting describes the purpose of reading one item, and the links to load with it.
type getting struct {
	may  engine.Permission
	load []*engine.Load
}

// getFor reads an item if the account has the permission how.may for it.
func (s *Store) getFor(ctx context.Context, p *plan, id string, how getting) (*engine.Item, error) {
	if p.class.FullName[0] != '#' {
		s.readers.others.note(share.Key(ctx))
	}
	g, load := s.guardOf(ctx), how.load
	if err := g.checkLoads(p.class, load); err != nil {
		return nil, err
	}
	key, ok := p.class.KeyValues(id)
	if !ok {
		return nil, g.noItem(p.class, id)
	}
	text, args, err := s.selectByKey(p, g, how.may, key)
	if err != nil {
		return nil, err
	}
	held := s.heldClause(ctx, p)
	computes := g.computesFor(p)
	enriched := len(load) > 0 || p.needy || computes
	if enriched { // otherwise the read is too short for a time limit
		var done func()
		ctx, done = s.withReadTime(ctx)
		defer done()
	}
	it := &engine.Item{}
	work := func(r *session) error {
		found, err := r.oneHeld(ctx, text, held, p, it, args)
		if err == nil && !found {
			return s.absentError(r, p, g, how.may, id)
		}
		if err != nil || !enriched {
			return err
		}
		r.guard = g
		return s.enrichRead(ctx, r, []*engine.Item{it}, load)
	}
	switch {
	case len(load) > 0 || p.several || computes:
		err = s.readMetered(ctx, s.neededTable(p, load), s.readers.scans.nameStatement(text, load, 1), s.atOneMoment(work))
	case enriched:
		err = s.readMetered(ctx, s.neededTable(p, load), s.readers.scans.nameStatement(text, load, 1), work)
	default:
		err = s.readFrom(ctx, p.table, work)
	}
	if err != nil {
		return nil, err
	}
	return it, nil
}

// absentError returns the error for an item that a guarded statement did not find: Denied if the account may read the
// whole class but has no permission for this item, otherwise the error for a missing item. If the account has
// permission for the item now, the item was created after the statement, so it counts as missing.
func (s *Store) absentError(r *session, p *plan, g *guard, may engine.Permission, id string) error {
	f := g.rowFilter(may, p.class)
	if f == nil || g.rowFilter(engine.MayRead, p.class) != nil {
		return g.noItem(p.class, id)
	}
	key, _ := p.class.KeyValues(id)
	b := s.guardedBuilder(g)
	b.add("SELECT 1 FROM ", p.table.quoted)
	p.whereKey(b, key)
	b.add(" AND (", b.standaloneFilter(b.topSource(p), f), ") IS NOT TRUE")
	if err := b.finish(s.traits); err != nil {
		return err
	}
	refused := false
	if err := r.visitRows(b, 1, func([]any) { refused = true }); err != nil {
		return err
	}
	if refused {
		return engine.Denied()
	}
	return g.noItem(p.class, id)
}

// readOne loads the item with the key by a statement such as sql().get.
func (r *session) readOne(ctx context.Context, text string, p *plan, it *engine.Item, key []any) (found bool, err error) {
	for i := range key {
		key[i] = encode(key[i])
	}
	st, err := r.prepare(text)
	if err != nil {
		return false, err
	}
	if !r.interrupt.Spends {
		return r.fetchOne(context.WithoutCancel(ctx), st, p, it, key) // the statement ends before a watcher would have started
	}
	ctx, unwatch := r.watchContext(ctx)
	defer func() { err = unwatch(err) }()
	return r.fetchOne(ctx, st, p, it, key)
}

// oneHeld is like readOne, with a lock clause at the end of the statement. lock is "" if there is none.
func (r *session) oneHeld(ctx context.Context, text, lock string, p *plan, it *engine.Item, key []any) (found bool, err error) {
	if lock == "" {
		return r.readOne(ctx, text, p, it, key)
	}
	for range maxAttempts {
		if found, err = r.readOne(ctx, text+lock, p, it, key); found || err != nil {
			break
		}
		// The statement may have waited for a transaction that gave the key to another item, which the statement does
		// not find. The next statement finds it without waiting.
		if found, err = r.readOne(ctx, text, p, it, key); !found || err != nil {
			break
		}
	}
	return found, err
}

// fetchOne runs a statement that returns at most one row of sql().selected.
func (r *session) fetchOne(ctx context.Context, st *sql.Stmt, p *plan, it *engine.Item, args []any) (bool, error) {
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := r.newScanner(p.sql().selected)(rows); err != nil {
		return false, err
	}
	p.loadRow(it, r.raw)
	return true, rows.Close()
}

// List implements engine.Repository. It holds a connection while it calls visit, so visit must not call the repository.
func (s *Store) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	p, err := s.planOf(q.Class)
	if err != nil {
		return err
	}
	g := s.guardOf(ctx)
	if q, err = s.locatePosition(ctx, p, g, q); err != nil {
		return err
	}
	l, err := s.newListing(p, g, q)
	switch {
	case err != nil:
		return err
	case q.Count == 0 && q.Total != nil:
		*q.Total, err = s.countFor(ctx, p, unpagedQuery(q), engine.MayRead)
		return err
	case q.Count == 0:
		return nil
	}
	l.text += s.heldClause(ctx, p)
	ctx, done := s.withReadTime(ctx)
	defer done()
	most := q.Count
	if most >= 0 {
		most += q.Offset
	}
	computes := g.computesFor(p)
	work := func(r *session) error {
		if len(q.Load) > 0 || p.needy || computes {
			r.guard = g
			return s.eachLoaded(ctx, r, p, l, q, visit)
		}
		return r.eachItem(ctx, p, l, func(it *engine.Item) error {
			r.markDelivered()
			return visit(it)
		})
	}
	several := len(q.Load) > 0 || p.several || computes
	name := s.readers.scans.nameStatement(l.text, q.Load, most)
	switch {
	case q.Total != nil:
		return s.listCounted(ctx, p, name, &countedList{query: q, listing: l, guard: g, read: work, several: several})
	case several:
		work = s.atOneMoment(work)
	}
	return s.readMetered(ctx, s.neededTable(p, q.Load), name, work)
}

// countedList is a list that sets Query.Total.
type countedList struct {
	query   *engine.Query
	listing listing
	guard   *guard
	read    func(r *session) error
	several bool // several statements are needed
}

// listCounted reads a list and counts its items. The statement of the list also counts, unless it returns no row of a
// later page or would have too many values.
func (s *Store) listCounted(ctx context.Context, p *plan, name uint64, l *countedList) error {
	total := l.query.Total
	l.several = l.several || l.listing.total == nil
	for {
		work := func(r *session) error {
			*total = -1
			err := l.read(r)
			switch {
			case err != nil:
			case *total >= 0:
				r.meter.addCounted(*total)
			case l.listing.total != nil && l.query.Offset <= 0 && l.query.After == nil:
				*total = 0
			case l.several:
				*total, err = s.countOn(ctx, r, p, l.guard, l.query)
			}
			return err
		}
		if l.several {
			work = s.atOneMoment(work)
		}
		if err := s.readMetered(ctx, s.neededTable(p, l.query.Load), name, work); err != nil || *total >= 0 {
			return err
		}
		l.several = true
	}
}

// countOn counts the items of q on all pages.
func (s *Store) countOn(ctx context.Context, r *session, p *plan, g *guard, q *engine.Query) (int64, error) {
	text, args, err := s.countStatement(p, g, unpagedQuery(q), engine.MayRead)
	if err != nil {
		return 0, err
	}
	n, err := r.queryNumber(ctx, text, args)
	r.meter.addCounted(n)
	return n, err
}

// eachLoaded reads all items before it loads their links.
func (s *Store) eachLoaded(ctx context.Context, r *session, p *plan, l listing, q *engine.Query, visit func(*engine.Item) error) error {
	items, err := r.cloneItems(ctx, p, l)
	if err != nil {
		return err
	}
	if err := s.enrichRead(ctx, r, items, q.Load); err != nil {
		return err
	}
	r.markDelivered()
	for _, it := range items {
		if err := visit(it); err != nil {
			return &stop{err}
		}
	}
	return nil
}

// stop passes an error of visit through the code that handles database errors.
type stop struct{ err error }

func (s *stop) Error() string { return s.err.Error() }

func (r *session) eachItem(ctx context.Context, p *plan, l listing, visit func(*engine.Item) error) error {
	columns := len(l.types)
	if l.total != nil {
		columns++
	}
	more, dest := make([]any, columns), make([]any, columns)
	for i := range more {
		dest[i] = &more[i]
	}
	scan := r.newScanner(p.sql().listed, dest...)
	it := &engine.Item{}
	return r.eachRow(ctx, l.text, l.args, func(rows *sql.Rows) error {
		if err := scan(rows); err != nil {
			return err
		}
		if l.total != nil && *l.total < 0 {
			*l.total, _ = more[len(l.types)].(int64)
		}
		p.loadRow(it, r.raw)
		l.setPosition(it, more[:len(l.types)])
		if err := visit(it); err != nil {
			return &stop{err}
		}
		return nil
	})
}

// cloneItems returns the items of a listing.
func (r *session) cloneItems(ctx context.Context, p *plan, l listing) (items []*engine.Item, err error) {
	err = r.eachItem(ctx, p, l, func(it *engine.Item) error {
		items = append(items, it.Clone())
		return nil
	})
	return items, err
}

// Count implements engine.Repository.
func (s *Store) Count(ctx context.Context, q *engine.Query) (int64, error) {
	p, err := s.planOf(q.Class)
	if err != nil {
		return 0, err
	}
	return s.countFor(ctx, p, q, engine.MayRead)
}

// countFor counts the items of q for which the account has the permission.
func (s *Store) countFor(ctx context.Context, p *plan, q *engine.Query, may engine.Permission) (int64, error) {
	g := s.guardOf(ctx)
	q, err := s.locatePosition(ctx, p, g, q)
	if err != nil {
		return 0, err
	}
	text, args, err := s.countStatement(p, g, q, may)
	if err != nil {
		return 0, err
	}
	ctx, done := s.withReadTime(ctx)
	defer done()
	var n int64
	err = s.readMetered(ctx, p.table, s.readers.scans.nameStatement(text, nil, -1), func(r *session) error {
		n, err = r.queryNumber(ctx, text, args)
		r.meter.addCounted(n)
		return err
	})
	return n, err
}

func (s *Store) countStatement(p *plan, g *guard, q *engine.Query, may engine.Permission) (string, []any, error) {
	if p.findsAll(q) && g.allowsAll(may, p.class) {
		return p.sql().count, nil, nil
	}
	b := s.guardedBuilder(g)
	b.may = may
	b.writeFind(p, "count(*)", q)
	return b.text(), b.args, b.finish(s.traits)
}

func (r *session) queryNumber(ctx context.Context, text string, args []any) (n int64, err error) {
	st, err := r.prepare(text)
	if err != nil {
		return 0, err
	}
	ctx, unwatch := r.watchContext(ctx)
	defer func() { err = unwatch(err) }()
	err = st.QueryRowContext(ctx, args...).Scan(&n)
	return n, err
}

// loadRow sets it from a row of sql().selected. It reuses the Values of it if they have enough capacity.
func (p *plan) loadRow(it *engine.Item, raw []any) {
	for _, i := range p.convert {
		if v := raw[p.system+i]; v != nil {
			raw[p.system+i] = decode(p.columns[i].typ, v)
		}
	}
	rev, _ := raw[atRev].(int64)
	it.Revision = uint64(rev)
	it.Version = textOf(raw[atVersion])
	it.Creator = textOf(raw[atCreator])
	it.Editor = textOf(raw[atEditor])
	it.Class = p.class
	values := raw[p.system:]
	sh := p.shape
	if p.shapes != nil {
		if known := p.shapes[textOf(raw[atClass])]; known != nil { // nil if the class is newer than this Store
			sh = known
		}
		it.Class = sh.class
	}
	n := len(it.Class.Properties)
	if cap(it.Values) < n {
		it.Values = make(engine.Values, n)
	}
	it.Values = it.Values[:n]
	if sh.whole {
		copy(it.Values, values)
	} else {
		for i, at := range sh.at {
			if it.Values[i] = nil; at >= 0 {
				it.Values[i] = values[at]
			}
		}
	}
	it.ID = it.Class.ID(it.Values)
}

func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
