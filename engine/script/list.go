package script

import (
	"reflect"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// jsList is the result of getList: an array whose items become objects when
// they are touched.
type jsList struct {
	h       *host
	items   []*engine.Item
	objects []goja.Value // nil until one is touched or set
	limit   int
}

var listType = reflect.TypeFor[*jsList]()

// list makes the array; total is negative when it was not asked for.
func (h *host) list(items []*engine.Item, total int64) goja.Value {
	o := h.js.NewDynamicArray(&jsList{h: h, items: items, limit: h.v.gen.limits.Elements})
	if total < 0 {
		return o
	}
	// Such an array has no properties of its own: its prototype carries total.
	proto := h.js.CreateObject(o.Prototype())
	_ = proto.Set("total", total)
	_ = o.SetPrototype(proto)
	return o
}

// untouchedList returns the list that an object is, nil for none or when a script
// touched it.
func untouchedList(o *goja.Object) *jsList {
	if o.ExportType() != listType {
		return nil
	}
	l, _ := o.Export().(*jsList)
	if l == nil || l.objects != nil {
		return nil
	}
	return l
}

// touch makes room for objects.
func (l *jsList) touch() {
	if l.objects == nil {
		l.objects = make([]goja.Value, len(l.items))
	}
}

// Len returns the length.
func (l *jsList) Len() int {
	if l.objects != nil {
		return len(l.objects)
	}
	return len(l.items)
}

// Get returns an element, nil beyond the ends.
func (l *jsList) Get(i int) goja.Value {
	if i < 0 || i >= l.Len() {
		return nil
	}
	l.touch()
	if l.objects[i] == nil {
		l.objects[i] = l.h.item(l.items[i])
		l.h.v.tally.madeRows++
	}
	return l.objects[i]
}

// Set replaces an element, and makes the array longer if need be.
func (l *jsList) Set(i int, v goja.Value) bool {
	if i < 0 || i >= l.limit {
		return false
	}
	l.touch()
	if i >= len(l.objects) {
		l.SetLen(i + 1)
	}
	if v == nil {
		v = goja.Undefined()
	}
	l.objects[i] = v
	return true
}

// SetLen cuts the array, or fills it up with undefined.
func (l *jsList) SetLen(n int) bool {
	if n < 0 || n > l.limit {
		return false
	}
	l.touch()
	for len(l.objects) < n {
		l.objects = append(l.objects, goja.Undefined())
	}
	l.objects = l.objects[:n]
	return true
}
