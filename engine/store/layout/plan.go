// Package layout decides how classes are stored. A Table holds the items of a root class and of its descendants, in
// one column for each attribute. A Plan describes how the items of one class are read and written: the texts of its
// constant statements, the conversion of a row to an item, and the further work of a write (duties.go). Package schema
// creates and changes the tables of the database accordingly.
//
// Existing tables and columns keep their names, which are stored in the database (memory.go, naming.go).
package layout

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"restsrv/engine"
	"restsrv/engine/query"
	"restsrv/engine/store/sqldb"
)

// System columns. Their names begin with #, so they differ from all names of properties.
const (
	SeqColumn     = `"#seq"`
	ClassColumn   = `"#class"`
	VersionColumn = `"#ver"`
	RevColumn     = `"#rev"`
	CreatorColumn = `"#creator"`
	EditorColumn  = `"#editor"`
	IDColumn      = "#id" // only in tables with a key of several properties
)

// Positions of the system columns in the rows that a statement returns. The columns of the properties follow. If the
// class of the plan has no descendants, the rows do not contain the class, and the properties begin at its position.
const (
	AtRev = iota
	atVersion
	AtCreator
	AtEditor
	atClass
)

// Column is a column of a table. It holds a property of one or more classes. If classes of the table declare a
// property with types that are stored differently, there are several columns for the property.
type Column struct {
	Name     string
	Quoted   string
	Property string
	class    string // one of the classes that declare the property
	Type     engine.PropertyType
	Key      bool
	indexed  bool
	unique   bool
}

// Table holds the items of a root class and of all its descendants.
type Table struct {
	Name    string
	Quoted  string
	Classes []*engine.Class // the root, then its descendants
	Columns []*Column
	holding map[*engine.Property]*Column // the column of each stored property of the classes
	ID      *Column                      // column that identifies an item: the key, or "#id" if the key has several properties
	Unique  []sqldb.Index                // the index of the key, then the indexes of unique properties
	Extras  []Extra
	bounds  []bound     // limits of the indexes
	Shares  bool        // at least one of bounds limits the total length of several columns
	Foreign atomic.Bool // there may be rows of classes that are not in Classes

	Pointers []Pointer // columns of this and other tables that contain ids of the table's items
	Filed    bool      // items may have files
	Staged   bool      // items may have stages
	Granted  bool      // there may be grants on single items
	Grants   bool      // the table belongs to Config.Permissions or Config.Policy
}

// shape describes how the columns of a row become the values of an item of a class.
type shape struct {
	class *engine.Class
	at    []int // for each property, its index in Plan.columns, or -1 if rows do not hold it
	whole bool  // the columns are the values of the item, in the same order
}

// Plan describes how items of one class are read and written.
type Plan struct {
	Class         *engine.Class
	Table         *Table
	Stored        []*engine.Property // the properties of Class that rows hold
	columns       []*Column          // of Class and its descendants
	convert       []int              // indexes of columns with values that need a conversion between the database and Go
	shape         *shape             // of Class
	Shapes        map[string]*shape  // by class name; nil if Class has no descendants, so that all rows have the same shape
	system        int                // number of system columns before the properties
	ofClasses     string             // condition on the class of a row; see ClassCondition
	Passwords     []*engine.Property
	Computed      bool // attributes of items of the class are computed when they are read
	Caching       caching
	CachedBelow   bool    // items of the class or of a descendant have cached attributes computed from other items
	Needy         bool    // reading items of the class or of a descendant requires more than their rows: related items or a computation
	Several       bool    // reading items of the class or of a descendant requires further statements
	limits        []limit // limits of the indexes that contain properties of Class
	Shares        bool    // texts of several properties share an entry of one of these indexes
	Divided       []int   // indexes of the divided properties: a descendant stores them in another column, because its type is stored differently
	stampsDivided bool    // a tracker, such as the time of the last change, is divided
	Duties        duties

	traits *sqldb.Traits
	made   atomic.Pointer[Texts] // the statements; nil until first used
}

// Config configures a layout.
type Config struct {
	Classes             []*engine.Class // all classes to store, including descendants
	Files               *engine.Class   // records which item has which file; nil if there is none
	Stages              *engine.Class   // records the stages of items; nil if there is none
	Permissions, Policy *engine.Class   // record the grants on single items; nil if there are none
	Journaled           bool            // writes of classes with Journaling are journaled
}

// Layout describes how classes are stored: the tables, and a plan for each class.
type Layout struct {
	cfg       Config
	Dialect   sqldb.Dialect
	Traits    sqldb.Traits
	Plans     map[*engine.Class]*Plan
	Tables    []*Table
	LinkNames LinkNames
	Computing bool                                 // a class has attributes that are computed when they are read
	RowsRead  map[*engine.Property][]*engine.Class // inputs.RowsRead of the classes
}

