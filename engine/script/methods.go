package script

import "github.com/dop251/goja"

// methods are the functions of an object that no script has asked for yet. A
// function of the engine takes most of a kilobyte, and scripts use few of ours:
// they are made when they are first read, and belong to their object from then
// on. They stand in the prototype chain of the object, as globals do.
type methods struct {
	h     *host
	owner *goja.Object
	table map[string]func(goja.FunctionCall) goja.Value
}

// methodsOf gives o such functions. What its prototype was follows them.
func (h *host) methodsOf(o *goja.Object) *methods {
	m := &methods{h: h, owner: o, table: map[string]func(goja.FunctionCall) goja.Value{}}
	d := h.js.NewDynamicObject(m)
	_ = d.SetPrototype(o.Prototype())
	_ = o.SetPrototype(d)
	return m
}

// add adds a function, or replaces one.
func (m *methods) add(name string, f func(goja.FunctionCall) goja.Value) { m.table[name] = f }

// Get makes a function.
func (m *methods) Get(name string) goja.Value {
	f := m.table[name]
	if f == nil {
		return nil
	}
	m.h.method(m.owner, name, f)
	return m.owner.Get(name)
}

// Set is never reached: assignments make a property of the object.
func (m *methods) Set(string, goja.Value) bool { return false }

// Has reports whether there is such a function.
func (m *methods) Has(name string) bool { return m.table[name] != nil }

// Delete is never reached.
func (m *methods) Delete(string) bool { return true }

// Keys lists nothing: loops do not see these functions.
func (m *methods) Keys() []string { return nil }
