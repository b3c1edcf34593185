package script

import (
	"context"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// repository makes the object dataRepo, once per VM.
func (h *host) repository(repo engine.Repository) goja.Value {
	if o := h.repositories[repo]; o != nil {
		return o
	}
	o := h.js.NewObject()
	h.repositories[repo] = o
	r := &jsRepository{h: h, repo: repo}
	for _, m := range []struct {
		name    string
		prepare func(goja.FunctionCall) (operation, error)
	}{
		{"getList", r.getList}, {"getCount", r.getCount}, {"getItem", r.getItem}, {"createItem", r.createItem},
		{"editItem", r.editItem}, {"saveItem", r.saveItem}, {"deleteItem", r.deleteItem},
	} {
		h.method(o, m.name, h.async("dataRepo."+m.name, m.prepare))
	}
	return o
}

// jsRepository is one repository as scripts call it: reference, "dataRepo
// API".
type jsRepository struct {
	h    *host
	repo engine.Repository
}

// target reads the first argument: a class name, or an item that stands for
// its class. id is that of the item.
func (r *jsRepository) target(v goja.Value) (c *engine.Class, it *engine.Item, err error) {
	if i := itemOf(v); i != nil {
		return i.item.Class, i.item, nil
	}
	name, ok := v.Export().(string)
	if !ok {
		return nil, nil, engine.Errorf(engine.Invalid, "argument", "the first argument is the name of a class, found %s", describeValue(v))
	}
	c, err = r.h.findClass(name)
	return c, nil, err
}

// query reads the arguments of getList and getCount.
func (r *jsRepository) query(call goja.FunctionCall) (*engine.Query, *goja.Object, error) {
	c, it, err := r.target(call.Argument(0))
	if err != nil {
		return nil, nil, err
	}
	q := &engine.Query{Class: c, Count: -1}
	if it != nil {
		if q.Filter, err = sameValues(it); err != nil {
			return nil, nil, err
		}
	}
	o, ok := call.Argument(1).(*goja.Object)
	if !ok {
		return q, nil, nil
	}
	decoded, err := r.h.toDecoded(o.Get("filter"))
	if err != nil {
		return nil, nil, err
	}
	filter, err := engine.ParseFilter(c, decoded, r.h.v.gen.rt.now())
	q.Filter = engine.And(q.Filter, filter)
	return q, o, err
}

// sameValues finds items with the values that an item has.
func sameValues(it *engine.Item) (*engine.Filter, error) {
	var all []*engine.Filter
	for i, p := range it.Class.Properties {
		if v := it.Values[i]; v != nil && v != engine.Absent && p.Type != engine.Password {
			f, err := engine.Equal(p, v)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
	}
	return engine.And(all...), nil
}

func (r *jsRepository) getList(call goja.FunctionCall) (operation, error) {
	q, o, err := r.query(call)
	if err != nil {
		return operation{}, err
	}
	total := false
	if o != nil {
		if total, err = r.page(q, o); err != nil {
			return operation{}, err
		}
	}
	return operation{do: func(ctx context.Context) (func() goja.Value, error) {
		items, err := r.list(ctx, q)
		if err != nil {
			return nil, err
		}
		n := int64(-1)
		if total {
			if n, err = r.repo.Count(ctx, q); err != nil {
				return nil, err
			}
		}
		return func() goja.Value { return r.h.list(items, n) }, nil
	}}, nil
}

// page reads sort, offset, count and countTotal.
func (r *jsRepository) page(q *engine.Query, o *goja.Object) (total bool, err error) {
	if v := o.Get("sort"); v != nil && !goja.IsUndefined(v) && !goja.IsNull(v) {
		decoded, err := r.h.toDecoded(v)
		if err != nil {
			return false, err
		}
		if q.Sort, err = engine.ParseSort(q.Class, decoded); err != nil {
			return false, err
		}
	}
	if q.Offset, err = wholeOption(o, "offset", 0); err != nil {
		return false, err
	}
	if q.Count, err = wholeOption(o, "count", -1); err != nil {
		return false, err
	}
	v := o.Get("countTotal")
	return v != nil && v.ToBoolean(), nil
}

func wholeOption(o *goja.Object, name string, def int) (int, error) {
	v := o.Get(name)
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return def, nil
	}
	f := v.ToFloat()
	if !(f >= 0 && f <= 1<<31 && f == float64(int(f))) {
		return 0, engine.Errorf(engine.Invalid, name, "%s takes a whole number that is not negative, found %s", name, describeValue(v))
	}
	return int(f), nil
}

// list fetches the items, at most Limits.Rows. Items are copied into blocks,
// to allocate little.
func (r *jsRepository) list(ctx context.Context, q *engine.Query) ([]*engine.Item, error) {
	limit := r.h.v.gen.limits.Rows
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
		items = append(items, clone)
		return nil
	})
	return items, err
}

func (r *jsRepository) getCount(call goja.FunctionCall) (operation, error) {
	q, _, err := r.query(call)
	return operation{do: func(ctx context.Context) (func() goja.Value, error) {
		n, err := r.repo.Count(ctx, q)
		return func() goja.Value { return r.h.js.ToValue(n) }, err
	}}, err
}