// New returns the layout of classes in a new database. The error is a *SchemaError if the classes contradict each
// other, for example if the key of a class differs from that of its root class.
func New(d sqldb.Dialect, cfg Config) (*Layout, error) {
	s := &Layout{cfg: cfg, Dialect: d, Traits: d.Traits()}
	return s, s.LayOut(NewMemory(nil))
}

// LayOut sets the tables and plans for the classes. m records the tables and columns that exist in the database,
// because these keep their names. LayOut itself does not access the database.
func (s *Layout) LayOut(m *Memory) error {
	classes := s.cfg.Classes
	s.Plans, s.Tables = make(map[*engine.Class]*Plan), nil
	byRoot := make(map[*engine.Class]*Table)
	problem := &SchemaError{}
	roots := rootsOf(classes)
	for i, name := range tableNames(roots, m) {
		t := newTable(s.Traits, roots[i], name, m.FindTable(name), problem)
		byRoot[roots[i]] = t
		s.Tables = append(s.Tables, t)
	}
	for _, c := range classes {
		s.Plans[c] = newPlan(&s.Traits, c, byRoot[c.Root()])
	}
	s.layOutLinks(byRoot, m)
	s.layOutBounds()
	s.layOutDuties()
	s.layOutJournal()
	s.layOutCaching()
	return problem.OrNil()
}

// rootsOf returns the root classes of classes, in the order of their first occurrence.
func rootsOf(classes []*engine.Class) (roots []*engine.Class) {
	seen := map[*engine.Class]bool{}
	for _, c := range classes {
		if root := c.Root(); !seen[root] {
			seen[root] = true
			roots = append(roots, root)
		}
	}
	return roots
}

// NamedBy reports whether LayOut(m) would give the tables, columns and tables of links the names that s already uses.
func (s *Layout) NamedBy(m *Memory) bool {
	var roots []*engine.Class
	var names []string
	for _, t := range s.Tables {
		roots, names = append(roots, t.Classes[0]), append(names, t.Name)
	}
	if !slices.Equal(names, tableNames(roots, m)) {
		return false
	}
	for _, t := range s.Tables {
		names := columnNames(t.Columns, m.FindTable(t.Name))
		if !slices.EqualFunc(t.Columns, names, func(col *Column, name string) bool { return col.Name == name }) {
			return false
		}
	}
	return maps.Equal(s.LinkNames, newLinkNames(slices.Sorted(maps.Keys(s.LinkNames)), m))
}

func newTable(tr sqldb.Traits, root *engine.Class, name string, known remembered, problem *SchemaError) *Table {
	t := &Table{
		Name: name, Quoted: tr.Quote(name),
		Classes: append([]*engine.Class{root}, root.Descendants...),
		holding: make(map[*engine.Property]*Column),
	}
	columns := make(map[[2]string]*Column) // by property and storage
	for _, c := range t.Classes {
		if !slices.Equal(c.Key, root.Key) {
			problem.Add("class %s has the key %s, but its root class %s has %s: classes that share a table share a key",
				c.FullName, strings.Join(c.Key, ", "), root.FullName, strings.Join(root.Key, ", "))
		}
		for _, p := range c.Properties {
			if strings.HasPrefix(p.Name, "#") {
				problem.Add("property %s of class %s begins with #: rename it", engine.Quote(p.Name), c.FullName)
			}
			t.addColumn(p, columns)
		}
	}
	for i, name := range columnNames(t.Columns, known) {
		t.Columns[i].Name, t.Columns[i].Quoted = name, tr.Quote(name)
	}
	for _, p := range root.KeyProperties() {
		t.ID = t.Column(p)
		t.ID.Key = true
		for _, col := range t.Columns {
			if col.Property == p.Name && col != t.ID {
				problem.Add("property %s of class %s is %s, but it is a key and %s in class %s: give it that type",
					engine.Quote(p.Name), col.class, col.Type, t.ID.Type, root.FullName)
			}
		}
	}
	if len(root.Key) > 1 {
		t.ID = &Column{Name: IDColumn, Quoted: sqldb.QuoteName(IDColumn), Type: engine.String, Key: true}
	}
	t.Unique = append(t.Unique, sqldb.Index{Name: tr.Name(t.Name + "#key"), Table: t.Name, Columns: []string{t.ID.Name}})
	for _, col := range t.Columns {
		if col.unique {
			t.Unique = append(t.Unique, sqldb.Index{Name: tr.Name(col.IndexName(t, "unique")), Table: t.Name, Columns: []string{col.Name}})
		}
	}
	return t
}

// HasIDColumn reports whether the id is stored in a column of its own.
func (t *Table) HasIDColumn() bool { return t.ID.Name == IDColumn }

