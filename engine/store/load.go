package store

import (
	"context"
	"database/sql"
	"slices"

	"restsrv/engine"
)

// implicitDepth is how many references deep the needs of classes are followed:
// display strings may name each other in a circle.
const implicitDepth = 3

// defaultMaxLoaded is Config.MaxLoaded's: the number of items says nothing of
// that of their members.
const defaultMaxLoaded = 256 << 20

// What a row that is loaded takes besides its texts, and what each item that
// points at it takes for that.
const (
	loadedRow  = 256
	loadedLink = 16
)

// charge counts a loaded row and its owners against what may be loaded.
func (r *session) charge(it *engine.Item, owners int) error {
	if r.loadable == nil {
		return nil
	}
	size := loadedRow + loadedLink*(owners+len(it.Values))
	for _, v := range it.Values {
		switch v := v.(type) {
		case string:
			size += len(v)
		case engine.JSONText:
			size += len(v)
		}
	}
	if *r.loadable -= size; *r.loadable < 0 {
		return engine.Errorf(engine.Invalid, "load-size", "too much would be loaded with the objects: ask for fewer objects or fewer paths")
	}
	return nil
}

// needs reports whether items of the class need more than their row.
func needs(c *engine.Class) bool {
	return len(c.Needs()) > 0 || computes(c)
}

// enrich loads what the classes of the items need, and what load names, with
// one statement for each path.
func (s *Store) enrich(ctx context.Context, items []*engine.Item, load []*engine.Load) error {
	if len(items) == 0 {
		return nil
	}
	g := s.guardOf(ctx)
	return s.read(ctx, func(r *session) error {
		r.guard = g
		return s.enrichOn(ctx, r, items, load)
	})
}

// enrichRead is enrichOn for a reader, who may ask for less.
func (s *Store) enrichRead(ctx context.Context, r *session, items []*engine.Item, load []*engine.Load) error {
	loadable := s.cfg.MaxLoaded
	r.loadable = &loadable
	defer func() { r.loadable = nil }()
	return s.enrichOn(ctx, r, items, load)
}

func (s *Store) enrichOn(ctx context.Context, r *session, items []*engine.Item, load []*engine.Load) error {
	if err := s.loadAll(ctx, r, items, load, implicitDepth); err != nil {
		return err
	}
	return whenRead(s.calculate(ctx, items, s.reading(r)))
}

// loadAll follows load and, to a depth, what the classes of the items need.
func (s *Store) loadAll(ctx context.Context, r *session, items []*engine.Item, load []*engine.Load, depth int) error {
	r.guard.withhold(items)
	var merged []*engine.Load
	for _, l := range load {
		merged = mergeLoad(merged, l)
	}
	if depth > 0 {
		seen := map[*engine.Class]bool{}
		for _, it := range items {
			if !seen[it.Class] {
				seen[it.Class] = true
				for _, l := range it.Class.Needs() {
					merged = mergeLoad(merged, l)
				}
			}
		}
	}
	for _, l := range merged {
		if r.guard.hides(engine.MayRead, l.Property) {
			continue // it is needed to compute: what is not there is null
		}
		loaded, err := s.loadOne(ctx, r, items, l)
		if err != nil || len(loaded) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		below := depth - 1
		if l.Shown {
			below = implicitDepth // it is answered in full, wherever it is
		}
		if err := s.loadAll(ctx, r, loaded, l.Next, below); err != nil {
			return err
		}
	}
	return nil
}

// mergeLoad adds a load to others; those of one property become one, so that
// they are one statement.
func mergeLoad(loads []*engine.Load, add *engine.Load) []*engine.Load {
	for i, l := range loads {
		if sameProperty(l.Property, add.Property) && l.Filter == add.Filter {
			both := *l
			both.Shown = l.Shown || add.Shown
			both.Next = slices.Clone(l.Next)
			for _, next := range add.Next {
				both.Next = mergeLoad(both.Next, next)
			}
			loads[i] = &both
			return loads
		}
	}
	return append(loads, add)
}

// sameProperty reports whether two classes of one tree have the property from
// the same declaration.
func sameProperty(a, b *engine.Property) bool {
	return a == b || a.Name == b.Name && a.Definition == b.Definition && a.Target == b.Target && (a.Back == nil) == (b.Back == nil)
}

