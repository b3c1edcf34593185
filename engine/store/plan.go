package store

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"restsrv/engine"
)

// System columns. No property has such a name, because of the #.
const (
	seqColumn     = `"#seq"`
	classColumn   = `"#class"`
	versionColumn = `"#ver"`
	revColumn     = `"#rev"`
	creatorColumn = `"#creator"`
	editorColumn  = `"#editor"`
	idColumn      = "#id" // of tables with a key of several properties
)

// Positions of the system columns in the result of a statement. The properties follow. The class is present only if the
// class has descendants.
const (
	atRev = iota
	atVersion
	atCreator
	atEditor
	atClass
)

// column holds one property, of one or more classes of a table. If classes of the table declare a property with types
// of different storage, it has several columns.
type column struct {
	name     string
	quoted   string
	property string
	class    string // one of the classes that declare the property
	typ      engine.PropertyType
	key      bool
	indexed  bool
	unique   bool
}

// table holds the items of a root class and of all its descendants.
type table struct {
	name    string
	quoted  string
	classes []*engine.Class // the root, then its descendants
	columns []*column
	holding map[*engine.Property]*column // the column of each stored property of the classes
	id      *column                      // identifies an item: the key, or "#id" if the key has several properties
	unique  []Index                      // the index of the key, then those of unique properties
	extras  []extra
	bounds  []bound
	shares  bool        // one of the bounds limits the texts of several columns together
	foreign atomic.Bool // there may be rows of classes that no longer exist

	pointers []pointer // columns and tables that hold ids of its items
	filed    bool      // items may have files
	staged   bool      // items may have stages
	granted  bool      // there may be grants on single items
	grants   bool      // the table of Config.PermissionClass or PolicyClass
}

// shape describes how a row becomes values of a class.
type shape struct {
	class *engine.Class
	at    []int // for each property its index in plan.columns, -1 if rows do not hold it
	whole bool  // the values are the columns in their order
}

// plan describes how items of one class are read and written.
type plan struct {
	class         *engine.Class
	table         *table
	stored        []*engine.Property // the properties of class that rows hold
	columns       []*column
	convert       []int             // indexes of columns that need a conversion between database and Go value
	shape         *shape            // of class
	shapes        map[string]*shape // by class name; nil if all rows are of class
	system        int               // number of system columns before the properties
	ofClasses     string            // condition on the class of a row; see classCondition
	passwords     []*engine.Property
	computed      bool // attributes of items of the class are computed when they are read
	caching       caching
	cachedBelow   bool    // items of the class or of a descendant have cached attributes computed from other items
	needy         bool    // items of the class or of a descendant need more than their row
	several       bool    // and this takes other statements than that of their rows
	limits        []limit // indexes that limit the length of texts
	shares        bool    // texts of several properties share an entry of one of these indexes
	divided       []int   // indexes of properties that have other columns in descendants
	stampsDivided bool    // one of these is a tracker
	duties        duties

	traits *Traits
	made   atomic.Pointer[texts] // nil until first used
}

// layOut creates the tables and plans of the classes. Names are those of the database, as recorded in m.
func (s *Store) layOut(classes []*engine.Class, m *memory) error {
	s.plans, s.tables = make(map[*engine.Class]*plan), nil
	byRoot := make(map[*engine.Class]*table)
	problem := &SchemaError{}
	roots := rootsOf(classes)
	for i, name := range tableNames(roots, m) {
		t := newTable(s.traits, roots[i], name, m.findTable(name), problem)
		byRoot[roots[i]] = t
		s.tables = append(s.tables, t)
	}
	for _, c := range classes {
		s.plans[c] = newPlan(&s.traits, c, byRoot[c.Root()])
	}
	s.layOutLinks(byRoot, m)
	s.layOutBounds()
	s.layOutDuties()
	s.layOutJournal()
	s.layOutCaching()
	return problem.orNil()
}

// rootsOf returns the root classes of classes, in the same order.
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

// namedBy reports whether layOut with this memory would give the tables, columns and links their present names.
func (s *Store) namedBy(m *memory) bool {
	var roots []*engine.Class
	var names []string
	for _, t := range s.tables {
		roots, names = append(roots, t.classes[0]), append(names, t.name)
	}
	if !slices.Equal(names, tableNames(roots, m)) {
		return false
	}
	for _, t := range s.tables {
		names := columnNames(t.columns, m.findTable(t.name))
		if !slices.EqualFunc(t.columns, names, func(col *column, name string) bool { return col.name == name }) {
			return false
		}
	}
	return maps.Equal(s.linkNames, newLinkNames(slices.Sorted(maps.Keys(s.linkNames)), m))
}

