package js

import "github.com/dop251/goja"

// Methods creates the methods of the object Owner when they are first used. A function of goja takes almost a
// kilobyte, and most scripts use few of the methods. Therefore Methods is a dynamic object in the prototype chain of
// Owner, which goja asks for properties that Owner does not have. When a script first reads a method, Methods creates
// the function and defines it as a property of Owner.
type Methods struct {
	h     *Realm
	Owner *goja.Object
	table map[string]func(goja.FunctionCall) goja.Value
}

// MethodsOf returns an empty set of methods for o. It inserts the set into the prototype chain, between o and the
// prototype of o.
func (h *Realm) MethodsOf(o *goja.Object) *Methods {
	m := &Methods{h: h, Owner: o, table: map[string]func(goja.FunctionCall) goja.Value{}}
	d := h.JS.NewDynamicObject(m)
	_ = d.SetPrototype(o.Prototype())
	_ = o.SetPrototype(d)
	return m
}

// Add adds the method f, or replaces the method of the same name.
func (m *Methods) Add(name string, f func(goja.FunctionCall) goja.Value) { m.table[name] = f }

// Get implements goja.DynamicObject. It creates the function for a method and defines it in Owner.
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

// Refuse adds methods that IONDV has and restsrv does not support. If a script calls one, it throws an error with the
// reason why. object is the name of the object for that error.
func (h *Realm) Refuse(m *Methods, object, why string, names ...string) {
	for _, name := range names {
		m.Add(name, func(goja.FunctionCall) goja.Value {
			panic(h.NewError(object+"."+name+" is not supported: "+why, "not-supported"))
		})
	}
}
