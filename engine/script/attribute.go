package script

import (
	"github.com/dop251/goja"

	"restsrv/engine"
)

// attributeValue returns the value of a property for item.name, a short form of item.get("name"). It returns nil if the
// class has no such property, if the property is hidden or a password, or if items have a built-in member with this
// name, which takes precedence. The attribute is not enumerable and not part of JSON.
func (it *jsItem) attributeValue(name string) goja.Value {
	p := it.item.Class.Property(name)
	if p == nil || p.Type == engine.Password || it.item.Class.Hides(p) || it.h.itemProto.Get(name) != nil {
		return nil
	}
	return it.propertyValue(p)
}
