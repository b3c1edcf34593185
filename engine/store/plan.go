package store

import (
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
	idColumn      = "#id" // of tables whose key is several properties
)

// The positions of the system columns in what a statement returns; the
// properties follow. The class is there only for a class with descendants.
const (
	atRev = iota
	atVersion
	atCreator
	atEditor
	atClass
)

// column holds one property, of one or more classes of a table.
type column struct {
	name    string
	quoted  string
	typ     engine.PropertyType
	key     bool
	indexed bool
	unique  bool
}

// table holds the items of a root class and of all classes below it.
type table struct {
	name    string
	quoted  string
	classes []*engine.Class // the root, then its descendants
	columns []*column
	byName  map[string]*column
	id      *column // finds an item: the key, or "#id" when the key is several properties
	unique  []Index // the key's, then those of unique properties
	extras  []extra
	bounds  []bound
	shares  bool        // some of these limit the texts of several columns together
	foreign atomic.Bool // rows of classes that no longer exist may be there

	pointers []pointer // what holds ids of its items
	filed    bool      // items may have files
	staged   bool      // items may have stages
	granted  bool      // there may be grants on single items
	grants   bool      // it is of Config.PermissionClass or PolicyClass
}

// shape tells how a row becomes values of a class.
type shape struct {
	class *engine.Class
	at    []int // for each property its position among plan.columns, -1 when rows do not hold it
	whole bool  // values are the columns as they come
}

// plan is how items of one class are read and written.
type plan struct {
	class       *engine.Class
	table       *table
	stored      []*engine.Property // of class, those that rows hold
	columns     []*column
	convert     []int             // positions of columns whose database value is not the Go value
	shape       *shape            // of class
	shapes      map[string]*shape // by class name; nil when every row is of class
	system      int               // number of system columns before the properties
	ofClasses   string            // condition on the class of a row; see condition
	passwords   []*engine.Property
	computed    bool // something of an item of the class is computed when read
	caching     caching
	cachedBelow bool    // items of the class, or of one below it, have cached attributes computed from other items
	needy       bool    // items of the class, or of one below it, need more than their row
	several     bool    // and for that other statements than that of their rows
	limits      []limit // indexes that limit texts
	shares      bool    // texts of several properties share an entry of one of them
	duties      duties

	traits *Traits
	made   atomic.Pointer[texts] // nil until they are asked for
}

// layOut makes tables and plans of the classes.
func (s *Store) layOut(classes []*engine.Class) error {
	s.plans = make(map[*engine.Class]*plan)
	byRoot := make(map[*engine.Class]*table)
	problem := &SchemaError{}
	for _, c := range classes {
		root := c.Root()
		if byRoot[root] == nil {
			t := newTable(s.traits, root, problem)
			byRoot[root] = t
			s.tables = append(s.tables, t)
		}
		s.plans[c] = newPlan(&s.traits, c, byRoot[root])
	}
	s.layOutLinks(byRoot)
	s.layOutBounds()
	s.layOutDuties()
	s.layOutJournal()
	s.layOutCaching()
	checkNames(s.tables, problem)
	return problem.orNil()
}

func newTable(tr Traits, root *engine.Class, problem *SchemaError) *table {
	t := &table{
		name: root.FullName, quoted: tr.quote(root.FullName),
		classes: append([]*engine.Class{root}, root.Descendants...),
		byName:  make(map[string]*column),
	}
	for _, c := range t.classes {
		if !slices.Equal(c.Key, root.Key) {
			problem.add("class %s has the key %s, but its root class %s has %s: classes that share a table share a key",
				c.FullName, strings.Join(c.Key, ", "), root.FullName, strings.Join(root.Key, ", "))
		}
		for _, p := range c.Properties {
			t.addColumn(tr, p, c, problem)
		}
	}
	for _, p := range root.KeyProperties() {
		t.id = t.byName[p.Name]
		t.id.key = true
	}
	if len(root.Key) > 1 {
		t.id = &column{name: idColumn, quoted: quoteName(idColumn), typ: engine.String, key: true}
	}
	t.unique = append(t.unique, Index{tr.name(t.name + "#key"), t.name, []string{t.id.name}})
	for _, col := range t.columns {
		if col.unique {
			t.unique = append(t.unique, Index{tr.name(col.index(t, "unique")), t.name, []string{col.name}})
		}
	}
	return t
}

// composite reports whether the id has a column of its own.
func (t *table) composite() bool { return t.id.name == idColumn }

func (t *table) addColumn(tr Traits, p *engine.Property, c *engine.Class, problem *SchemaError) {
	if !p.Stored() {
		return
	}
	col := t.byName[p.Name]
	if col == nil {
		col = &column{name: p.Name, quoted: tr.quote(p.Name), typ: p.ValueType()}
		t.byName[p.Name] = col
		t.columns = append(t.columns, col)
	}
	if storage(col.typ) != storage(p.ValueType()) {
		problem.add("property %s of class %s is %s, but another class of the same table (%s) has it as %s: rename one of them",
			engine.Quote(p.Name), c.FullName, p.Type, t.name, col.typ)
	}
	col.indexed = col.indexed || p.Indexed
	col.unique = col.unique || p.Unique
}

func (col *column) index(t *table, kind string) string {
	return t.name + "#" + kind + "#" + col.name
}

// checkNames reports names that a database which ignores case would mix up.
func checkNames(tables []*table, problem *SchemaError) {
	names := map[string]string{}
	for _, t := range tables {
		if other, taken := names[lower(t.name)]; taken {
			problem.add("classes %s and %s differ only by letter case: rename one of them", other, t.name)
		}
		names[lower(t.name)] = t.name
		columns := map[string]string{}
		for _, col := range t.columns {
			if other, taken := columns[lower(col.name)]; taken {
				problem.add("properties %s and %s of class %s differ only by letter case: rename one of them",
					engine.Quote(other), engine.Quote(col.name), t.name)
			}
			columns[lower(col.name)] = col.name
			if strings.HasPrefix(col.name, "#") {
				problem.add("property %s of class %s begins with #: rename it", engine.Quote(col.name), t.name)
			}
		}
	}
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
	position := map[string]int{}
	for _, class := range classes {
		for _, property := range class.Properties {
			if _, ok := position[property.Name]; ok || !property.Stored() {
				continue
			}
			position[property.Name] = len(p.columns)
			p.columns = append(p.columns, t.byName[property.Name])
			if converted(property.ValueType()) {
				p.convert = append(p.convert, position[property.Name])
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
	p.needy = slices.ContainsFunc(classes, needs)
	p.shape = newShape(c, position)
	if len(classes) == 1 {
		return p
	}
	p.system = atClass + 1
	p.shapes = make(map[string]*shape, len(classes))
	for _, class := range classes {
		p.shapes[class.FullName] = newShape(class, position)
	}
	return p
}

func newShape(c *engine.Class, position map[string]int) *shape {
	sh := &shape{class: c, at: make([]int, len(c.Properties)), whole: len(c.Properties) == len(position)}
	for i, property := range c.Properties {
		at, ok := position[property.Name]
		if !ok || !property.Stored() {
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
