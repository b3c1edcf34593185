package store

import (
	"context"
	"database/sql"
	"strconv"

	"restsrv/engine"
)

// createAll creates the tables of new classes with their indexes, search indexes and extras.
func (u *upgrader) createAll(tables []*table) error {
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
		if err := u.updateExtras(t); err != nil { // creates the extras that another table had before
			return err
		}
	}
	return nil
}

// defineTable returns the statements that create a table, and remembers the table.
func (u *upgrader) defineTable(t *table) []string {
	text := " " + u.dialect.ColumnType(engine.String)
	columns := "CREATE TABLE " + t.quoted + " (" + seqColumn + " " + u.traits.Sequence +
		", " + classColumn + text + " NOT NULL, " + versionColumn + text +
		", " + revColumn + " " + u.dialect.ColumnType(engine.Int) + " NOT NULL" +
		", " + creatorColumn + text + ", " + editorColumn + text
	if t.hasIDColumn() {
		columns += ", " + t.id.quoted + text + " NOT NULL"
	}
	for _, col := range t.columns {
		columns += ", " + col.quoted + " " + u.dialect.ColumnType(col.typ)
		if col.key {
			columns += " NOT NULL"
		}
	}
	if t.hasWords() {
		columns += ", " + searchColumn + text
	}
	ddl := []string{columns + ")", indexDDL(u.traits, t.unique[0])}
	for _, col := range t.columns {
		if index := u.indexOf(t, col); index != "" {
			ddl = append(ddl, index)
		}
	}
	if t.hasWords() {
		ddl = append(ddl, u.wordsDDL(t)...)
		u.rememberRow(t.wordsRow())
	}
	u.rememberAll(t)
	for _, e := range t.extras {
		if _, known := u.memory.classes[extraMark][e.name]; !known {
			ddl = append(ddl, e.create...)
			u.memory.addExtra(e.kept(t))
			u.rememberRow(e.kept(t))
		}
	}
	return ddl
}

// recreateTable replaces a table that has no rows.
func (u *upgrader) recreateTable(t *table) error {
	if err := u.dropTable(t.name); err != nil {
		return err
	}
	t.foreign.Store(false)
	return u.createAll([]*table{t})
}

// dropTable drops a table that has no rows, and everything that belongs to it.
func (u *upgrader) dropTable(name string) error {
	if err := u.dropExtras(name, true); err != nil {
		return err
	}
	if err := u.exec("DROP TABLE ", u.traits.quote(name)); err != nil {
		return err
	}
	u.memory.forgetTable(name)
	if err := u.writeMemory(); err != nil { // before the rows are deleted
		return err
	}
	return u.exec("DELETE FROM ", memoryTable, ` WHERE "root" = `, quoteText(name),
		` OR "class" = `, quoteText(searchMemory), ` AND "property" = `, quoteText(name))
}

func (u *upgrader) rememberAll(t *table) {
	for _, c := range t.classes {
		u.rememberRow(newKept(t, c, nil))
		for _, p := range c.Properties {
			if p.Stored() {
				u.rememberRow(newKept(t, c, p))
			}
		}
	}
}

func indexDDL(tr Traits, i Index) string {
	ddl := "CREATE UNIQUE INDEX " + quoteName(i.Name) + " ON " + tr.quote(i.Table) + " ("
	for n, c := range i.Columns {
		ddl += []string{"", ", "}[min(n, 1)] + tr.quote(c)
	}
	return ddl + ")"
}

// updateIndex creates the index that col should have. had is the kind of index that the column has.
func (u *upgrader) updateIndex(t *table, col *column, had string) error {
	wants := col.indexKind()
	if had == wants {
		return nil
	}
	if err := u.dropIndexes(t, col); err != nil {
		return err
	}
	if wants == "unique" {
		n, err := u.countRows("(SELECT 1 FROM " + t.quoted + " WHERE " + col.quoted + " IS NOT NULL GROUP BY " + col.quoted + " HAVING count(*) > 1) AS d")
		if err != nil {
			return err
		}
		if n > 0 {
			u.problems.add("class %s: property %s would become unique, but %d of its values are there more than once: make them differ first",
				t.classes[0].FullName, engine.Quote(col.property), n)
			return nil
		}
	}
	if ddl := u.indexOf(t, col); ddl != "" {
		return u.exec(ddl)
	}
	return nil
}

