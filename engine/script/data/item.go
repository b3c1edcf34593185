package data

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
)

// jsItem is the Go value behind an item in a script. It converts a value of the item when the script reads it. So an
// item that a handler only returns is never converted.
type jsItem struct {
	h     *Binding
	item  *engine.Item
	extra js.Overlay            // properties that a script has added
	props *goja.Object          // result of the property properties; nil until it is read
	base  *goja.Object          // result of the property base; nil until it is read
	links map[string]goja.Value // JavaScript values of the references and collections that were read

	changed bool // a script has called set
}

var itemType = reflect.TypeFor[*jsItem]()

// ItemObject returns the JavaScript object for an item. The caller must not change the item afterwards.
func (h *Binding) ItemObject(it *engine.Item) goja.Value {
	if h.itemProto == nil {
		h.itemProto = h.newItemProto()
	}
	o := h.JS.NewDynamicObject(&jsItem{h: h, item: it})
	_ = o.SetPrototype(h.itemProto)
	return o
}

// Decoded returns the id of the item: an item that is passed to a method stands for its id.
func (it *jsItem) Decoded() any { return it.item.ID }

// WriteJSON writes the item directly. It returns false if a script has added properties to the item.
func (it *jsItem) WriteJSON(w *js.Writer) bool {
	if len(it.extra.Names) > 0 {
		return false
	}
	w.WriteItem(it.item)
	return true
}

// Stored marks items for package js; see js.IsStored.
func (it *jsItem) Stored() {}

// itemOf returns the item behind a JavaScript object, or nil if v is not an item.
func itemOf(v goja.Value) *jsItem {
	o, ok := v.(*goja.Object)
	if !ok || o.ExportType() != itemType {
		return nil
	}
	it, _ := o.Export().(*jsItem)
	return it
}

// itemFields are the properties that every item has in IONDV.
var itemFields = []string{"id", "base", "classMeta", "properties", "references", "collections", "files", "permissions"}

