package script

import (
	"slices"
	"strings"

	"restsrv/engine"
)

// plainClass is a class in the shape of a class file, its properties with those
// that it inherits.
func plainClass(c *engine.Class) engine.Fields {
	properties := make([]any, 0, len(c.Properties))
	for _, p := range c.Properties {
		if !c.Lacks(p) {
			properties = append(properties, plainProperty(c, p))
		}
	}
	indexes := make([]any, len(c.Indexes))
	for i, x := range c.Indexes {
		indexes[i] = engine.Fields{{Name: "properties", Value: texts(x.Properties)}, {Name: "unique", Value: x.Unique}}
	}
	dependencies := []any{}
	for _, d := range c.Dependencies {
		if path := texts(d); !c.Conceals(path) {
			dependencies = append(dependencies, path)
		}
	}
	return engine.Fields{
		{Name: "name", Value: c.Name}, {Name: "namespace", Value: c.Namespace}, {Name: "caption", Value: c.Caption},
		{Name: "version", Value: c.Version}, {Name: "key", Value: texts(c.Key)},
		{Name: "semantic", Value: plainSemantic(c)},
		{Name: "isStruct", Value: c.Struct}, {Name: "abstract", Value: c.Abstract}, {Name: "ancestor", Value: classNameOrNil(c.Ancestor)},
		{Name: "container", Value: textOrNil(c.Container)},
		{Name: "creationTracker", Value: c.CreationTracker}, {Name: "changeTracker", Value: c.ChangeTracker},
		{Name: "creatorTracker", Value: c.CreatorTracker}, {Name: "editorTracker", Value: c.EditorTracker},
		{Name: "journaling", Value: c.Journaling}, {Name: "compositeIndexes", Value: indexes},
		{Name: "cacheDependencies", Value: dependencies}, {Name: "properties", Value: properties},
	}
}

// plainSemantic is the display string as it was written, without what the view
// lacks.
func plainSemantic(c *engine.Class) any {
	v := written(c.Source, "semantic", c.Semantic)
	if !c.Conceals(v) {
		return v
	}
	text, ok := v.(string)
	if !ok {
		return nil
	}
	return strings.Join(slices.DeleteFunc(strings.Split(text, "|"), func(piece string) bool { return c.Conceals(piece) }), "|")
}

// plainProperty is a property of c, without what mentions what the view lacks.
func plainProperty(c *engine.Class, p *engine.Property) engine.Fields {
	said := func(name string, known any) any {
		if v := written(p.Source, name, known); !c.Conceals(v) {
			return v
		}
		return nil
	}
	fields := engine.Fields{
		{Name: "name", Value: p.Name}, {Name: "caption", Value: p.Caption}, {Name: "hint", Value: textOrNil(p.Hint)},
		{Name: "type", Value: int64(p.Type)}, {Name: "size", Value: int64(p.Size)}, {Name: "decimals", Value: int64(p.Decimals)},
		{Name: "mode", Value: int64(p.Mode)}, {Name: "orderNumber", Value: int64(p.OrderNumber)}, {Name: "nullable", Value: p.Nullable},
		{Name: "readonly", Value: p.Readonly}, {Name: "indexed", Value: p.Indexed}, {Name: "unique", Value: p.Unique},
		{Name: "autoassigned", Value: p.Autoassigned}, {Name: "indexSearch", Value: p.Search}, {Name: "eagerLoading", Value: p.Eager},
		{Name: "defaultValue", Value: said("defaultValue", p.Default)}, {Name: "cached", Value: p.Cached},
		{Name: "definitionClass", Value: p.Definition},
	}
	switch p.Type {
	case engine.Reference:
		fields = append(fields, engine.Field{Name: "refClass", Value: classNameOrNil(p.Target)})
	case engine.Collection:
		fields = append(fields, engine.Field{Name: "itemsClass", Value: classNameOrNil(p.Target)})
	}
	for _, other := range []struct {
		name     string
		property *engine.Property
	}{{"backRef", p.Back}, {"backColl", p.Mirror}, {"binding", p.Binding}} {
		if other.property != nil {
			fields = append(fields, engine.Field{Name: other.name, Value: other.property.Name})
		}
	}
	// What the server compiles is shown as it was written.
	for _, name := range []string{"refClass", "semantic", "selConditions", "selSorting", "selectionProvider", "formula", "allowedSubclasses", "allowedFileTypes", "maxFileCount"} {
		if _, there := fields.Get(name); there {
			continue
		}
		if v := said(name, nil); v != nil {
			fields = append(fields, engine.Field{Name: name, Value: v})
		}
	}
	return fields
}

// written is a member of what a class file says, else what the server knows.
func written(source engine.Fields, name string, known any) any {
	if v, ok := source.Get(name); ok && v != nil && v != "" {
		return v
	}
	return known
}

func texts(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

func textOrNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func classNameOrNil(c *engine.Class) any {
	if c == nil {
		return nil
	}
	return c.FullName
}