func (r *jsRepository) getItem(call goja.FunctionCall) (operation, error) {
	c, id, ok, err := r.one(call)
	if err != nil {
		return operation{}, err
	}
	return operation{do: func(ctx context.Context) (func() goja.Value, error) {
		if !ok {
			return goja.Null, nil
		}
		found, err := r.repo.Get(ctx, c, id)
		if engine.CodeOf(err) == engine.NotFound && err != nil {
			return goja.Null, nil
		}
		return r.result(found, err)
	}}, nil
}

// one reads the arguments that name one item: a class and an id, or an item;
// ok says whether there is an id.
func (r *jsRepository) one(call goja.FunctionCall) (c *engine.Class, id string, ok bool, err error) {
	c, it, err := r.target(call.Argument(0))
	if err != nil {
		return nil, "", false, err
	}
	id, ok = idOf(call.Argument(1))
	if !ok && it != nil {
		id, ok = it.ID, true
	}
	return c, id, ok, nil
}

// idOf reads an id; false for null and undefined.
func idOf(v goja.Value) (string, bool) {
	if it := itemOf(v); it != nil {
		return it.item.ID, true
	}
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return "", false
	}
	return v.String(), true
}

func (r *jsRepository) result(it *engine.Item, err error) (func() goja.Value, error) {
	if err != nil {
		return nil, err
	}
	return func() goja.Value { return r.h.item(it) }, nil
}

// values binds the data of a write.
func (r *jsRepository) values(c *engine.Class, data goja.Value) (engine.Values, error) {
	if it := itemOf(data); it != nil {
		return itemValues(c, it.item)
	}
	decoded, err := r.h.toDecoded(data)
	if err != nil {
		return nil, err
	}
	fields, ok := decoded.(engine.Fields)
	if !ok {
		return nil, engine.Errorf(engine.Invalid, "argument", "data is an object of attributes, found %s", describeValue(data))
	}
	g := r.h.v.gen
	v, unknown, err := c.Bind(fields, g.strict)
	if len(unknown) > 0 {
		g.warn("a script writes attributes that the class does not have; they are ignored", "class", c.FullName, "attributes", unknown)
	}
	return v, err
}

// itemValues are the values of an item that is written as a whole.
func itemValues(c *engine.Class, it *engine.Item) (engine.Values, error) {
	if it.Class != c {
		return nil, engine.Errorf(engine.Invalid, "argument", "the item is of class %s, not %s", it.Class.FullName, c.FullName)
	}
	v := append(engine.Values(nil), it.Values...)
	for i, p := range c.Properties {
		if p.Type == engine.Password {
			v[i] = engine.Absent // it is a hash here, and would be hashed again
		}
	}
	return v, nil
}

func (r *jsRepository) createItem(call goja.FunctionCall) (operation, error) {
	c, _, err := r.target(call.Argument(0))
	if err != nil {
		return operation{}, err
	}
	v, err := r.values(c, call.Argument(1))
	return operation{writes: true, do: func(ctx context.Context) (func() goja.Value, error) {
		return r.result(r.repo.Create(ctx, c, v, engine.WriteOptions{}))
	}}, err
}

func (r *jsRepository) editItem(call goja.FunctionCall) (operation, error) {
	c, _, err := r.target(call.Argument(0))
	if err != nil {
		return operation{}, err
	}
	id, ok := idOf(call.Argument(1))
	if !ok {
		return operation{}, engine.Errorf(engine.Invalid, "argument", "editItem takes an id, found %s", describeValue(call.Argument(1)))
	}
	v, err := r.values(c, call.Argument(2))
	options := engine.WriteOptions{Handling: r.h.v.gen.strict}
	return operation{writes: true, do: func(ctx context.Context) (func() goja.Value, error) {
		return r.result(r.repo.Update(ctx, c, id, v, options))
	}}, err
}

func (r *jsRepository) saveItem(call goja.FunctionCall) (operation, error) {
	c, _, err := r.target(call.Argument(0))
	if err != nil {
		return operation{}, err
	}
	record := engine.Record{Class: c}
	record.ID, _ = idOf(call.Argument(1))
	record.Version, _ = call.Argument(3).Export().(string)
	record.Values, err = r.values(c, call.Argument(2))
	return operation{writes: true, do: func(ctx context.Context) (func() goja.Value, error) {
		saved, err := r.repo.Save(ctx, []engine.Record{record})
		if err != nil {
			return nil, err
		}
		return r.result(saved[0], nil)
	}}, err
}

func (r *jsRepository) deleteItem(call goja.FunctionCall) (operation, error) {
	c, id, ok, err := r.one(call)
	if err != nil {
		return operation{}, err
	}
	if !ok {
		return operation{}, engine.Errorf(engine.Invalid, "argument", "deleteItem takes an id, found %s", describeValue(call.Argument(1)))
	}
	return operation{writes: true, do: func(ctx context.Context) (func() goja.Value, error) {
		return goja.Undefined, r.repo.Delete(ctx, c, id, nil)
	}}, nil
}
