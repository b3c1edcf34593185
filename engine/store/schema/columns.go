package schema

import (
	"context"
	"database/sql"
	"strconv"

	"restsrv/engine"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// createAll creates the tables of new classes with their indexes, search indexes and extras.
func (u *upgrader) createAll(tables []*layout.Table) error {
	var ddl []string
	for _, t := range tables {
		ddl = append(ddl, u.defineTable(t)...)
	}
	if len(ddl) == 0 {
		return nil
	}
	err := u.traits.Create(u.ctx, ddl, func(ctx context.Context, sql string) error {
		_, err := u.conn.ExecContext(ctx, sql)
		return err
	})
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := u.updateExtras(t); err != nil { // creates extras of the new table that belonged to another table before
			return err
		}
	}
	return nil
}

// defineTable returns the statements that create a table. It also queues the rows of MemoryTable that describe the
// table (see rememberRow).
func (u *upgrader) defineTable(t *layout.Table) []string {
	text := " " + u.dialect.ColumnType(engine.String)
	columns := "CREATE TABLE " + t.Quoted + " (" + layout.SeqColumn + " " + u.traits.Sequence +
		", " + layout.ClassColumn + text + " NOT NULL, " + layout.VersionColumn + text +
		", " + layout.RevColumn + " " + u.dialect.ColumnType(engine.Int) + " NOT NULL" +
		", " + layout.CreatorColumn + text + ", " + layout.EditorColumn + text
	if t.HasIDColumn() {
		columns += ", " + t.ID.Quoted + text + " NOT NULL"
	}
	for _, col := range t.Columns {
		columns += ", " + col.Quoted + " " + u.dialect.ColumnType(col.Type)
		if col.Key {
			columns += " NOT NULL"
		}
	}
	if t.HasWords() {
		columns += ", " + layout.SearchColumn + text
	}
	ddl := []string{columns + ")", layout.IndexDDL(u.traits, t.Unique[0])}
	for _, col := range t.Columns {
		if index := u.indexOf(t, col); index != "" {
			ddl = append(ddl, index)
		}
	}
	if t.HasWords() {
		ddl = append(ddl, u.wordsDDL(t)...)
		u.rememberRow(t.WordsRow())
	}
	u.rememberAll(t)
	for _, e := range t.Extras {
		if _, known := u.memory.Classes[layout.ExtraMark][e.Name]; !known {
			ddl = append(ddl, e.Create...)
			u.memory.AddExtra(e.Kept(t))
			u.rememberRow(e.Kept(t))
		}
	}
	return ddl
}

// recreateTable replaces a table that has no rows.
func (u *upgrader) recreateTable(t *layout.Table) error {
	if err := u.dropTable(t.Name); err != nil {
		return err
	}
	t.Foreign.Store(false)
	return u.createAll([]*layout.Table{t})
}

// dropTable drops a table that has no rows. It also drops the extras of the table (see layout.Extra), and deletes
// its rows of MemoryTable.
func (u *upgrader) dropTable(name string) error {
	if err := u.dropExtras(name, true); err != nil {
		return err
	}
	if err := u.exec("DROP TABLE ", u.traits.Quote(name)); err != nil {
		return err
	}
	u.memory.ForgetTable(name)
	if err := u.writeMemory(); err != nil { // the queued rows must be written first, because some of them are deleted here
		return err
	}
	return u.exec("DELETE FROM ", MemoryTable, ` WHERE "root" = `, sqldb.QuoteText(name),
		` OR "class" = `, sqldb.QuoteText(layout.SearchMemory), ` AND "property" = `, sqldb.QuoteText(name))
}

func (u *upgrader) rememberAll(t *layout.Table) {
	for _, c := range t.Classes {
		u.rememberRow(layout.NewKept(t, c, nil))
		for _, p := range c.Properties {
			if p.Stored() {
				u.rememberRow(layout.NewKept(t, c, p))
			}
		}
	}
}

// updateIndex replaces the index of column col by the kind of index that the column should have. had is the present
// kind.
func (u *upgrader) updateIndex(t *layout.Table, col *layout.Column, had string) error {
	wants := col.IndexKind()
	if had == wants {
		return nil
	}
	if err := u.dropIndexes(t, col); err != nil {
		return err
	}
	if wants == "unique" {
		n, err := u.countRows("(SELECT 1 FROM " + t.Quoted + " WHERE " + col.Quoted + " IS NOT NULL GROUP BY " + col.Quoted + " HAVING count(*) > 1) AS d")
		if err != nil {
			return err
		}
		if n > 0 {
			u.problems.Add("class %s: property %s would become unique, but %d of its values are there more than once: make them differ first",
				t.Classes[0].FullName, engine.Quote(col.Property), n)
			return nil
		}
	}
	if ddl := u.indexOf(t, col); ddl != "" {
		return u.exec(ddl)
	}
	return nil
}

