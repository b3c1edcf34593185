// Package dump reads all rows of a database as they are stored, for exports: items, links, counters, and the rows of
// classes that the application no longer has.
package dump

import (
	"context"
	"database/sql"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/schema"
	"restsrv/engine/store/sqldb"
)

// Dumper reads the tables of a layout. Other transactions may write between two calls. Use engine.Snapshotter if
// several calls should see the same state of the data.
type Dumper struct {
	pool   *conns.Pool
	layout *layout.Layout
}

// New returns a Dumper.
func New(pool *conns.Pool, l *layout.Layout) *Dumper { return &Dumper{pool, l} }

// Dump calls visit for the stored items of a root class and its descendants, in the order of their row numbers; later
// items have greater numbers. Passwords are hashes, relations are not loaded, and formulas are not computed.
//
// Dump visits at most count items with row numbers greater than after, which must be 0 in the first call. It returns
// the row number of the last visited item, to be passed as after to the next call, or 0 if there are no more items.
// The item is valid only during the call of visit; to retain it, visit must clone it. Do not use Dump for requests of
// clients.
func (d *Dumper) Dump(ctx context.Context, root *engine.Class, after int64, count int, visit func(*engine.Item) error) (last int64, err error) {
	p, err := d.layout.PlanOf(root)
	if err != nil {
		return 0, err
	}
	return d.dumpPlan(ctx, p, after, count, visit)
}

// dumpPlan does the work of Dump for the class of a plan.
func (d *Dumper) dumpPlan(ctx context.Context, p *layout.Plan, after int64, count int, visit func(*engine.Item) error) (last int64, err error) {
	b := sqldb.NewBuilder(d.layout.Traits)
	b.Add("SELECT ", p.SQL().Selected.List, ", ", layout.SeqColumn, " FROM ", p.Table.Quoted, " WHERE ", layout.SeqColumn, " > ")
	b.Bind(after)
	if p.ClassCondition() != "" {
		b.Add(" AND ", p.ClassCondition())
	}
	b.Add(" ORDER BY ", layout.SeqColumn, " LIMIT ")
	b.Bind(int64(count))
	it := &engine.Item{}
	err = d.dumpRows(ctx, b, p.SQL().Selected, []any{&last}, func(r *conns.Session) error {
		p.LoadRow(it, r.Raw)
		return visit(it)
	})
	return last, err
}

// Linked returns the collections that are stored in tables of links. If two collections mirror each other, they share a
// table, and Linked returns only one of them.
func (d *Dumper) Linked() []*engine.Property {
	var all []*engine.Property
	seen := map[string]bool{}
	for _, t := range d.layout.Tables {
		for _, c := range t.Classes {
			for _, p := range c.Properties {
				if !layout.IsLinked(p) || d.layout.Plans[p.Target] == nil {
					continue
				}
				if l := d.layout.LinkNames.Of(p); l.Owner == layout.OwnerColumn && !seen[l.Name] {
					seen[l.Name] = true
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// DumpLinks calls visit with the ids of owner and member for each link of collection p, which must be in the result of
// Linked. It visits at most count links with numbers above after, and returns the number of the last one, as Dump does
// for items. If the links are imported in the order of the calls, the members keep their order.
func (d *Dumper) DumpLinks(ctx context.Context, p *engine.Property, after int64, count int, visit func(owner, member string) error) (last int64, err error) {
	l := d.layout.LinkNames.Of(p)
	from, to := d.linkTypes(p)
	b := sqldb.NewBuilder(d.layout.Traits)
	b.Add("SELECT ", l.Owner, ", ", l.Item, ", ", layout.SeqColumn, " FROM ", l.Quoted, " WHERE ", layout.SeqColumn, " > ")
	b.Bind(after)
	b.Add(" ORDER BY ", layout.SeqColumn, " LIMIT ")
	b.Bind(int64(count))
	var owner, member any
	err = d.dumpRows(ctx, b, &sqldb.Result{}, []any{&owner, &member, &last}, func(*conns.Session) error {
		return visit(engine.ValueText(sqldb.ReadValue(from, owner)), engine.ValueText(sqldb.ReadValue(to, member)))
	})
	return last, err
}

// linkTypes returns the types of the ids of owners and members of a collection.
func (d *Dumper) linkTypes(p *engine.Property) (owner, member engine.PropertyType) {
	member = d.layout.Plans[p.Target].Table.ID.Type
	c, err := d.layout.DeclaringClass(p)
	if err != nil {
		return engine.String, member
	}
	return d.layout.Plans[c].Table.ID.Type, member
}

// Counters returns the last assigned number of each counter, by the name of the counter.
func (d *Dumper) Counters(ctx context.Context) (map[string]int64, error) {
	b := sqldb.NewBuilder(d.layout.Traits)
	b.Add(`SELECT "name", `, schema.StoredNumber, ` FROM `, schema.CounterTable)
	all := map[string]int64{}
	var name string
	var value int64
	err := d.dumpRows(ctx, b, &sqldb.Result{}, []any{&name, &value}, func(*conns.Session) error {
		all[name] = value
		return nil
	})
	return all, err
}

// dumpRows runs a statement and calls visit for each row. res describes the first columns of the statement. The values
// of the following columns are stored in the variables to which more points.
func (d *Dumper) dumpRows(ctx context.Context, b *sqldb.Builder, res *sqldb.Result, more []any, visit func(r *conns.Session) error) error {
	return d.pool.RunRead(ctx, func(r *conns.Session) error {
		scan := r.NewScanner(res, more...)
		return r.EachRow(ctx, b.Text(), b.Args, func(rows *sql.Rows) error {
			if err := scan(rows); err != nil {
				return err
			}
			r.MarkDelivered()
			if err := visit(r); err != nil {
				return &conns.Stop{Err: err}
			}
			return nil
		})
	})
}
