package access

import (
	"context"
	"slices"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/jsonfile"
	"restsrv/engine/store/storetest"
	"restsrv/engine/wire"
)

// world has departments, documents, shares of documents, and objects that refer to them. Memos
// and letters are subclasses of documents, and stamped letters are a subclass of letters.
type world struct {
	dept, share, doc, memo, letter, stamped *engine.Class
	docs                                    []*engine.Item
	grants                                  *engine.Grants
	roles                                   *RoleMap
	stages                                  Stages
	revision                                uint64
}

func newWorld() *world {
	w := &world{}
	w.dept = storetest.NewClass("dept", storetest.Prop("code", engine.Int), storetest.Prop("name", engine.String), storetest.Prop("head", engine.User), storetest.Prop("budget", engine.Int))
	w.share = storetest.NewClass("share", storetest.Prop("id", engine.String), storetest.Prop("who", engine.User))
	w.doc = storetest.NewClass("doc", storetest.Prop("id", engine.String), storetest.Prop("title", engine.String), storetest.Prop("owner", engine.User),
		storetest.Prop("readers", engine.Collection, func(p *engine.Property) { p.Target = w.share }), storetest.Prop("state", engine.Int), storetest.Prop("pay", engine.Int), storetest.Ref("dept", w.dept))
	w.doc.Abstract = true
	w.memo = storetest.Extend(w.doc, "memo", storetest.Prop("urgent", engine.Boolean))
	w.letter = storetest.Extend(w.doc, "letter", storetest.Prop("to", engine.String))
	w.stamped = storetest.Extend(w.letter, "stamped", storetest.Prop("stamp", engine.String))
	return w
}

func (w *world) link() *world {
	storetest.Link(w.Classes()...)
	return w
}

func (w *world) Classes() []*engine.Class {
	return []*engine.Class{w.dept, w.share, w.doc, w.letter, w.memo, w.stamped}
}

func (w *world) Class(name string) (*engine.Class, error) {
	for _, c := range w.Classes() {
		if c.FullName == name {
			return c, nil
		}
	}
	return nil, engine.NoClass(name)
}

func (w *world) Grants(context.Context) (*engine.Grants, error) { return w.grants, nil }

// grant replaces the grants. The arguments are groups of three: subject, resource, permission.
func (w *world) grant(granted ...string) *world {
	var all []engine.Grant
	for i := 0; i+2 < len(granted); i += 3 {
		p, ok := engine.ParsePermission(granted[i+2])
		if !ok {
			panic(granted[i+2])
		}
		all = append(all, engine.Grant{Subject: granted[i], Resource: granted[i+1], Permission: p})
	}
	w.revision++
	w.grants = engine.NewGrants(w.revision, all, nil)
	return w
}

func (w *world) config() Config {
	return Config{Inner: &memory{world: w}, Policy: w, Meta: w, RoleMap: w.roles, Stages: w.stages}
}

// roleMap sets the role map of the world. The source must have no mistakes.
func (w *world) roleMap(t *testing.T, source string) *world {
	t.Helper()
	var faults engine.Faults
	w.roles = ParseRoleMap(w, object(t, source, &faults))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return w
}

