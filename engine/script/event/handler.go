package event

import (
	"slices"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/access"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
)

// Handler is a function that a script registered in one VM with dataRepo.on. All VMs of a service register handlers
// for the same types and repositories.
type Handler struct {
	types    []string          // types of events
	repo     engine.Repository // repository on which on was called
	Function goja.Callable
}

// SameEvents reports whether two VMs have registered handlers for the same events. If not, the service cannot use
// both VMs.
func SameEvents(a, b []Handler) bool {
	return slices.EqualFunc(a, b, func(a, b Handler) bool { return a.repo == b.repo && slices.Equal(a.types, b.types) })
}

// Binding collects the event handlers that scripts register in one VM.
type Binding struct {
	*vm.VM
	Handlers []Handler
}

// New returns the binding of a VM.
func New(v *vm.VM) *Binding { return &Binding{VM: v} }

// Register implements a method on(type, handler), where type may be an array. The first parameter is the name of the
// method, for use in error messages. call holds the arguments of the method. typeOf checks a type and returns its full
// form. Register throws if the service has been loaded already.
func (h *Binding) Register(what string, call goja.FunctionCall, repo engine.Repository, typeOf func(string) (string, error)) goja.Value {
	if h.Load == nil {
		panic(h.NewError(what+": handlers are registered while the service loads, not later", nil))
	}
	f, ok := goja.AssertFunction(call.Argument(1))
	if !ok {
		panic(h.JS.NewTypeError(what + " takes a type and a function, found " + js.DescribeValue(call.Argument(1))))
	}
	var names []string
	switch given := call.Argument(0).Export().(type) {
	case string:
		names = []string{given}
	case []any:
		for _, one := range given {
			name, _ := one.(string)
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		panic(h.JS.NewTypeError(what + " takes the type of an event, or an array of them, found " + js.DescribeValue(call.Argument(0))))
	}
	ev := Handler{repo: repo, Function: f}
	for _, name := range names {
		typ, err := typeOf(name)
		if err != nil {
			panic(h.ErrorOf(err, nil))
		}
		ev.types = append(ev.types, typ)
	}
	h.Handlers = append(h.Handlers, ev)
	return goja.Undefined()
}

// EventType checks the type of an event, such as "note.create", and returns it with the full name of the class.
func EventType(name string, findClass func(string) (*engine.Class, error)) (string, error) {
	refuse := func(why string) error {
		return engine.Errorf(engine.Invalid, "event", "dataRepo.on(%s): %s", engine.Quote(name), why)
	}
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return "", refuse("the type of an event is <class>.<event> or <class>.<collection>.put")
	}
	class, what := name[:at], name[at+1:]
	collection := ""
	switch {
	case slices.Contains(classEvents, what):
	case what == putIn || what == ejected:
		if at = strings.LastIndexByte(class, '.'); at < 0 {
			return "", refuse("it names no collection")
		}
		class, collection = class[:at], class[at+1:]
	default:
		return "", refuse("there is no such event: these are " + strings.Join(classEvents, ", ") + ", and put and eject of a collection")
	}
	c, err := findClass(class)
	if err != nil {
		return "", refuse(err.Error())
	}
	if collection == "" {
		return c.FullName + "." + what, nil
	}
	if p := c.Property(collection); p == nil || p.Type != engine.Collection {
		return "", refuse("class " + c.FullName + " has no collection " + engine.Quote(collection))
	}
	return c.FullName + "." + collection + "." + what, nil
}

// eventRun is one call of an event handler.
type eventRun struct {
	listener
	before  bool // the handler runs before the write
	refuses bool // the handler can refuse the write by returning false
	class   *engine.Class
	id      string
	item    *engine.Item  // the current or deleted item, or the master of a collection; nil if it is missing or hidden
	values  engine.Values // values to write; nil for events without values

	collection string         // name of the collection, for put and eject
	details    []*engine.Item // the members that were put in or ejected

	query *engine.Query // the query of a list; nil for writes

	// The following fields may be used only inside a turn, and again when the call has ended.
	data      *goja.Object          // property data of the event object
	given     map[string]goja.Value // members of data before the handler ran
	cancelled bool                  // the handler has refused the write
}

