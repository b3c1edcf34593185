package data

import (
	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
)

// jsList is the result of getList.
type jsList struct {
	js.LazyArray
	items []*engine.Item
}

// jsRows is the result of aggregate.
type jsRows struct {
	js.LazyArray
	names []string
	rows  [][]any
}

// WriteJSON writes the items without converting them.
func (l *jsList) WriteJSON(w *js.Writer) bool {
	w.WriteLazy(&l.LazyArray, func(i int) { w.WriteItem(l.items[i]) })
	return true
}

// Stored implements js.StoredObject.
func (l *jsList) Stored() {}

// WriteJSON writes the rows without converting them.
func (l *jsRows) WriteJSON(w *js.Writer) bool {
	w.WriteLazy(&l.LazyArray, func(i int) { w.WriteRow(l.names, l.rows[i]) })
	return true
}

// newLazyArray returns an array whose elements count as made rows.
func (h *Binding) newLazyArray(size int, build func(int) goja.Value) js.LazyArray {
	return js.NewLazyArray(size, h.Limits.Elements, &h.Tally.MadeRows, build)
}

// listArray returns the array of items. If total is not negative, the array has
// it as the property total.
func (h *Binding) listArray(items []*engine.Item, total int64) goja.Value {
	l := &jsList{h.newLazyArray(len(items), func(i int) goja.Value { return h.ItemObject(items[i]) }), items}
	o := h.JS.NewDynamicArray(l)
	if total < 0 {
		return o
	}
	// A dynamic array cannot have properties of its own, so its prototype has
	// total.
	proto := h.JS.CreateObject(o.Prototype())
	_ = proto.Set("total", total)
	_ = o.SetPrototype(proto)
	return o
}

// rowsArray returns the array of the rows of an aggregation.
func (h *Binding) rowsArray(names []string, rows [][]any) goja.Value {
	build := func(i int) goja.Value {
		o := h.JS.NewObject()
		for j, name := range names {
			h.Put(o, name, h.FromValue(rows[i][j]))
		}
		return o
	}
	return h.JS.NewDynamicArray(&jsRows{h.newLazyArray(len(rows), build), names, rows})
}
