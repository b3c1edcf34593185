package data

import (
	"context"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/attachment"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// input contains the values of a write after they were checked against the class.
type input struct {
	r      *jsRepository
	class  *engine.Class
	id     string // id of the item to change; "" for a new one
	values engine.Values
}

// storeFiles stores the content of the files in the values. It must be called in an operation, because it waits for
// the storage.
func (in *input) storeFiles(ctx context.Context) error {
	fs := attachment.Files{Storage: in.r.h.Storage, Data: in.r.repo, Meta: in.r.h.Service.Env.Meta}
	return fs.Accept(ctx, in.class, in.id, in.values)
}

// bindData checks and converts the data argument of a write, which is an object of attributes or an item. id is the
// id of the item to change.
func (r *jsRepository) bindData(c *engine.Class, id string, data goja.Value) (*input, error) {
	in := &input{r: r, class: c, id: id}
	var err error
	if it := itemOf(data); it != nil {
		in.values, err = itemValues(c, it.item)
		return in, err
	}
	decoded, err := r.h.ToAttributes(data)
	if err != nil {
		return nil, err
	}
	fields, ok := decoded.(engine.Fields)
	if !ok {
		return nil, engine.Errorf(engine.Invalid, "argument", "data is an object of attributes, found %s", js.DescribeValue(data))
	}
	g := r.h.Service
	v, unknown, err := c.Bind(fields, r.h.strict)
	if len(unknown) > 0 {
		g.Warn("a script writes attributes that the class does not have; they are ignored", "class", c.FullName, "attributes", unknown)
	}
	in.values = v
	claimFiles(r.h.Call, v, r.h.Storage)
	return in, err
}

// itemValues returns the values to write if a script passes an item as the data argument. The parameter it is that
// item.
func itemValues(c *engine.Class, it *engine.Item) (engine.Values, error) {
	if it.Class.Base() != c.Base() {
		return nil, engine.Errorf(engine.Invalid, "argument", "the item is of class %s, not %s", it.Class.FullName, c.FullName)
	}
	v := append(engine.Values(nil), it.Values...)
	for i, p := range c.Properties {
		switch {
		case p.Type == engine.Password, // the item has the hash, which must not be hashed again
			c.Hides(p), it.Class.Hides(p), // hidden values are unknown, not null
			!p.Stored(), p.Formula != nil:
			v[i] = engine.Absent
		case p.Type.IsFile():
			v[i] = heldFiles(v[i])
		}
	}
	return v, nil
}

// heldFiles converts the files that an attribute of an item holds to uploads that name these files by id. If the
// uploads are written to another item, that item gets copies of the files.
func heldFiles(value any) any {
	files := engine.FilesIn(value)
	if len(files) == 0 {
		return value
	}
	uploads := make([]*engine.Upload, len(files))
	for i, f := range files {
		uploads[i] = &engine.Upload{File: engine.StoredFile{ID: f.ID}}
	}
	if text, _ := value.(engine.JSONText); text[0] == '[' {
		return uploads
	}
	return uploads[0]
}

// after contains the options of a write that concern the item that the method returns.
type after struct {
	load []*engine.Load // objects to load with the result
	none bool           // option skipResult: return null
}

func (r arguments) readAfter(c *engine.Class, v goja.Value) (a after, err error) {
	o := r.readOptions("write", v, writeOptions)
	if skip := js.OptionOf(o, "skipResult"); skip != nil {
		a.none = skip.ToBoolean()
	}
	a.load, err = r.newLoads(c, o)
	return a, err
}

// writeResult returns the result of a method that writes. it and err are the result of the repository. If there is
// no error, the result is the stored item it, with the related objects that a.load lists.
func (r *jsRepository) writeResult(ctx context.Context, it *engine.Item, err error, a after) (func() goja.Value, error) {
	if err != nil {
		return nil, err
	}
	if a.none {
		return goja.Null, nil
	}
	if len(a.load) > 0 {
		full, err := r.repo.Get(ctx, it.Class, it.ID, a.load...)
		switch {
		case err == nil:
			it = full
		case engine.CodeOf(err) != engine.NotFound && engine.CodeOf(err) != engine.Forbidden:
			return nil, err // otherwise the item is gone or hidden, but the write has succeeded
		}
	}
	return func() goja.Value { return r.h.ItemObject(it) }, nil
}

func (r *jsRepository) createItem(call goja.FunctionCall) (vm.Operation, error) {
	c, err := r.writableClass(call.Argument(0), engine.MayUse)
	if err != nil {
		return vm.Operation{}, err
	}
	in, err := r.bindData(c, "", call.Argument(1))
	if err != nil {
		return vm.Operation{}, err
	}
	a, err := r.readAfter(c, call.Argument(4))
	options := engine.WriteOptions{Handling: r.h.strict}
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		if err := in.storeFiles(ctx); err != nil {
			return nil, err
		}
		it, err := r.repo.Create(ctx, c, in.values, options)
		return r.writeResult(ctx, it, err, a)
	}}, err
}

