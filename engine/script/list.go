package script

import (
	"reflect"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// lazyArray is an array whose elements are converted to JavaScript when they
// are accessed.
type lazyArray struct {
	h       *host
	size    int                  // length while objects is nil
	build   func(int) goja.Value // makes element i
	objects []goja.Value         // nil until an element is read or set
	limit   int
}

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

var (
	listType = reflect.TypeFor[*jsList]()
	rowsType = reflect.TypeFor[*jsRows]()
)

func (h *host) newLazyArray(size int, build func(int) goja.Value) lazyArray {
	return lazyArray{h: h, size: size, build: build, limit: h.v.gen.limits.Elements}
}

// listArray returns the array of items. If total is not negative, the array has
// it as the property total.
func (h *host) listArray(items []*engine.Item, total int64) goja.Value {
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
func (h *host) rowsArray(names []string, rows [][]any) goja.Value {
	build := func(i int) goja.Value {
		o := h.js.NewObject()
		for j, name := range names {
			h.put(o, name, h.fromValue(rows[i][j]))
		}
		return o
	}
	return h.js.NewDynamicArray(&jsRows{h.newLazyArray(len(rows), build), names, rows})
}

// ensureObjects allocates objects.
func (l *lazyArray) ensureObjects() {
	if l.objects == nil {
		l.objects = make([]goja.Value, l.size)
	}
}

// Len implements goja.DynamicArray.
func (l *lazyArray) Len() int {
	if l.objects != nil {
		return len(l.objects)
	}
	return l.size
}

// Get implements goja.DynamicArray. It returns nil if i is out of range.
func (l *lazyArray) Get(i int) goja.Value {
	if i < 0 || i >= l.Len() {
		return nil
	}
	l.ensureObjects()
	if l.objects[i] == nil {
		l.objects[i] = l.build(i)
		l.h.v.tally.madeRows++
	}
	return l.objects[i]
}

// Set implements goja.DynamicArray. It extends the array if necessary, up to
// limit.
func (l *lazyArray) Set(i int, v goja.Value) bool {
	if i < 0 || i >= l.limit {
		return false
	}
	l.ensureObjects()
	if i >= len(l.objects) {
		l.SetLen(i + 1)
	}
	if v == nil {
		v = goja.Undefined()
	}
	l.objects[i] = v
	return true
}

// SetLen implements goja.DynamicArray. New elements are undefined.
func (l *lazyArray) SetLen(n int) bool {
	if n < 0 || n > l.limit {
		return false
	}
	l.ensureObjects()
	for len(l.objects) < n {
		l.objects = append(l.objects, goja.Undefined())
	}
	l.objects = l.objects[:n]
	return true
}
