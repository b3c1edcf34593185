package store

import (
	"fmt"

	"restsrv/engine"
)

// requiredMark stands for the class in the memory of required properties whose
// objects all have a value. A property that is not remembered is looked at when
// a database is opened, and told of for as long as values are missing.
const requiredMark = "##required"

// notice tells of what the classes and the data do not agree on, and what is
// no failure: it stays as it is.
func (u *upgrader) notice(format string, args ...any) {
	u.notices = append(u.notices, fmt.Sprintf(format, args...))
}

// look finds what there is to tell of.
func (u *upgrader) look(tables []*table) error {
	classes := map[string]bool{}
	for _, t := range tables {
		for _, c := range t.classes {
			classes[c.FullName] = true
			for _, p := range c.Properties {
				if err := u.required(t, c, p); err != nil {
					return err
				}
			}
		}
	}
	return u.gone(classes)
}

// required tells how many objects lack what they must have.
func (u *upgrader) required(t *table, c *engine.Class, p *engine.Property) error {
	name := c.FullName + "." + p.Name
	old, seen := u.memory[requiredMark][name]
	seen = seen && !old.Gone
	must := !p.Nullable && !p.Autoassigned && p.Stored() && !t.byName[p.Name].key
	if must == seen {
		return nil
	}
	if must {
		n, err := u.count(t.quoted + " WHERE " + classColumn + " = " + quoteText(c.FullName) + " AND " + u.traits.quote(p.Name) + " IS NULL")
		if err != nil {
			return err
		}
		if n > 0 {
			u.notice("class %s: property %s must have a value, and %d objects have none: they stay as they are", c.FullName, engine.Quote(p.Name), n)
			return nil
		}
	}
	return u.remember(kept{Class: requiredMark, Property: name, Root: t.name, Gone: !must})
}

// gone tells of classes that are no more, whose objects are still stored.
func (u *upgrader) gone(classes map[string]bool) error {
	for name, properties := range u.memory {
		k, ok := properties[""]
		if !ok || classes[name] || k.Root == "" || k.Root[0] == '#' {
			continue
		}
		n, err := u.count(u.traits.quote(k.Root) + " WHERE " + classColumn + " = " + quoteText(name))
		if err != nil {
			return err
		}
		if n > 0 {
			u.notice("class %s is gone, and %d objects of it stay in the database, out of reach: restore the class to see and to export them", name, n)
		}
	}
	return nil
}
