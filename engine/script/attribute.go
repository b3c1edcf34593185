package script

import (
	"github.com/dop251/goja"

	"restsrv/engine"
)

// attribute is the value of a property as item.name gives it, a convenience
// beside item.get("name"): nil when the class has no such property, or when
// items have something of their own under the name, which wins. Loops and JSON
// do not see it.
func (it *jsItem) attribute(name string) goja.Value {
	p := it.item.Class.Property(name)
	if p == nil || p.Type == engine.Password || it.item.Class.Lacks(p) || it.h.itemProto.Get(name) != nil {
		return nil
	}
	return it.propertyValue(p)
}
