package script

import (
	"reflect"
	"slices"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// jsItem is an item as scripts see it. Its values are converted to JavaScript
// when a script reads them, so an item that a handler only returns is never
// converted.
type jsItem struct {
	h     *dataBinding
	item  *engine.Item
	extra overlay
	props *goja.Object
	base  *goja.Object
	links map[string]goja.Value // loaded references and collections that were read

	changed bool // a script has called set
}

var itemType = reflect.TypeFor[*jsItem]()

// itemObject returns the object for it. The caller must not change it
// afterwards.
func (h *dataBinding) itemObject(it *engine.Item) goja.Value {
	if h.itemProto == nil {
		h.itemProto = h.newItemProto()
	}
	o := h.js.NewDynamicObject(&jsItem{h: h, item: it})
	_ = o.SetPrototype(h.itemProto)
	return o
}

// Decoded returns the id of the item.
func (it *jsItem) Decoded() any { return it.item.ID }

// WriteJSON writes the item without converting it, unless a script has added properties.
func (it *jsItem) WriteJSON(w *writer) bool {
	if len(it.extra.names) > 0 {
		return false
	}
	w.writeItem(it.item)
	return true
}

// Stored implements js.StoredObject.
func (it *jsItem) Stored() {}

// itemOf returns the item of an object, or nil if the object is not an item.
func itemOf(v goja.Value) *jsItem {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != itemType {
		return nil
	}
	it, _ := o.Export().(*jsItem)
	return it
}

// itemFields are the fields of items in IONDV.
var itemFields = []string{"id", "base", "classMeta", "properties", "references", "collections", "files", "permissions"}

// Get implements goja.DynamicObject. It returns one of itemFields, a property
// that a script added, or an attribute.
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
		return it.h.classObject(it.item.Class)
	case "properties":
		return it.propertiesObject()
	case "references":
		return it.loadedObject(engine.Reference, it.targetItem)
	case "collections":
		return it.loadedObject(engine.Collection, it.memberList)
	case "files":
		return it.filesObject()
	}
	if v := it.attributeValue(name); v != nil || name != "permissions" {
		return v
	}
	panic(it.h.newError("item.permissions is not supported: ask aclProvider.getPermissions, or do it and catch the error with the code 403", "not-supported"))
}

// loadedObject returns an object with the loaded values of all properties of
// type t.
func (it *jsItem) loadedObject(t engine.PropertyType, value func(*engine.Property) goja.Value) goja.Value {
	o := it.h.js.NewObject()
	for _, p := range it.item.Class.Properties {
		if p.Type == t && it.item.Link(p).Loaded {
			it.h.put(o, p.Name, value(p))
		}
	}
	return o
}

// Set implements goja.DynamicObject. It adds a property to the object and does
// not change the item.
func (it *jsItem) Set(name string, v goja.Value) bool {
	it.extra.set(name, v)
	return true
}

// Has implements goja.DynamicObject.
func (it *jsItem) Has(name string) bool {
	_, ok := it.extra.values[name]
	return ok || slices.Contains(itemFields, name) || it.attributeValue(name) != nil
}

// Delete implements goja.DynamicObject. It removes a property that a script
// added.
func (it *jsItem) Delete(name string) bool {
	it.extra.remove(name)
	return true
}

// Keys implements goja.DynamicObject.
func (it *jsItem) Keys() []string {
	return append([]string{"id", "base"}, it.extra.names...)
}