// indexOf returns the statement that creates the index of a column, or "" if the column needs none.
func (u *upgrader) indexOf(t *layout.Table, col *layout.Column) string {
	switch col.IndexKind() {
	case "index":
		return "CREATE INDEX " + u.traits.Quote(col.IndexName(t, "index")) + " ON " + t.Quoted + " " + u.dialect.IndexOn(col.Quoted, col.Type)
	case "unique":
		return layout.IndexDDL(u.traits, sqldb.Index{Name: u.traits.Name(col.IndexName(t, "unique")), Table: t.Name, Columns: []string{col.Name}})
	}
	return ""
}

func (u *upgrader) dropIndexes(t *layout.Table, col *layout.Column) error {
	for _, kind := range []string{"index", "unique"} {
		if err := u.exec("DROP INDEX IF EXISTS ", u.traits.Quote(col.IndexName(t, kind))); err != nil {
			return err
		}
	}
	return nil
}

// updateColumns changes the columns of an existing table as its classes require.
func (u *upgrader) updateColumns(t *layout.Table) error {
	for _, c := range t.Classes {
		if err := u.checkRemoved(t, c); err != nil {
			return err
		}
		if err := u.hiddenLinks(t, c); err != nil {
			return err
		}
	}
	for _, col := range t.Columns {
		if err := u.updateColumn(t, col); err != nil {
			return err
		}
	}
	for _, c := range t.Classes {
		for _, p := range c.Properties {
			if !p.Stored() {
				continue
			}
			if err := u.updateProperty(t, c, p); err != nil {
				return err
			}
		}
	}
	return u.makeSearchable(t)
}

// checkRemoved adds a problem if objects have a value for a property that was removed or is now stored in another
// column. If there are no such values, the old column stays in the table, and the memory records that it is unused.
func (u *upgrader) checkRemoved(t *layout.Table, c *engine.Class) error {
	for name, old := range u.memory.Classes[c.FullName] {
		if name == "" || old.Gone || old.Root != t.Name {
			continue
		}
		now := t.ColumnOf(c, name)
		if now != nil && now.Name == old.ColumnName() {
			continue
		}
		n, err := u.countRows(t.Quoted + " WHERE " + layout.ClassColumn + " = " + sqldb.QuoteText(c.FullName) + " AND " + u.traits.Quote(old.ColumnName()) + " IS NOT NULL")
		switch {
		case err != nil:
			return err
		case n > 0 && now == nil:
			u.problems.Add("class %s: property %s (%s) was removed, but %d objects have a value for it: restore the property, or export the objects, or clear the values first",
				c.FullName, engine.Quote(name), old.Kind, n)
		case n > 0:
			u.addTypeChange(c.FullName, name, old.Kind, now, n)
		case now == nil:
			old.Gone = true
			u.rememberRow(old)
		default:
			u.rememberRow(old.LeftRow())
		}
	}
	return nil
}

// addTypeChange adds the problem that the type of a property has changed while objects have values for it. now is the
// new column of the property, and objects is the number of objects with a value.
func (u *upgrader) addTypeChange(class, property, kind string, now *layout.Column, objects int64) {
	u.problems.Add("class %s: property %s was %s and would become %s, but %d objects have a value for it: give the new property another name, or export the objects and import them after the change, or clear the values first",
		class, engine.Quote(property), kind, now.Type, objects)
}

// updateColumn adds a column to the table, or changes it as its property requires.
func (u *upgrader) updateColumn(t *layout.Table, col *layout.Column) error {
	kind, indexes, there := u.memory.FindColumn(t.Name, col.Name)
	if left, known := u.memory.Classes[layout.LeftMark][t.Name+" "+col.Name]; known && left.Kind != col.Type.String() {
		left.Kind = col.Type.String()
		u.rememberRow(left)
	}
	if !there {
		if err := u.exec("ALTER TABLE ", t.Quoted, " ADD COLUMN ", col.Quoted, " ", u.dialect.ColumnType(col.Type)); err != nil {
			return err
		}
		return u.updateIndex(t, col, "")
	}
	old, _ := engine.TypeByName(kind)
	if old.Storage() == col.Type.Storage() {
		if u.dialect.IndexOn(col.Quoted, old) != u.dialect.IndexOn(col.Quoted, col.Type) {
			indexes = "?"
		}
		return u.updateIndex(t, col, indexes)
	}
	n, err := u.countRows(t.Quoted + " WHERE " + col.Quoted + " IS NOT NULL")
	if err != nil {
		return err
	}
	if n > 0 {
		u.addTypeChange(t.Classes[0].FullName, col.Property, kind, col, n)
		return nil
	}
	if err := u.dropIndexes(t, col); err != nil {
		return err
	}
	if err := u.dropExtras(t.Name, false); err != nil { // an extra may be an index on the column; updateExtras creates the extras again
		return err
	}
	if err := u.exec("ALTER TABLE ", t.Quoted, " DROP COLUMN ", col.Quoted); err != nil {
		return err
	}
	if err := u.exec("ALTER TABLE ", t.Quoted, " ADD COLUMN ", col.Quoted, " ", u.dialect.ColumnType(col.Type)); err != nil {
		return err
	}
	return u.updateIndex(t, col, "")
}