// owners are the items with a property to load, by the value that leads to
// what is loaded: the text of an id.
type owners struct {
	property *engine.Property
	byValue  map[string][]*engine.Item
	values   []any
	filter   *engine.Filter // on what is loaded for them, besides that of the load
}

// collect finds the items that have the property, and a value for it.
func collect(items []*engine.Item, l *engine.Load) *owners {
	o := newOwners(l.Property)
	for _, it := range items {
		p := it.Class.Property(l.Property.Name)
		if p == nil || !sameProperty(p, l.Property) {
			continue
		}
		if it.Links == nil {
			it.Links = make([]engine.Link, len(it.Class.Properties))
		}
		link := &it.Links[p.Index]
		link.Loaded, link.Shown = true, link.Shown || l.Shown
		link.Item, link.Items = nil, nil
		if value := leading(it, p); value != nil {
			o.add(value, it)
		}
	}
	return o
}

func newOwners(p *engine.Property) *owners {
	return &owners{property: p, byValue: map[string][]*engine.Item{}}
}

func (o *owners) add(value any, it *engine.Item) {
	key := engine.ValueText(value)
	if o.byValue[key] == nil {
		o.values = append(o.values, value)
	}
	o.byValue[key] = append(o.byValue[key], it)
}

// leading is the value of an item that leads to what p loads: the reference
// itself, else what references to the item hold.
func leading(it *engine.Item, p *engine.Property) any {
	switch {
	case p.Type == engine.Reference && p.Back == nil:
		return it.Values[p.Index]
	case p.Back != nil && p.Binding != nil:
		return it.Get(p.Binding.Name)
	}
	value, ok := it.Class.KeyValues(it.ID)
	if !ok {
		return nil
	}
	return value[0]
}

// attach gives a loaded item to its owners and returns how many these are.
func (o *owners) attach(value any, loaded *engine.Item) int {
	all := o.byValue[engine.ValueText(value)]
	for _, it := range all {
		link := &it.Links[it.Class.Property(o.property.Name).Index]
		switch {
		case o.property.Type == engine.Collection:
			link.Items = append(link.Items, loaded)
		case link.Item == nil: // of several that point back, the first counts
			link.Item = loaded
		}
	}
	return len(all)
}

// loadOne loads one property of the items, by one statement, and returns what
// it loaded.
func (s *Store) loadOne(ctx context.Context, r *session, items []*engine.Item, l *engine.Load) ([]*engine.Item, error) {
	o := collect(items, l)
	if len(o.values) == 0 {
		return nil, nil
	}
	if o.filter = r.guard.conditions(l.Property); o.filter.Owned() {
		return s.loadOwned(ctx, r, o, l)
	}
	return s.loadMembers(ctx, r, []*owners{o}, l)
}

// loadMembers loads a property of owners, no two of which have the same value that
// leads to what is loaded unless they are in the same group, by one statement.
func (s *Store) loadMembers(ctx context.Context, r *session, groups []*owners, l *engine.Load) ([]*engine.Item, error) {
	p, err := s.plan(l.Property.Target)
	if err != nil {
		return nil, err
	}
	st, err := s.memberStatement(p, r.guard, groups, l)
	if err != nil {
		return nil, err
	}
	var loaded []*engine.Item
	err = r.members(ctx, p, st, func(it *engine.Item, owner any) error {
		loaded = append(loaded, it)
		switch {
		case l.Property.Back != nil:
			owner = it.Get(l.Property.Back.Name)
		case l.Property.Type == engine.Reference:
			key, _ := it.Class.KeyValues(it.ID)
			owner = key[0]
		}
		attached := 0
		for _, o := range groups {
			attached += o.attach(owner, it)
		}
		return r.charge(it, attached)
	})
	return loaded, err
}

// maxOwned is how many groups of owners with conditions of their own one statement
// serves: each row that it reads is compared with all of them.
const maxOwned = 64

