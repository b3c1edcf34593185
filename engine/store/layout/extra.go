package layout

import (
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/sqldb"
)

// Extra is a table or an index that belongs to a Table, but not to the column of a single property: a table of links,
// an index over several columns, or the index of the class column. An extra is created if the memory has no row for it
// (see Memory), and created again if its form has changed.
type Extra struct {
	Name   string
	Form   string // definition; if it changes, the extra is created again
	Rows   bool   // the extra is a table; its rows must not be lost
	Twice  string // for a unique index: the rest of a statement that begins with SELECT count(*) FROM and counts duplicate values
	Create []string
	Drop   string
}

// Links is the table of an n:m collection, from the viewpoint of the items that have the collection (the owners). Two
// collections that mirror each other use the same table: the Owner column of one is the Item column of the other. The
// table stores the members of each owner in the order in which they were added.
type Links struct {
	Name   string
	Quoted string
	Owner  string // quoted column with the id of the owner
	Item   string // quoted column with the id of the member
}

// Short shortens the names of extras to a length that is valid in every database.
var Short = sqldb.Traits{MaxName: 63}

// The columns of a table of links.
const (
	OwnerColumn = `"#owner"`
	ItemColumn  = `"#item"`
)

// IsLinked reports whether p is stored in a table of links.
func IsLinked(p *engine.Property) bool {
	return p.Type == engine.Collection && p.Back == nil && p.Target != nil
}

// Of returns the table of an n:m collection. Two collections that mirror each other share a table. It is named after
// the collection with the name that sorts first.
func (n LinkNames) Of(p *engine.Property) *Links {
	name, mirrored := plainLinks(p)
	l := &Links{Name: name, Owner: OwnerColumn, Item: ItemColumn}
	if mirrored {
		l.Owner, l.Item = ItemColumn, OwnerColumn
	}
	if given := n[name]; given != "" {
		l.Name = given
	}
	l.Quoted = Short.Quote(l.Name)
	return l
}

// plainLinks returns the plain name of the table of an n:m collection (see named). If two collections mirror each
// other, the table is named after one of them. mirrored is true if the name is that of p.Mirror, not that of p.
func plainLinks(p *engine.Property) (name string, mirrored bool) {
	name = declarationName(p)
	if m := p.Mirror; m != nil && declarationName(m) < name {
		return declarationName(m), true
	}
	return name, false
}

// layOutLinks adds the extras of the tables: tables of links, composite indexes, and class indexes. It also adds an
// index for each reference that defines a collection (Property.Back).
func (s *Layout) layOutLinks(byRoot map[*engine.Class]*Table, m *Memory) {
	plain := map[string]bool{}
	for c := range s.Plans {
		for _, p := range c.Properties {
			if IsLinked(p) {
				name, _ := plainLinks(p)
				plain[name] = true
			}
		}
	}
	s.LinkNames = newLinkNames(slices.Sorted(maps.Keys(plain)), m)
	for _, t := range s.Tables {
		seen := map[string]bool{}
		if len(t.Classes) > 1 {
			t.Extras = append(t.Extras, t.classIndex())
		}
		for _, c := range t.Classes {
			for _, p := range c.Properties {
				if p.Back != nil && p.Target != nil {
					if target := byRoot[p.Target.Root()]; target != nil && target.Column(p.Back) != nil {
						target.Column(p.Back).indexed = true
					}
				}
				if !IsLinked(p) {
					continue
				}
				l := s.LinkNames.Of(p)
				if target := byRoot[p.Target.Root()]; target != nil && l.Owner == OwnerColumn && !seen[l.Name] {
					seen[l.Name] = true
					t.Extras = append(t.Extras, s.linkTable(l, t.ID.Type, target.ID.Type))
				}
			}
			for _, index := range t.compositeIndexes(c) {
				if e := t.compositeIndex(index); !seen[e.Name] {
					seen[e.Name] = true
					t.Extras = append(t.Extras, e)
				}
			}
		}
	}
}