func object(t *testing.T, source string, faults *engine.Faults) jsonfile.Object {
	t.Helper()
	v, err := wire.Decode([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return jsonfile.Object{File: "deploy.json", Path: "options", Fields: v.(engine.Fields), Faults: faults, Lenient: true}
}

// describeFaults returns a line for each fault: the code of its rule and the fault
// without the resolution.
func describeFaults(t *testing.T, faults engine.Faults) string {
	var lines []string
	for _, f := range faults {
		if f.Level == engine.Fatal {
			t.Errorf("%s is fatal", f)
		}
		f.Resolution = ""
		lines = append(lines, strings.TrimSpace(f.Code+" "+f.String()))
	}
	return strings.Join(lines, "\n")
}

func newItem(c *engine.Class, id string, pairs ...any) *engine.Item {
	it := &engine.Item{Class: c, ID: id, Revision: 1, Creator: "maker@local", Editor: "editor@local", Values: make(engine.Values, len(c.Properties))}
	it.Values[c.KeyProperties()[0].Index] = id
	for i := 0; i < len(pairs); i += 2 {
		p := c.Property(pairs[i].(string))
		v := pairs[i+1]
		if n, ok := v.(int); ok {
			v = int64(n)
		}
		v, err := p.Cast(v)
		if err != nil {
			panic(err)
		}
		it.Values[p.Index] = v
	}
	return it
}

// refer loads the target of a reference of an item.
func refer(it *engine.Item, name string, target *engine.Item) *engine.Item {
	p := it.Class.Property(name)
	if it.Links == nil {
		it.Links = make([]engine.Link, len(it.Class.Properties))
	}
	it.Links[p.Index] = engine.Link{Loaded: true, Shown: true, Item: target}
	it.Values[p.Index] = target.Values[target.Class.KeyProperties()[0].Index]
	return it
}

func account(id string, roles ...string) *engine.Account {
	return &engine.Account{ID: id, Roles: roles}
}

func as(t testing.TB, a *engine.Account) context.Context { return engine.WithAccount(t.Context(), a) }

// shared loads shares into the collection readers of a document.
func (w *world) shared(it *engine.Item, readers ...string) *engine.Item {
	p := it.Class.Property("readers")
	if it.Links == nil {
		it.Links = make([]engine.Link, len(it.Class.Properties))
	}
	link := engine.Link{Loaded: true, Shown: true}
	for _, r := range readers {
		link.Items = append(link.Items, newItem(w.share, r, "who", r))
	}
	it.Links[p.Index] = link
	return it
}

// valuesOf are the values at the end of a path.
func valuesOf(it *engine.Item, path []*engine.Property) []any {
	switch path[0] {
	case engine.ClassName:
		return []any{it.Class.FullName}
	case engine.ItemID:
		return []any{it.ID}
	}
	p := it.Class.Property(path[0].Name)
	if p == nil {
		return nil
	}
	if len(path) == 1 {
		return []any{it.Values[p.Index]}
	}
	link := it.Link(p)
	members := link.Items
	if link.Item != nil {
		members = append(members, link.Item)
	}
	var all []any
	for _, m := range members {
		all = append(all, valuesOf(m, path[1:])...)
	}
	return all
}

// passes evaluates a condition of the gate on an item.
func passes(f *engine.Filter, it *engine.Item) bool {
	if f == nil {
		return true
	}
	switch f.Op {
	case engine.OpConst:
		return f.Value
	case engine.OpAnd:
		return !slices.ContainsFunc(f.Args, func(a *engine.Filter) bool { return !passes(a, it) })
	case engine.OpOr:
		return slices.ContainsFunc(f.Args, func(a *engine.Filter) bool { return passes(a, it) })
	case engine.OpNot:
		return !slices.ContainsFunc(f.Args, func(a *engine.Filter) bool { return passes(a, it) })
	case engine.OpEq:
		return slices.Contains(valuesOf(it, f.Left.Path), f.Right.Value)
	case engine.OpIn:
		return slices.ContainsFunc(valuesOf(it, f.Left.Path), func(v any) bool { return v != nil && slices.Contains(f.List, v) })
	}
	panic("condition " + string(f.Op))
}

// memory is an inner repository that applies the guard, as the store does, and
// records its calls.
type memory struct {
	*world
	engine.Repository
	calls  []string
	guards []engine.Guard
	values engine.Values
	saved  []engine.Record
	class  *engine.Class
}

func (m *memory) called(ctx context.Context, name string, c *engine.Class) engine.Guard {
	g := engine.GuardFrom(ctx)
	m.calls, m.guards, m.class = append(m.calls, name), append(m.guards, g), c
	return g
}

// find returns the items of c that the guard allows.
func (m *memory) find(g engine.Guard, may engine.Permission, c *engine.Class) (found []*engine.Item) {
	for _, it := range m.docs {
		if slices.Contains(withDescendants(c), it.Class) && (g == nil || passes(g.Rows(may, c), it)) {
			found = append(found, it)
		}
	}
	return found
}

func (m *memory) one(g engine.Guard, may engine.Permission, c *engine.Class, id string) (*engine.Item, error) {
	for _, it := range m.find(g, may, c) {
		if it.ID == id {
			return it, nil
		}
	}
	return nil, engine.NoItem(c, id)
}

func (m *memory) Get(ctx context.Context, c *engine.Class, id string, _ ...*engine.Load) (*engine.Item, error) {
	return m.one(m.called(ctx, "get", c), engine.MayRead, c, id)
}

func (m *memory) List(ctx context.Context, q *engine.Query, visit func(*engine.Item) error) error {
	found := m.find(m.called(ctx, "list", q.Class), engine.MayRead, q.Class)
	if q.Total != nil {
		*q.Total = int64(len(found))
	}
	for _, it := range found {
		if err := visit(it); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Count(ctx context.Context, q *engine.Query) (int64, error) {
	return int64(len(m.find(m.called(ctx, "count", q.Class), engine.MayRead, q.Class))), nil
}

func (m *memory) Aggregate(ctx context.Context, a *engine.Aggregation, visit func([]any) error) error {
	for _, it := range m.find(m.called(ctx, "aggregate", a.Class), engine.MayRead, a.Class) {
		if passes(a.Filter, it) {
			if err := visit(valuesOf(it, a.Columns[0].Expr.Path)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *memory) Create(ctx context.Context, c *engine.Class, v engine.Values, _ engine.WriteOptions) (*engine.Item, error) {
	m.called(ctx, "create", c)
	m.values = v
	it := newItem(c, "new", "title", "New", "owner", engine.AccountFrom(ctx).ID)
	m.docs = append(m.docs, it)
	return it, nil
}

func (m *memory) Update(ctx context.Context, c *engine.Class, id string, v engine.Values, _ engine.WriteOptions) (*engine.Item, error) {
	m.values = v
	return m.one(m.called(ctx, "update", c), engine.MayWrite, c, id)
}

func (m *memory) Delete(ctx context.Context, c *engine.Class, id string, _ *engine.Match) error {
	_, err := m.one(m.called(ctx, "delete", c), engine.MayDelete, c, id)
	return err
}

func (m *memory) UpdateAll(ctx context.Context, q *engine.Query, v engine.Values) (int64, error) {
	m.values = v
	return int64(len(m.find(m.called(ctx, "update all", q.Class), engine.MayWrite, q.Class))), nil
}

func (m *memory) DeleteAll(ctx context.Context, q *engine.Query) (int64, error) {
	return int64(len(m.find(m.called(ctx, "delete all", q.Class), engine.MayDelete, q.Class))), nil
}

func (m *memory) Save(ctx context.Context, records []engine.Record) (all []*engine.Item, err error) {
	g := m.called(ctx, "save", records[0].Class)
	m.saved = records
	for i, r := range records {
		it, err := m.one(g, engine.MayWrite, r.Class, r.ID)
		if err != nil {
			return nil, engine.AtRecord(err, i)
		}
		all = append(all, it)
	}
	return all, nil
}
