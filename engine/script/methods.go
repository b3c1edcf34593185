package script

import "github.com/dop251/goja"

// methods contains the functions of an object that no script has read yet. A
// function of goja takes almost a kilobyte, and scripts use few of them. A
// function is created when it is first read and becomes a property of the
// object. methods is a dynamic object in the prototype chain of that object,
// like the one for globals.
type methods struct {
	h     *realm
	owner *goja.Object
	table map[string]func(goja.FunctionCall) goja.Value
}

// methodsOf returns an empty set of methods for o and inserts it before the
// prototype of o.
func (h *realm) methodsOf(o *goja.Object) *methods {
	m := &methods{h: h, owner: o, table: map[string]func(goja.FunctionCall) goja.Value{}}
	d := h.js.NewDynamicObject(m)
	_ = d.SetPrototype(o.Prototype())
	_ = o.SetPrototype(d)
	return m
}

// add adds or replaces a function.
func (m *methods) add(name string, f func(goja.FunctionCall) goja.Value) { m.table[name] = f }

// Get implements goja.DynamicObject. It creates the function.
func (m *methods) Get(name string) goja.Value {
	f := m.table[name]
	if f == nil {
		return nil
	}
	m.h.method(m.owner, name, f)
	return m.owner.Get(name)
}

// Set implements goja.DynamicObject. It is never called, because an assignment
// creates a property of the object.
func (m *methods) Set(string, goja.Value) bool { return false }

// Has implements goja.DynamicObject.
func (m *methods) Has(name string) bool { return m.table[name] != nil }

// Delete implements goja.DynamicObject. It is never called.
func (m *methods) Delete(string) bool { return true }

// Keys implements goja.DynamicObject. It returns no names, so that the
// functions are not enumerable.
func (m *methods) Keys() []string { return nil }

// refuse adds methods of IONDV that are not supported. They throw the reason.
func (h *realm) refuse(m *methods, object, why string, names ...string) {
	for _, name := range names {
		m.add(name, func(goja.FunctionCall) goja.Value {
			panic(h.newError(object+"."+name+" is not supported: "+why, "not-supported"))
		})
	}
}
