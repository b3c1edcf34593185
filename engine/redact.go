package engine

import "strings"

// Class files and the presentation mention attributes by name. If an attribute
// is hidden in a view of a class, all mentions of it must be hidden too: parts
// of forms and lists that show the attribute are omitted, and so is any other
// text that mentions it.

// partLists are the members of view models and workflows that are lists of
// objects. Each object is redacted by itself.
var partLists = map[string]bool{
	"tabs": true, "columns": true, "fields": true, "fullFields": true, "shortFields": true, "commands": true, "states": true, "transitions": true,
}

// plainMembers are the members that do not name attributes, are captions, or are
// checked elsewhere. They are kept, whatever words they contain.
var plainMembers = map[string]bool{
	"caption": true, "hint": true, "title": true, "description": true, "confirmMessage": true, "name": true, "id": true, "code": true,
	"type": true, "itemType": true, "section": true, "namespace": true, "classname": true, "className": true, "path": true, "url": true,
	"wfClass": true, "startState": true, "finishState": true, "property": true, "mask": true, "maskName": true, "validators": true,
	"version": true, "metaVersion": true,
	"key": true, "ancestor": true, "refClass": true, "itemsClass": true, "allowedSubclasses": true, "allowedFileTypes": true,
}

// Redact returns a description of c without attributes that are hidden in c. The
// caller must not change the result, because it is said itself if no attribute
// is hidden.
func (c *Class) Redact(said Fields) Fields {
	if c == nil || c.Base() == c {
		return said
	}
	return redactFields(c, c, said)
}

// redactFields is Redact for a part of a description. Its nested parts show attributes of
// inner.
func redactFields(c, inner *Class, said Fields) Fields {
	kept := make(Fields, len(said))
	for i, f := range said {
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

func redactParts(c, inner *Class, list []any) []any {
	kept := []any{}
	for _, e := range list {
		part, ok := e.(Fields)
		if !ok {
			continue
		}
		v, _ := part.Get("property")
		name, _ := v.(string)
		owner := inner
		if !hasAttribute(inner, name) {
			owner = c
		}
		if next, knows := leadsBy(owner, name); knows {
			kept = append(kept, redactFields(c, next, part))
		}
	}
	return kept
}

// hasAttribute reports whether a class has an attribute with that name, or parts of such
// a struct, hidden or not.
func hasAttribute(c *Class, name string) bool {
	parts, _ := c.countParts(name)
	return parts > 0 || c.Base().Path(name) != nil
}

// leadsBy reports whether the attribute of a part is visible in a view. next is
// the class of the attributes that nested parts show: the class to which the
// attribute leads, or else the same class. A name that no attribute has is
// visible unless it mentions a hidden attribute.
func leadsBy(c *Class, name string) (next *Class, knows bool) {
	if name == "" {
		return c, true
	}
	if parts, known := c.countParts(name); parts > 0 {
		return c, known > 0
	}
	if c.Base().Path(name) == nil {
		return c, !c.MentionsHidden(name)
	}
	next = c
	for _, p := range c.Path(name) {
		knows = true
		if to := next.TargetOf(p); to != nil {
			next = to
		}
	}
	return next, knows
}

// countParts returns the number of parts of a struct attribute, and the number of
// parts that are not hidden in a view.
func (c *Class) countParts(name string) (parts, known int) {
	for _, p := range c.Properties {
		if strings.HasPrefix(p.Name, name+"$") {
			if parts++; !c.Hides(p) {
				known++
			}
		}
	}
	return parts, known
}
