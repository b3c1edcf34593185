package script

import (
	"strings"

	"restsrv/engine"
)

// The presentation names attributes as class files do, and more freely. To those
// who see a view of a class it does not show what shows an attribute that the
// view lacks: such parts of forms and lists are left out, and whatever else
// mentions the attribute.

// partLists are the members of view models and workflows that are lists of
// objects, each told for itself.
var partLists = map[string]bool{
	"tabs": true, "columns": true, "fields": true, "fullFields": true, "shortFields": true, "commands": true, "states": true, "transitions": true,
}

// plainMembers are those that name no attributes, or captions, or have been
// looked at: they are told whatever words are in them.
var plainMembers = map[string]bool{
	"caption": true, "hint": true, "title": true, "description": true, "confirmMessage": true, "name": true, "id": true, "code": true,
	"type": true, "itemType": true, "section": true, "namespace": true, "classname": true, "className": true, "path": true, "url": true,
	"wfClass": true, "startState": true, "finishState": true, "property": true, "mask": true, "maskName": true, "validators": true,
	"version": true, "metaVersion": true,
}

// toldOf is what a file says to those who know a class as c.
func toldOf(c *engine.Class, said engine.Fields) engine.Fields {
	if c == nil || c.Base() == c {
		return said
	}
	return told(c, c, said)
}

// told is toldOf for a part of it, whose own parts show attributes of inner.
func told(c, inner *engine.Class, said engine.Fields) engine.Fields {
	kept := make(engine.Fields, len(said))
	for i, f := range said {
		list, isList := f.Value.([]any)
		switch {
		case isList && partLists[f.Name]:
			f.Value = toldParts(c, inner, list)
		case plainMembers[f.Name]:
		case isList:
			some := []any{}
			for _, e := range list {
				if !c.Conceals(e) {
					some = append(some, e)
				}
			}
			f.Value = some
		case c.Conceals(f.Value):
			f.Value = nil
		}
		kept[i] = f
	}
	return kept
}

func toldParts(c, inner *engine.Class, list []any) []any {
	kept := []any{}
	for _, e := range list {
		part, ok := e.(engine.Fields)
		if !ok {
			continue
		}
		v, _ := part.Get("property")
		name, _ := v.(string)
		owner := inner
		if !has(inner, name) {
			owner = c
		}
		if next, knows := leadsBy(owner, name); knows {
			kept = append(kept, told(c, next, part))
		}
	}
	return kept
}

// has reports whether a class has an attribute of that name, or the parts of a
// struct, known or not.
func has(c *engine.Class, name string) bool {
	parts, _ := structure(c, name)
	return parts > 0 || c.Base().Path(name) != nil
}

// leadsBy reports whether a view knows the attribute of a part, and whose
// attributes the parts of that show: those of the class that it leads to, else
// of the same. A name that no class has is known unless it mentions a hidden
// one.
func leadsBy(c *engine.Class, name string) (next *engine.Class, knows bool) {
	if name == "" {
		return c, true
	}
	if parts, known := structure(c, name); parts > 0 {
		return c, known > 0
	}
	if c.Base().Path(name) == nil {
		return c, !c.Conceals(name)
	}
	next = c
	for _, p := range c.Path(name) {
		knows = true
		if to := next.Leads(p); to != nil {
			next = to
		}
	}
	return next, knows
}

// structure counts the parts of a struct attribute, and those that a view knows.
func structure(c *engine.Class, name string) (parts, known int) {
	for _, p := range c.Properties {
		if strings.HasPrefix(p.Name, name+"$") {
			if parts++; !c.Lacks(p) {
				known++
			}
		}
	}
	return parts, known
}
