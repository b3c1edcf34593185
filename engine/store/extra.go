package store

import (
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
)

// extra is a table or an index that belongs to a table, other than its columns and their own
// indexes. It is created if it is not remembered, and created again if its form has changed.
type extra struct {
	name   string
	form   string // if it changes, the extra is created again
	rows   bool   // the extra is a table; its rows must not be lost
	twice  string // of a unique index: a query for duplicate values
	create []string
	drop   string
}

// links is the table of an n:m collection, seen from one of its sides. It stores the members of
// each owner in the order in which they were added.
type links struct {
	name   string
	quoted string
	owner  string // quoted column with the id of the owner
	item   string // quoted column with the id of the member
}

// short makes names of extras that are valid in every database.
var short = Traits{MaxName: 63}

// The columns of a table of links.
const (
	ownerColumn = `"#owner"`
	itemColumn  = `"#item"`
)

// isLinked reports whether p is stored in a table of links.
func isLinked(p *engine.Property) bool {
	return p.Type == engine.Collection && p.Back == nil && p.Target != nil
}

// of returns the table of an n:m collection. Two collections that mirror each other share the table
// of the one whose name sorts first.
func (n linkNames) of(p *engine.Property) *links {
	name, mirrored := plainLinks(p)
	l := &links{name: name, owner: ownerColumn, item: itemColumn}
	if mirrored {
		l.owner, l.item = itemColumn, ownerColumn
	}
	if given := n[name]; given != "" {
		l.name = given
	}
	l.quoted = short.quote(l.name)
	return l
}

// plainLinks returns the plain name of the table of an n:m collection, and whether it is the name
// of its mirror.
func plainLinks(p *engine.Property) (name string, mirrored bool) {
	name = declarationName(p)
	if m := p.Mirror; m != nil && declarationName(m) < name {
		return declarationName(m), true
	}
	return name, false
}

// layOutLinks adds tables of links and composite indexes to the tables, and an index to each
// reference that a collection uses.
func (s *Store) layOutLinks(byRoot map[*engine.Class]*table, m *memory) {
	plain := map[string]bool{}
	for c := range s.plans {
		for _, p := range c.Properties {
			if isLinked(p) {
				name, _ := plainLinks(p)
				plain[name] = true
			}
		}
	}
	s.linkNames = newLinkNames(slices.Sorted(maps.Keys(plain)), m)
	for _, t := range s.tables {
		seen := map[string]bool{}
		if len(t.classes) > 1 {
			t.extras = append(t.extras, t.classIndex())
		}
		for _, c := range t.classes {
			for _, p := range c.Properties {
				if p.Back != nil && p.Target != nil {
					if target := byRoot[p.Target.Root()]; target != nil && target.column(p.Back) != nil {
						target.column(p.Back).indexed = true
					}
				}
				if !isLinked(p) {
					continue
				}
				l := s.linkNames.of(p)
				if target := byRoot[p.Target.Root()]; target != nil && l.owner == ownerColumn && !seen[l.name] {
					seen[l.name] = true
					t.extras = append(t.extras, s.linkTable(l, t.id.typ, target.id.typ))
				}
			}
			for _, index := range t.compositeIndexes(c) {
				if e := t.compositeIndex(index); !seen[e.name] {
					seen[e.name] = true
					t.extras = append(t.extras, e)
				}
			}
		}
	}
}

func (s *Store) linkTable(l *links, owner, item engine.PropertyType) extra {
	d := s.db.Dialect
	return extra{
		name: l.name, form: owner.Storage() + " " + item.Storage(), rows: true,
		create: []string{
			"CREATE TABLE " + l.quoted + " (" + seqColumn + " " + s.traits.Sequence + ", " + ownerColumn + " " + d.ColumnType(owner) +
				" NOT NULL, " + itemColumn + " " + d.ColumnType(item) + " NOT NULL)",
			indexDDL(short, l.uniqueIndex()),
			"CREATE INDEX " + short.quote(l.name+"#item") + " ON " + l.quoted + " (" + itemColumn + ")",
		},
		drop: "DROP TABLE " + l.quoted,
	}
}

// uniqueIndex returns the index that makes a member appear only once in a collection.
func (l *links) uniqueIndex() Index {
	return Index{short.name(l.name + "#key"), l.name, []string{"#owner", "#item"}}
}

// classIndex returns an index for the items of one class of a tree.
func (t *table) classIndex() extra {
	name := t.name + "#class"
	return extra{
		name: name, form: "index",
		create: []string{"CREATE INDEX IF NOT EXISTS " + short.quote(name) + " ON " + t.quoted + " (" + classColumn + ")"},
		drop:   "DROP INDEX " + short.quote(name),
	}
}

// composite is an index over several columns.
type composite struct {
	columns []*column
	unique  bool
}

// compositeIndexes returns the composite indexes of a class whose attributes are all stored. It
// includes one for each class below that stores some attributes in other columns.
func (t *table) compositeIndexes(c *engine.Class) (all []composite) {
	for _, index := range c.Indexes {
		for _, d := range append([]*engine.Class{c}, c.Descendants...) {
			one := composite{unique: index.Unique}
			for _, name := range index.Properties {
				if col := t.columnOf(d, name); col != nil && (d == c || !col.typ.JSON()) {
					one.columns = append(one.columns, col)
				}
			}
			known := slices.ContainsFunc(all, func(other composite) bool {
				return other.unique == one.unique && slices.Equal(other.columns, one.columns)
			})
			if len(one.columns) == len(index.Properties) && !known {
				all = append(all, one)
			}
		}
	}
	return all
}

