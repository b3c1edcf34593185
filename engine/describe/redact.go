package describe

import (
	"strings"

	"restsrv/engine"
)

// Class files, view models and workflows mention attributes by name. If an attribute is hidden in
// a view of a class, all mentions of the attribute must be hidden too: the package omits parts of
// forms and lists that show the attribute, and any other text that mentions it.

// partLists are the members of view models and workflows that are lists of objects. Each object
// in such a list is redacted by itself.
var partLists = map[string]bool{
	"tabs": true, "columns": true, "fields": true, "fullFields": true, "shortFields": true, "commands": true, "states": true, "transitions": true,
}

// plainMembers are members of descriptions that are never redacted: they do not name attributes, are
// captions, or are checked elsewhere.
var plainMembers = map[string]bool{
	"caption": true, "hint": true, "title": true, "description": true, "confirmMessage": true, "name": true, "id": true, "code": true,
	"type": true, "itemType": true, "section": true, "namespace": true, "classname": true, "className": true, "path": true, "url": true,
	"wfClass": true, "startState": true, "finishState": true, "property": true, "mask": true, "maskName": true, "validators": true,
	"version": true, "metaVersion": true,
	"key": true, "ancestor": true, "refClass": true, "itemsClass": true, "allowedSubclasses": true, "allowedFileTypes": true,
}

// Redact returns fields, a description of c or of a part of c, without the attributes that are
// hidden in c. c may be nil. If no attribute is hidden, Redact returns fields itself, so the
// caller must not change the result.
func Redact(c *engine.Class, fields engine.Fields) engine.Fields {
	if c == nil || c.Base() == c {
		return fields
	}
	return redactFields(c, c, fields)
}

// redactFields returns fields without the attributes that are hidden in c. fields is one object
// of a description of c. Nested parts of fields, such as the columns of a list, name attributes
// of the class inner.
func redactFields(c, inner *engine.Class, fields engine.Fields) engine.Fields {
	kept := make(engine.Fields, len(fields))
	for i, f := range fields {
		list, isList := f.Value.([]any)
		switch {
		case isList && partLists[f.Name]:
			f.Value = redactParts(c, inner, list)
		case plainMembers[f.Name]:
		case isList:
			some := []any{}
			for _, e := range list {
				if !c.MentionsHidden(e) {
					some = append(some, e)
				}
			}
			f.Value = some
		case c.MentionsHidden(f.Value):
			f.Value = nil
		}
		kept[i] = f
	}
	return kept
}

func redactParts(c, inner *engine.Class, list []any) []any {
	kept := []any{}
	for _, e := range list {
		part, ok := e.(engine.Fields)
		if !ok {
			continue
		}
		v, _ := part.Get("property")
		name, _ := v.(string)
		owner := inner
		if !hasAttribute(inner, name) {
			owner = c
		}
		if next, visible := resolvePart(owner, name); visible {
			kept = append(kept, redactFields(c, next, part))
		}
	}
	return kept
}

// hasAttribute reports whether a class has an attribute or a struct attribute with
// that name, hidden or not.
func hasAttribute(c *engine.Class, name string) bool {
	parts, _ := countParts(c, name)
	return parts > 0 || c.Base().Path(name) != nil
}

// resolvePart reports whether the view c shows an attribute.
//
//   - name is the attribute or a path to it.
//   - visible is true if no step of the path is hidden. A name that is not an attribute is
//     visible if it mentions no hidden attribute.
//   - next is the class of the attributes in nested parts: the target if name is a reference or
//     a collection, otherwise c.
func resolvePart(c *engine.Class, name string) (next *engine.Class, visible bool) {
	if name == "" {
		return c, true
	}
	if parts, known := countParts(c, name); parts > 0 {
		return c, known > 0
	}
	if c.Base().Path(name) == nil {
		return c, !c.MentionsHidden(name)
	}
	next = c
	for _, p := range c.Path(name) {
		visible = true
		if to := next.TargetOf(p); to != nil {
			next = to
		}
	}
	return next, visible
}

// countParts returns the number of parts of the struct attribute with that name, and the
// number of known parts, which are not hidden in c.
func countParts(c *engine.Class, name string) (parts, known int) {
	for _, p := range c.Properties {
		if strings.HasPrefix(p.Name, name+"$") {
			if parts++; !c.Hides(p) {
				known++
			}
		}
	}
	return parts, known
}