func (it *jsItem) baseObject() *goja.Object {
	if it.base == nil {
		h, o := it.h, it.h.js.NewObject()
		for _, p := range it.item.Class.Properties {
			if p.Type != engine.Password && !it.item.Class.Hides(p) {
				h.put(o, p.Name, it.storedValue(p))
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

// valueOf returns a property, or one of the special names that IONDV's get
// accepts.
func (it *jsItem) valueOf(name string) goja.Value {
	switch name {
	case "__class":
		return it.h.js.ToValue(it.item.Class.FullName)
	case "__classTitle":
		return it.h.js.ToValue(it.item.Class.Caption)
	}
	p := it.item.Class.Property(name)
	if p == nil {
		return goja.Null()
	}
	return it.propertyValue(p)
}

// setValue changes a value of this object. It does not store the item. If v is
// an item and the attribute is a reference, v becomes the loaded target of the
// reference.
func (it *jsItem) setValue(name string, v goja.Value) error {
	c := it.item.Class
	p := c.Property(name)
	if p == nil {
		return engine.Errorf(engine.Invalid, "unknown-attribute", "class %s has no attribute %s", c.FullName, engine.Quote(name))
	}
	decoded, err := it.h.toDecoded(v)
	if err != nil {
		return err
	}
	values, _, err := c.Bind(engine.Fields{{Name: name, Value: decoded}}, engine.Strict)
	if err != nil {
		return err
	}
	switch values[p.Index].(type) {
	case *engine.Record, *engine.Links, *engine.Upload, []*engine.Upload:
		e := engine.Errorf(engine.Invalid, "set", "attribute %s takes objects, lists of them and files only when it is written: pass them to createItem, editItem or saveItem", engine.Quote(name))
		e.Class, e.Attribute = c.FullName, name
		return e
	}
	if values[p.Index] == engine.Absent {
		return nil // a calculated attribute, or null for a collection
	}
	changed := it.item.Clone()
	changed.Values[p.Index] = values[p.Index]
	if p.Type == engine.Reference {
		changed.Links = append([]engine.Link(nil), changed.Links...)
		if target := itemOf(v); target != nil && changed.Links == nil {
			changed.Links = make([]engine.Link, len(c.Properties))
		}
		if changed.Links != nil {
			changed.Links[p.Index] = engine.Link{}
			if target := itemOf(v); target != nil {
				changed.Links[p.Index] = engine.Link{Loaded: true, Shown: true, Item: target.item}
			}
		}
		delete(it.links, name)
	}
	it.item, it.base, it.changed = changed, nil, true
	return nil
}

// newItemProto returns the prototype of items with their methods.
func (h *dataBinding) newItemProto() *goja.Object {
	proto := h.js.NewObject()
	methods := h.methodsOf(proto)
	add := func(name string, f func(it *jsItem, call goja.FunctionCall) goja.Value) {
		methods.add(name, func(call goja.FunctionCall) goja.Value {
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
	add("getMetaClass", func(it *jsItem, _ goja.FunctionCall) goja.Value { return h.classObject(it.item.Class) })
	add("get", func(it *jsItem, call goja.FunctionCall) goja.Value { return it.getPath(call.Argument(0).String()) })
	add("set", func(it *jsItem, call goja.FunctionCall) goja.Value {
		if err := it.setValue(call.Argument(0).String(), call.Argument(1)); err != nil {
			panic(h.errorOf(err, nil))
		}
		return goja.Undefined()
	})
	link := func(name string, t engine.PropertyType, value func(*jsItem, *engine.Property) goja.Value) {
		add(name, func(it *jsItem, call goja.FunctionCall) goja.Value {
			if p := it.item.Class.Property(call.Argument(0).String()); p != nil && p.Type == t {
				return value(it, p)
			}
			return goja.Null()
		})
	}
	link("getAggregate", engine.Reference, (*jsItem).targetItem)
	link("getAggregates", engine.Collection, (*jsItem).memberList)
	add("getProperties", func(it *jsItem, _ goja.FunctionCall) goja.Value { return it.propertiesObject() })
	add("property", func(it *jsItem, call goja.FunctionCall) goja.Value {
		if v := (&propertyMap{it: it}).Get(call.Argument(0).String()); v != nil {
			return v
		}
		return goja.Null()
	})
	add("toJSON", func(it *jsItem, _ goja.FunctionCall) goja.Value { return it.jsonObject() })
	h.addAsyncItemMethods(add)
	return proto
}
