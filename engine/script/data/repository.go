package data

import (
	"context"
	"slices"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/event"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// Binding provides the JavaScript objects for data: repositories, items, the metadata of classes, and files.
type Binding struct {
	*vm.VM
	Storage engine.FileStorage // storage for files that scripts write; may be nil
	strict  engine.Handling    // how to handle attributes that the class does not have: ignore or refuse them
	scripts Scripts
	events  *event.Binding

	itemProto     *goja.Object
	propertyProto *goja.Object
	classes       map[*engine.Class]*goja.Object // by class or view of a class
	views         int                            // number of views in classes
	presented     map[presentedKey]*goja.Object
	repositories  map[engine.Repository]*goja.Object
}

// Scripts describes the source text of the scripts that a VM has loaded.
type Scripts interface {
	// UsesBase reports whether a script contains .base; see base.go.
	UsesBase() bool
}

var _ js.Items = (*Binding)(nil)

// ListObject implements js.Items.
func (h *Binding) ListObject(items []*engine.Item) goja.Value { return h.listArray(items, -1) }

// New returns the binding of a VM. It uses the file storage and the handling in the options of the service.
func New(v *vm.VM, events *event.Binding, scripts Scripts) *Binding {
	h := &Binding{
		VM: v, events: events, scripts: scripts, Storage: v.Service.Env.Files,
		classes: map[*engine.Class]*goja.Object{}, repositories: map[engine.Repository]*goja.Object{},
	}
	if own, ok := v.Service.Options["fileStorage"].(engine.FileStorage); ok {
		h.Storage = own
	}
	if v.Service.Options["handling"] == "strict" {
		h.strict = engine.Strict
	}
	v.Items = h
	return h
}

// RepositoryObject returns the JavaScript object dataRepo for repo. A VM makes it once.
func (h *Binding) RepositoryObject(repo engine.Repository) goja.Value {
	if o := h.repositories[repo]; o != nil {
		return o
	}
	o := (&jsRepository{arguments: arguments{h, repo}}).newObject()
	h.repositories[repo] = o
	return o
}

// newObject returns a new JavaScript object with the methods of r.
func (r *jsRepository) newObject() *goja.Object {
	h := r.h
	o := h.JS.NewObject()
	methods := h.MethodsOf(o)
	for _, m := range []struct {
		name    string
		prepare func(goja.FunctionCall) (vm.Operation, error)
	}{
		{"getList", r.getList}, {"getCount", r.getCount}, {"getItem", r.getItem}, {"createItem", r.createItem},
		{"editItem", r.editItem}, {"saveItem", r.saveItem}, {"deleteItem", r.deleteItem},
		{"put", r.put}, {"eject", r.eject}, {"bulkEdit", r.bulkEdit}, {"bulkDelete", r.bulkDelete},
		{"getAssociationsList", r.getAssociationsList}, {"getAssociationsCount", r.getAssociationsCount},
		{"getIterator", r.getIterator}, {"aggregate", r.aggregate}, {"recache", r.recache},
	} {
		methods.Add(m.name, h.AsyncFunction("dataRepo."+m.name, r.joinTransaction(m.prepare)))
	}
	methods.Add("wrap", func(call goja.FunctionCall) goja.Value {
		h.ActiveCall("dataRepo.wrap")
		it, err := r.wrap(call)
		if err != nil {
			panic(h.ErrorOf(err, nil))
		}
		return h.ItemObject(it)
	})
	methods.Add("transaction", r.transaction)
	if r.tx == nil {
		r.addFurtherMembers(o, methods)
	}
	return o
}

// jsRepository implements the methods of dataRepo for one repository.
type jsRepository struct {
	arguments
	tx *transaction // transaction in which the methods run; nil if there is none
}

// arguments reads the arguments of the methods of a repository: classes, items, queries and options.
type arguments struct {
	h    *Binding
	repo engine.Repository
}

// viewOf returns the view of c for the account of the call: the class without hidden attributes.
func (r arguments) viewOf(c *engine.Class) (*engine.Class, error) {
	return engine.ViewOf(r.h.Call.Context(), r.repo, c.Base())
}

// writableClass returns the class that v names, where v is a class name or an item. It returns an error if the
// account does not have the permission p for any item of the class. p = 0 stands for the permission to create or to
// change items. writableClass must be called before the input is checked, so that an account without permission does
// not see errors about its input.
func (r arguments) writableClass(v goja.Value, p engine.Permission) (*engine.Class, error) {
	c, _, err := r.readTarget(v)
	if err != nil {
		return nil, err
	}
	ctx := r.h.Call.Context()
	if p == 0 {
		return c, engine.AllowSave(ctx, r.repo, c)
	}
	return c, engine.Allow(ctx, r.repo, c, p)
}

// readTarget reads an argument that is either the name of a class, or an item. It returns the view of the class. If
// the argument is an item, it also returns the item, otherwise nil.
func (r arguments) readTarget(v goja.Value) (c *engine.Class, it *engine.Item, err error) {
	if i := itemOf(v); i != nil {
		c, err = r.viewOf(i.item.Class)
		return c, i.item, err
	}
	name, ok := v.Export().(string)
	if !ok {
		return nil, nil, engine.Errorf(engine.Invalid, "argument", "the first argument is the name of a class, found %s", js.DescribeValue(v))
	}
	if c, err = r.h.findClass(name); err == nil {
		c, err = r.viewOf(c)
	}
	return c, nil, err
}

func (r *jsRepository) getItem(call goja.FunctionCall) (vm.Operation, error) {
	c, id, ok, err := r.readItemArguments(call)
	if err != nil {
		return vm.Operation{}, err
	}
	load, err := r.newLoads(c, r.readOptions("getItem", call.Argument(2), loadOptions))
	return vm.Operation{Do: func(ctx context.Context) (func() goja.Value, error) {
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

// readItemArguments reads the arguments that identify one item: a class and an id, or an item. ok is false if the id
// is missing.
func (r arguments) readItemArguments(call goja.FunctionCall) (c *engine.Class, id string, ok bool, err error) {
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

// idOf returns the id that an argument stands for: the id of an item, or the argument itself. It returns false for
// null and undefined.
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
	return func() goja.Value { return r.h.ItemObject(it) }, nil
}

// Options of the methods. ignoredOptions are options of IONDV that have no effect here, because methods always act
// for the account of the request, and calculated values are always computed.
var (
	ignoredOptions = []string{"user", "uid", "lang", "tz", "log", "needed", "skipCalculations", "skipEnrich", "skipEnrichment", "skipAutoAssign", "reload",
		"autoAssign", "ignoreIntegrityCheck", "adjustAutoInc", "skipCacheRefresh", "silent", "checkAcl"}
	loadOptions  = []string{"forceEnrichment", "nestingDepth"}
	countOptions = []string{"filter", "skipSubClasses"}
	listOptions  = slices.Concat(countOptions, loadOptions, []string{"sort", "offset", "count", "countTotal", "distinct"})
	writeOptions = slices.Concat(loadOptions, []string{"skipResult"})
	bulkOptions  = slices.Concat(countOptions, []string{"skipResult"})
)

// readOptions returns the options argument v of a method, or nil if it is not an object. It logs each unknown option
// once, so that a misspelt name can be found.
func (r arguments) readOptions(method string, v goja.Value, known []string) *goja.Object {
	o, _ := v.(*goja.Object)
	if o == nil {
		return nil
	}
	for _, name := range o.Keys() {
		if !slices.Contains(known, name) && !slices.Contains(ignoredOptions, name) {
			r.logIgnoredOption(method, name)
		}
	}
	return o
}

// logIgnoredOption logs that a method ignores an option. It does so once per load for each method and option.
func (r arguments) logIgnoredOption(method, option string) {
	r.h.Service.WarnOf(method+" "+option, "dataRepo."+method+" was given an option that it does not know; it is ignored", "option", option, "where", r.h.currentLine())
}

// currentLine returns the current position of the script as file:line:column.
func (h *Binding) currentLine() string {
	f := &vm.Failure{}
	f.AddFrames(h.VM, h.CallStack())
	return f.Place()
}

// addFurtherMembers adds those members of IONDV's repositories that are not operations. Some of them throw an error,
// because they are not supported.
func (r *jsRepository) addFurtherMembers(o *goja.Object, methods *js.Methods) {
	h := r.h
	methods.Add("on", r.on)
	methods.Add("setValidators", func(goja.FunctionCall) goja.Value { return goja.Undefined() }) // no effect, as in IONDV
	refuse := func(name, why string) {
		methods.Add(name, func(goja.FunctionCall) goja.Value {
			panic(h.NewError("dataRepo."+name+" is not supported: "+why, "not-supported"))
		})
	}
	refuse("rawData", "rows of the database itself have no permissions; use getList or aggregate")
	refuse("trigger", "events are told of by writes")
	getter := h.NewFunction("ds", func(goja.FunctionCall) goja.Value {
		panic(h.NewError("dataRepo.ds is not supported: there is no driver of a database to reach; use getList, aggregate or transaction", "not-supported"))
	})
	_ = o.DefineAccessorProperty("ds", getter, nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// recache implements recache(item). It computes the cached attributes of the item again, stores them, and returns the
// updated item.
func (r *jsRepository) recache(call goja.FunctionCall) (vm.Operation, error) {
	it := itemOf(call.Argument(0))
	if it == nil {
		return vm.Operation{}, engine.Errorf(engine.Invalid, "argument", "recache takes an item, found %s", js.DescribeValue(call.Argument(0)))
	}
	c, err := r.viewOf(it.item.Class)
	if err != nil {
		return vm.Operation{}, err
	}
	again, ok := r.repo.(engine.Recacher)
	if !ok {
		return vm.Operation{}, engine.Errorf(engine.Invalid, "recache", "this repository keeps nothing of formulas")
	}
	id := it.item.ID
	return vm.Operation{Writes: true, Do: func(ctx context.Context) (func() goja.Value, error) {
		if err := again.Recache(ctx, c, id); err != nil {
			return nil, err
		}
		return r.itemResult(r.repo.Get(ctx, c, id))
	}}, nil
}

// on implements dataRepo.on(types, handler). The first argument is a type or an array of types.
func (r *jsRepository) on(call goja.FunctionCall) goja.Value {
	return r.h.events.Register("dataRepo.on", call, r.repo, func(name string) (string, error) { return event.EventType(name, r.h.findClass) })
}