func (t *table) compositeIndex(index composite) (e extra) {
	var names, quoted []string
	for _, col := range index.columns {
		names, quoted = append(names, col.name), append(quoted, col.quoted)
	}
	e.name, e.form = t.name+"#composite#"+strings.Join(names, "#"), "index"
	if index.unique {
		e.form = "unique"
		e.twice = "(SELECT 1 FROM " + t.quoted + " WHERE " + strings.Join(quoted, " IS NOT NULL AND ") + " IS NOT NULL GROUP BY " + strings.Join(quoted, ", ") + " HAVING count(*) > 1) AS d"
		t.unique = append(t.unique, Index{short.name(e.name), t.name, names})
	}
	e.drop = "DROP INDEX " + short.quote(e.name)
	e.create = []string{"CREATE " + map[bool]string{true: "UNIQUE "}[index.unique] + "INDEX " + short.quote(e.name) + " ON " + t.quoted + " (" + strings.Join(quoted, ", ") + ")"}
	return e
}

// extraMark takes the place of the class in the memory of extras. No class has this name.
const extraMark = "##extra"

// extraRows marks an extra that is a table.
const extraRows = "rows"

// updateExtras creates the missing extras of a table and drops those that it no longer has. A collection
// cannot be removed while it has links, unless its class is removed too.
func (u *upgrader) updateExtras(t *table) error {
	wanted := map[string]bool{}
	for _, e := range t.extras {
		wanted[e.name] = true
	}
	for _, name := range u.memory.extras[t.name] {
		old, known := u.memory.classes[extraMark][name]
		if !known || wanted[name] || old.Gone {
			continue
		}
		if old.Indexes == extraRows {
			dropped, err := u.dropLinks(t, name)
			if err != nil {
				return err
			}
			if !dropped {
				continue
			}
		} else if err := u.exec("DROP INDEX ", short.quote(name)); err != nil {
			return err
		}
		old.Gone = true
		u.rememberRow(old)
	}
	for _, e := range t.extras {
		if err := u.updateExtra(t, e); err != nil {
			return err
		}
	}
	return nil
}

// hiddenLinks reports a problem if objects of a class have members in an inherited collection that
// the class declares again as another type.
func (u *upgrader) hiddenLinks(t *table, c *engine.Class) error {
	if c.Ancestor == nil {
		return nil
	}
	for _, p := range c.Ancestor.Properties {
		if q := c.Property(p.Name); !isLinked(p) || q == nil || isLinked(q) {
			continue
		}
		l := u.links.of(p)
		if old, known := u.memory.classes[extraMark][l.name]; !known || old.Gone {
			continue
		}
		n, err := u.countRows(l.quoted + " WHERE " + l.owner + " IN (SELECT " + t.id.quoted + " FROM " + t.quoted + " WHERE " + classColumn + " = " + quoteText(c.FullName) + ")")
		if err != nil {
			return err
		}
		if n > 0 {
			u.problems.add("class %s: collection %s of class %s would become %s, but its objects have %d links: give the new property another name, or export the objects and import them after the change, or clear the collection first",
				c.FullName, engine.Quote(p.Name), c.Ancestor.FullName, c.Property(p.Name).Type, n)
		}
	}
	return nil
}

// dropLinks drops a table of links that no collection uses, if it is empty.
func (u *upgrader) dropLinks(t *table, name string) (dropped bool, err error) {
	class, collection, _ := strings.Cut(name, "#")
	if !slices.ContainsFunc(t.classes, func(c *engine.Class) bool { return c.FullName == class }) {
		return false, nil
	}
	n, err := u.countRows(short.quote(name))
	if err != nil {
		return false, err
	}
	if n > 0 {
		u.problems.add("class %s: collection %s was removed, or its links would be kept with those of another, but it has %d links: restore it, or export the objects and import them after the change, or clear it first",
			class, engine.Quote(collection), n)
		return false, nil
	}
	return true, u.exec("DROP TABLE ", short.quote(name))
}

func (u *upgrader) updateExtra(t *table, e extra) error {
	old, known := u.memory.classes[extraMark][e.name]
	known = known && !old.Gone
	if known && old.Kind == e.form {
		return nil
	}
	if known && e.rows {
		n, err := u.countRows(short.quote(e.name))
		if err != nil {
			return err
		}
		if n > 0 {
			u.problems.add("collection %s: ids would be kept as %s and no longer as %s, but %d links are stored: clear the collection first",
				e.name, e.form, old.Kind, n)
			return nil
		}
	}
	if e.twice != "" {
		n, err := u.countRows(e.twice)
		if err != nil {
			return err
		}
		if n > 0 {
			u.problems.add("class %s: the index %s would become unique, but %d of its values are there more than once: make them differ first", t.name, e.name, n)
			return nil
		}
	}
	ddl := e.create
	if known {
		ddl = append([]string{e.drop}, ddl...)
	}
	for _, text := range ddl {
		if err := u.exec(text); err != nil {
			return err
		}
	}
	u.rememberRow(e.kept(t))
	return nil
}

// kept returns the row by which memoryTable remembers an extra.
func (e extra) kept(t *table) kept {
	k := kept{Class: extraMark, Property: e.name, Root: t.name, Kind: e.form}
	if e.rows {
		k.Indexes = extraRows
	}
	return k
}

// dropExtras drops the indexes that belong to a table. If rows is true, it drops the tables too.
func (u *upgrader) dropExtras(root string, rows bool) error {
	for _, name := range u.memory.extras[root] {
		old, known := u.memory.classes[extraMark][name]
		kind := "INDEX "
		if old.Indexes == extraRows {
			kind = "TABLE "
		}
		if !known || kind == "TABLE " && !rows {
			continue
		}
		delete(u.memory.classes[extraMark], name)
		if !old.Gone {
			if err := u.exec("DROP ", kind, short.quote(name)); err != nil {
				return err
			}
		}
	}
	return nil
}
