package data

import (
	"context"
	"reflect"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
)

// propertiesObject returns the object item.properties, which maps names to properties. It is created at the first
// call.
func (it *jsItem) propertiesObject() *goja.Object {
	if it.props == nil {
		it.props = it.h.JS.NewDynamicObject(&propertyMap{it: it, made: map[string]goja.Value{}})
	}
	return it.props
}

// propertyMap is the Go value behind item.properties and the result of getProperties.
type propertyMap struct {
	it   *jsItem
	made map[string]goja.Value // the entries that a script has read or set
}

// classProperties are the properties that every class has in addition to the attributes that it defines.
var classProperties = [...]*engine.Property{
	{Name: "__class", Caption: "Class", Type: engine.String, Readonly: true},
	{Name: "__classTitle", Caption: "Class title", Type: engine.String, Readonly: true},
}

func (m *propertyMap) findProperty(name string) *engine.Property {
	for _, p := range classProperties {
		if p.Name == name {
			return p
		}
	}
	p := m.it.item.Class.Property(name)
	if p == nil || p.Type == engine.Password {
		return nil
	}
	return p
}

// Get implements goja.DynamicObject. It returns the property with the given name.
func (m *propertyMap) Get(name string) goja.Value {
	if v, ok := m.made[name]; ok {
		return v
	}
	p := m.findProperty(name)
	if p == nil {
		return nil
	}
	v := m.it.h.propertyObject(m.it, p)
	if m.made != nil {
		m.made[name] = v
	}
	return v
}

// Set implements goja.DynamicObject. It replaces or adds an entry of the object, without an effect on the item.
func (m *propertyMap) Set(name string, v goja.Value) bool {
	if v == nil {
		v = goja.Undefined()
	}
	m.made[name] = v
	return true
}

// Has implements goja.DynamicObject.
func (m *propertyMap) Has(name string) bool {
	_, ok := m.made[name]
	return ok || m.findProperty(name) != nil
}

// Delete implements goja.DynamicObject. It has no effect, because the properties of a class cannot be removed.
func (m *propertyMap) Delete(string) bool { return true }

// Keys implements goja.DynamicObject. It returns the names of the properties in the order of the class.
func (m *propertyMap) Keys() []string {
	var names []string
	for _, p := range classProperties {
		names = append(names, p.Name)
	}
	for _, p := range m.it.item.Class.Properties {
		if p.Type != engine.Password && !m.it.item.Class.Hides(p) {
			names = append(names, p.Name)
		}
	}
	for _, n := range js.SortedNames(m.made) {
		if m.findProperty(n) == nil {
			names = append(names, n)
		}
	}
	return names
}

// jsProperty is the Go value behind one property of one item.
type jsProperty struct {
	js.Handle
	it *jsItem
	p  *engine.Property
}

var jsPropertyType = reflect.TypeFor[*jsProperty]()

func (h *Binding) propertyObject(it *jsItem, p *engine.Property) goja.Value {
	if h.propertyProto == nil {
		h.propertyProto = h.newPropertyProto()
	}
	o := h.JS.NewDynamicObject(&jsProperty{it: it, p: p})
	_ = o.SetPrototype(h.propertyProto)
	return o
}

// Get implements goja.DynamicObject. It returns one of the members that a property has in IONDV: name, item or meta.
func (p *jsProperty) Get(name string) goja.Value {
	switch name {
	case "name":
		return p.it.h.JS.ToValue(p.p.Name)
	case "item":
		return p.it.h.ItemObject(p.it.item)
	case "meta":
		return p.it.h.propertyMeta(p.it.item.Class, p.p)
	}
	return nil
}

// Has implements goja.DynamicObject.
func (p *jsProperty) Has(name string) bool { return name == "name" || name == "item" || name == "meta" }

// getValue implements the method getValue.
func (p *jsProperty) getValue() goja.Value { return p.it.valueOf(p.p.Name) }

// evaluate returns the target item if the property is a reference. Otherwise it returns the same as getValue: for a
// collection its items, for other properties the value.
func (p *jsProperty) evaluate() goja.Value {
	if p.p.Type == engine.Reference {
		return p.it.targetItem(p.p)
	}
	return p.getValue()
}

// displayText returns the value as a text to show to users.
func (p *jsProperty) displayText() string {
	switch p.p {
	case classProperties[0]:
		return p.it.item.Class.FullName
	case classProperties[1]:
		return p.it.item.Class.Caption
	}
	return p.it.item.Display(p.p)
}