func (s *Layout) linkTable(l *Links, owner, item engine.PropertyType) Extra {
	d := s.Dialect
	return Extra{
		Name: l.Name, Form: owner.Storage() + " " + item.Storage(), Rows: true,
		Create: []string{
			"CREATE TABLE " + l.Quoted + " (" + SeqColumn + " " + s.Traits.Sequence + ", " + OwnerColumn + " " + d.ColumnType(owner) +
				" NOT NULL, " + ItemColumn + " " + d.ColumnType(item) + " NOT NULL)",
			IndexDDL(Short, l.uniqueIndex()),
			"CREATE INDEX " + Short.Quote(l.Name+"#item") + " ON " + l.Quoted + " (" + ItemColumn + ")",
		},
		Drop: "DROP TABLE " + l.Quoted,
	}
}

// uniqueIndex returns the index that prevents an item from being a member of a collection twice.
func (l *Links) uniqueIndex() sqldb.Index {
	return sqldb.Index{Name: Short.Name(l.Name + "#key"), Table: l.Name, Columns: []string{"#owner", "#item"}}
}

// classIndex returns the index that finds the items of one class in a table with several classes.
func (t *Table) classIndex() Extra {
	name := t.Name + "#class"
	return Extra{
		Name: name, Form: "index",
		Create: []string{"CREATE INDEX IF NOT EXISTS " + Short.Quote(name) + " ON " + t.Quoted + " (" + ClassColumn + ")"},
		Drop:   "DROP INDEX " + Short.Quote(name),
	}
}

// composite is an index over several columns.
type composite struct {
	columns []*Column
	unique  bool
}

// compositeIndexes returns the composite indexes of a class. It leaves out indexes with an attribute that is not
// stored. A descendant that stores some of the attributes in other columns has an index of its own.
func (t *Table) compositeIndexes(c *engine.Class) (all []composite) {
	for _, index := range c.Indexes {
		for _, d := range append([]*engine.Class{c}, c.Descendants...) {
			one := composite{unique: index.Unique}
			for _, name := range index.Properties {
				if col := t.ColumnOf(d, name); col != nil && (d == c || !col.Type.JSON()) {
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

func (t *Table) compositeIndex(index composite) (e Extra) {
	var names, quoted []string
	for _, col := range index.columns {
		names, quoted = append(names, col.Name), append(quoted, col.Quoted)
	}
	e.Name, e.Form = t.Name+"#composite#"+strings.Join(names, "#"), "index"
	if index.unique {
		e.Form = "unique"
		e.Twice = "(SELECT 1 FROM " + t.Quoted + " WHERE " + strings.Join(quoted, " IS NOT NULL AND ") + " IS NOT NULL GROUP BY " + strings.Join(quoted, ", ") + " HAVING count(*) > 1) AS d"
		t.Unique = append(t.Unique, sqldb.Index{Name: Short.Name(e.Name), Table: t.Name, Columns: names})
	}
	e.Drop = "DROP INDEX " + Short.Quote(e.Name)
	e.Create = []string{"CREATE " + map[bool]string{true: "UNIQUE "}[index.unique] + "INDEX " + Short.Quote(e.Name) + " ON " + t.Quoted + " (" + strings.Join(quoted, ", ") + ")"}
	return e
}

// ExtraMark is the class name in those rows of the memory (see Memory) that describe extras. No class has this name.
const ExtraMark = "##extra"

// ExtraRows is the value of Kept.Indexes in a row that describes a table of links. It is "" in a row that describes an
// index.
const ExtraRows = "rows"

// Kept returns the row of the memory (see Memory) that describes an extra of table t.
func (e Extra) Kept(t *Table) Kept {
	k := Kept{Class: ExtraMark, Property: e.Name, Root: t.Name, Kind: e.Form}
	if e.Rows {
		k.Indexes = ExtraRows
	}
	return k
}