func newTable(tr Traits, root *engine.Class, name string, known remembered, problem *SchemaError) *table {
	t := &table{
		name: name, quoted: tr.quote(name),
		classes: append([]*engine.Class{root}, root.Descendants...),
		holding: make(map[*engine.Property]*column),
	}
	columns := make(map[[2]string]*column) // by property and storage
	for _, c := range t.classes {
		if !slices.Equal(c.Key, root.Key) {
			problem.add("class %s has the key %s, but its root class %s has %s: classes that share a table share a key",
				c.FullName, strings.Join(c.Key, ", "), root.FullName, strings.Join(root.Key, ", "))
		}
		for _, p := range c.Properties {
			if strings.HasPrefix(p.Name, "#") {
				problem.add("property %s of class %s begins with #: rename it", engine.Quote(p.Name), c.FullName)
			}
			t.addColumn(p, columns)
		}
	}
	for i, name := range columnNames(t.columns, known) {
		t.columns[i].name, t.columns[i].quoted = name, tr.quote(name)
	}
	for _, p := range root.KeyProperties() {
		t.id = t.column(p)
		t.id.key = true
		for _, col := range t.columns {
			if col.property == p.Name && col != t.id {
				problem.add("property %s of class %s is %s, but it is a key and %s in class %s: give it that type",
					engine.Quote(p.Name), col.class, col.typ, t.id.typ, root.FullName)
			}
		}
	}
	if len(root.Key) > 1 {
		t.id = &column{name: idColumn, quoted: quoteName(idColumn), typ: engine.String, key: true}
	}
	t.unique = append(t.unique, Index{tr.name(t.name + "#key"), t.name, []string{t.id.name}})
	for _, col := range t.columns {
		if col.unique {
			t.unique = append(t.unique, Index{tr.name(col.indexName(t, "unique")), t.name, []string{col.name}})
		}
	}
	return t
}

// hasIDColumn reports whether the id has a column of its own.
func (t *table) hasIDColumn() bool { return t.id.name == idColumn }

func (t *table) addColumn(p *engine.Property, columns map[[2]string]*column) {
	if !p.Stored() {
		return
	}
	typ := p.ValueType()
	at := [2]string{p.Name, typ.Storage()}
	col := columns[at]
	if col == nil {
		col = &column{property: p.Name, class: p.Definition, typ: typ}
		columns[at] = col
		t.columns = append(t.columns, col)
	}
	if typ == engine.Text || typ == engine.HTML { // the type with the longest texts determines the index
		col.typ = typ
	}
	t.holding[p] = col
	col.indexed = col.indexed || p.Indexed
	col.unique = col.unique || p.Unique
}

// column returns the column of a property of a class of the table, or nil if the property is not stored.
func (t *table) column(p *engine.Property) *column { return t.holding[p] }

// columnOf returns the column of the property of a class with the given name, or nil if there is none.
func (t *table) columnOf(c *engine.Class, property string) *column {
	if p := c.Property(property); p != nil {
		return t.column(p)
	}
	return nil
}

// propertyOf returns the property of a class that a column holds, or nil if there is none.
func (t *table) propertyOf(c *engine.Class, col *column) *engine.Property {
	if p := c.Property(col.property); p != nil && t.column(p) == col {
		return p
	}
	return nil
}

func (col *column) indexName(t *table, kind string) string {
	return t.name + "#" + kind + "#" + col.name
}

func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func newPlan(tr *Traits, c *engine.Class, t *table) *plan {
	p := &plan{class: c, table: t, system: atClass, traits: tr, ofClasses: ofClasses(c)}
	classes := append([]*engine.Class{c}, c.Descendants...)
	position := map[*column]int{}
	for _, class := range classes {
		for _, property := range class.Properties {
			col := t.column(property)
			if _, ok := position[col]; ok || col == nil {
				continue
			}
			position[col] = len(p.columns)
			p.columns = append(p.columns, col)
			if isConverted(col.typ) {
				p.convert = append(p.convert, position[col])
			}
		}
	}
	for _, property := range c.Properties {
		if property.Type == engine.Password {
			p.passwords = append(p.passwords, property)
		}
		if !property.Stored() {
			continue
		}
		p.stored = append(p.stored, property)
	}
	p.findDivided()
	p.needy = slices.ContainsFunc(classes, needsMore)
	p.shape = newShape(c, t, position)
	if len(classes) == 1 {
		return p
	}
	p.system = atClass + 1
	p.shapes = make(map[string]*shape, len(classes))
	for _, class := range classes {
		p.shapes[class.FullName] = newShape(class, t, position)
	}
	return p
}

func newShape(c *engine.Class, t *table, position map[*column]int) *shape {
	sh := &shape{class: c, at: make([]int, len(c.Properties)), whole: len(c.Properties) == len(position)}
	for i, property := range c.Properties {
		at, ok := position[t.column(property)]
		if !ok {
			at = -1
		}
		sh.at[i] = at
		sh.whole = sh.whole && at == i
	}
	return sh
}

func quoteName(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func quoteText(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