// indexOf returns the statement that creates the index of a column, or "" if the column needs none.
func (u *upgrader) indexOf(t *table, col *column) string {
	switch col.indexKind() {
	case "index":
		return "CREATE INDEX " + u.traits.quote(col.indexName(t, "index")) + " ON " + t.quoted + " " + u.dialect.IndexOn(col.quoted, col.typ)
	case "unique":
		return indexDDL(u.traits, Index{u.traits.name(col.indexName(t, "unique")), t.name, []string{col.name}})
	}
	return ""
}

func (u *upgrader) dropIndexes(t *table, col *column) error {
	for _, kind := range []string{"index", "unique"} {
		if err := u.exec("DROP INDEX IF EXISTS ", u.traits.quote(col.indexName(t, kind))); err != nil {
			return err
		}
	}
	return nil
}

// updateColumns adapts the columns of an existing table to its classes.
func (u *upgrader) updateColumns(t *table) error {
	for _, c := range t.classes {
		if err := u.checkRemoved(t, c); err != nil {
			return err
		}
		if err := u.hiddenLinks(t, c); err != nil {
			return err
		}
	}
	for _, col := range t.columns {
		if err := u.updateColumn(t, col); err != nil {
			return err
		}
	}
	for _, c := range t.classes {
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

// checkRemoved reports a problem if a property is removed or stored in another column while objects have
// a value for it. If no object has a value, the old column stays in the table and is forgotten.
func (u *upgrader) checkRemoved(t *table, c *engine.Class) error {
	for name, old := range u.memory.classes[c.FullName] {
		if name == "" || old.Gone || old.Root != t.name {
			continue
		}
		now := t.columnOf(c, name)
		if now != nil && now.name == old.columnName() {
			continue
		}
		n, err := u.countRows(t.quoted + " WHERE " + classColumn + " = " + quoteText(c.FullName) + " AND " + u.traits.quote(old.columnName()) + " IS NOT NULL")
		switch {
		case err != nil:
			return err
		case n > 0 && now == nil:
			u.problems.add("class %s: property %s (%s) was removed, but %d objects have a value for it: restore the property, or export the objects, or clear the values first",
				c.FullName, engine.Quote(name), old.Kind, n)
		case n > 0:
			u.addTypeChange(c.FullName, name, old.Kind, now, n)
		case now == nil:
			old.Gone = true
			u.rememberRow(old)
		default:
			u.rememberRow(old.leftRow())
		}
	}
	return nil
}

// addTypeChange adds the problem that objects have values for a property that has changed its type.
func (u *upgrader) addTypeChange(class, property, kind string, now *column, objects int64) {
	u.problems.add("class %s: property %s was %s and would become %s, but %d objects have a value for it: give the new property another name, or export the objects and import them after the change, or clear the values first",
		class, engine.Quote(property), kind, now.typ, objects)
}

// updateColumn adapts one column to its property.
func (u *upgrader) updateColumn(t *table, col *column) error {
	kind, indexes, there := u.memory.findColumn(t.name, col.name)
	if left, known := u.memory.classes[leftMark][t.name+" "+col.name]; known && left.Kind != col.typ.String() {
		left.Kind = col.typ.String()
		u.rememberRow(left)
	}
	if !there {
		if err := u.exec("ALTER TABLE ", t.quoted, " ADD COLUMN ", col.quoted, " ", u.dialect.ColumnType(col.typ)); err != nil {
			return err
		}
		return u.updateIndex(t, col, "")
	}
	old, _ := engine.TypeByName(kind)
	if old.Storage() == col.typ.Storage() {
		if u.dialect.IndexOn(col.quoted, old) != u.dialect.IndexOn(col.quoted, col.typ) {
			indexes = "?"
		}
		return u.updateIndex(t, col, indexes)
	}
	n, err := u.countRows(t.quoted + " WHERE " + col.quoted + " IS NOT NULL")
	if err != nil {
		return err
	}
	if n > 0 {
		u.addTypeChange(t.classes[0].FullName, col.property, kind, col, n)
		return nil
	}
	if err := u.dropIndexes(t, col); err != nil {
		return err
	}
	if err := u.dropExtras(t.name, false); err != nil { // an index may use the column; extras creates it again
		return err
	}
	if err := u.exec("ALTER TABLE ", t.quoted, " DROP COLUMN ", col.quoted); err != nil {
		return err
	}
	if err := u.exec("ALTER TABLE ", t.quoted, " ADD COLUMN ", col.quoted, " ", u.dialect.ColumnType(col.typ)); err != nil {
		return err
	}
	return u.updateIndex(t, col, "")
}

// updateProperty remembers a property. It gives existing objects of the class the value that a new
// property requires, and checks the existing values against new requirements.
func (u *upgrader) updateProperty(t *table, c *engine.Class, p *engine.Property) error {
	old, known := u.memory.classes[c.FullName][p.Name]
	now := newKept(t, c, p)
	if known && old == now {
		return nil
	}
	var err error
	switch {
	case !known || old.Gone || old.Root != t.name || old.columnName() != now.columnName():
		err = u.fillDefault(t, c, p)
	case now.hasMark(requiredMark) && !old.hasMark(requiredMark):
		err = u.warnMissingValues(t, c, p)
	}
	if err == nil && now.hasMark(numberedMark) && !old.hasMark(numberedMark) {
		err = u.raiseNumber(t, p)
	}
	if err != nil {
		return err
	}
	u.rememberRow(now)
	return nil
}

// fromWithout returns the FROM text for the objects of a class that have no value for a property.
func (u *upgrader) fromWithout(t *table, c *engine.Class, p *engine.Property) string {
	return t.quoted + " WHERE " + classColumn + " = " + quoteText(c.FullName) + " AND " + t.column(p).quoted + " IS NULL"
}

// warnMissingValues logs a warning if objects have no value for a property that now requires one. The
// objects stay unchanged; the requirement applies to later saves.
func (u *upgrader) warnMissingValues(t *table, c *engine.Class, p *engine.Property) error {
	n, err := u.countRows(u.fromWithout(t, c, p))
	if n > 0 {
		u.log.Warn("objects have no value of a property that must have one from now on", "class", c.FullName, "property", p.Name, "objects", n)
	}
	return err
}

// raiseNumber sets the counter of a property that has become autoassigned to at least its highest stored
// number.
func (u *upgrader) raiseNumber(t *table, p *engine.Property) error {
	var highest sql.NullInt64
	if err := u.conn.GetContext(u.ctx, &highest, "SELECT max("+t.column(p).quoted+") FROM "+t.quoted+" WHERE "+t.column(p).quoted+" <= "+strconv.FormatInt(farthest, 10)); err != nil || highest.Int64 <= 0 {
		return err
	}
	b := raiseStatement(u.traits, counterName(t, p), highest.Int64)
	_, err := u.conn.ExecContext(u.ctx, b.text(), b.args...)
	return err
}

func (u *upgrader) fillDefault(t *table, c *engine.Class, p *engine.Property) error {
	if p.Nullable || p.Optional {
		return nil
	}
	n, err := u.countRows(u.fromWithout(t, c, p))
	if err != nil || n == 0 {
		return err
	}
	value, err := p.Cast(p.Default)
	if err != nil || value == nil || p.Type == engine.Password {
		u.problems.add("class %s: the new property %s must have a value, but %d objects have none: make it nullable or give it a default",
			c.FullName, engine.Quote(p.Name), n)
		return nil
	}
	b := newBuilder(u.traits)
	name := t.column(p).quoted
	b.add("UPDATE ", t.quoted, " SET ", name, " = ")
	b.bind(value)
	b.add(" WHERE ", classColumn, " = ", quoteText(c.FullName), " AND ", name, " IS NULL")
	_, err = u.conn.ExecContext(u.ctx, b.text(), b.args...)
	return err
}
