package schema

import (
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// updateExtras creates the missing extras of a table (see layout.Extra), and drops the extras that the table no longer
// has. It adds a problem if a collection with links was removed while the class of the collection still exists.
func (u *upgrader) updateExtras(t *layout.Table) error {
	wanted := map[string]bool{}
	for _, e := range t.Extras {
		wanted[e.Name] = true
	}
	for _, name := range u.memory.Extras[t.Name] {
		old, known := u.memory.Classes[layout.ExtraMark][name]
		if !known || wanted[name] || old.Gone {
			continue
		}
		if old.Indexes == layout.ExtraRows {
			dropped, err := u.dropLinks(t, name)
			if err != nil {
				return err
			}
			if !dropped {
				continue
			}
		} else if err := u.exec("DROP INDEX ", layout.Short.Quote(name)); err != nil {
			return err
		}
		old.Gone = true
		u.rememberRow(old)
	}
	for _, e := range t.Extras {
		if err := u.updateExtra(t, e); err != nil {
			return err
		}
	}
	return nil
}

// hiddenLinks adds a problem if class c declares an inherited collection as a property of another type, although
// objects of c have members in the collection.
func (u *upgrader) hiddenLinks(t *layout.Table, c *engine.Class) error {
	if c.Ancestor == nil {
		return nil
	}
	for _, p := range c.Ancestor.Properties {
		if q := c.Property(p.Name); !layout.IsLinked(p) || q == nil || layout.IsLinked(q) {
			continue
		}
		l := u.links.Of(p)
		if old, known := u.memory.Classes[layout.ExtraMark][l.Name]; !known || old.Gone {
			continue
		}
		n, err := u.countRows(l.Quoted + " WHERE " + l.Owner + " IN (SELECT " + t.ID.Quoted + " FROM " + t.Quoted + " WHERE " + layout.ClassColumn + " = " + sqldb.QuoteText(c.FullName) + ")")
		if err != nil {
			return err
		}
		if n > 0 {
			u.problems.Add("class %s: collection %s of class %s would become %s, but its objects have %d links: give the new property another name, or export the objects and import them after the change, or clear the collection first",
				c.FullName, engine.Quote(p.Name), c.Ancestor.FullName, c.Property(p.Name).Type, n)
		}
	}
	return nil
}

// dropLinks drops a table of links that no collection uses any more. It adds a problem if the table has rows.
func (u *upgrader) dropLinks(t *layout.Table, name string) (dropped bool, err error) {
	class, collection, _ := strings.Cut(name, "#")
	if !slices.ContainsFunc(t.Classes, func(c *engine.Class) bool { return c.FullName == class }) {
		return false, nil
	}
	n, err := u.countRows(layout.Short.Quote(name))
	if err != nil {
		return false, err
	}
	if n > 0 {
		u.problems.Add("class %s: collection %s was removed, or its links would be kept with those of another, but it has %d links: restore it, or export the objects and import them after the change, or clear it first",
			class, engine.Quote(collection), n)
		return false, nil
	}
	return true, u.exec("DROP TABLE ", layout.Short.Quote(name))
}

func (u *upgrader) updateExtra(t *layout.Table, e layout.Extra) error {
	old, known := u.memory.Classes[layout.ExtraMark][e.Name]
	known = known && !old.Gone
	if known && old.Kind == e.Form {
		return nil
	}
	if known && e.Rows {
		n, err := u.countRows(layout.Short.Quote(e.Name))
		if err != nil {
			return err
		}
		if n > 0 {
			u.problems.Add("collection %s: ids would be kept as %s and no longer as %s, but %d links are stored: clear the collection first",
				e.Name, e.Form, old.Kind, n)
			return nil
		}
	}
	if e.Twice != "" {
		n, err := u.countRows(e.Twice)
		if err != nil {
			return err
		}
		if n > 0 {
			u.problems.Add("class %s: the index %s would become unique, but %d of its values are there more than once: make them differ first", t.Name, e.Name, n)
			return nil
		}
	}
	ddl := e.Create
	if known {
		ddl = append([]string{e.Drop}, ddl...)
	}
	for _, text := range ddl {
		if err := u.exec(text); err != nil {
			return err
		}
	}
	u.rememberRow(e.Kept(t))
	return nil
}

// dropExtras drops the indexes among the extras of a table. If rows is true, it also drops the tables among the
// extras.
func (u *upgrader) dropExtras(root string, rows bool) error {
	for _, name := range u.memory.Extras[root] {
		old, known := u.memory.Classes[layout.ExtraMark][name]
		kind := "INDEX "
		if old.Indexes == layout.ExtraRows {
			kind = "TABLE "
		}
		if !known || kind == "TABLE " && !rows {
			continue
		}
		delete(u.memory.Classes[layout.ExtraMark], name)
		if !old.Gone {
			if err := u.exec("DROP ", kind, layout.Short.Quote(name)); err != nil {
				return err
			}
		}
	}
	return nil
}
