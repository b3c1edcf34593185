package data

import (
	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
)

// jsList is the Go value behind an array of items, such as the result of getList.
type jsList struct {
	js.LazyArray
	items []*engine.Item
}

// jsRows is the Go value behind the array of rows that aggregate returns.
type jsRows struct {
	js.LazyArray
	names []string
	rows  [][]any
}

// WriteJSON writes those items that no script has accessed directly, without making JavaScript objects.
func (l *jsList) WriteJSON(w *js.Writer) bool {
	w.WriteLazy(&l.LazyArray, func(i int) { w.WriteItem(l.items[i]) })
	return true
}

// Stored marks arrays of items for package js; see js.IsStored.
func (l *jsList) Stored() {}

// WriteJSON writes those rows that no script has accessed directly, without making JavaScript objects.
func (l *jsRows) WriteJSON(w *js.Writer) bool {
	w.WriteLazy(&l.LazyArray, func(i int) { w.WriteRow(l.names, l.rows[i]) })
	return true
}

// newLazyArray returns an array of size elements. The metric MadeRows counts each element that build makes.
func (h *Binding) newLazyArray(size int, build func(int) goja.Value) js.LazyArray {
	return js.NewLazyArray(size, h.Limits.Elements, &h.Tally.MadeRows, build)
}

// listArray returns the JavaScript array of items. If total is not negative, it becomes the property total of the
// array.
func (h *Binding) listArray(items []*engine.Item, total int64) goja.Value {
	l := &jsList{h.newLazyArray(len(items), func(i int) goja.Value { return h.ItemObject(items[i]) }), items}
	o := h.JS.NewDynamicArray(l)
	if total < 0 {
		return o
	}
	// A dynamic array cannot have properties of its own, so total is a property of a prototype.
	proto := h.JS.CreateObject(o.Prototype())
	_ = proto.Set("total", total)
	_ = o.SetPrototype(proto)
	return o
}

// rowsArray returns the JavaScript array for the rows of an aggregation. names are the names of the columns.
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
