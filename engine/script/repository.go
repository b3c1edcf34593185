package script

import (
	"context"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// dataBinding provides the objects for data: repositories, items, the metadata of classes, and files.
type dataBinding struct {
	*vm
	storage  engine.FileStorage // storage of uploaded files; may be nil
	strict   engine.Handling    // of attributes that a class does not have
	usesBase func() bool        // reports whether scripts use item.base
	events   *eventBinding

	itemProto     *goja.Object
	propertyProto *goja.Object
	classes       map[*engine.Class]*goja.Object
	views         int // number of cached views of classes
	presented     map[presentedKey]*goja.Object
	repositories  map[engine.Repository]*goja.Object
}

func newData(v *vm, events *eventBinding, usesBase func() bool) *dataBinding {
	h := &dataBinding{
		vm: v, events: events, usesBase: usesBase, storage: v.service.env.Files,
		classes: map[*engine.Class]*goja.Object{}, repositories: map[engine.Repository]*goja.Object{},
	}
	if own, ok := v.service.options["fileStorage"].(engine.FileStorage); ok {
		h.storage = own
	}
	if v.service.options["handling"] == "strict" {
		h.strict = engine.Strict
	}
	v.itemObject = h.itemObject
	v.listObject = func(items []*engine.Item) goja.Value { return h.listArray(items, -1) }
	return h
}

// repositoryObject returns the object dataRepo for repo. It is created once per
// VM.
func (h *dataBinding) repositoryObject(repo engine.Repository) goja.Value {
	if o := h.repositories[repo]; o != nil {
		return o
	}
	o := (&jsRepository{h: h, repo: repo}).newObject()
	h.repositories[repo] = o
	return o
}

// newObject returns a new object with the methods.
func (r *jsRepository) newObject() *goja.Object {
	h := r.h
	o := h.js.NewObject()
	methods := h.methodsOf(o)
	for _, m := range []struct {
		name    string
		prepare func(goja.FunctionCall) (operation, error)
	}{
		{"getList", r.getList}, {"getCount", r.getCount}, {"getItem", r.getItem}, {"createItem", r.createItem},
		{"editItem", r.editItem}, {"saveItem", r.saveItem}, {"deleteItem", r.deleteItem},
		{"put", r.put}, {"eject", r.eject}, {"bulkEdit", r.bulkEdit}, {"bulkDelete", r.bulkDelete},
		{"getAssociationsList", r.getAssociationsList}, {"getAssociationsCount", r.getAssociationsCount},
		{"getIterator", r.getIterator}, {"aggregate", r.aggregate}, {"recache", r.recache},
	} {
		methods.add(m.name, h.asyncFunction("dataRepo."+m.name, r.joinTransaction(m.prepare)))
	}
	methods.add("wrap", func(call goja.FunctionCall) goja.Value {
		h.activeCall("dataRepo.wrap")
		it, err := r.wrap(call)
		if err != nil {
			panic(h.errorOf(err, nil))
		}
		return h.itemObject(it)
	})
	methods.add("transaction", r.transaction)
	if r.tx == nil {
		r.addFurtherMembers(o, methods)
	}
	return o
}

// jsRepository implements dataRepo for scripts with one repository.
type jsRepository struct {
	h    *dataBinding
	repo engine.Repository
	tx   *transaction // the transaction that its operations belong to; nil if there is none
}

// viewOf returns the view of c that the repository shows to the account of the
// call.
func (r *jsRepository) viewOf(c *engine.Class) (*engine.Class, error) {
	return engine.ViewOf(r.h.cur.context(), r.repo, c.Base())
}

// writableClass is like readTarget, but returns an error if the account does not
// have the permission p for any item of the class. This prevents that such an
// account learns about errors in its input. p = 0 stands for create or change.
func (r *jsRepository) writableClass(v goja.Value, p engine.Permission) (*engine.Class, error) {
	c, _, err := r.readTarget(v)
	if err != nil {
		return nil, err
	}
	ctx := r.h.cur.context()
	if p == 0 {
		return c, engine.AllowSave(ctx, r.repo, c)
	}
	return c, engine.Allow(ctx, r.repo, c, p)
}

// readTarget reads the first argument, a class name or an item. It returns the
// class in the view of the repository.
func (r *jsRepository) readTarget(v goja.Value) (c *engine.Class, it *engine.Item, err error) {
	if i := itemOf(v); i != nil {
		c, err = r.viewOf(i.item.Class)
		return c, i.item, err
	}
	name, ok := v.Export().(string)
	if !ok {
		return nil, nil, engine.Errorf(engine.Invalid, "argument", "the first argument is the name of a class, found %s", describeValue(v))
	}
	if c, err = r.h.findClass(name); err == nil {
		c, err = r.viewOf(c)
	}
	return c, nil, err
}

func (r *jsRepository) getItem(call goja.FunctionCall) (operation, error) {
	c, id, ok, err := r.readItemArguments(call)
	if err != nil {
		return operation{}, err
	}
	load, err := r.newLoads(c, r.readOptions("getItem", call.Argument(2), loadOptions))
	return operation{do: func(ctx context.Context) (func() goja.Value, error) {
		if !ok {
			return goja.Null, nil
		}
		found, err := r.repo.Get(ctx, c, id, load...)
		if engine.CodeOf(err) == engine.NotFound && err != nil {
			return goja.Null, nil
		}
		return r.itemResult(found, err)
	}}, err
}

// readItemArguments reads the arguments that identify one item: a class and an
// id, or an item. ok reports whether there is an id.
func (r *jsRepository) readItemArguments(call goja.FunctionCall) (c *engine.Class, id string, ok bool, err error) {
	c, it, err := r.readTarget(call.Argument(0))
	if err != nil {
		return nil, "", false, err
	}
	id, ok = idOf(call.Argument(1))
	if !ok && it != nil {
		id, ok = it.ID, true
	}
	return c, id, ok, nil
}

// idOf reads an id. It returns false for null and undefined.
func idOf(v goja.Value) (string, bool) {
	if it := itemOf(v); it != nil {
		return it.item.ID, true
	}
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return "", false
	}
	return v.String(), true
}

func (r *jsRepository) itemResult(it *engine.Item, err error) (func() goja.Value, error) {
	if err != nil {
		return nil, err
	}
	return func() goja.Value { return r.h.itemObject(it) }, nil
}
