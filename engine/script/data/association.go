package data

import (
	"context"
	"slices"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/inputs"
	"restsrv/engine/query"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// association is a collection attribute of one item, its master. The items in the collection are its members.
type association struct {
	class      *engine.Class
	master     string // id of the item
	collection *engine.Property
}

// readAssociation reads the first two arguments of a call: the master item and the name of one of its collections.
func (r *jsRepository) readAssociation(call goja.FunctionCall) (*association, error) {
	master := itemOf(call.Argument(0))
	if master == nil {
		return nil, engine.Errorf(engine.Invalid, "argument", "the first argument is an item, found %s", js.DescribeValue(call.Argument(0)))
	}
	c, err := r.viewOf(master.item.Class)
	if err != nil {
		return nil, err
	}
	a := &association{class: c, master: master.item.ID}
	name := call.Argument(1).String()
	if a.collection = a.class.Property(name); a.collection == nil || a.collection.Type != engine.Collection || a.collection.Target == nil {
		e := engine.Errorf(engine.Invalid, "no-collection", "class %s has no collection %s", a.class.FullName, engine.Quote(name))
		e.Class, e.Attribute = a.class.FullName, name
		return nil, e
	}
	return a, nil
}

func (r *jsRepository) put(call goja.FunctionCall) (vm.Operation, error) {
	return r.changeMembers("add", call)
}

func (r *jsRepository) eject(call goja.FunctionCall) (vm.Operation, error) {
	return r.changeMembers("remove", call)
}

// changeMembers adds members to a collection or removes them from it. It returns the updated master.
func (r *jsRepository) changeMembers(how string, call goja.FunctionCall) (vm.Operation, error) {
	a, err := r.readAssociation(call)
	if err != nil {
		return vm.Operation{}, err
	}
	if _, err := r.writableClass(call.Argument(0), engine.MayWrite); err != nil {
		return vm.Operation{}, err
	}
	details, err := r.h.ToDecoded(call.Argument(2))
	if err != nil {
		return vm.Operation{}, err
	}
	if _, ok := details.([]any); !ok {
		details = []any{details}
	}
	if len(details.([]any)) == 0 {
		return r.getMaster(a), nil
	}
	in := &input{r: r, class: a.class, id: a.master}
	in.values, _, err = a.class.Bind(engine.Fields{{Name: a.collection.Name, Value: engine.Fields{{Name: how, Value: details}}}}, r.h.strict)
	if err != nil {
		return vm.Operation{}, err
	}
	claimFiles(r.h.Call, in.values, r.h.Storage)
	after, err := r.readAfter(a.class, call.Argument(4))
	return r.updateItem(in, after), err
}

// getMaster returns an operation that reads the master from the repository.
func (r *jsRepository) getMaster(a *association) vm.Operation {
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		return r.itemResult(r.repo.Get(ctx, a.class, a.master))
	}}
}

// isCalculated reports whether the conditions or the order of the members use calculated attributes. Some accounts
// cannot filter and sort by these in the database, so the members must then be loaded and filtered in memory.
func (a *association) isCalculated() bool {
	var m inputs.Set
	m.AddCondition(a.collection.Conditions)
	for _, by := range a.collection.Sorting {
		m.AddValue(by.Path()...)
	}
	for p := range m.Values {
		if p.Formula != nil {
			return true
		}
	}
	return false
}

// buildQuery returns a query for the members of a collection with a back reference: the items whose back reference
// has the id of the master. The database can count, sort and page such a query. buildQuery returns nil if the
// collection has no back reference or if the members must be loaded; see isCalculated.
func (a *association) buildQuery(ctx context.Context, repo engine.Repository) (*engine.Query, error) {
	p := a.collection
	if p.Back == nil || a.isCalculated() {
		return nil, nil
	}
	var held any = a.master
	conditions := p.Conditions
	if p.Binding != nil || conditions.Owned() {
		it, err := repo.Get(ctx, a.class, a.master)
		if err != nil {
			return nil, err
		}
		if p.Binding != nil {
			held = it.Values[p.Binding.Index]
		}
		if conditions = a.filledIn(it); held == nil || conditions.Never() {
			return &engine.Query{Class: a.class.TargetOf(p), Filter: engine.Never(), Count: -1}, nil
		}
	}
	f, err := query.Equal(p.Back, held)
	return &engine.Query{Class: a.class.TargetOf(p), Filter: engine.And(f, conditions), Sort: p.Sorting, Count: -1}, err
}

// filledIn returns the conditions on the members, with the values of the master in place of references to its
// attributes. If the account may not read one of these attributes, the conditions match no members.
func (a *association) filledIn(master *engine.Item) *engine.Filter {
	conditions := a.collection.Conditions
	if slices.ContainsFunc(conditions.OwnerProperties(), a.class.Hides) {
		return engine.Never()
	}
	return conditions.ForOwner(master)
}

