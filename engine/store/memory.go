package store

import (
	"net/url"
	"slices"
	"strings"

	"restsrv/engine"
)

// memoryTable records the classes as they were stored. It has one row for each property, and one row without a property
// for each class, whose kind is the key.
const memoryTable = `"##schema"`

const memoryDDL = `CREATE TABLE IF NOT EXISTS ` + memoryTable + ` ("class" TEXT NOT NULL, "property" TEXT NOT NULL, "root" TEXT NOT NULL, "kind" TEXT NOT NULL, "indexes" TEXT NOT NULL, "gone" BOOLEAN NOT NULL, PRIMARY KEY ("class", "property"))`

// A row of memoryTable with this name, which no class can have, marks a database that has tables but was not seeded.
const (
	freshMark   = "##fresh"
	forgetFresh = `DELETE FROM ` + memoryTable + ` WHERE "class" = '` + freshMark + `'`
	countFresh  = `SELECT COUNT(*) FROM ` + memoryTable + ` WHERE "class" = '` + freshMark + `'`
)

// kept is a row of memoryTable.
type kept struct {
	Class    string `db:"class"`
	Property string `db:"property"`
	Root     string `db:"root"`
	Kind     string `db:"kind"`    // type of the property; for a class, the key as a comma-separated list
	Indexes  string `db:"indexes"` // space-separated words: the index of the property's column, and marks
	Gone     bool   `db:"gone"`    // the property was removed, but its empty column still exists
}

// Marks of a property in kept.Indexes.
const (
	requiredMark = "required"
	numberedMark = "numbered"
	columnMark   = "column=" // followed by the name of the column, if it differs from the name of the property
)

// leftMark is used as the class name in rows for columns that no longer belong to a property. No class has this name.
const leftMark = "##left"

// columnName returns the name of the property's column.
func (k kept) columnName() string {
	for _, mark := range strings.Fields(k.Indexes) {
		if escaped, ok := strings.CutPrefix(mark, columnMark); ok {
			if name, err := url.QueryUnescape(escaped); err == nil {
				return name
			}
		}
	}
	return k.Property
}

// propertyName returns the name of the property.
func (k kept) propertyName() string {
	if k.Class == leftMark {
		name, _, _ := strings.Cut(k.columnName(), "@")
		name, _, _ = strings.Cut(name, "#")
		return name
	}
	return k.Property
}

// leftRow returns the row for the property's column when no property uses the column any more.
func (k kept) leftRow() kept {
	column := k.columnName()
	return kept{Class: leftMark, Property: k.Root + " " + column, Root: k.Root, Kind: k.Kind,
		Indexes: columnMark + url.QueryEscape(column), Gone: true}
}

// newKept describes a property of a class, or the class itself if p is nil.
func newKept(t *table, c *engine.Class, p *engine.Property) kept {
	k := kept{Class: c.FullName, Root: t.name, Kind: strings.Join(c.Key, ",")}
	if p == nil {
		return k
	}
	col := t.column(p)
	marks := []string{col.indexKind()}
	if !p.Nullable && !p.Optional {
		marks = append(marks, requiredMark)
	}
	if p.Type == engine.Int && p.Autoassigned {
		marks = append(marks, numberedMark)
	}
	if col.name != p.Name {
		marks = append(marks, columnMark+url.QueryEscape(col.name))
	}
	k.Property, k.Kind, k.Indexes = p.Name, col.typ.String(), strings.TrimSpace(strings.Join(marks, " "))
	return k
}

func (k kept) hasMark(mark string) bool { return slices.Contains(strings.Fields(k.Indexes), mark) }

// indexKind returns the kind of the index of the column, as column.indexKind does.
func (k kept) indexKind() string {
	for _, kind := range []string{"unique", "index"} {
		if k.hasMark(kind) {
			return kind
		}
	}
	return ""
}

// indexKind returns the kind of index that a column requires, in addition to the index of the key.
func (col *column) indexKind() string {
	switch {
	case col.unique:
		return "unique"
	case col.indexed && !col.typ.JSON(): // no query uses an index on JSON, and the values may be long
		return "index"
	}
	return ""
}

// memory is the content of memoryTable.
type memory struct {
	classes map[string]map[string]kept // by class and property
	tables  map[string]*remembered
	extras  map[string][]string // names of the extras of each table, including some that no longer exist
}

// remembered describes one table.
type remembered struct {
	classes []string        // classes of the objects in the table
	columns map[string]kept // by column name; if several classes share a column, a row that is not gone takes precedence
}

func newMemory(rows []kept) *memory {
	m := &memory{classes: map[string]map[string]kept{}, tables: map[string]*remembered{}, extras: map[string][]string{}}
	for _, k := range rows {
		if k.Class == extraMark {
			m.addExtra(k)
			continue
		}
		if m.classes[k.Class] == nil {
			m.classes[k.Class] = map[string]kept{}
		}
		m.classes[k.Class][k.Property] = k
		t := m.tables[k.Root]
		if t == nil {
			t = &remembered{columns: map[string]kept{}}
			m.tables[k.Root] = t
		}
		if k.Property == "" {
			t.classes = append(t.classes, k.Class)
		} else if other, there := t.columns[k.columnName()]; !there || other.Gone {
			t.columns[k.columnName()] = k
		}
	}
	return m
}

// addExtra adds the row of an extra.
func (m *memory) addExtra(k kept) {
	if m.classes[extraMark] == nil {
		m.classes[extraMark] = map[string]kept{}
	}
	m.classes[extraMark][k.Property] = k
	m.extras[k.Root] = append(m.extras[k.Root], k.Property)
}

func (m *memory) findClass(name string) (kept, bool) {
	k, ok := m.classes[name][""]
	return k, ok
}

// findTable returns the description of a table. It is empty if the table does not exist.
func (m *memory) findTable(name string) remembered {
	if t := m.tables[name]; t != nil {
		return *t
	}
	return remembered{}
}

// findColumn returns whether a column exists, its type and its indexes. indexes is "?" if all properties of the column
// were removed.
func (m *memory) findColumn(table, name string) (kind, indexes string, there bool) {
	k, there := m.findTable(table).columns[name]
	if k.Gone {
		return k.Kind, "?", there
	}
	return k.Kind, k.indexKind(), there
}

// forgetTable removes a table and its classes.
func (m *memory) forgetTable(table string) {
	delete(m.classes[searchMemory], table)
	for _, class := range m.findTable(table).classes {
		delete(m.classes, class)
	}
	delete(m.tables, table)
}
