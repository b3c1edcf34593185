package read

import (
	"context"
	"database/sql"
	"slices"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/rights"
	"restsrv/engine/store/sqldb"
	"restsrv/engine/store/sqlquery"
)

// ImplicitDepth limits the loading of relations that are needed by the formulas or display strings of classes: it is
// the maximum number of references in such a path. Display strings that refer to each other would otherwise be
// followed forever.
const ImplicitDepth = 3

// DefaultMaxLoaded is the default of store.Config.MaxLoaded, in bytes. The limit is needed because a few items may
// have very many members.
const DefaultMaxLoaded = 256 << 20

// Estimated sizes in bytes: loadedRow for a loaded row without its texts, and loadedLink for each link to the loaded
// item.
const (
	loadedRow  = 256
	loadedLink = 16
)

// chargeRow subtracts the size of a loaded item from the number of bytes that the read may still load. owners is the
// number of items with a link to it. If the limit is exceeded, chargeRow returns an error.
func chargeRow(r *conns.Session, it *engine.Item, owners int) error {
	if r.Loadable == nil {
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
	if *r.Loadable -= size; *r.Loadable < 0 {
		return engine.Errorf(engine.Invalid, "load-size", "too much would be loaded with the objects: ask for fewer objects or fewer paths")
	}
	return nil
}

// EnrichItems loads the relations in load, and the relations that the classes of the items need for formulas and
// display strings. Then it computes the calculated attributes. Each path of relations takes one statement.
func (s *Reader) EnrichItems(ctx context.Context, items []*engine.Item, load []*engine.Load) error {
	if len(items) == 0 {
		return nil
	}
	g := s.GuardOf(ctx)
	return s.pool.RunRead(ctx, func(r *conns.Session) error {
		r.Guard = g
		return s.enrichOn(ctx, r, items, load)
	})
}

// enrichRead does the work of EnrichItems on the session of a read. It limits the size of the loaded data.
func (s *Reader) enrichRead(ctx context.Context, r *conns.Session, items []*engine.Item, load []*engine.Load) error {
	loadable := s.maxLoaded
	r.Loadable = &loadable
	defer func() { r.Loadable = nil }()
	return s.enrichOn(ctx, r, items, load)
}

func (s *Reader) enrichOn(ctx context.Context, r *conns.Session, items []*engine.Item, load []*engine.Load) error {
	if err := s.LoadAll(ctx, r, items, load, ImplicitDepth); err != nil {
		return err
	}
	return whenRead(s.ComputeItems(ctx, items, s.readerLookups(r)))
}

// LoadAll loads the relations in load. It also loads the relations that the classes of the items need, down to the
// given depth.
func (s *Reader) LoadAll(ctx context.Context, r *conns.Session, items []*engine.Item, load []*engine.Load, depth int) error {
	r.Guard.Withhold(items)
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
					merged = mergeLoad(merged, served(it.Class, l, merged))
				}
			}
		}
	}
	for _, l := range merged {
		if r.Guard.Hides(engine.MayRead, l.Property) {
			continue // the relation is needed only for a computation, in which it counts as null
		}
		loaded, err := s.LoadOne(ctx, r, items, l)
		if err != nil || len(loaded) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		below := depth - 1
		if l.Shown {
			below = ImplicitDepth // items that the response shows are complete, however deep they are
		}
		if err := s.LoadAll(ctx, r, loaded, l.Next, below); err != nil {
			return err
		}
	}
	return nil
}

// mergeLoad adds a load to loads and returns the new list. If a load of loads has the same property and the same
// filter, mergeLoad combines it with the added load, because one statement can serve both.
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

// sameProperty reports whether a and b are the same property of a class tree, that is, copies of one declaration in
// two classes.
func sameProperty(a, b *engine.Property) bool {
	return a == b || a.Name == b.Name && a.Definition == b.Definition && a.Target == b.Target && (a.Back == nil) == (b.Back == nil)
}

// declaresAgain reports whether c declares a plain reference of an ancestor again with the same target class.
func declaresAgain(c *engine.Class, reference *engine.Property) bool {
	plain := func(p *engine.Property) bool {
		return p != nil && p.Type == engine.Reference && p.Back == nil && p.Formula == nil && p.Target == reference.Target
	}
	if !plain(reference) || !plain(c.Property(reference.Name)) {
		return false
	}
	for c = c.Ancestor; c != nil; c = c.Ancestor {
		if p := c.Property(reference.Name); p != nil && sameProperty(p, reference) {
			return true
		}
	}
	return false
}