// loadMembers loads the members that match the filter of wanted, in the order of the collection. It ignores offset
// and count.
func (a *association) loadMembers(ctx context.Context, repo engine.Repository, wanted *engine.Query) ([]*engine.Item, error) {
	load := &engine.Load{Property: a.collection, Shown: true, Filter: wanted.Filter, Next: wanted.Load}
	it, err := repo.Get(ctx, a.class, a.master, load)
	if err != nil {
		return nil, err
	}
	return it.Link(a.collection).Items, nil
}

// queryByIDs returns a query for the given members, with the order and page of wanted. If members were found without
// a query, the database can sort them with this one.
func queryByIDs(items []*engine.Item, wanted *engine.Query) (*engine.Query, error) {
	q := *wanted
	q.Filter = engine.Never()
	key := q.Class.KeyProperties()
	if len(items) == 0 {
		return &q, nil
	}
	if len(key) > 1 {
		return nil, engine.Errorf(engine.Invalid, "sort", "getAssociationsList cannot sort objects of class %s, whose key is several attributes", q.Class.FullName)
	}
	ids := make([]any, len(items))
	for i, it := range items {
		ids[i] = it.ID
	}
	var err error
	q.Filter, err = query.AnyOf(key[0], ids)
	return &q, err
}

// findMembers returns the members that match the options wanted. If total is not nil, it receives the number of
// matches on all pages.
func (r *jsRepository) findMembers(ctx context.Context, a *association, wanted *engine.Query, total *int64) ([]*engine.Item, error) {
	q, err := a.buildQuery(ctx, r.repo)
	if err != nil {
		return nil, err
	}
	if q == nil {
		items, err := a.loadMembers(ctx, r.repo, wanted)
		if total != nil {
			*total = int64(len(items))
		}
		if err != nil || len(wanted.Sort) == 0 {
			return cutPage(items, wanted), err
		}
		if q, err = queryByIDs(items, wanted); err != nil {
			return nil, err
		}
		return r.listItems(ctx, q)
	}
	q.Filter = engine.And(q.Filter, wanted.Filter)
	if len(wanted.Sort) > 0 {
		q.Sort = wanted.Sort
	}
	q.Offset, q.Count, q.Load, q.Total = wanted.Offset, wanted.Count, wanted.Load, total
	return r.listItems(ctx, q)
}

func cutPage(items []*engine.Item, q *engine.Query) []*engine.Item {
	items = items[min(q.Offset, len(items)):]
	if q.Count >= 0 {
		items = items[:min(q.Count, len(items))]
	}
	return items
}

// readMemberOptions reads the options of a method that lists or counts members.
func (r arguments) readMemberOptions(a *association, o *goja.Object) (*engine.Query, error) {
	q := &engine.Query{Class: a.class.TargetOf(a.collection), Count: -1}
	if o == nil {
		return q, r.readPageOptions(q, nil)
	}
	var err error
	if q.Filter, err = r.parseFilter(q.Class, o); err != nil {
		return nil, err
	}
	return q, r.readPageOptions(q, o)
}

func (r *jsRepository) getAssociationsList(call goja.FunctionCall) (vm.Operation, error) {
	a, err := r.readAssociation(call)
	if err != nil {
		return vm.Operation{}, err
	}
	o := r.readOptions("getAssociationsList", call.Argument(2), listOptions)
	wanted, err := r.readMemberOptions(a, o)
	total := js.OptionOf(o, "countTotal")
	counted := total != nil && total.ToBoolean()
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		var total *int64
		n := int64(-1)
		if counted {
			total = &n
		}
		items, err := r.findMembers(ctx, a, wanted, total)
		return func() goja.Value { return r.h.listArray(items, n) }, err
	}}, err
}

func (r *jsRepository) getAssociationsCount(call goja.FunctionCall) (vm.Operation, error) {
	a, err := r.readAssociation(call)
	if err != nil {
		return vm.Operation{}, err
	}
	wanted, err := r.readMemberOptions(a, r.readOptions("getAssociationsCount", call.Argument(2), listOptions))
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		n, err := r.countMembers(ctx, a, wanted)
		return func() goja.Value { return r.h.JS.ToValue(n) }, err
	}}, err
}

func (r *jsRepository) countMembers(ctx context.Context, a *association, wanted *engine.Query) (int64, error) {
	q, err := a.buildQuery(ctx, r.repo)
	if err != nil {
		return 0, err
	}
	if q != nil {
		q.Filter = engine.And(q.Filter, wanted.Filter)
		return r.repo.Count(ctx, q)
	}
	wanted.Load = nil
	items, err := a.loadMembers(ctx, r.repo, wanted)
	return int64(len(items)), err
}
