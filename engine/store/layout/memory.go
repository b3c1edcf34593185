package layout

import (
	"net/url"
	"slices"
	"strings"

	"restsrv/engine"
)

// Kept is a row of memoryTable.
type Kept struct {
	Class    string `db:"class"`
	Property string `db:"property"`
	Root     string `db:"root"`
	Kind     string `db:"kind"`    // type of the property; for a class, the key as a comma-separated list
	Indexes  string `db:"indexes"` // space-separated words: the index of the property's column, and marks
	Gone     bool   `db:"gone"`    // the property was removed, but its empty column still exists
}

// Marks of a property in kept.Indexes.
const (
	RequiredMark = "required"
	NumberedMark = "numbered"
	columnMark   = "column=" // followed by the name of the column, if it differs from the name of the property
)

// LeftMark is used as the class name in rows for columns that no longer belong to a property. No class has this name.
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

// PropertyName returns the name of the property.
func (k Kept) propertyName() string {
	if k.Class == LeftMark {
		name, _, _ := strings.Cut(k.ColumnName(), "@")
		name, _, _ = strings.Cut(name, "#")
		return name
	}
	return k.Property
}

// LeftRow returns the row for the property's column when no property uses the column any more.
func (k Kept) LeftRow() Kept {
	column := k.ColumnName()
	return Kept{Class: LeftMark, Property: k.Root + " " + column, Root: k.Root, Kind: k.Kind,
		Indexes: columnMark + url.QueryEscape(column), Gone: true}
}

// NewKept describes a property of a class, or the class itself if p is nil.
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

// HasMark reports whether Indexes contains a word.
func (k Kept) HasMark(mark string) bool { return slices.Contains(strings.Fields(k.Indexes), mark) }

// IndexKind returns the kind of the index of the column, as column.IndexKind does.
func (k Kept) indexKind() string {
	for _, kind := range []string{"unique", "index"} {
		if k.HasMark(kind) {
			return kind
		}
	}
	return ""
}

// IndexKind returns the kind of index that a column requires, in addition to the index of the key.
func (col *Column) IndexKind() string {
	switch {
	case col.unique:
		return "unique"
	case col.indexed && !col.Type.JSON(): // no query uses an index on JSON, and the values may be long
		return "index"
	}
	return ""
}

// Memory is the content of memoryTable.
type Memory struct {
	Classes map[string]map[string]Kept // by class and property
	tables  map[string]*remembered
	Extras  map[string][]string // names of the extras of each table, including some that no longer exist
}

// remembered describes one table.
type remembered struct {
	Classes []string        // classes of the objects in the table
	columns map[string]Kept // by column name; if several classes share a column, a row that is not gone takes precedence
}

// NewMemory returns the memory with these rows.
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

// FindTable returns the description of a table. It is empty if the table does not exist.
func (m *Memory) FindTable(name string) remembered {
	if t := m.tables[name]; t != nil {
		return *t
	}
	return remembered{}
}

// FindColumn returns whether a column exists, its type and its indexes. indexes is "?" if all properties of the column
// were removed.
func (m *Memory) FindColumn(table, name string) (kind, indexes string, there bool) {
	k, there := m.FindTable(table).columns[name]
	if k.Gone {
		return k.Kind, "?", there
	}
	return k.Kind, k.indexKind(), there
}

// ForgetTable removes a table and its classes.
func (m *Memory) ForgetTable(table string) {
	delete(m.Classes[SearchMemory], table)
	for _, class := range m.FindTable(table).Classes {
		delete(m.Classes, class)
	}
	delete(m.tables, table)
}

// SearchMemory marks rows of memoryTable that list the properties with stored words of a table.
const SearchMemory = "##search"

// WordsRow returns the row of memoryTable that lists the properties with stored words of a table.
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