// loadOwned loads a collection whose members depend on values of their owners: owners
// with the same values are one group.
func (s *Store) loadOwned(ctx context.Context, r *session, all *owners, l *engine.Load) (loaded []*engine.Item, err error) {
	names := all.filter.OwnerProperties()
	var groups []*owners
	found := map[string]*owners{}
	for _, value := range all.values {
		for _, it := range all.byValue[engine.ValueText(value)] {
			var key []byte
			for _, p := range names {
				key = append(engine.AppendValue(key, it.Get(p.Name)), 0)
			}
			o := found[string(key)]
			if o == nil {
				o = newOwners(l.Property)
				o.filter = all.filter.ForOwner(it)
				found[string(key)] = o
				groups = append(groups, o)
			}
			o.add(value, it)
		}
	}
	groups = slices.DeleteFunc(groups, func(o *owners) bool { return o.filter.Never() })
	for len(groups) > 0 {
		var now, later []*owners
		taken := map[string]bool{}
		for _, o := range groups {
			if len(now) == maxOwned || o.meets(taken) {
				later = append(later, o)
				continue
			}
			now = append(now, o)
		}
		more, err := s.loadMembers(ctx, r, now, l)
		if err != nil {
			return nil, err
		}
		loaded, groups = append(loaded, more...), later
	}
	return loaded, nil
}

// meets reports whether a value of the owners is taken, and takes them all if none is.
func (o *owners) meets(taken map[string]bool) bool {
	for key := range o.byValue {
		if taken[key] {
			return true
		}
	}
	for key := range o.byValue {
		taken[key] = true
	}
	return false
}

// selection is SQL, what it binds, and what it returns.
type selection struct {
	text   string
	args   []any
	result *result
	owner  *engine.PropertyType // type of one more column, nil for none
}

// memberStatement is the statement that loads a property of the owners, each group of
// which may have conditions of its own.
func (s *Store) memberStatement(p *plan, g *guard, groups []*owners, l *engine.Load) (selection, error) {
	b := s.guarded(g)
	o, property := groups[0], l.Property
	st := selection{result: p.sql().listed}
	src := &source{plan: p, alias: p.table.quoted, from: &from{table: p.table.quoted}}
	by, order, typ := src.id(), "", p.table.id.typ
	switch {
	case property.Back != nil:
		by, typ = src.column(property.Back), p.table.column(property.Back).typ
	case property.Type == engine.Collection:
		links := s.linkNames.of(property)
		src.from.table = links.quoted + " JOIN " + src.from.table + " ON " + by + " = " + links.quoted + "." + links.item
		by, order = links.quoted+"."+links.owner, links.quoted+"."+seqColumn
		typ = s.plans[o.byValue[engine.ValueText(o.values[0])][0].Class].table.id.typ
		st.owner = &typ
	}
	b.add("SELECT ", st.result.list)
	if st.owner != nil {
		b.add(", ", by)
	}
	at := len(b.sql)
	b.add(" WHERE ")
	if len(groups) > 1 {
		b.add("(")
	}
	for i, o := range groups {
		if i > 0 {
			b.add(" OR ")
		}
		b.owned(src, o, by, typ)
	}
	if len(groups) > 1 {
		b.add(")")
	}
	b.add(and(src.ofClass()))
	b.add(and(b.allowed(src, b.may)))
	if f := l.Filter; f != nil {
		b.add(" AND ")
		b.filter(src, f, false)
	}
	if property.Type == engine.Collection || property.Back != nil {
		b.order(src, g.sorting(property))
		if order == "" {
			order = p.table.quoted + "." + seqColumn
		}
		b.add(order)
	}
	b.insert(at, " FROM "+src.from.text())
	st.text, st.args = b.text(), b.args
	return st, b.finish(s.traits)
}

// owned writes the condition that a row belongs to one of the owners. by is the
// column that leads to them.
func (b *builder) owned(src *source, o *owners, by string, typ engine.PropertyType) {
	list := make([]any, len(o.values))
	for i, v := range o.values {
		list[i] = encode(v)
	}
	b.add(b.dialect.In(by, typ, list, b.placeholder))
	if o.filter != nil {
		b.add(" AND ")
		b.filter(src, o.filter, false)
	}
}

// members runs a statement and hands out each item, which the callee may keep,
// and its owner column.
func (r *session) members(ctx context.Context, p *plan, st selection, visit func(it *engine.Item, owner any) error) error {
	var owner any
	var more []any
	if st.owner != nil {
		more = []any{&owner}
	}
	scan := r.scanner(st.result, more...)
	return r.rows(ctx, st.text, st.args, func(rows *sql.Rows) error {
		if err := scan(rows); err != nil {
			return err
		}
		it := &engine.Item{}
		p.load(it, r.raw)
		if st.owner != nil {
			owner = decode(*st.owner, owner)
		}
		return visit(it, owner)
	})
}
