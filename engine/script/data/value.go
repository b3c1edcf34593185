package data

import (
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
)

// propertyValue returns the result of getValue for an attribute. For a reference, this is the id of the target; for
// a file, its description. For a collection, it is the array of its items, or null if they are not loaded.
func (it *jsItem) propertyValue(p *engine.Property) goja.Value {
	v := it.item.Values[p.Index]
	switch {
	case p.Type == engine.Password:
		return goja.Null()
	case p.Type == engine.Collection:
		return it.memberList(p)
	case p.Type.IsFile() && v != nil:
		return it.h.FromValue(p.FileAnswer(v))
	}
	return it.h.FromValue(v)
}

// targetItem returns the item that a reference points to, or null if it is not loaded. Each call returns the same
// JavaScript object.
func (it *jsItem) targetItem(p *engine.Property) goja.Value {
	link := it.item.Link(p)
	if link.Item == nil {
		return goja.Null()
	}
	return it.linkedValue(p, func() goja.Value { return it.h.ItemObject(link.Item) })
}

// memberList returns the array of the items in a collection, or null if they are not loaded.
func (it *jsItem) memberList(p *engine.Property) goja.Value {
	link := it.item.Link(p)
	if !link.Loaded {
		return goja.Null()
	}
	return it.linkedValue(p, func() goja.Value { return it.h.listArray(link.Items, -1) })
}

func (it *jsItem) linkedValue(p *engine.Property, build func() goja.Value) goja.Value {
	if it.links == nil {
		it.links = map[string]goja.Value{}
	}
	v := it.links[p.Name]
	if v == nil {
		v = build()
		it.links[p.Name] = v
	}
	return v
}

// getPath implements get(path). The path may lead through references and collections that are loaded, as in
// "owner.name". If it leads through a collection, the result is an array of the values of all its items.
func (it *jsItem) getPath(path string) goja.Value {
	name, rest, dotted := strings.Cut(path, ".")
	if !dotted {
		return it.valueOf(name)
	}
	p := it.item.Class.Property(name)
	if p == nil {
		return goja.Null()
	}
	switch p.Type {
	case engine.Reference:
		if target := itemOf(it.targetItem(p)); target != nil {
			return target.getPath(rest)
		}
	case engine.Collection:
		list, _ := it.memberList(p).(*goja.Object)
		if list == nil {
			return goja.Null()
		}
		var values []any
		for i := range int(list.Get("length").ToInteger()) {
			if member := itemOf(list.Get(it.h.IndexText(i))); member != nil {
				values = it.h.flattenInto(values, member.getPath(rest))
			}
		}
		return it.h.JS.NewArray(values...)
	}
	return goja.Null()
}

// flattenInto appends v to values. If v is an array, it appends the elements.
func (h *Binding) flattenInto(values []any, v goja.Value) []any {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Array" {
		return append(values, v)
	}
	for i := range int(o.Get("length").ToInteger()) {
		values = append(values, o.Get(h.IndexText(i)))
	}
	return values
}

// storedValue returns the value of an attribute for item.base. For a collection that is an array of ids, or null if
// the collection is not loaded.
func (it *jsItem) storedValue(p *engine.Property) goja.Value {
	link := it.item.Link(p)
	if p.Type != engine.Collection || !link.Loaded {
		return it.propertyValue(p)
	}
	ids := make([]any, len(link.Items))
	for i, member := range link.Items {
		ids[i] = member.ID
	}
	return it.h.JS.NewArray(ids...)
}

// path is the list of items that contain the current item, innermost first. It is used to detect that an item would
// be written within itself.
type path struct {
	item *engine.Item
	up   *path
}

func (p *path) containsItem(it *engine.Item) bool {
	for ; p != nil; p = p.up {
		if p.item.ID == it.ID && p.item.Class.Root() == it.Class.Root() {
			return true
		}
	}
	return false
}

// envelopeObject returns a new object with the members that the CRUD service returns for the item. up is the path to
// the item. If the item is within itself, the object has only an id and a class.
func (h *Binding) envelopeObject(it *engine.Item, up *path) *goja.Object {
	o := h.JS.NewObject()
	text := func(name, value string) { h.Put(o, name, h.JS.ToValue(value)) }
	if up.containsItem(it) {
		text("_id", it.ID)
		text("__class", it.Class.FullName)
		return o
	}
	if it.Creator != "" && it.Class.Base().CreatorTracker == "" {
		text("_creator", it.Creator)
	}
	if it.Editor != "" && it.Class.Base().EditorTracker == "" {
		text("_editor", it.Editor)
	}
	text("_id", it.ID)
	text("__string", it.String())
	text("__class", it.Class.FullName)
	text("__classTitle", it.Class.Caption)
	here := &path{it, up}
	for _, p := range it.Class.Properties {
		if p.Type == engine.Password || it.Class.Hides(p) {
			continue
		}
		h.Put(o, p.Name, h.answerValue(it, p, here))
		if p.Selection != nil && it.Class.Property(p.Name+"_str") == nil {
			text(p.Name+"_str", it.Display(p))
		}
	}
	return o
}

// answerValue returns the value of an attribute as responses contain it. References and collections that the
// response shows (engine.Link.Shown) become objects. Any other reference becomes an id.
func (h *Binding) answerValue(it *engine.Item, p *engine.Property, here *path) goja.Value {
	link, v := it.Link(p), it.Values[p.Index]
	switch {
	case p.Type == engine.Reference && link.Shown && link.Item != nil:
		return h.envelopeObject(link.Item, here)
	case p.Type == engine.Reference && v != nil:
		return h.JS.ToValue(engine.ValueText(v))
	case p.Type == engine.Collection && link.Loaded && link.Shown:
		members := make([]any, len(link.Items))
		for i, member := range link.Items {
			members[i] = h.envelopeObject(member, here)
		}
		return h.JS.NewArray(members...)
	case p.Type == engine.Collection:
		return goja.Null()
	case p.Type.IsFile() && v != nil:
		return h.FromValue(p.FileAnswer(v))
	}
	if d, ok := v.(engine.Decimal); ok && !js.ExactNumber(d) {
		return h.rawNumber(string(d))
	}
	return h.FromValue(v)
}

// rawNumber returns a number that JSON.stringify writes exactly as the given text, even if a JavaScript Number cannot
// represent it.
func (h *Binding) rawNumber(text string) goja.Value {
	json := h.JS.Get("JSON")
	make, _ := goja.AssertFunction(json.(*goja.Object).Get("rawJSON"))
	v, err := make(json, h.JS.ToValue(text))
	if err != nil {
		panic(js.Rethrow(err))
	}
	return v
}
