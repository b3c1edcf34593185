package js

import "github.com/dop251/goja"

// Methods contains the functions of an object that no script has read yet. A
// function of goja takes almost a kilobyte, and scripts use few of them. A
// function is created when it is first read and becomes a property of the
// object. methods is a dynamic object in the prototype chain of that object,
// like the one for globals.
type Methods struct {
	h     *Realm
	Owner *goja.Object
	table map[string]func(goja.FunctionCall) goja.Value
}

// MethodsOf returns an empty set of methods for o and inserts it before the
// prototype of o.
func (h *Realm) MethodsOf(o *goja.Object) *Methods {
	m := &Methods{h: h, Owner: o, table: map[string]func(goja.FunctionCall) goja.Value{}}
	d := h.JS.NewDynamicObject(m)
	_ = d.SetPrototype(o.Prototype())
	_ = o.SetPrototype(d)
	return m
}

// Add adds or replaces a function.
func (m *Methods) Add(name string, f func(goja.FunctionCall) goja.Value) { m.table[name] = f }

// Get implements goja.DynamicObject. It creates the function.
func (m *Methods) Get(name string) goja.Value {
	f := m.table[name]
	if f == nil {
		return nil
	}
	m.h.Method(m.Owner, name, f)
	return m.Owner.Get(name)
}

// Set implements goja.DynamicObject. It is never called, because an assignment
// creates a property of the object.
func (m *Methods) Set(string, goja.Value) bool { return false }

// Has implements goja.DynamicObject.
func (m *Methods) Has(name string) bool { return m.table[name] != nil }

// Delete implements goja.DynamicObject. It is never called.
func (m *Methods) Delete(string) bool { return true }

// Keys implements goja.DynamicObject. It returns no names, so that the
// functions are not enumerable.
func (m *Methods) Keys() []string { return nil }

// Refuse adds methods of IONDV that are not supported. They throw the reason.
func (h *Realm) Refuse(m *Methods, object, why string, names ...string) {
	for _, name := range names {
		m.Add(name, func(goja.FunctionCall) goja.Value {
			panic(h.NewError(object+"."+name+" is not supported: "+why, "not-supported"))
		})
	}
}
