package data

import (
	"maps"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/describe"
)

// findClass returns the class for a name in a script: name@namespace, or only the name if no other namespace has a
// class of that name.
func (h *Binding) findClass(name string) (*engine.Class, error) {
	meta := h.Service.Env.Meta
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

// viewFor returns the view of c that metaRepo shows: the class without the attributes that are hidden from the
// account of the call. If the options of the service contain a repository that does not check permissions, viewFor
// returns c itself, because the script can read all items anyway.
func (h *Binding) viewFor(c *engine.Class) *engine.Class {
	g := h.Service
	for _, o := range g.Options {
		if _, secured := o.(engine.Warden); secured {
			continue
		}
		if _, open := o.(engine.Repository); open {
			return c
		}
	}
	view, err := engine.ViewOf(h.Call.Context(), g.Env.Data, c)
	if err != nil {
		panic(h.ErrorOf(err, nil))
	}
	return view
}

// MetaRepository returns the JavaScript object metaRepo.
func (h *Binding) MetaRepository(meta engine.MetaRepository) goja.Value {
	o := h.JS.NewObject()
	methods := h.MethodsOf(o)
	add := func(name string, f func(goja.FunctionCall) goja.Value) {
		methods.Add(name, func(call goja.FunctionCall) goja.Value {
			h.ActiveCall("metaRepo." + name)
			return f(call)
		})
	}
	class := func(v goja.Value, namespace goja.Value) *engine.Class {
		name := v.String()
		if ns, ok := namespace.Export().(string); ok && !strings.Contains(name, "@") {
			name = engine.FullName(name, ns)
		}
		c, err := h.findClass(name)
		if err != nil {
			panic(h.ErrorOf(err, nil))
		}
		return h.viewFor(c)
	}
	add("getMeta", func(call goja.FunctionCall) goja.Value {
		return h.classObject(class(call.Argument(0), call.Argument(2)))
	})
	add("ancestor", func(call goja.FunctionCall) goja.Value {
		return h.classOrNull(class(call.Argument(0), goja.Undefined()).Ancestor)
	})
	add("propertyMetas", func(call goja.FunctionCall) goja.Value {
		return h.valuesArray(h.classObject(class(call.Argument(0), goja.Undefined())).Get("propertyMetas").(*goja.Object))
	})
	h.addPresentation(methods, add, class)
	add("listMeta", func(call goja.FunctionCall) goja.Value {
		if v := call.Argument(0); v.ToBoolean() {
			return h.descendantsArray(class(v, call.Argument(3)), call.Argument(2).ToBoolean())
		}
		var list []any
		for _, c := range meta.Classes() {
			list = append(list, h.classObject(h.viewFor(c)))
		}
		return h.JS.NewArray(list...)
	})
	return o
}

// descendantsArray returns an array of the classes that are derived from c. If direct is true, it contains only the
// classes of the next level.
func (h *Binding) descendantsArray(c *engine.Class, direct bool) goja.Value {
	var list []any
	for _, d := range c.Descendants {
		if !direct || d.Ancestor == c {
			list = append(list, h.classObject(d))
		}
	}
	return h.JS.NewArray(list...)
}

func (h *Binding) classOrNull(c *engine.Class) goja.Value {
	if c == nil {
		return goja.Null()
	}
	return h.classObject(c)
}

// maxViews is the maximum number of objects for views that a VM keeps. Views are created again when accounts or
// permissions change, so without a limit their number would grow.
const maxViews = 1000

// classObject returns the JavaScript object for a class or a view of a class. A VM makes one object for each and
// keeps it.
func (h *Binding) classObject(c *engine.Class) *goja.Object {
	if o := h.classes[c]; o != nil {
		return o
	}
	if c.Base() != c {
		if h.views++; h.views > maxViews {
			maps.DeleteFunc(h.classes, func(c *engine.Class, _ *goja.Object) bool { return c.Base() != c })
			h.views = 1
		}
	}
	o := h.JS.NewObject()
	h.classes[c] = o
	_ = o.Set("plain", h.FromDecoded(describe.Class(c)))
	byName := h.propertyMetas(c)
	metas := h.valuesArray(byName)
	_ = o.Set("propertyMetas", byName)
	semanticCached, _ := c.Source.Get("semanticCached")
	for _, m := range []struct {
		name  string
		value any
	}{
		{"getName", c.Name}, {"getCaption", c.Caption}, {"getNamespace", c.Namespace}, {"getCanonicalName", c.FullName},
		{"getVersion", c.Version}, {"isAbstract", c.Abstract}, {"isJournaling", c.Journaling}, {"isSemanticCached", semanticCached == true},
		{"getPropertyMetas", metas}, {"getKeyProperties", h.FromDecoded(engine.Texts(c.Key))}, {"getContainerReference", c.Container},
		{"getCreationTracker", c.CreationTracker}, {"getChangeTracker", c.ChangeTracker},
		{"getCreatorTracker", c.CreatorTracker}, {"getEditorTracker", c.EditorTracker},
		{"getCacheDependencies", h.FromDecoded(dependencyPaths(c))}, {"getForcedEnrichment", h.FromDecoded(neededPaths(c, nil, c.Needs()))},
		{"getSemanticAttrs", h.FromDecoded(semanticNames(c))},
	} {
		v := h.JS.ToValue(m.value)
		h.Method(o, m.name, func(goja.FunctionCall) goja.Value { return v })
	}
	h.classMethods(o, c, byName)
	return o
}

func (h *Binding) classMethods(o *goja.Object, c *engine.Class, byName *goja.Object) {
	h.Method(o, "getAncestor", func(goja.FunctionCall) goja.Value { return h.classOrNull(c.Ancestor) })
	h.Method(o, "getDescendants", func(call goja.FunctionCall) goja.Value {
		return h.descendantsArray(c, call.Argument(0).ToBoolean())
	})
	// Like IONDV, this also returns true for the name of the class itself. IONDV returns a class, which counts as
	// true.
	h.Method(o, "checkAncestor", func(call goja.FunctionCall) goja.Value {
		name := call.Argument(0).String()
		return h.JS.ToValue(c.FullName == name || c.Name == name || isDescendant(c, name))
	})
	h.Method(o, "getPropertyMeta", func(call goja.FunctionCall) goja.Value {
		name := call.Argument(0).String()
		if p := c.Property(name); p != nil {
			return byName.Get(p.Name)
		}
		if way := c.Path(name); len(way) > 1 { // a path such as "owner.name" leads through references and collections
			owner := c
			for _, p := range way[:len(way)-1] {
				owner = owner.TargetOf(p)
			}
			return h.propertyMeta(owner, way[len(way)-1])
		}
		return goja.Null()
	})
	h.Method(o, "getSemantics", func(call goja.FunctionCall) goja.Value {
		if it := itemOf(call.Argument(0)); it != nil {
			return h.JS.ToValue(it.item.String())
		}
		return goja.Null()
	})
}

// propertyMeta returns the object that describes the property p of the class c.
func (h *Binding) propertyMeta(c *engine.Class, p *engine.Property) goja.Value {
	if v := h.classObject(c).Get("propertyMetas").(*goja.Object).Get(p.Name); v != nil {
		return v
	}
	return h.FromDecoded(describe.Property(p)) // __class and __classTitle, which all classes have
}

// propertyMetas returns the objects that describe the attributes of a class, by name. For references and collections,
// such an object contains the full name of the target class, which a script can pass to getMeta. It also contains the
// target class itself as _refClass, which is not enumerable.
func (h *Binding) propertyMetas(c *engine.Class) *goja.Object {
	byName := h.JS.NewObject()
	for _, said := range describe.Properties(c) {
		meta := h.FromDecoded(said).(*goja.Object)
		name := meta.Get("name").String()
		h.Put(byName, name, meta)
		p := c.Property(name)
		if p == nil || p.Target == nil {
			continue
		}
		target := c.TargetOf(p)
		field := "refClass"
		if p.Type == engine.Collection {
			field = "itemsClass"
		}
		h.Put(meta, field, h.JS.ToValue(target.FullName))
		getter := h.NewFunction("_refClass", func(goja.FunctionCall) goja.Value { return h.classOrNull(target) })
		_ = meta.DefineAccessorProperty("_refClass", getter, nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	return byName
}

// valuesArray returns an array of the values of the properties of o, in the order of the properties.
func (h *Binding) valuesArray(o *goja.Object) goja.Value {
	var list []any
	for _, name := range o.Keys() {
		list = append(list, o.Get(name))
	}
	return h.JS.NewArray(list...)
}

// dependencyPaths returns attribute paths, such as ["orders", "customer"]. They lead from an item of class c to the
// items with cached values that depend on it. Paths with hidden attributes are left out.
func dependencyPaths(c *engine.Class) []any {
	paths := []any{}
	for _, d := range c.Dependencies {
		if path := engine.Texts(d); !c.MentionsHidden(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// neededPaths returns the paths of the objects that loads describe, in the format of the option forceEnrichment.
// before is the path from the item to the class c.
func neededPaths(c *engine.Class, before []any, loads []*engine.Load) []any {
	paths := []any{}
	for _, l := range loads {
		if c.Hides(l.Property) {
			continue
		}
		way := append(before[:len(before):len(before)], l.Property.Name)
		paths = append(append(paths, any(way)), neededPaths(c.TargetOf(l.Property), way, l.Next)...)
	}
	return paths
}

// semanticNames returns the attributes and paths of attributes that the semantic of a class contains. The semantic is
// the template of the display text of an item, such as "name|owner.name".
func semanticNames(c *engine.Class) []any {
	names := []any{}
	for piece := range strings.SplitSeq(c.Semantic, "|") {
		name, _, _ := strings.Cut(strings.TrimSpace(piece), "[")
		if len(name) > 1 && c.Path(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// isDescendant reports whether c is derived from a class with the name ancestor.
func isDescendant(c *engine.Class, ancestor string) bool {
	for c = c.Ancestor; c != nil; c = c.Ancestor {
		if c.FullName == ancestor || c.Name == ancestor {
			return true
		}
	}
	return false
}