// newEvent returns the event object, which is the first argument of the handler.
func (r *eventRun) newEvent(c *vm.Call) goja.Value {
	h := vm.BindingOf[*Binding](c.VM)
	o := h.JS.NewObject()
	h.Put(o, "type", h.JS.ToValue(r.typ))
	h.Put(o, "class", h.JS.ToValue(r.class.FullName))
	h.Put(o, "id", goja.Null())
	if r.id != "" {
		h.Put(o, "id", h.JS.ToValue(r.id))
	}
	h.Put(o, "user", access.UserObject(h.Realm, c.Req.Account))
	if r.query != nil {
		h.Put(o, "options", h.FromDecoded(queryOptions(r.query)))
		return o
	}
	item := goja.Null()
	if r.item != nil {
		item = h.Items.ItemObject(r.item)
	}
	h.Put(o, "item", item)
	r.cancelled, r.given = false, nil
	if r.collection != "" {
		h.Put(o, "master", item)
		h.Put(o, "collection", h.JS.ToValue(r.collection))
		h.Put(o, "details", h.Items.ListObject(r.details))
		return o
	}
	if r.values != nil {
		r.data, r.given = h.JS.NewObject(), map[string]goja.Value{}
		for i, p := range r.class.Properties {
			if v, shown := h.givenValue(r.values[i]); shown && p.Type != engine.Password {
				r.given[p.Name] = v
				h.Put(r.data, p.Name, v)
			}
		}
		h.Put(o, "data", r.data)
		h.Put(o, "updates", r.data)
	}
	if r.before {
		h.Method(o, "cancel", func(goja.FunctionCall) goja.Value {
			r.cancelled = true
			return goja.Undefined()
		})
	}
	return o
}

// queryOptions returns the options with which getList would make the query q, without the filter.
func queryOptions(q *engine.Query) engine.Fields {
	sort := engine.Fields{}
	for _, s := range q.Sort {
		var path []string
		for _, p := range s.Path() {
			path = append(path, p.Name)
		}
		direction := int64(1)
		if s.Descending {
			direction = -1
		}
		sort = append(sort, engine.Field{Name: strings.Join(path, "."), Value: direction})
	}
	options := engine.Fields{{Name: "sort", Value: sort}, {Name: "offset", Value: int64(q.Offset)}, {Name: "skipSubClasses", Value: q.Exact}}
	if q.Count >= 0 {
		options = append(options, engine.Field{Name: "count", Value: int64(q.Count)})
	}
	return options
}

// givenValue converts a value that is about to be written to a JavaScript value for the handler. It returns false if
// the value is absent, that is, if the write does not change the attribute.
func (h *Binding) givenValue(v any) (goja.Value, bool) {
	switch v := v.(type) {
	case *engine.Record:
		o := h.JS.NewObject()
		if v.ID != "" {
			h.Put(o, "_id", h.JS.ToValue(v.ID))
		}
		for i, p := range v.Class.Properties {
			if inner, ok := h.givenValue(v.Values[i]); ok && p.Type != engine.Password {
				h.Put(o, p.Name, inner)
			}
		}
		return o, true
	case *engine.Links:
		members := make([]any, len(v.Add))
		for i, m := range v.Add {
			members[i], _ = h.givenValue(m)
		}
		if v.Replace {
			return h.JS.NewArray(members...), true
		}
		o := h.JS.NewObject()
		h.Put(o, "add", h.JS.NewArray(members...))
		h.Put(o, "remove", h.FromDecoded(engine.Texts(v.Remove)))
		return o, true
	case *engine.Upload:
		var id any
		if v.File.ID != "" {
			id = v.File.ID
		}
		return h.FromDecoded(engine.Fields{{Name: "id", Value: id}, {Name: "name", Value: v.File.Name}, {Name: "mimeType", Value: v.File.MimeType}}), true
	case []*engine.Upload:
		all := make([]any, len(v))
		for i, u := range v {
			all[i], _ = h.givenValue(u)
		}
		return h.JS.NewArray(all...), true
	case engine.JSONText, nil, string, bool, int64, float64, engine.Decimal, engine.Instant:
		return h.FromValue(v), true
	}
	return nil, false
}

// readOutcome returns the attributes that the handler has set, by changing event.data or by returning an object.
func (r *eventRun) readOutcome(c *vm.Call, result goja.Value) vm.Outcome {
	if r.refuses && result != nil && result.StrictEquals(c.VM.JS.ToValue(false)) {
		r.cancelled = true
	}
	var all engine.Fields
	if r.before && r.given != nil {
		for _, name := range r.data.Keys() {
			v := r.data.Get(name)
			if was, there := r.given[name]; there && v.SameAs(was) {
				continue
			}
			decoded, err := c.VM.ToAttributes(v)
			if err != nil {
				return vm.Outcome{Err: err}
			}
			all = append(all, engine.Field{Name: name, Value: decoded})
		}
	}
	o, ok := result.(*goja.Object)
	if !ok || js.IsStored(o) || o.ClassName() != "Object" || o == r.data {
		return vm.Outcome{Data: all}
	}
	decoded, err := c.VM.ToAttributes(o)
	if err != nil {
		return vm.Outcome{Err: err}
	}
	if given, ok := decoded.(engine.Fields); ok {
		all = append(all, given...)
	}
	return vm.Outcome{Data: all}
}
