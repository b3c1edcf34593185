package script

import (
	"github.com/dop251/goja"

	"restsrv/engine"
)

// jsList is the result of getList.
type jsList struct {
	lazyArray
	items []*engine.Item
}

// jsRows is the result of aggregate.
type jsRows struct {
	lazyArray
	names []string
	rows  [][]any
}

// WriteJSON writes the items without converting them.
func (l *jsList) WriteJSON(w *writer) bool {
	w.writeLazy(&l.lazyArray, func(i int) { w.writeItem(l.items[i]) })
	return true
}

// Stored implements js.StoredObject.
func (l *jsList) Stored() {}

// WriteJSON writes the rows without converting them.
func (l *jsRows) WriteJSON(w *writer) bool {
	w.writeLazy(&l.lazyArray, func(i int) { w.writeRow(l.names, l.rows[i]) })
	return true
}

// newLazyArray returns an array whose elements count as made rows.
func (h *dataBinding) newLazyArray(size int, build func(int) goja.Value) lazyArray {
	return newLazyArray(size, h.limits.Elements, func(i int) goja.Value {
		h.tally.madeRows++
		return build(i)
	})
}

// listArray returns the array of items. If total is not negative, the array has
// it as the property total.
func (h *dataBinding) listArray(items []*engine.Item, total int64) goja.Value {
	l := &jsList{h.newLazyArray(len(items), func(i int) goja.Value { return h.itemObject(items[i]) }), items}
	o := h.js.NewDynamicArray(l)
	if total < 0 {
		return o
	}
	// A dynamic array cannot have properties of its own, so its prototype has
	// total.
	proto := h.js.CreateObject(o.Prototype())
	_ = proto.Set("total", total)
	_ = o.SetPrototype(proto)
	return o
}

// rowsArray returns the array of the rows of an aggregation.
func (h *dataBinding) rowsArray(names []string, rows [][]any) goja.Value {
	build := func(i int) goja.Value {
		o := h.js.NewObject()
		for j, name := range names {
			h.put(o, name, h.fromValue(rows[i][j]))
		}
		return o
	}
	return h.js.NewDynamicArray(&jsRows{h.newLazyArray(len(rows), build), names, rows})
}
