package script

import (
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// findClass returns the class that a script names: name@namespace, or the bare
// name when only one namespace has it.
func (h *host) findClass(name string) (*engine.Class, error) {
	meta := h.v.gen.env.Meta
	c, err := meta.Class(name)
	if err == nil || strings.Contains(name, "@") {
		return c, err
	}
	var found *engine.Class
	for _, c := range meta.Classes() {
		if c.Name != name {
			continue
		}
		if found != nil {
			return nil, err
		}
		found = c
	}
	if found == nil {
		return nil, err
	}
	return found, nil
}

// metaRepository makes the object metaRepo.
func (h *host) metaRepository(meta engine.MetaRepository) goja.Value {
	o := h.js.NewObject()
	h.method(o, "getMeta", func(call goja.FunctionCall) goja.Value {
		h.active("metaRepo.getMeta")
		name := call.Argument(0).String()
		if ns, ok := call.Argument(2).Export().(string); ok && !strings.Contains(name, "@") {
			name = engine.FullName(name, ns)
		}
		c, err := h.findClass(name)
		if err != nil {
			panic(h.errorOf(err, nil))
		}
		return h.class(c)
	})
	h.method(o, "listMeta", func(call goja.FunctionCall) goja.Value {
		h.active("metaRepo.listMeta")
		var list []any
		for _, c := range meta.Classes() {
			if name, ok := call.Argument(0).Export().(string); !ok || descends(c, name) {
				list = append(list, h.class(c))
			}
		}
		return h.js.NewArray(list...)
	})
	return o
}

// descends reports whether a class is below the one of that name.
func descends(c *engine.Class, ancestor string) bool {
	for c = c.Ancestor; c != nil; c = c.Ancestor {
		if c.FullName == ancestor || c.Name == ancestor {
			return true
		}
	}
	return false
}

// class makes the object of a class, once per VM.
func (h *host) class(c *engine.Class) goja.Value {
	if o := h.classes[c]; o != nil {
		return o
	}
	o := h.js.NewObject()
	h.classes[c] = o
	plain := h.fromDecoded(plainClass(c)).(*goja.Object)
	_ = o.Set("plain", plain)
	metas := plain.Get("properties")
	byName := h.js.NewObject()
	for i, p := range c.Properties {
		h.put(byName, p.Name, metas.(*goja.Object).Get(h.index(i)))
	}
	_ = o.Set("propertyMetas", byName)
	value := func(name string, v goja.Value) {
		h.method(o, name, func(goja.FunctionCall) goja.Value { return v })
	}
	value("getName", h.js.ToValue(c.Name))
	value("getCaption", h.js.ToValue(c.Caption))
	value("getNamespace", h.js.ToValue(c.Namespace))
	value("getCanonicalName", h.js.ToValue(c.FullName))
	value("getVersion", h.js.ToValue(c.Version))
	value("isAbstract", h.js.ToValue(c.Abstract))
	value("getPropertyMetas", metas)
	value("getKeyProperties", plain.Get("key"))
	h.method(o, "getAncestor", func(goja.FunctionCall) goja.Value {
		if c.Ancestor == nil {
			return goja.Null()
		}
		return h.class(c.Ancestor)
	})
	h.method(o, "checkAncestor", func(call goja.FunctionCall) goja.Value {
		name := call.Argument(0).String()
		return h.js.ToValue(c.FullName == name || c.Name == name || descends(c, name))
	})
	h.method(o, "getPropertyMeta", func(call goja.FunctionCall) goja.Value {
		p := c.Property(call.Argument(0).String())
		if p == nil {
			return goja.Null()
		}
		return byName.Get(p.Name)
	})
	return o
}

// plainClass is a class in the shape of a class file.
func plainClass(c *engine.Class) engine.Fields {
	key := make([]any, len(c.Key))
	for i, k := range c.Key {
		key[i] = k
	}
	properties := make([]any, len(c.Properties))
	for i, p := range c.Properties {
		properties[i] = plainProperty(p)
	}
	var ancestor any
	if c.Ancestor != nil {
		ancestor = c.Ancestor.FullName
	}
	return engine.Fields{
		{Name: "name", Value: c.Name}, {Name: "namespace", Value: c.Namespace}, {Name: "caption", Value: c.Caption},
		{Name: "version", Value: c.Version}, {Name: "key", Value: key}, {Name: "semantic", Value: c.Semantic},
		{Name: "abstract", Value: c.Abstract}, {Name: "ancestor", Value: ancestor}, {Name: "properties", Value: properties},
	}
}

func plainProperty(p *engine.Property) engine.Fields {
	return engine.Fields{
		{Name: "name", Value: p.Name}, {Name: "caption", Value: p.Caption}, {Name: "type", Value: int64(p.Type)},
		{Name: "size", Value: int64(p.Size)}, {Name: "decimals", Value: int64(p.Decimals)},
		{Name: "orderNumber", Value: int64(p.OrderNumber)}, {Name: "nullable", Value: p.Nullable},
		{Name: "readonly", Value: p.Readonly}, {Name: "indexed", Value: p.Indexed}, {Name: "unique", Value: p.Unique},
		{Name: "autoassigned", Value: p.Autoassigned}, {Name: "defaultValue", Value: p.Default},
		{Name: "definitionClass", Value: p.Definition},
	}
}