func (t *Table) addColumn(p *engine.Property, columns map[[2]string]*Column) {
	if !p.Stored() {
		return
	}
	typ := p.ValueType()
	at := [2]string{p.Name, typ.Storage()}
	col := columns[at]
	if col == nil {
		col = &Column{Property: p.Name, class: p.Definition, Type: typ}
		columns[at] = col
		t.Columns = append(t.Columns, col)
	}
	if typ == engine.Text || typ == engine.HTML { // of the classes that share the column, the type with the longest texts determines the index
		col.Type = typ
	}
	t.holding[p] = col
	col.indexed = col.indexed || p.Indexed
	col.unique = col.unique || p.Unique
}

// Column returns the column of a property of a class of the table, or nil if the property is not stored.
func (t *Table) Column(p *engine.Property) *Column { return t.holding[p] }

// ColumnOf returns the column that stores the named property of a class, or nil if there is none.
func (t *Table) ColumnOf(c *engine.Class, property string) *Column {
	if p := c.Property(property); p != nil {
		return t.Column(p)
	}
	return nil
}

// PropertyOf returns the property of a class that a column holds, or nil if there is none.
func (t *Table) PropertyOf(c *engine.Class, col *Column) *engine.Property {
	if p := c.Property(col.Property); p != nil && t.Column(p) == col {
		return p
	}
	return nil
}

// IndexName returns the name of an index of the column. kind is "index" or "unique".
func (col *Column) IndexName(t *Table, kind string) string {
	return t.Name + "#" + kind + "#" + col.Name
}

func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func newPlan(tr *sqldb.Traits, c *engine.Class, t *Table) *Plan {
	p := &Plan{Class: c, Table: t, system: atClass, traits: tr, ofClasses: ofClasses(c)}
	classes := append([]*engine.Class{c}, c.Descendants...)
	position := map[*Column]int{}
	for _, class := range classes {
		for _, property := range class.Properties {
			col := t.Column(property)
			if _, ok := position[col]; ok || col == nil {
				continue
			}
			position[col] = len(p.columns)
			p.columns = append(p.columns, col)
			if sqldb.IsConverted(col.Type) {
				p.convert = append(p.convert, position[col])
			}
		}
	}
	for _, property := range c.Properties {
		if property.Type == engine.Password {
			p.Passwords = append(p.Passwords, property)
		}
		if !property.Stored() {
			continue
		}
		p.Stored = append(p.Stored, property)
	}
	p.findDivided()
	p.Needy = slices.ContainsFunc(classes, needsMore)
	p.shape = newShape(c, t, position)
	if len(classes) == 1 {
		return p
	}
	p.system = atClass + 1
	p.Shapes = make(map[string]*shape, len(classes))
	for _, class := range classes {
		p.Shapes[class.FullName] = newShape(class, t, position)
	}
	return p
}

func newShape(c *engine.Class, t *Table, position map[*Column]int) *shape {
	sh := &shape{class: c, at: make([]int, len(c.Properties)), whole: len(c.Properties) == len(position)}
	for i, property := range c.Properties {
		at, ok := position[t.Column(property)]
		if !ok {
			at = -1
		}
		sh.at[i] = at
		sh.whole = sh.whole && at == i
	}
	return sh
}

// PlanOf returns the plan of a class. The class must be one of Config.Classes, or a view of one of them.
func (s *Layout) PlanOf(c *engine.Class) (*Plan, error) {
	if p := s.Plans[c.Base()]; p != nil {
		return p, nil
	}
	return nil, engine.NoClass(c.FullName)
}

// MustBeUnique reports whether a property belongs to the key or to a unique index, so that its values, alone or
// together with values of other properties, must be unique.
func (t *Table) MustBeUnique(p *engine.Property) bool {
	col := t.Column(p)
	return col.Key || slices.ContainsFunc(t.Unique, func(index sqldb.Index) bool { return slices.Contains(index.Columns, col.Name) })
}

// SearchColumn holds the search words of an item, separated by blanks, or null if there are none.
const SearchColumn = `"#search"`

// SearchIndex returns the name of the index of search words of a table.
func (t *Table) SearchIndex() string { return t.Name + "#search" }

// HasWords reports whether a class of the table has search words.
func (t *Table) HasWords() bool {
	for _, c := range t.Classes {
		if query.Searched(c) {
			return true
		}
	}
	return false
}

// IndexDDL returns the statement that creates a unique index.
func IndexDDL(tr sqldb.Traits, i sqldb.Index) string {
	ddl := "CREATE UNIQUE INDEX " + sqldb.QuoteName(i.Name) + " ON " + tr.Quote(i.Table) + " ("
	for n, c := range i.Columns {
		ddl += []string{"", ", "}[min(n, 1)] + tr.Quote(c)
	}
	return ddl + ")"
}

// DeclaringClass returns the class that declares a property.
func (l *Layout) DeclaringClass(p *engine.Property) (*engine.Class, error) {
	for _, t := range l.Tables {
		for _, c := range t.Classes {
			if c.FullName == p.Definition {
				return c, nil
			}
		}
	}
	return nil, engine.NoClass(p.Definition)
}
