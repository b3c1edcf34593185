package store

import (
	"context"
	"database/sql"

	"restsrv/engine"
)

// Dump calls visit for items of a root class and of all classes below it, as they are stored:
// passwords are hashes, relations are not loaded and formulas are not computed. It visits at most
// count items, in the order of their insertion numbers, beginning after the number after (0 for the
// start). last is the number of the last item, or 0 if there was none. The item is valid only
// during the call of visit. Do not use Dump for requests of clients.
func (s *Store) Dump(ctx context.Context, root *engine.Class, after int64, count int, visit func(*engine.Item) error) (last int64, err error) {
	p, err := s.planOf(root)
	if err != nil {
		return 0, err
	}
	return s.dumpPlan(ctx, p, after, count, visit)
}

// dumpPlan is Dump for the class of a plan.
func (s *Store) dumpPlan(ctx context.Context, p *plan, after int64, count int, visit func(*engine.Item) error) (last int64, err error) {
	b := newBuilder(s.traits)
	b.add("SELECT ", p.sql().selected.list, ", ", seqColumn, " FROM ", p.table.quoted, " WHERE ", seqColumn, " > ")
	b.bind(after)
	if p.classCondition() != "" {
		b.add(" AND ", p.classCondition())
	}
	b.add(" ORDER BY ", seqColumn, " LIMIT ")
	b.bind(int64(count))
	it := &engine.Item{}
	err = s.dumpRows(ctx, b, p.sql().selected, []any{&last}, func(r *session) error {
		p.loadRow(it, r.raw)
		return visit(it)
	})
	return last, err
}

// Linked returns the collections that are stored in tables of links, one for each table. Of two
// collections that mirror each other it returns one.
func (s *Store) Linked() []*engine.Property {
	var all []*engine.Property
	seen := map[string]bool{}
	for _, t := range s.tables {
		for _, c := range t.classes {
			for _, p := range c.Properties {
				if !isLinked(p) || s.plans[p.Target] == nil {
					continue
				}
				if l := s.linkNames.of(p); l.owner == ownerColumn && !seen[l.name] {
					seen[l.name] = true
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// DumpLinks calls visit with the ids of owner and member for the links of a collection that Linked
// returned. It uses insertion numbers like Dump.
func (s *Store) DumpLinks(ctx context.Context, p *engine.Property, after int64, count int, visit func(owner, member string) error) (last int64, err error) {
	l := s.linkNames.of(p)
	from, to := s.linkTypes(p)
	b := newBuilder(s.traits)
	b.add("SELECT ", l.owner, ", ", l.item, ", ", seqColumn, " FROM ", l.quoted, " WHERE ", seqColumn, " > ")
	b.bind(after)
	b.add(" ORDER BY ", seqColumn, " LIMIT ")
	b.bind(int64(count))
	var owner, member any
	err = s.dumpRows(ctx, b, &result{}, []any{&owner, &member, &last}, func(*session) error {
		return visit(engine.ValueText(readValue(from, owner)), engine.ValueText(readValue(to, member)))
	})
	return last, err
}

// linkTypes returns the types of the ids on both sides of a collection.
func (s *Store) linkTypes(p *engine.Property) (owner, member engine.PropertyType) {
	member = s.plans[p.Target].table.id.typ
	c, err := s.classOf(p)
	if err != nil {
		return engine.String, member
	}
	return s.plans[c].table.id.typ, member
}

// Counters returns the last assigned numbers by the names of their counters.
func (s *Store) Counters(ctx context.Context) (map[string]int64, error) {
	b := newBuilder(s.traits)
	b.add(`SELECT "name", `, storedNumber, ` FROM `, counterTable)
	all := map[string]int64{}
	var name string
	var value int64
	err := s.dumpRows(ctx, b, &result{}, []any{&name, &value}, func(*session) error {
		all[name] = value
		return nil
	})
	return all, err
}

// dumpRows reads the rows of a statement. The columns go to the slots of the result, and the columns
// after them to more.
func (s *Store) dumpRows(ctx context.Context, b *builder, res *result, more []any, visit func(r *session) error) error {
	return s.runRead(ctx, func(r *session) error {
		scan := r.newScanner(res, more...)
		return r.eachRow(ctx, b.text(), b.args, func(rows *sql.Rows) error {
			if err := scan(rows); err != nil {
				return err
			}
			r.markDelivered()
			if err := visit(r); err != nil {
				return &stop{err}
			}
			return nil
		})
	})
}