// displayBy implements getDisplayValue(how). If how is a function, it formats the date. If how is the name of a
// language, it is ignored: the server has one language.
func (p *jsProperty) displayBy(how goja.Value) goja.Value {
	h := p.it.h
	if f, ok := goja.AssertFunction(how); ok && p.p.Type == engine.DateTime {
		if v := p.getValue(); !goja.IsNull(v) {
			text, err := f(goja.Undefined(), v)
			if err != nil {
				panic(js.Rethrow(err))
			}
			return text
		}
	}
	return h.JS.ToValue(p.displayText())
}

// selectionList returns the values that the selection list of the property offers for the item, or null if the
// property has no selection list.
func (p *jsProperty) selectionList() goja.Value {
	h := p.it.h
	offered, err := p.it.item.Offered(context.Background(), p.p, loadedOnly{h})
	if err != nil {
		panic(h.ErrorOf(err, nil))
	}
	if p.p.Selection == nil {
		return goja.Null()
	}
	list := make([]any, len(offered))
	for i, s := range offered {
		list[i] = engine.Fields{{Name: "key", Value: s.Key}, {Name: "value", Value: s.Label}}
	}
	return h.FromDecoded(list)
}

// loadedOnly is the data source for the conditions in a selection list. A script reads the list inside a turn, which
// must not wait for the database. Therefore the methods that would read data return an error.
type loadedOnly struct{ h *Binding }

var errNotLoaded = engine.Errorf(engine.Invalid, "selection", "the selection list looks other objects up: it is only known where the object is read")

// Find returns errNotLoaded.
func (loadedOnly) Find(context.Context, *engine.Query) ([]*engine.Item, error) {
	return nil, errNotLoaded
}

// Count returns errNotLoaded.
func (loadedOnly) Count(context.Context, *engine.Query) (int64, error) { return 0, errNotLoaded }

// Next returns errNotLoaded.
func (loadedOnly) Next(context.Context, string) (int64, error) { return 0, errNotLoaded }

// Class finds a class by its name.
func (d loadedOnly) Class(name string) (*engine.Class, error) { return d.h.findClass(name) }

// Now returns the current time.
func (d loadedOnly) Now() engine.Instant { return engine.InstantOf(d.h.Service.Now()) }

func (h *Binding) newPropertyProto() *goja.Object {
	proto := h.JS.NewObject()
	methods := h.MethodsOf(proto)
	add := func(name string, f func(p *jsProperty, call goja.FunctionCall) any) {
		methods.Add(name, func(call goja.FunctionCall) goja.Value {
			o, ok := call.This.(*goja.Object)
			if !ok || o.ExportType() != jsPropertyType {
				panic(h.JS.NewTypeError(name + " must be called on a property"))
			}
			return h.JS.ToValue(f(o.Export().(*jsProperty), call))
		})
	}
	tell := func(name string, f func(p *jsProperty) any) {
		add(name, func(p *jsProperty, _ goja.FunctionCall) any { return f(p) })
	}
	tell("getName", func(p *jsProperty) any { return p.p.Name })
	tell("getCaption", func(p *jsProperty) any { return p.p.Caption })
	tell("getType", func(p *jsProperty) any { return int(p.p.Type) })
	tell("isReadOnly", func(p *jsProperty) any { return p.p.Readonly })
	tell("isUnique", func(p *jsProperty) any { return p.p.Unique })
	tell("isNullable", func(p *jsProperty) any { return p.p.Nullable })
	tell("isIndexed", func(p *jsProperty) any { return p.p.Indexed })
	tell("eagerLoading", func(p *jsProperty) any { return p.p.Eager })
	tell("hint", func(p *jsProperty) any { return p.p.Hint })
	tell("getValue", func(p *jsProperty) any { return p.getValue() })
	add("getDisplayValue", func(p *jsProperty, call goja.FunctionCall) any { return p.displayBy(call.Argument(0)) })
	tell("evaluate", func(p *jsProperty) any { return p.evaluate() })
	tell("getSelection", func(p *jsProperty) any { return p.selectionList() })
	add("setValue", func(p *jsProperty, call goja.FunctionCall) any {
		if err := p.it.setValue(p.p.Name, call.Argument(0)); err != nil {
			panic(h.ErrorOf(err, nil))
		}
		return goja.Undefined()
	})
	return proto
}
