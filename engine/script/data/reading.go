package data

import (
	"context"
	"sync"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/script/event"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// newQuery returns a query with the options filter and skipSubClasses of o. If target is the name of a class, the
// query finds the items of this class. If target is an item, it finds the items that have the same values as this
// item.
func (r arguments) newQuery(target goja.Value, o *goja.Object) (*engine.Query, error) {
	c, it, err := r.readTarget(target)
	if err != nil {
		return nil, err
	}
	q := &engine.Query{Class: c, Count: -1}
	if it != nil {
		if q.Filter, err = sameValues(c, it); err != nil {
			return nil, err
		}
	}
	if o == nil {
		return q, nil
	}
	filter, err := r.parseFilter(c, o)
	q.Filter = engine.And(q.Filter, filter)
	if v := js.OptionOf(o, "skipSubClasses"); v != nil {
		q.Exact = v.ToBoolean()
	}
	return q, err
}

func (r arguments) parseFilter(c *engine.Class, o *goja.Object) (*engine.Filter, error) {
	v := js.OptionOf(o, "filter")
	if v == nil {
		return nil, nil
	}
	decoded, err := r.h.ToCondition(v, 0)
	if err != nil {
		return nil, err
	}
	return query.ParseFilter(c, decoded, r.h.Service.Now())
}

// sameValues returns a filter for the items of c that have the same values as it. It ignores values that are null,
// absent or hidden from the account.
func sameValues(c *engine.Class, it *engine.Item) (*engine.Filter, error) {
	var all []*engine.Filter
	for i, p := range it.Class.Properties {
		comparable := p.Type.Scalar() && p.Type != engine.Password || p.Type == engine.Reference
		if v := it.Values[i]; v != nil && v != engine.Absent && comparable && p.Stored() && !c.Hides(p) && !it.Class.Hides(p) {
			f, err := query.Equal(p, v)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
	}
	return engine.And(all...), nil
}

// newLoads returns the referenced objects to load with the items, according to the options forceEnrichment (a list of
// paths) and nestingDepth.
func (r arguments) newLoads(c *engine.Class, o *goja.Object) ([]*engine.Load, error) {
	paths, depth := js.OptionOf(o, "forceEnrichment"), js.OptionOf(o, "nestingDepth")
	l := query.NewLoadSet(c)
	if paths != nil {
		decoded, err := r.h.ToDecoded(paths)
		if err != nil {
			return nil, err
		}
		if err := l.Enrichment(enrichmentList(decoded)); err != nil {
			return nil, err
		}
	}
	if depth != nil {
		n, err := wholeOption(o, "nestingDepth", 0)
		if err != nil {
			return nil, err
		}
		if n > query.MaxLoadDepth {
			return nil, engine.Errorf(engine.Invalid, "path", "nestingDepth is at most %d, found %d", query.MaxLoadDepth, n)
		}
		if err := l.Nested(n); err != nil {
			return nil, err
		}
	}
	return r.withStored(c, l.Roots), nil
}

// enrichmentList returns the value of forceEnrichment as a list. A script may pass a single path.
func enrichmentList(v any) any {
	if s, ok := v.(string); ok {
		return []any{s}
	}
	return v
}

// readPageOptions sets the fields of q from the options sort, offset, count, forceEnrichment and nestingDepth. It
// checks the option distinct, which has no effect.
func (r arguments) readPageOptions(q *engine.Query, o *goja.Object) (err error) {
	if q.Load, err = r.newLoads(q.Class, o); err != nil || o == nil {
		return err
	}
	if v := js.OptionOf(o, "sort"); v != nil {
		decoded, err := r.h.ToDecoded(v)
		if err != nil {
			return err
		}
		if q.Sort, err = query.ParseSort(q.Class, decoded); err != nil {
			return err
		}
	}
	if q.Offset, err = wholeOption(o, "offset", 0); err != nil {
		return err
	}
	if q.Count, err = wholeOption(o, "count", -1); err != nil {
		return err
	}
	if v := js.OptionOf(o, "distinct"); v != nil {
		if _, ok := v.Export().(bool); !ok { // true and false have no effect: the items of a list are always distinct
			return engine.Errorf(engine.Invalid, "distinct", "distinct takes true or false: the different values of attributes are found by aggregate, found %s", js.DescribeValue(v))
		}
	}
	return nil
}

func wholeOption(o *goja.Object, name string, def int) (int, error) {
	v := js.OptionOf(o, name)
	if v == nil {
		return def, nil
	}
	f := v.ToFloat()
	if !(f >= 0 && f <= 1<<31 && f == float64(int(f))) {
		return 0, engine.Errorf(engine.Invalid, name, "%s takes a whole number that is not negative, found %s", name, js.DescribeValue(v))
	}
	return int(f), nil
}

func (r *jsRepository) getList(call goja.FunctionCall) (vm.Operation, error) {
	o := r.readOptions("getList", call.Argument(1), listOptions)
	q, err := r.newQuery(call.Argument(0), o)
	if err != nil {
		return vm.Operation{}, err
	}
	if err := r.readPageOptions(q, o); err != nil {
		return vm.Operation{}, err
	}
	total := js.OptionOf(o, "countTotal")
	counted := total != nil && total.ToBoolean()
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		page, n := *q, int64(-1) // Do may be called again, so it must not change q
		if counted {
			page.Total = &n
		}
		items, err := r.listItems(ctx, &page)
		if err != nil {
			return nil, err
		}
		return func() goja.Value { return r.h.listArray(items, n) }, nil
	}}, nil
}

