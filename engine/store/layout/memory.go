package layout

import (
	"net/url"
	"slices"
	"strings"

	"restsrv/engine"
)

// Kept is a row of the memory. It describes a property of a class as it is stored. If Property is "", it describes the
// class itself. Rows with special class names describe other things (see LeftMark, ExtraMark and SearchMemory).
type Kept struct {
	Class    string `db:"class"`
	Property string `db:"property"`
	Root     string `db:"root"`    // name of the table
	Kind     string `db:"kind"`    // type of the property; for a class, the key as a comma-separated list
	Indexes  string `db:"indexes"` // space-separated words: the index of the property's column, and marks
	Gone     bool   `db:"gone"`    // the property was removed, but its empty column still exists
}

// Words in Kept.Indexes besides the kind of the index.
const (
	RequiredMark = "required" // the property must have a value
	NumberedMark = "numbered" // the property is an autoassigned int
	columnMark   = "column="  // followed by the name of the column, if it differs from the name of the property
)

// LeftMark is the class name in rows that describe columns which no longer belong to a property. No class has this
// name.
const LeftMark = "##left"

// ColumnName returns the name of the property's column.
func (k Kept) ColumnName() string {
	for _, mark := range strings.Fields(k.Indexes) {
		if escaped, ok := strings.CutPrefix(mark, columnMark); ok {
			if name, err := url.QueryUnescape(escaped); err == nil {
				return name
			}
		}
	}
	return k.Property
}

// propertyName returns the name of the property. For a column that no longer belongs to a property, this is the
// property for which the column was created.
func (k Kept) propertyName() string {
	if k.Class == LeftMark {
		name, _, _ := strings.Cut(k.ColumnName(), "@")
		name, _, _ = strings.Cut(name, "#")
		return name
	}
	return k.Property
}

// LeftRow returns the row that describes a column after its last property was removed. k is the row of the removed
// property.
func (k Kept) LeftRow() Kept {
	column := k.ColumnName()
	return Kept{Class: LeftMark, Property: k.Root + " " + column, Root: k.Root, Kind: k.Kind,
		Indexes: columnMark + url.QueryEscape(column), Gone: true}
}

// NewKept returns the row that describes a property of a class, or the class itself if p is nil.
func NewKept(t *Table, c *engine.Class, p *engine.Property) Kept {
	k := Kept{Class: c.FullName, Root: t.Name, Kind: strings.Join(c.Key, ",")}
	if p == nil {
		return k
	}
	col := t.Column(p)
	marks := []string{col.IndexKind()}
	if !p.Nullable && !p.Optional {
		marks = append(marks, RequiredMark)
	}
	if p.Type == engine.Int && p.Autoassigned {
		marks = append(marks, NumberedMark)
	}
	if col.Name != p.Name {
		marks = append(marks, columnMark+url.QueryEscape(col.Name))
	}
	k.Property, k.Kind, k.Indexes = p.Name, col.Type.String(), strings.TrimSpace(strings.Join(marks, " "))
	return k
}

// HasMark reports whether Indexes contains the word mark.
func (k Kept) HasMark(mark string) bool { return slices.Contains(strings.Fields(k.Indexes), mark) }

// indexKind returns the kind of the column's index, with the same words as Column.IndexKind.
func (k Kept) indexKind() string {
	for _, kind := range []string{"unique", "index"} {
		if k.HasMark(kind) {
			return kind
		}
	}
	return ""
}

// IndexKind returns the kind of index that a column requires in addition to the index of the key: "unique", "index" or
// "" for none.
func (col *Column) IndexKind() string {
	switch {
	case col.unique:
		return "unique"
	case col.indexed && !col.Type.JSON(): // no query uses an index on JSON, and the values may be long
		return "index"
	}
	return ""
}

// Memory is the content of the system table schema.MemoryTable. It records the tables, columns and indexes that exist
// in the database for classes and properties. Package schema compares it with a Layout to find the necessary changes.
type Memory struct {
	Classes map[string]map[string]Kept // by class and property
	tables  map[string]*remembered     // by name
	Extras  map[string][]string        // names of the extras of each table; some of them may no longer exist
}

// remembered describes one table as it exists in the database.
type remembered struct {
	Classes []string        // names of the classes that have objects in the table
	columns map[string]Kept // by column name; if several classes share a column, a row of an existing property takes precedence over a row with Gone
}

// NewMemory returns the memory that consists of these rows.
func NewMemory(rows []Kept) *Memory {
	m := &Memory{Classes: map[string]map[string]Kept{}, tables: map[string]*remembered{}, Extras: map[string][]string{}}
	for _, k := range rows {
		if k.Class == ExtraMark {
			m.AddExtra(k)
			continue
		}
		if m.Classes[k.Class] == nil {
			m.Classes[k.Class] = map[string]Kept{}
		}
		m.Classes[k.Class][k.Property] = k
		t := m.tables[k.Root]
		if t == nil {
			t = &remembered{columns: map[string]Kept{}}
			m.tables[k.Root] = t
		}
		if k.Property == "" {
			t.Classes = append(t.Classes, k.Class)
		} else if other, there := t.columns[k.ColumnName()]; !there || other.Gone {
			t.columns[k.ColumnName()] = k
		}
	}
	return m
}

// AddExtra adds the row of an extra.
func (m *Memory) AddExtra(k Kept) {
	if m.Classes[ExtraMark] == nil {
		m.Classes[ExtraMark] = map[string]Kept{}
	}
	m.Classes[ExtraMark][k.Property] = k
	m.Extras[k.Root] = append(m.Extras[k.Root], k.Property)
}

// FindClass returns the row of a class, and whether there is one.
func (m *Memory) FindClass(name string) (Kept, bool) {
	k, ok := m.Classes[name][""]
	return k, ok
}

// FindTable returns the description of a table, which is empty if the table does not exist.
func (m *Memory) FindTable(name string) remembered {
	if t := m.tables[name]; t != nil {
		return *t
	}
	return remembered{}
}

// FindColumn returns the recorded type of a column of a table, and the kind of its index. If all properties that used
// the column were removed, indexes is "?". there is false if the column does not exist.
func (m *Memory) FindColumn(table, name string) (kind, indexes string, there bool) {
	k, there := m.FindTable(table).columns[name]
	if k.Gone {
		return k.Kind, "?", there
	}
	return k.Kind, k.indexKind(), there
}

// ForgetTable removes a table and its classes from the memory.
func (m *Memory) ForgetTable(table string) {
	delete(m.Classes[SearchMemory], table)
	for _, class := range m.FindTable(table).Classes {
		delete(m.Classes, class)
	}
	delete(m.tables, table)
}

// SearchMemory is the class name in rows about the search. There is one row for each table. It lists the properties
// for which search words are stored.
const SearchMemory = "##search"

// WordsRow returns the row for table t with the class name SearchMemory.
func (t *Table) WordsRow() Kept {
	var names []string
	for _, c := range t.Classes {
		for _, p := range c.Properties {
			if p.Search {
				names = append(names, c.FullName+"."+p.Name+":"+p.Type.String())
			}
		}
	}
	return Kept{Class: SearchMemory, Property: t.Name, Root: SearchMemory, Kind: strings.Join(names, ",")}
}