// served returns the load to use instead of l. Two classes may declare the same reference separately (see
// declaresAgain). If others already contains a load for such a declaration of the property of l, served returns l for
// that property, so that the caller can merge the two loads and one statement suffices. Otherwise it returns l.
func served(c *engine.Class, l *engine.Load, others []*engine.Load) *engine.Load {
	for _, other := range others {
		if other.Property.Name == l.Property.Name && !sameProperty(other.Property, l.Property) && declaresAgain(c, other.Property) {
			as := *l
			as.Property = other.Property
			return &as
		}
	}
	return l
}

// owners contains the items for which a property is loaded. The items are indexed by the text of their leading value:
// the value by which the database finds the items to load, for example the key in a reference (see leadingValue).
type owners struct {
	property *engine.Property
	byValue  map[string][]*engine.Item
	values   []any
	filter   *engine.Filter // an additional condition on the items loaded for these owners
}

// collectOwners returns the items that have a value for the property of l. In all items that have the property, even
// those without a value, it marks the property as loaded.
func collectOwners(items []*engine.Item, l *engine.Load) *owners {
	o := newOwners(l.Property)
	for _, it := range items {
		p := it.Class.Property(l.Property.Name)
		if p == nil || !sameProperty(p, l.Property) && !declaresAgain(it.Class, l.Property) {
			continue
		}
		if it.Links == nil {
			it.Links = make([]engine.Link, len(it.Class.Properties))
		}
		link := &it.Links[p.Index]
		link.Loaded, link.Shown = true, link.Shown || l.Shown
		link.Item, link.Items = nil, nil
		if value := leadingValue(it, p); value != nil {
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

// leadingValue returns the value of item it by which the database finds the items to load for property p. For a
// reference, this is the value of the reference. For a collection, it is the value that the members or the links store
// to refer to it.
func leadingValue(it *engine.Item, p *engine.Property) any {
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

// attachItem links a loaded item to the owners with the given value. It returns the number of these owners.
func (o *owners) attachItem(value any, loaded *engine.Item) int {
	all := o.byValue[engine.ValueText(value)]
	for _, it := range all {
		link := &it.Links[it.Class.Property(o.property.Name).Index]
		switch {
		case o.property.Type == engine.Collection:
			link.Items = append(link.Items, loaded)
		case link.Item == nil: // several items may refer to the owner: use the first
			link.Item = loaded
		}
	}
	return len(all)
}

// LoadOne loads one property of the items with one statement, and returns the loaded items.
func (s *Reader) LoadOne(ctx context.Context, r *conns.Session, items []*engine.Item, l *engine.Load) ([]*engine.Item, error) {
	o := collectOwners(items, l)
	if len(o.values) == 0 {
		return nil, nil
	}
	if o.filter = r.Guard.MemberConditions(l.Property); o.filter.Owned() {
		return s.loadOwned(ctx, r, o, l)
	}
	return s.loadMembers(ctx, r, []*owners{o}, l)
}

// loadMembers loads a property for several groups of owners with one statement. Each group has its own conditions.
// Therefore owners with the same leading value (see leadingValue) must be in the same group.
func (s *Reader) loadMembers(ctx context.Context, r *conns.Session, groups []*owners, l *engine.Load) ([]*engine.Item, error) {
	p, err := s.layout.PlanOf(l.Property.Target)
	if err != nil {
		return nil, err
	}
	st, err := s.memberStatement(p, r.Guard, groups, l)
	if err != nil {
		return nil, err
	}
	var loaded []*engine.Item
	err = visitMembers(r, ctx, p, st, func(it *engine.Item, owner any) error {
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
			attached += o.attachItem(owner, it)
		}
		return chargeRow(r, it, attached)
	})
	return loaded, err
}

// maxOwned is the maximum number of groups in one statement of loadMembers. It is limited because the statement
// compares each row with the conditions of all groups.
const maxOwned = 64

// loadOwned loads a collection with conditions that use values of the owner. Owners with the same values have the same
// conditions, so they form a group.
func (s *Reader) loadOwned(ctx context.Context, r *conns.Session, all *owners, l *engine.Load) (loaded []*engine.Item, err error) {
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
			if len(now) == maxOwned || o.takeValues(taken) {
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

// takeValues reports whether taken already contains a leading value of the owners. If not, it adds all their values to
// taken.
func (o *owners) takeValues(taken map[string]bool) bool {
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

// selection is a statement with its arguments and the description of its result.
type selection struct {
	text   string
	args   []any
	result *sqldb.Result
	owner  *engine.PropertyType // type of an additional last column, which identifies the owner that the row belongs to; nil if there is no such column
}

// memberStatement returns the statement that loads a property for groups of owners. Each group can have its own
// conditions.
func (s *Reader) memberStatement(p *layout.Plan, g *rights.Guard, groups []*owners, l *engine.Load) (selection, error) {
	b := s.queries.GuardedBuilder(g)
	o, property := groups[0], l.Property
	st := selection{result: p.SQL().Listed}
	src := &sqlquery.Source{Plan: p, Alias: p.Table.Quoted, From: &sqlquery.From{Table: p.Table.Quoted}}
	by, order, typ := src.ID(), "", p.Table.ID.Type
	switch {
	case property.Back != nil:
		by, typ = src.Column(property.Back), p.Table.Column(property.Back).Type
	case property.Type == engine.Collection:
		links := s.layout.LinkNames.Of(property)
		src.From.Table = links.Quoted + " JOIN " + src.From.Table + " ON " + by + " = " + links.Quoted + "." + links.Item
		by, order = links.Quoted+"."+links.Owner, links.Quoted+"."+layout.SeqColumn
		typ = s.layout.Plans[o.byValue[engine.ValueText(o.values[0])][0].Class].Table.ID.Type
		st.owner = &typ
	}
	b.Add("SELECT ", st.result.List)
	if st.owner != nil {
		b.Add(", ", by)
	}
	at := len(b.SQL)
	b.Add(" WHERE ")
	if len(groups) > 1 {
		b.Add("(")
	}
	for i, o := range groups {
		if i > 0 {
			b.Add(" OR ")
		}
		writeOwned(b, src, o, by, typ)
	}
	if len(groups) > 1 {
		b.Add(")")
	}
	b.Add(sqlquery.AndCondition(src.OfClass()))
	b.Add(sqlquery.AndCondition(b.AllowedRows(src, b.May)))
	if f := l.Filter; f != nil {
		b.Add(" AND ")
		b.Filter(src, f, false)
	}
	if property.Type == engine.Collection || property.Back != nil {
		b.WriteOrder(src, g.MemberSorting(property))
		if order == "" {
			order = p.Table.Quoted + "." + layout.SeqColumn
		}
		b.Add(order)
	}
	b.Insert(at, " FROM "+src.From.Text())
	st.text, st.args = b.Text(), b.Args
	return st, b.Finish(s.traits)
}

// writeOwned writes the condition that a row belongs to one of the owners. The column by contains the leading value of
// the owner, and typ is its type.
func writeOwned(b *sqlquery.Builder, src *sqlquery.Source, o *owners, by string, typ engine.PropertyType) {
	list := make([]any, len(o.values))
	for i, v := range o.values {
		list[i] = sqldb.Encode(v)
	}
	b.Add(b.Dialect.In(by, typ, list, b.Placeholder))
	if o.filter != nil {
		b.Add(" AND ")
		b.Filter(src, o.filter, false)
	}
}

// visitMembers runs a statement and calls visit with each item and the value of its owner column, or nil if there is
// no owner column. visit may retain the item.
func visitMembers(r *conns.Session, ctx context.Context, p *layout.Plan, st selection, visit func(it *engine.Item, owner any) error) error {
	var owner any
	var more []any
	if st.owner != nil {
		more = []any{&owner}
	}
	scan := r.NewScanner(st.result, more...)
	return r.EachRow(ctx, st.text, st.args, func(rows *sql.Rows) error {
		if err := scan(rows); err != nil {
			return err
		}
		it := &engine.Item{}
		p.LoadRow(it, r.Raw)
		if st.owner != nil {
			owner = sqldb.Decode(*st.owner, owner)
		}
		return visit(it, owner)
	})
}

// neededTable returns the table for which a read of items of p might have to wait. This is a table of related items to
// load, if other requests wait for a lock on it. Otherwise it is the table of p.
func (s *Reader) neededTable(p *layout.Plan, load []*engine.Load) *layout.Table {
	l := s.pool.Readers.Locks
	if l == nil || !l.Some.Load() {
		return p.Table
	}
	for _, more := range load {
		target := s.layout.Plans[more.Property.Target]
		if target == nil {
			continue
		}
		t := s.neededTable(target, more.Next)
		if w, _ := l.FindWait(conns.TableUse{Table: t.Quoted, Write: false}); w != nil {
			return t
		}
	}
	return p.Table
}