func (r *jsRepository) editItem(call goja.FunctionCall) (vm.Operation, error) {
	c, err := r.writableClass(call.Argument(0), engine.MayWrite)
	if err != nil {
		return vm.Operation{}, err
	}
	id, ok := idOf(call.Argument(1))
	if !ok {
		return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "editItem takes an id, found %s", js.DescribeValue(call.Argument(1)))
	}
	in, err := r.bindData(c, id, call.Argument(2))
	if err != nil {
		return vm.Operation{}, err
	}
	a, err := r.readAfter(c, call.Argument(4))
	return r.updateItem(in, a), err
}

func (r *jsRepository) updateItem(in *input, a after) vm.Operation {
	options := engine.WriteOptions{Handling: r.h.strict}
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		if err := in.storeFiles(ctx); err != nil {
			return nil, err
		}
		it, err := r.repo.Update(ctx, in.class, in.id, in.values, options)
		return r.writeResult(ctx, it, err, a)
	}}
}

func (r *jsRepository) saveItem(call goja.FunctionCall) (vm.Operation, error) {
	c, err := r.writableClass(call.Argument(0), 0)
	if err != nil {
		return vm.Operation{}, err
	}
	record := engine.Record{Class: c, Handling: r.h.strict}
	record.ID, _ = idOf(call.Argument(1))
	record.Version, _ = call.Argument(3).Export().(string)
	in, err := r.bindData(c, record.ID, call.Argument(2))
	if err != nil {
		return vm.Operation{}, err
	}
	a, err := r.readAfter(c, call.Argument(5))
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		if err := in.storeFiles(ctx); err != nil {
			return nil, err
		}
		record.Values = in.values
		saved, err := r.repo.Save(ctx, []engine.Record{record})
		if err != nil {
			return nil, err
		}
		return r.writeResult(ctx, saved[0], nil, a)
	}}, err
}

func (r *jsRepository) deleteItem(call goja.FunctionCall) (vm.Operation, error) {
	c, id, ok, err := r.readItemArguments(call)
	if err != nil {
		return vm.Operation{}, err
	}
	if !ok {
		return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "deleteItem takes an id, found %s", js.DescribeValue(call.Argument(1)))
	}
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		return goja.Undefined, r.repo.Delete(ctx, c, id, nil)
	}}, nil
}

// bulkEdit implements bulkEdit(class, data, options). It changes all items that the filter finds and returns their
// number.
func (r *jsRepository) bulkEdit(call goja.FunctionCall) (vm.Operation, error) {
	if _, err := r.writableClass(call.Argument(0), engine.MayWrite); err != nil {
		return vm.Operation{}, err
	}
	q, err := r.newQuery(call.Argument(0), r.readOptions("bulkEdit", call.Argument(2), bulkOptions))
	if err != nil {
		return vm.Operation{}, err
	}
	in, err := r.bindData(q.Class, "", call.Argument(1))
	if err != nil {
		return vm.Operation{}, err
	}
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		n, err := r.repo.UpdateAll(ctx, q, in.values)
		return func() goja.Value { return r.h.JS.ToValue(n) }, err
	}}, nil
}

// bulkDelete implements bulkDelete(class, options). It deletes all items that the filter finds and returns their
// number.
func (r *jsRepository) bulkDelete(call goja.FunctionCall) (vm.Operation, error) {
	if _, err := r.writableClass(call.Argument(0), engine.MayDelete); err != nil {
		return vm.Operation{}, err
	}
	q, err := r.newQuery(call.Argument(0), r.readOptions("bulkDelete", call.Argument(1), bulkOptions))
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		n, err := r.repo.DeleteAll(ctx, q)
		return func() goja.Value { return r.h.JS.ToValue(n) }, err
	}}, err
}

// wrap returns an item with the given data, without storing it. Objects in references and collections become items,
// too.
func (r *jsRepository) wrap(call goja.FunctionCall) (*engine.Item, error) {
	c, _, err := r.readTarget(call.Argument(0))
	if err != nil {
		return nil, err
	}
	in, err := r.bindData(c, "", call.Argument(1))
	if err != nil {
		return nil, err
	}
	it := wrapValues(c, in.values)
	if version, ok := call.Argument(2).Export().(string); ok {
		it.Version = version
	}
	return it, nil
}

func wrapValues(c *engine.Class, v engine.Values) *engine.Item {
	it := &engine.Item{Class: c, Values: v, Version: c.Version, Links: make([]engine.Link, len(v))}
	for i, value := range v {
		switch value := value.(type) {
		case *engine.Record:
			target := wrapValues(c.InSameViews(value.Class), value.Values)
			if target.ID == "" {
				target.ID = value.ID
			}
			it.Links[i] = engine.Link{Loaded: true, Shown: true, Item: target}
			v[i], _ = c.Properties[i].Cast(target.ID)
		case *engine.Links:
			it.Links[i] = wrappedMembers(c, value)
			v[i] = nil
		case *engine.Upload, []*engine.Upload:
			v[i] = nil
		}
		if v[i] == engine.Absent || c.Properties[i].Type == engine.Password {
			v[i] = nil
		}
	}
	it.ID = c.ID(v)
	return it
}

// wrappedMembers returns the new objects in a collection as items. It leaves out members that are given by id.
func wrappedMembers(c *engine.Class, l *engine.Links) engine.Link {
	link := engine.Link{Loaded: true, Shown: true}
	for _, e := range l.Add {
		if record, ok := e.(*engine.Record); ok {
			link.Items = append(link.Items, wrapValues(c.InSameViews(record.Class), record.Values))
		}
	}
	return link
}
