package store

import (
	"context"
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
)

// DumpForgotten calls visit for the items of classes that the database knows and the Store does not
// have, for example because a mistake in a class file leaves a class out. The items have the values
// of their columns, as Dump returns them. Their classes are made from the database and must not be
// used otherwise.
func (s *Store) DumpForgotten(ctx context.Context, visit func(*engine.Item) error) error {
	m, err := s.readMemory(ctx)
	if err != nil {
		return err
	}
	for _, name := range s.forgottenClasses(m) {
		c := m.rebuildClass(name)
		if c == nil {
			continue
		}
		p := s.rebuildPlan(c, m)
		for after := int64(0); ; {
			last, err := s.dumpPlan(ctx, p, after, dumpPage, visit)
			if err != nil {
				return err
			}
			if last == 0 {
				break
			}
			after = last
		}
	}
	return nil
}

// dumpPage is the number of rows that DumpForgotten reads at once.
const dumpPage = 1000

// forgottenClasses returns the names of classes that have a table in the database but no plan. System
// classes belong to the server and are not among them.
func (s *Store) forgottenClasses(m *memory) (names []string) {
	known, application := map[string]bool{}, false
	for c := range s.plans {
		known[c.FullName] = true
		application = application || !strings.HasPrefix(c.FullName, "#")
	}
	for _, name := range slices.Sorted(maps.Keys(m.classes)) {
		if _, isClass := m.findClass(name); isClass && application && !known[name] && !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	return names
}

// rebuildClass makes a class with the attributes that the memory has of it. It returns nil if the
// memory lacks an attribute of the key.
func (m *memory) rebuildClass(name string) *engine.Class {
	k, _ := m.findClass(name)
	c := &engine.Class{Key: strings.Split(k.Kind, ",")}
	c.Name, c.Namespace, _ = strings.Cut(name, "@")
	for _, property := range slices.Sorted(maps.Keys(m.classes[name])) {
		old := m.classes[name][property]
		typ, known := engine.TypeByName(old.Kind)
		if property != "" && !old.Gone && old.Root == k.Root && known {
			c.Properties = append(c.Properties, &engine.Property{Name: property, Type: typ, Nullable: true, Definition: name})
		}
	}
	if c.Init() != nil {
		return nil
	}
	c.Link()
	return c
}

// rebuildPlan returns a plan to read the rows of a rebuilt class.
func (s *Store) rebuildPlan(c *engine.Class, m *memory) *plan {
	k, _ := m.findClass(c.FullName)
	t := newTable(s.traits, c, k.Root, m.findTable(k.Root), &SchemaError{})
	for _, col := range t.columns {
		col.name = m.classes[c.FullName][col.property].columnName()
		col.quoted = s.traits.quote(col.name)
	}
	t.foreign.Store(true) // other classes may share the table
	return newPlan(&s.traits, c, t)
}

// readMemory reads what the database knows about the stored classes.
func (s *Store) readMemory(ctx context.Context) (*memory, error) {
	b := newBuilder(s.traits)
	b.add(`SELECT "class", "property", "root", "kind", "indexes", CASE WHEN "gone" THEN 1 ELSE 0 END FROM `, memoryTable)
	var rows []kept
	var k kept
	var gone int64
	err := s.dumpRows(ctx, b, &result{}, []any{&k.Class, &k.Property, &k.Root, &k.Kind, &k.Indexes, &gone}, func(*session) error {
		k.Gone = gone != 0
		rows = append(rows, k)
		return nil
	})
	return newMemory(slices.DeleteFunc(rows, func(k kept) bool { return k.Class == freshMark })), err
}

// DumpForgottenLinks calls visit with the ids of owner and member for the links of collections that
// the database knows and Linked does not return. A collection is named by its class and its name.
func (s *Store) DumpForgottenLinks(ctx context.Context, visit func(class, collection, owner, member string) error) error {
	m, err := s.readMemory(ctx)
	if err != nil || len(s.forgottenClasses(m)) == 0 {
		return err
	}
	known := map[string]bool{}
	for _, p := range s.Linked() {
		known[s.linkNames.of(p).name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(m.classes[extraMark])) {
		k := m.classes[extraMark][name]
		if k.Indexes != extraRows || k.Gone || known[name] {
			continue
		}
		class, collection, _ := strings.Cut(name, "#")
		collection, _, _ = strings.Cut(collection, "#") // of a table with a number
		from, to, _ := strings.Cut(k.Kind, " ")
		b := newBuilder(s.traits)
		b.add("SELECT ", ownerColumn, ", ", itemColumn, " FROM ", short.quote(name), " ORDER BY ", seqColumn)
		var owner, member any
		err := s.dumpRows(ctx, b, &result{}, []any{&owner, &member}, func(*session) error {
			return visit(class, collection, engine.ValueText(readValue(typeOfStorage(from), owner)), engine.ValueText(readValue(typeOfStorage(to), member)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// typeOfStorage returns a type of ids with the given storage.
func typeOfStorage(storage string) engine.PropertyType {
	if t, ok := engine.TypeByName(storage); ok && storage != engine.String.Storage() {
		return t
	}
	return engine.String
}
