package script

import (
	"reflect"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// jsItem is an item as scripts see it. Values become JavaScript values when
// they are read; an item that a handler returns untouched never does.
type jsItem struct {
	h     *host
	item  *engine.Item
	extra overlay
	props *goja.Object
	base  *goja.Object
}

var itemType = reflect.TypeFor[*jsItem]()

// item makes the object of an item, which must not change any more.
func (h *host) item(it *engine.Item) goja.Value {
	if h.itemProto == nil {
		h.itemProto = h.newItemProto()
	}
	o := h.js.NewDynamicObject(&jsItem{h: h, item: it})
	_ = o.SetPrototype(h.itemProto)
	return o
}

// itemOf returns the item that an object is, nil for none.
func itemOf(v goja.Value) *jsItem {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != itemType {
		return nil
	}
	it, _ := o.Export().(*jsItem)
	return it
}

// overlay keeps what a script adds to an object of ours.
type overlay struct {
	names  []string
	values map[string]goja.Value
}

func (o *overlay) set(name string, v goja.Value) {
	if v == nil {
		v = goja.Undefined()
	}
	if o.values == nil {
		o.values = map[string]goja.Value{}
	}
	if _, ok := o.values[name]; !ok {
		o.names = append(o.names, name)
	}
	o.values[name] = v
}

func (o *overlay) remove(name string) {
	if _, ok := o.values[name]; !ok {
		return
	}
	delete(o.values, name)
	for i, n := range o.names {
		if n == name {
			o.names = append(o.names[:i:i], o.names[i+1:]...)
			return
		}
	}
}

// Get returns the fields that the ancestor's items have: id, base, classMeta,
// properties.
func (it *jsItem) Get(name string) goja.Value {
	if v, ok := it.extra.values[name]; ok {
		return v
	}
	switch name {
	case "id":
		return it.h.js.ToValue(it.item.ID)
	case "base":
		return it.baseObject()
	case "classMeta":
		return it.h.class(it.item.Class)
	case "properties":
		return it.properties()
	}
	return nil
}

// Set keeps what a script adds; it changes no property of the item.
func (it *jsItem) Set(name string, v goja.Value) bool {
	it.extra.set(name, v)
	return true
}

// Has reports the own properties.
func (it *jsItem) Has(name string) bool {
	switch name {
	case "id", "base", "classMeta", "properties":
		return true
	}
	_, ok := it.extra.values[name]
	return ok
}

// Delete removes what a script added.
func (it *jsItem) Delete(name string) bool {
	it.extra.remove(name)
	return true
}

// Keys lists the own properties.
func (it *jsItem) Keys() []string {
	return append([]string{"id", "base"}, it.extra.names...)
}

func (it *jsItem) baseObject() *goja.Object {
	if it.base == nil {
		h, o := it.h, it.h.js.NewObject()
		for i, p := range it.item.Class.Properties {
			if p.Type != engine.Password {
				h.put(o, p.Name, h.fromValue(it.item.Values[i]))
			}
		}
		for _, f := range []engine.Field{
			{Name: "_class", Value: it.item.Class.FullName}, {Name: "_classVer", Value: it.item.Version},
			{Name: "_creator", Value: it.item.Creator}, {Name: "_editor", Value: it.item.Editor},
		} {
			h.put(o, f.Name, h.fromValue(f.Value))
		}
		it.base = o
	}
	return it.base
}

// value returns a property, or one of the names that the ancestor's get knows.
func (it *jsItem) value(name string) goja.Value {
	switch name {
	case "__class":
		return it.h.js.ToValue(it.item.Class.FullName)
	case "__classTitle":
		return it.h.js.ToValue(it.item.Class.Caption)
	}
	return it.h.fromValue(it.item.Get(name))
}

// set changes a value of this object only; nothing is stored.
func (it *jsItem) set(name string, v goja.Value) error {
	decoded, err := it.h.toDecoded(v)
	if err != nil {
		return err
	}
	values, _, err := it.item.Class.Bind(engine.Fields{{Name: name, Value: decoded}}, engine.Strict)
	if err != nil {
		return err
	}
	p := it.item.Class.Property(name)
	if p == nil {
		return engine.Errorf(engine.Invalid, "unknown-attribute", "class %s has no attribute %s", it.item.Class.FullName, engine.Quote(name))
	}
	changed := it.item.Clone()
	changed.Values[p.Index] = values[p.Index]
	it.item, it.base = changed, nil
	return nil
}

// newItemProto makes the methods of items.
func (h *host) newItemProto() *goja.Object {
	proto := h.js.NewObject()
	add := func(name string, f func(it *jsItem, call goja.FunctionCall) goja.Value) {
		h.method(proto, name, func(call goja.FunctionCall) goja.Value {
			it := itemOf(call.This)
			if it == nil {
				panic(h.js.NewTypeError(name + " must be called on an item"))
			}
			return f(it, call)
		})
	}
	text := func(name string, f func(*engine.Item) string) {
		add(name, func(it *jsItem, _ goja.FunctionCall) goja.Value { return h.js.ToValue(f(it.item)) })
	}
	text("getItemId", func(it *engine.Item) string { return it.ID })
	text("getClassName", func(it *engine.Item) string { return it.Class.FullName })
	text("getCreator", func(it *engine.Item) string { return it.Creator })
	text("getEditor", func(it *engine.Item) string { return it.Editor })
	text("toString", (*engine.Item).String)
	add("getMetaClass", func(it *jsItem, _ goja.FunctionCall) goja.Value { return h.class(it.item.Class) })
	add("get", func(it *jsItem, call goja.FunctionCall) goja.Value { return it.value(call.Argument(0).String()) })
	add("set", func(it *jsItem, call goja.FunctionCall) goja.Value {
		if err := it.set(call.Argument(0).String(), call.Argument(1)); err != nil {
			panic(h.errorOf(err, nil))
		}
		return goja.Undefined()
	})
	add("getProperties", func(it *jsItem, _ goja.FunctionCall) goja.Value { return it.properties() })
	add("property", func(it *jsItem, call goja.FunctionCall) goja.Value {
		if v := (&propertyMap{it: it}).Get(call.Argument(0).String()); v != nil {
			return v
		}
		return goja.Null()
	})
	add("toJSON", func(it *jsItem, _ goja.FunctionCall) goja.Value { return it.envelope() })
	return proto
}

// envelope is the item as crud answers it, as an object of its own.
func (it *jsItem) envelope() goja.Value {
	h, o := it.h, it.h.js.NewObject()
	text := func(name, value string) { h.put(o, name, h.js.ToValue(value)) }
	if it.item.Creator != "" {
		text("_creator", it.item.Creator)
	}
	if it.item.Editor != "" {
		text("_editor", it.item.Editor)
	}
	text("_id", it.item.ID)
	text("__string", it.item.String())
	text("__class", it.item.Class.FullName)
	text("__classTitle", it.item.Class.Caption)
	for i, p := range it.item.Class.Properties {
		if p.Type != engine.Password {
			h.put(o, p.Name, h.fromValue(it.item.Values[i]))
		}
	}
	return o
}

// properties is the map of name to property, made once.
func (it *jsItem) properties() *goja.Object {
	if it.props == nil {
		it.props = it.h.js.NewDynamicObject(&propertyMap{it: it, made: map[string]goja.Value{}})
	}
	return it.props
}

// propertyMap is what getProperties returns.
type propertyMap struct {
	it   *jsItem
	made map[string]goja.Value
}

// classProperties are those that every class has before its own.
var classProperties = [...]*engine.Property{
	{Name: "__class", Caption: "Class", Type: engine.String, Readonly: true},
	{Name: "__classTitle", Caption: "Class title", Type: engine.String, Readonly: true},
}

func (m *propertyMap) property(name string) *engine.Property {
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

// Get returns the property of that name.
func (m *propertyMap) Get(name string) goja.Value {
	if v, ok := m.made[name]; ok {
		return v
	}
	p := m.property(name)
	if p == nil {
		return nil
	}
	v := m.it.h.property(m.it, p)
	if m.made != nil {
		m.made[name] = v
	}
	return v
}

// Set replaces or adds an entry of this map.
func (m *propertyMap) Set(name string, v goja.Value) bool {
	if v == nil {
		v = goja.Undefined()
	}
	m.made[name] = v
	return true
}

// Has reports whether the item has the property.
func (m *propertyMap) Has(name string) bool {
	_, ok := m.made[name]
	return ok || m.property(name) != nil
}

// Delete does nothing: a class keeps its properties.
func (m *propertyMap) Delete(string) bool { return true }

// Keys lists the properties in the order of the class.
func (m *propertyMap) Keys() []string {
	var names []string
	for _, p := range classProperties {
		names = append(names, p.Name)
	}
	for _, p := range m.it.item.Class.Properties {
		if p.Type != engine.Password {
			names = append(names, p.Name)
		}
	}
	for _, n := range sortedNames(m.made) {
		if m.property(n) == nil {
			names = append(names, n)
		}
	}
	return names
}

// jsProperty is one property of one item.
type jsProperty struct {
	handle
	it *jsItem
	p  *engine.Property
}

var jsPropertyType = reflect.TypeFor[*jsProperty]()

func (h *host) property(it *jsItem, p *engine.Property) goja.Value {
	if h.propertyProto == nil {
		h.propertyProto = h.newPropertyProto()
	}
	o := h.js.NewDynamicObject(&jsProperty{it: it, p: p})
	_ = o.SetPrototype(h.propertyProto)
	return o
}

func (h *host) newPropertyProto() *goja.Object {
	proto := h.js.NewObject()
	add := func(name string, f func(p *jsProperty, call goja.FunctionCall) any) {
		h.method(proto, name, func(call goja.FunctionCall) goja.Value {
			o, ok := call.This.(*goja.Object)
			if !ok || o.ExportType() != jsPropertyType {
				panic(h.js.NewTypeError(name + " must be called on a property"))
			}
			return h.js.ToValue(f(o.Export().(*jsProperty), call))
		})
	}
	add("getName", func(p *jsProperty, _ goja.FunctionCall) any { return p.p.Name })
	add("getCaption", func(p *jsProperty, _ goja.FunctionCall) any { return p.p.Caption })
	add("getType", func(p *jsProperty, _ goja.FunctionCall) any { return int(p.p.Type) })
	add("isReadOnly", func(p *jsProperty, _ goja.FunctionCall) any { return p.p.Readonly })
	add("isUnique", func(p *jsProperty, _ goja.FunctionCall) any { return p.p.Unique })
	add("isNullable", func(p *jsProperty, _ goja.FunctionCall) any { return p.p.Nullable })
	add("isIndexed", func(p *jsProperty, _ goja.FunctionCall) any { return p.p.Indexed })
	add("getValue", func(p *jsProperty, _ goja.FunctionCall) any { return p.it.value(p.p.Name) })
	add("setValue", func(p *jsProperty, call goja.FunctionCall) any {
		if err := p.it.set(p.p.Name, call.Argument(0)); err != nil {
			panic(h.errorOf(err, nil))
		}
		return goja.Undefined()
	})
	return proto
}
