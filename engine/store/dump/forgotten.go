package dump

import (
	"context"
	"maps"
	"slices"
	"strings"

	"restsrv/engine"
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/schema"
	"restsrv/engine/store/sqldb"
)

// DumpForgotten calls visit for the items of classes that the database contains but the layout does not have, for
// example because of a mistake in a class file. The items have the values of their columns, as in Dump. The classes of
// the items are rebuilt from records of the database, and are only for use in visit.
func (d *Dumper) DumpForgotten(ctx context.Context, visit func(*engine.Item) error) error {
	m, err := d.readMemory(ctx)
	if err != nil {
		return err
	}
	for _, name := range d.forgottenClasses(m) {
		c := m.RebuildClass(name)
		if c == nil {
			continue
		}
		p := d.layout.RebuildPlan(c, m)
		for after := int64(0); ; {
			last, err := d.dumpPlan(ctx, p, after, dumpPage, visit)
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

// forgottenClasses returns the names of the classes with a table in the database for which the layout has no plan. It
// leaves out system classes, which belong to the server.
func (d *Dumper) forgottenClasses(m *layout.Memory) (names []string) {
	known, application := map[string]bool{}, false
	for c := range d.layout.Plans {
		known[c.FullName] = true
		application = application || !strings.HasPrefix(c.FullName, "#")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Classes)) {
		if _, isClass := m.FindClass(name); isClass && application && !known[name] && !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	return names
}

// readMemory reads the records about stored classes and properties from the database. The records of a class remain
// there when the class is removed from the layout.
func (d *Dumper) readMemory(ctx context.Context) (*layout.Memory, error) {
	b := sqldb.NewBuilder(d.layout.Traits)
	b.Add(`SELECT "class", "property", "root", "kind", "indexes", CASE WHEN "gone" THEN 1 ELSE 0 END FROM `, schema.MemoryTable)
	var rows []layout.Kept
	var k layout.Kept
	var gone int64
	err := d.dumpRows(ctx, b, &sqldb.Result{}, []any{&k.Class, &k.Property, &k.Root, &k.Kind, &k.Indexes, &gone}, func(*conns.Session) error {
		k.Gone = gone != 0
		rows = append(rows, k)
		return nil
	})
	return layout.NewMemory(slices.DeleteFunc(rows, func(k layout.Kept) bool { return k.Class == schema.FreshMark })), err
}

// DumpForgottenLinks calls visit with the ids of owner and member for the links of collections that the database
// contains but Linked does not return. class and collection name the collection.
func (d *Dumper) DumpForgottenLinks(ctx context.Context, visit func(class, collection, owner, member string) error) error {
	m, err := d.readMemory(ctx)
	if err != nil || len(d.forgottenClasses(m)) == 0 {
		return err
	}
	known := map[string]bool{}
	for _, p := range d.Linked() {
		known[d.layout.LinkNames.Of(p).Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(m.Classes[layout.ExtraMark])) {
		k := m.Classes[layout.ExtraMark][name]
		if k.Indexes != layout.ExtraRows || k.Gone || known[name] {
			continue
		}
		class, collection, _ := strings.Cut(name, "#")
		collection, _, _ = strings.Cut(collection, "#") // the name of a table of links may end with # and a number
		from, to, _ := strings.Cut(k.Kind, " ")
		b := sqldb.NewBuilder(d.layout.Traits)
		b.Add("SELECT ", layout.OwnerColumn, ", ", layout.ItemColumn, " FROM ", layout.Short.Quote(name), " ORDER BY ", layout.SeqColumn)
		var owner, member any
		err := d.dumpRows(ctx, b, &sqldb.Result{}, []any{&owner, &member}, func(*conns.Session) error {
			return visit(class, collection, engine.ValueText(sqldb.ReadValue(typeOfStorage(from), owner)), engine.ValueText(sqldb.ReadValue(typeOfStorage(to), member)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// typeOfStorage returns a property type with the given storage, for ids.
func typeOfStorage(storage string) engine.PropertyType {
	if t, ok := engine.TypeByName(storage); ok && storage != engine.String.Storage() {
		return t
	}
	return engine.String
}
