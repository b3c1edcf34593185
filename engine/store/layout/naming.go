package layout

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
)

// Tables, columns and link tables are named after classes and attributes. A different name is needed in two cases:
//   - If classes of one tree declare an attribute with types that are stored differently, there is a column for each
//     kind of storage. One column has the plain name, the others are name@class.
//   - If names differ only in letter case, which SQLite ignores, one has the plain name, the others are name#2,
//     name#3.
//
// Existing tables and columns keep their names.

// named is something that needs a name: a table, a column or a table of links.
type named struct {
	stored string // name in the database; "" if it does not exist in the database
	plain  string // preferred name
	second string // used instead of plain if another one has exactly the name plain; "" for none
}

// giveNames chooses a name for each of things. Existing things keep their names. database lists the names in the
// database. A new name must differ from all other chosen names in more than letter case. It must also differ in this
// way from the names in the database, with one exception: if a name in the database does not belong to any of things,
// a new thing may get exactly this name.
func giveNames(things []named, database iter.Seq[string]) []string {
	names, missing := make([]string, len(things)), 0
	for i, thing := range things {
		names[i] = thing.stored
		if thing.stored == "" {
			missing++
		}
	}
	if missing == 0 {
		return names
	}
	type use struct {
		name  string
		given bool // the name belongs to one of things
	}
	taken := make(map[string]use, len(things)) // by the name in lower case
	for _, name := range slices.Sorted(database) {
		if _, there := taken[lower(name)]; !there {
			taken[lower(name)] = use{name, false}
		}
	}
	for _, name := range names {
		if name != "" {
			taken[lower(name)] = use{name, true}
		}
	}
	for i, thing := range things {
		if names[i] != "" {
			continue
		}
		name := thing.plain
		if u := taken[lower(name)]; u.given && u.name == name && thing.second != "" {
			name = thing.second
		}
		for n, plain := 2, name; ; n++ {
			if u, there := taken[lower(name)]; !there || !u.given && u.name == name {
				break
			}
			name = plain + "#" + strconv.Itoa(n)
		}
		names[i], taken[lower(name)] = name, use{name, true}
	}
	return names
}

// isNumberedName reports whether name is plain itself, or plain with a number, such as plain#2.
func isNumberedName(name, plain string) bool {
	tail, ok := strings.CutPrefix(name, plain)
	if !ok || tail == "" {
		return ok
	}
	digits, ok := strings.CutPrefix(tail, "#")
	n, err := strconv.Atoi(digits)
	return ok && err == nil && n > 1
}

// tableNames returns the names of the tables of root classes.
func tableNames(roots []*engine.Class, m *Memory) []string {
	things := make([]named, len(roots))
	for i, c := range roots {
		things[i].plain = c.FullName
		if k, known := m.FindClass(c.FullName); known && isNumberedName(k.Root, c.FullName) {
			things[i].stored = k.Root
		}
	}
	return giveNames(things, maps.Keys(m.tables))
}

// columnNames returns the names of the columns of a table. known describes the table as it exists in the database.
func columnNames(columns []*Column, known remembered) []string {
	things := make([]named, len(columns))
	for i, col := range columns {
		things[i] = named{plain: col.Property, second: col.Property + "@" + col.class, stored: known.columnOf(col)}
	}
	return giveNames(things, maps.Keys(known.columns))
}

// columnOf returns the name of the existing column that stores the property of col in the same form, or "" if there is
// no such column.
func (r remembered) columnOf(col *Column) string {
	if r.holds(col, col.Property) {
		return col.Property
	}
	if len(r.columns) == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(r.columns)) {
		if r.holds(col, name) {
			return name
		}
	}
	return ""
}

// holds reports whether there is a column with this name that stores the property of col in the same form.
func (r remembered) holds(col *Column, name string) bool {
	k, there := r.columns[name]
	if !there || k.propertyName() != col.Property {
		return false
	}
	kind, _ := engine.TypeByName(k.Kind)
	return kind.Storage() == col.Type.Storage()
}

// LinkNames maps the plain name of each table of links to its name in the database.
type LinkNames map[string]string

func newLinkNames(plain []string, m *Memory) LinkNames {
	var database []string
	for name, k := range m.Classes[ExtraMark] {
		if k.Indexes == ExtraRows && !k.Gone {
			database = append(database, name)
		}
	}
	slices.Sort(database)
	things := make([]named, len(plain))
	for i, name := range plain {
		things[i].plain = name
		for _, stored := range database {
			if isNumberedName(stored, name) {
				things[i].stored = stored
			}
		}
	}
	names := make(LinkNames, len(plain))
	for i, name := range giveNames(things, slices.Values(database)) {
		names[plain[i]] = name
	}
	return names
}
