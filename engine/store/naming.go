package store

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"restsrv/engine"
)

// Tables, columns and tables of links are named after classes and attributes. Two of
// them need another name:
//   - an attribute that classes of one tree declare with types of different storage has
//     a column for each storage. One has the plain name, the others are name@class.
//   - of names that differ in letter case only, which SQLite cannot tell apart, one has
//     the plain name, the others are name#2, name#3.
//
// What is stored keeps its name.

// named is something that needs a name.
type named struct {
	stored string // the name in the database, "" if it is not there
	plain  string
	second string // used instead of plain if another thing has exactly that name
}

// giveNames returns the names of things, none of which differ in letter case only.
// Also those among the names that the database has are not used for new things, unless
// they are exactly the plain name.
func giveNames(things []named, database []string) []string {
	names, taken, used := make([]string, len(things)), map[string]string{}, map[string]bool{}
	give := func(i int, name string) {
		names[i], taken[lower(name)], used[name] = name, name, true
	}
	for i, thing := range things {
		if thing.stored != "" {
			give(i, thing.stored)
		}
	}
	for _, name := range database {
		if taken[lower(name)] == "" {
			taken[lower(name)] = name
		}
	}
	for i, thing := range things {
		if names[i] != "" {
			continue
		}
		name := thing.plain
		if used[name] && thing.second != "" {
			name = thing.second
		}
		for n, plain := 2, name; used[name] || taken[lower(name)] != "" && taken[lower(name)] != name; n++ {
			name = plain + "#" + strconv.Itoa(n)
		}
		give(i, name)
	}
	return names
}

// numbered reports whether a name is the plain one, or that with a number.
func numbered(name, plain string) bool {
	tail, ok := strings.CutPrefix(name, plain)
	if !ok || tail == "" {
		return ok
	}
	digits, ok := strings.CutPrefix(tail, "#")
	n, err := strconv.Atoi(digits)
	return ok && err == nil && n > 1
}

// tableNames returns the names of the tables of root classes.
func tableNames(roots []*engine.Class, m *memory) []string {
	things := make([]named, len(roots))
	for i, c := range roots {
		things[i].plain = c.FullName
		if k, known := m.class(c.FullName); known && numbered(k.Root, c.FullName) {
			things[i].stored = k.Root
		}
	}
	return giveNames(things, slices.Sorted(maps.Keys(m.tables)))
}

// columnNames returns the names of the columns of a table.
func columnNames(columns []*column, known remembered) []string {
	things := make([]named, len(columns))
	for i, col := range columns {
		things[i] = named{plain: col.property, second: col.property + "@" + col.class, stored: known.columnOf(col)}
	}
	return giveNames(things, slices.Sorted(maps.Keys(known.columns)))
}

// columnOf returns the name of the column with the values of a property that have the
// storage of col, "" if there is none.
func (r remembered) columnOf(col *column) string {
	for _, name := range slices.Sorted(maps.Keys(r.columns)) { // a plain name is before the others
		k := r.columns[name]
		if kind, _ := engine.TypeByName(k.Kind); k.property() == col.property && kind.Storage() == col.typ.Storage() {
			return name
		}
	}
	return ""
}

// linkNames are the names of tables of links, by their plain names.
type linkNames map[string]string

func newLinkNames(plain []string, m *memory) linkNames {
	var database []string
	for name, k := range m.classes[extraMark] {
		if k.Indexes == extraRows && !k.Gone {
			database = append(database, name)
		}
	}
	slices.Sort(database)
	things := make([]named, len(plain))
	for i, name := range plain {
		things[i].plain = name
		for _, stored := range database {
			if numbered(stored, name) {
				things[i].stored = stored
			}
		}
	}
	names := make(linkNames, len(plain))
	for i, name := range giveNames(things, database) {
		names[plain[i]] = name
	}
	return names
}