// Get implements goja.DynamicObject. It returns a property that a script has added, one of itemFields, or the value
// of an attribute.
func (it *jsItem) Get(name string) goja.Value {
	if v, ok := it.extra.Values[name]; ok {
		return v
	}
	switch name {
	case "id":
		return it.h.JS.ToValue(it.item.ID)
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
	panic(it.h.NewError("item.permissions is not supported: ask aclProvider.getPermissions, or do it and catch the error with the code 403", "not-supported"))
}

// loadedObject returns an object with the loaded references of the item by name, or with the loaded collections; t is
// the type of the attributes. value returns the JavaScript value of an attribute.
func (it *jsItem) loadedObject(t engine.PropertyType, value func(*engine.Property) goja.Value) goja.Value {
	o := it.h.JS.NewObject()
	for _, p := range it.item.Class.Properties {
		if p.Type == t && it.item.Link(p).Loaded {
			it.h.Put(o, p.Name, value(p))
		}
	}
	return o
}

// Set implements goja.DynamicObject. It adds a property to the JavaScript object. It does not change the item.
func (it *jsItem) Set(name string, v goja.Value) bool {
	it.extra.Set(name, v)
	return true
}

// Has implements goja.DynamicObject.
func (it *jsItem) Has(name string) bool {
	_, ok := it.extra.Values[name]
	return ok || slices.Contains(itemFields, name) || it.attributeValue(name) != nil
}

// Delete implements goja.DynamicObject. It removes a property that a script has added.
func (it *jsItem) Delete(name string) bool {
	it.extra.Remove(name)
	return true
}

// Keys implements goja.DynamicObject.
func (it *jsItem) Keys() []string {
	return append([]string{"id", "base"}, it.extra.Names...)
}

func (it *jsItem) baseObject() *goja.Object {
	if it.base == nil {
		h, o := it.h, it.h.JS.NewObject()
		for _, p := range it.item.Class.Properties {
			if p.Type != engine.Password && !it.item.Class.Hides(p) {
				h.Put(o, p.Name, it.storedValue(p))
			}
		}
		for _, f := range []engine.Field{
			{Name: "_class", Value: it.item.Class.FullName}, {Name: "_classVer", Value: it.item.Version},
			{Name: "_creator", Value: it.item.Creator}, {Name: "_editor", Value: it.item.Editor},
		} {
			h.Put(o, f.Name, h.FromValue(f.Value))
		}
		it.base = o
	}
	return it.base
}

// valueOf returns the value of an attribute. For __class and __classTitle it returns the name and the caption of the
// class, and for an unknown name null.
func (it *jsItem) valueOf(name string) goja.Value {
	switch name {
	case "__class":
		return it.h.JS.ToValue(it.item.Class.FullName)
	case "__classTitle":
		return it.h.JS.ToValue(it.item.Class.Caption)
	}
	p := it.item.Class.Property(name)
	if p == nil {
		return goja.Null()
	}
	return it.propertyValue(p)
}

// setValue changes an attribute in this object. It does not store the change. If v is an item and the attribute is a
// reference, v becomes the loaded target of the reference.
func (it *jsItem) setValue(name string, v goja.Value) error {
	c := it.item.Class
	p := c.Property(name)
	if p == nil {
		return engine.Errorf(engine.Invalid, "unknown-attribute", "class %s has no attribute %s", c.FullName, engine.Quote(name))
	}
	decoded, err := it.h.ToDecoded(v)
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
		return nil // no effect: a calculated attribute, or null for a collection
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

// newItemProto returns the prototype of all items, which has their methods.
func (h *Binding) newItemProto() *goja.Object {
	proto := h.JS.NewObject()
	methods := h.MethodsOf(proto)
	add := func(name string, f func(it *jsItem, call goja.FunctionCall) goja.Value) {
		methods.Add(name, func(call goja.FunctionCall) goja.Value {
			it := itemOf(call.This)
			if it == nil {
				panic(h.JS.NewTypeError(name + " must be called on an item"))
			}
			return f(it, call)
		})
	}
	text := func(name string, f func(*engine.Item) string) {
		add(name, func(it *jsItem, _ goja.FunctionCall) goja.Value { return h.JS.ToValue(f(it.item)) })
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
			panic(h.ErrorOf(err, nil))
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

// filesObject returns an object with the files of the item by attribute name. Each file has the method getContents.
func (it *jsItem) filesObject() goja.Value {
	o := it.h.JS.NewObject()
	plain := &jsStorage{h: it.h, storage: it.h.Storage}
	images := *plain
	images.images, _ = plain.storage.(engine.ImageStorage)
	for i, p := range it.item.Class.Properties {
		if !p.Type.IsFile() || it.item.Class.Hides(p) {
			continue
		}
		s := plain
		if p.Type == engine.Image {
			s = &images
		}
		held := engine.FilesIn(it.item.Values[i])
		all := make([]any, len(held))
		for j, f := range held {
			all[j] = s.fileObject(f)
		}
		text, _ := it.item.Values[i].(engine.JSONText)
		switch {
		case len(text) > 0 && text[0] == '[':
			it.h.Put(o, p.Name, it.h.JS.NewArray(all...))
		case len(all) > 0:
			it.h.Put(o, p.Name, all[0].(goja.Value))
		}
	}
	return o
}

// jsonObject returns the result of toJSON: an object with the members that the CRUD service returns for the item, and
// the properties that a script has added.
func (it *jsItem) jsonObject() goja.Value {
	o := it.h.envelopeObject(it.item, nil)
	for _, name := range it.extra.Names {
		it.h.Put(o, name, it.extra.Values[name])
	}
	return o
}

// addAsyncItemMethods adds the asynchronous methods.
func (h *Binding) addAsyncItemMethods(add func(name string, f func(it *jsItem, call goja.FunctionCall) goja.Value)) {
	// Calculated attributes have their values when an item is read. After a script has called set,
	// calculateProperties computes them again from the loaded objects. Attributes whose calculated value is stored
	// (cached) change only when the item is written.
	add("calculateProperties", func(it *jsItem, _ goja.FunctionCall) goja.Value {
		p, resolve, reject := h.JS.NewPromise()
		if err := it.computeValues(); err != nil {
			js.Must(reject(h.ErrorOf(err, h.CallStack())))
		} else {
			js.Must(resolve(goja.Undefined()))
		}
		return h.JS.ToValue(p)
	})
}

func (it *jsItem) computeValues() error {
	if !it.changed {
		return nil
	}
	fresh := it.item.Clone()
	fresh.Links = append([]engine.Link(nil), it.item.Links...)
	if err := fresh.Compute(context.Background(), loadedOnly{it.h}); err != nil {
		var e *engine.Error
		if errors.As(err, &e) && e.Reason == errNotLoaded.Reason {
			return engine.Errorf(engine.Invalid, "formula", "calculateProperties: a formula looks other objects up: what it makes of changed values is known once they are written")
		}
		return err
	}
	it.item, it.base, it.links = fresh, nil, nil
	return nil
}

// attributeValue returns the value of an attribute for item.name, the short form of item.get("name"). It returns nil
// if the class has no such attribute, or if the attribute is hidden or a password. It also returns nil if items have
// a built-in member with this name, because that member takes precedence. These names are not enumerable and not
// part of the JSON of an item.
func (it *jsItem) attributeValue(name string) goja.Value {
	p := it.item.Class.Property(name)
	if p == nil || p.Type == engine.Password || it.item.Class.Hides(p) || it.h.itemProto.Get(name) != nil {
		return nil
	}
	return it.propertyValue(p)
}