// listItems returns the items that a query finds. It returns an error if there are more than Limits.Rows. It copies
// items into blocks to reduce the number of allocations.
func (r *jsRepository) listItems(ctx context.Context, q *engine.Query) ([]*engine.Item, error) {
	limit := r.h.Limits.Rows
	bounded := *q
	if q.Count < 0 || q.Count > limit {
		bounded.Count = limit + 1
	}
	var items []*engine.Item
	var block []engine.Item
	var values engine.Values
	err := r.repo.List(ctx, &bounded, func(it *engine.Item) error {
		if len(items) == limit {
			return engine.Errorf(engine.Invalid, "too-many-items",
				"getList found more than %d items of %s: pass a count, or a narrower filter", limit, q.Class.FullName)
		}
		if len(block) == cap(block) {
			block = make([]engine.Item, 0, min(256, max(8, len(items))))
		}
		block = append(block, *it)
		clone := &block[len(block)-1]
		n := len(it.Values)
		if len(values)+n > cap(values) {
			values = make(engine.Values, 0, n*cap(block))
		}
		values = append(values, it.Values...)
		clone.Values = values[len(values)-n : len(values) : len(values)]
		if it.Position != nil {
			at := it.Position.Clone()
			clone.Position = &at
		}
		items = append(items, clone)
		return nil
	})
	return items, err
}

func (r *jsRepository) getCount(call goja.FunctionCall) (vm.Operation, error) {
	q, err := r.newQuery(call.Argument(0), r.readOptions("getCount", call.Argument(1), listOptions))
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
		n, err := r.repo.Count(ctx, q)
		return func() goja.Value { return r.h.JS.ToValue(n) }, err
	}}, err
}

// iteratorPage is the number of items that an iterator reads at a time.
const iteratorPage = 100

// iterator reads the result of a query page by page.
type iterator struct {
	r *jsRepository
	q *engine.Query // query for the rest; After is the position of the last item that was read

	mu    sync.Mutex // an operation holds it while it reads, because a script may call next again meanwhile
	page  []*engine.Item
	left  int // number of items that may still be read; negative if there is no limit
	begun bool
	ended bool
}

// getIterator returns an object with two methods: next returns the next item or null, and count returns the number of
// items that the query finds.
func (r *jsRepository) getIterator(call goja.FunctionCall) (vm.Operation, error) {
	o := r.readOptions("getIterator", call.Argument(1), listOptions)
	q, err := r.newQuery(call.Argument(0), o)
	if err == nil {
		err = r.readPageOptions(q, o)
	}
	if err != nil {
		return vm.Operation{}, err
	}
	return vm.Operation{Do: func(context.Context) (func() goja.Value, error) {
		return func() goja.Value { return r.newIterator(q) }, nil
	}}, nil
}

func (r *jsRepository) newIterator(q *engine.Query) goja.Value {
	all := *q
	q.WantPosition = true
	it := &iterator{r: r, q: q, left: q.Count}
	o := r.h.JS.NewObject()
	r.h.Method(o, "next", r.h.AsyncFunction("iterator.next", r.joinTransaction(func(goja.FunctionCall) (vm.Operation, error) {
		return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
			found, err := it.next(ctx)
			if err != nil || found == nil {
				return goja.Null, err
			}
			return r.itemResult(found, nil)
		}}, nil
	})))
	r.h.Method(o, "count", r.h.AsyncFunction("iterator.count", r.joinTransaction(func(goja.FunctionCall) (vm.Operation, error) {
		return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
			n, err := r.repo.Count(ctx, &all)
			return func() goja.Value { return r.h.JS.ToValue(n) }, err
		}}, nil
	})))
	return o
}

func (it *iterator) next(ctx context.Context) (*engine.Item, error) {
	it.mu.Lock()
	defer it.mu.Unlock()
	if len(it.page) == 0 && !it.ended {
		if err := it.fetchPage(ctx); err != nil {
			return nil, err
		}
	}
	if len(it.page) == 0 {
		return nil, nil
	}
	first := it.page[0]
	it.page = it.page[1:]
	return first, nil
}

func (it *iterator) fetchPage(ctx context.Context) error {
	page := *it.q
	page.Count = iteratorPage
	if it.left >= 0 {
		page.Count = min(iteratorPage, it.left)
	}
	items, err := it.r.listItems(event.PageContext(ctx, !it.begun), &page)
	if err != nil {
		return err
	}
	it.begun = true
	it.page, it.ended = items, len(items) < iteratorPage
	if it.left >= 0 {
		it.left -= len(items)
		it.ended = it.ended || it.left == 0
	}
	it.advanceStart(items)
	return nil
}

// advanceStart makes the query start after the last item that was found. It uses the position of this item in the
// order, not its id. So the item may change or be deleted before the next page is read.
func (it *iterator) advanceStart(found []*engine.Item) {
	if len(found) == 0 {
		return
	}
	next := *it.q
	next.Offset, next.After = 0, found[len(found)-1].Position
	it.q = &next
}
