package engine

import "strings"

// Class files and the presentation name attributes freely. To those who see a
// view of a class they do not show what shows an attribute that the view lacks:
// such parts of forms and lists are left out, and whatever else mentions the
// attribute.

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
	"key": true, "ancestor": true, "refClass": true, "itemsClass": true, "allowedSubclasses": true, "allowedFileTypes": true,
}

// Told is what a file says, which is about c, to those who know the class as c.
// The caller must not change it: where nothing is left out it is said itself.
func (c *Class) Told(said Fields) Fields {
	if c == nil || c.Base() == c {
		return said
	}
	return tell(c, c, said)
}

// tell is Told for a part of it, whose own parts show attributes of inner.
func tell(c, inner *Class, said Fields) Fields {
	kept := make(Fields, len(said))
	for i, f := range said {
		list, isList := f.Value.([]any)
		switch {
		case isList && partLists[f.Name]:
			f.Value = tellParts(c, inner, list)
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

func tellParts(c, inner *Class, list []any) []any {
	kept := []any{}
	for _, e := range list {
		part, ok := e.(Fields)
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
			kept = append(kept, tell(c, next, part))
		}
	}
	return kept
}

// has reports whether a class has an attribute of that name, or the parts of a
// struct, known or not.
func has(c *Class, name string) bool {
	parts, _ := c.structure(name)
	return parts > 0 || c.Base().Path(name) != nil
}

// leadsBy reports whether a view knows the attribute of a part, and whose
// attributes the parts of that show: those of the class that it leads to, else
// of the same. A name that no class has is known unless it mentions a hidden
// one.
func leadsBy(c *Class, name string) (next *Class, knows bool) {
	if name == "" {
		return c, true
	}
	if parts, known := c.structure(name); parts > 0 {
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
func (c *Class) structure(name string) (parts, known int) {
	for _, p := range c.Properties {
		if strings.HasPrefix(p.Name, name+"$") {
			if parts++; !c.Lacks(p) {
				known++
			}
		}
	}
	return parts, known
}