// updateProperty records a property in the memory. If the property is new and requires a value, existing objects of
// the class get its default. If a known property has new requirements, the values of the objects are checked.
func (u *upgrader) updateProperty(t *layout.Table, c *engine.Class, p *engine.Property) error {
	old, known := u.memory.Classes[c.FullName][p.Name]
	now := layout.NewKept(t, c, p)
	if known && old == now {
		return nil
	}
	var err error
	switch {
	case !known || old.Gone || old.Root != t.Name || old.ColumnName() != now.ColumnName():
		err = u.fillDefault(t, c, p)
	case now.HasMark(layout.RequiredMark) && !old.HasMark(layout.RequiredMark):
		err = u.warnMissingValues(t, c, p)
	}
	if err == nil && now.HasMark(layout.NumberedMark) && !old.HasMark(layout.NumberedMark) {
		err = u.raiseNumber(t, p)
	}
	if err != nil {
		return err
	}
	u.rememberRow(now)
	return nil
}

// fromWithout returns the text that follows FROM to select the objects of class c that have no value for property p.
func (u *upgrader) fromWithout(t *layout.Table, c *engine.Class, p *engine.Property) string {
	return t.Quoted + " WHERE " + layout.ClassColumn + " = " + sqldb.QuoteText(c.FullName) + " AND " + t.Column(p).Quoted + " IS NULL"
}

// warnMissingValues logs a warning if objects have no value for a property that now requires one. The
// objects stay unchanged; the requirement applies to later saves.
func (u *upgrader) warnMissingValues(t *layout.Table, c *engine.Class, p *engine.Property) error {
	n, err := u.countRows(u.fromWithout(t, c, p))
	if n > 0 {
		u.log.Warn("objects have no value of a property that must have one from now on", "class", c.FullName, "property", p.Name, "objects", n)
	}
	return err
}

// raiseNumber prepares the counter of a property that has become autoassigned, by raising the counter to the highest
// stored number.
func (u *upgrader) raiseNumber(t *layout.Table, p *engine.Property) error {
	var highest sql.NullInt64
	if err := u.conn.GetContext(u.ctx, &highest, "SELECT max("+t.Column(p).Quoted+") FROM "+t.Quoted+" WHERE "+t.Column(p).Quoted+" <= "+strconv.FormatInt(Farthest, 10)); err != nil || highest.Int64 <= 0 {
		return err
	}
	b := raiseStatement(u.traits, CounterName(t, p), highest.Int64)
	_, err := u.conn.ExecContext(u.ctx, b.Text(), b.Args...)
	return err
}

// fillDefault gives the default value of a new property to all objects of the class. If the property must have a value
// but has no default, and there are objects, it adds a problem.
func (u *upgrader) fillDefault(t *layout.Table, c *engine.Class, p *engine.Property) error {
	if p.Nullable || p.Optional {
		return nil
	}
	n, err := u.countRows(u.fromWithout(t, c, p))
	if err != nil || n == 0 {
		return err
	}
	value, err := p.Cast(p.Default)
	if err != nil || value == nil || p.Type == engine.Password {
		u.problems.Add("class %s: the new property %s must have a value, but %d objects have none: make it nullable or give it a default",
			c.FullName, engine.Quote(p.Name), n)
		return nil
	}
	b := sqldb.NewBuilder(u.traits)
	name := t.Column(p).Quoted
	b.Add("UPDATE ", t.Quoted, " SET ", name, " = ")
	b.Bind(value)
	b.Add(" WHERE ", layout.ClassColumn, " = ", sqldb.QuoteText(c.FullName), " AND ", name, " IS NULL")
	_, err = u.conn.ExecContext(u.ctx, b.Text(), b.Args...)
	return err
}
