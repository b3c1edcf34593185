package store

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"restsrv/engine"
)

// SchemaError lists every change of the classes that the stored data does not
// allow, and faults of names. Nothing has been changed.
type SchemaError struct{ Problems []string }

// Error lists the problems, one a line.
func (e *SchemaError) Error() string {
	return "the classes do not fit the stored data:\n  " + strings.Join(e.Problems, "\n  ")
}

func (e *SchemaError) add(format string, args ...any) {
	e.Problems = append(e.Problems, fmt.Sprintf(format, args...))
}

func (e *SchemaError) orNil() error {
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// memoryTable remembers the classes as they were stored: a row for each
// property, and one without property, whose kind is the key, for the class.
const memoryTable = `"##schema"`

const memoryDDL = `CREATE TABLE IF NOT EXISTS ` + memoryTable + ` ("class" TEXT NOT NULL, "property" TEXT NOT NULL, "root" TEXT NOT NULL, "kind" TEXT NOT NULL, "indexes" TEXT NOT NULL, "gone" BOOLEAN NOT NULL, PRIMARY KEY ("class", "property"))`

// A row of memoryTable, with a name that no class has, marks a database that
// has tables but was not seeded.
const (
	freshMark   = "##fresh"
	forgetFresh = `DELETE FROM ` + memoryTable + ` WHERE "class" = '` + freshMark + `'`
	countFresh  = `SELECT COUNT(*) FROM ` + memoryTable + ` WHERE "class" = '` + freshMark + `'`
)

// kept is a row of memoryTable.
type kept struct {
	Class    string `db:"class"`
	Property string `db:"property"`
	Root     string `db:"root"`
	Kind     string `db:"kind"`    // type of the property; key of the class, as a list with commas
	Indexes  string `db:"indexes"` // the index of the property's column, and marks, as words
	Gone     bool   `db:"gone"`    // forgotten, but its empty column is still there
}

// Marks of a property in kept.Indexes.
const (
	requiredMark = "required"
	numberedMark = "numbered"
)

// newKept describes a property of a class, or the class when p is nil.
func newKept(t *table, c *engine.Class, p *engine.Property) kept {
	k := kept{Class: c.FullName, Root: t.name, Kind: strings.Join(c.Key, ",")}
	if p == nil {
		return k
	}
	marks := []string{t.byName[p.Name].indexes()}
	if !p.Nullable {
		marks = append(marks, requiredMark)
	}
	if p.Type == engine.Int && p.Autoassigned {
		marks = append(marks, numberedMark)
	}
	k.Property, k.Kind, k.Indexes = p.Name, p.ValueType().String(), strings.TrimSpace(strings.Join(marks, " "))
	return k
}

func (k kept) marked(mark string) bool { return slices.Contains(strings.Fields(k.Indexes), mark) }

// index is the index that the column has, as column.indexes says it.
func (k kept) index() string {
	for _, kind := range []string{"unique", "index"} {
		if k.marked(kind) {
			return kind
		}
	}
	return ""
}

// indexes says which indexes a column wants, besides the key's.
func (col *column) indexes() string {
	switch {
	case col.unique:
		return "unique"
	case col.indexed:
		return "index"
	}
	return ""
}

// memory is what memoryTable holds, by class and property.
type memory map[string]map[string]kept

func (m memory) class(name string) (kept, bool) {
	k, ok := m[name][""]
	return k, ok
}

// upgrade brings the tables up to the classes. Without a difference it only
// reads. Several processes may do so at once: one after the other does.
func (s *Store) upgrade(ctx context.Context) error {
	conn, err := s.db.Write.Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := s.makeGuard(ctx, conn); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := s.upgradeOnce(ctx, conn)
		if s.kind(err) != Lost || attempt == maxAttempts || !pause(ctx, attempt) {
			return err
		}
		s.fresh = false
	}
}

func (s *Store) upgradeOnce(ctx context.Context, conn *sqlx.Conn) error {
	if _, err := conn.ExecContext(ctx, s.traits.Begin); err != nil {
		return err
	}
	err := s.passGuard(ctx, conn)
	if err == nil {
		err = s.upgradeIn(ctx, conn)
	}
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	if _, failure := conn.ExecContext(context.WithoutCancel(ctx), end); err == nil {
		err = failure
	}
	return err
}

// The guard is a row that everyone locks who is about to look at the tables
// and change them. Databases where a transaction locks the whole database need
// none.
const (
	guardTable = `"##guard"`
	guardDDL   = `CREATE TABLE IF NOT EXISTS ` + guardTable + ` ("id" INTEGER PRIMARY KEY)`
	guardRow   = `INSERT INTO ` + guardTable + ` ("id") VALUES (1) ON CONFLICT ("id") DO NOTHING`
	guardLock  = `SELECT "id" FROM ` + guardTable
)

// makeGuard makes the guard. When several do it at once, all but one may fail,
// in ways that databases do not agree on, and try again.
func (s *Store) makeGuard(ctx context.Context, conn *sqlx.Conn) error {
	if s.traits.Lock == "" {
		return nil
	}
	for attempt := 1; ; attempt++ {
		_, err := conn.ExecContext(ctx, guardDDL)
		if err == nil {
			_, err = conn.ExecContext(ctx, guardRow)
		}
		if err == nil || s.kind(err) == Away || attempt == maxAttempts || !pause(ctx, attempt) {
			return err
		}
	}
}

func (s *Store) passGuard(ctx context.Context, conn *sqlx.Conn) error {
	if s.traits.Lock == "" {
		return nil
	}
	_, err := conn.ExecContext(ctx, guardLock+s.traits.Lock)
	return err
}

func (s *Store) upgradeIn(ctx context.Context, conn *sqlx.Conn) error {
	var rows []kept
	for _, ddl := range []string{memoryDDL, counterDDL} {
		if _, err := conn.ExecContext(ctx, ddl); err != nil {
			return err
		}
	}
	if err := conn.SelectContext(ctx, &rows, `SELECT * FROM `+memoryTable); err != nil {
		return err
	}
	m := memory{}
	used, marked := false, false
	for _, k := range rows {
		if k.Class == freshMark {
			marked = true
			continue
		}
		if m[k.Class] == nil {
			m[k.Class] = map[string]kept{}
		}
		m[k.Class][k.Property] = k
		used = used || !strings.HasPrefix(k.Root, "#")
	}
	up := &upgrader{ctx: ctx, conn: conn, dialect: s.db.Dialect, traits: s.traits, memory: m, log: s.cfg.Log, tables: s.tables}
	for _, t := range s.tables {
		if err := up.table(t); err != nil {
			return err
		}
	}
	if err := up.unseen(); err != nil {
		return err
	}
	s.fresh = marked || !used
	if s.fresh && !marked {
		if err := up.remember(kept{Class: freshMark, Root: freshMark}); err != nil {
			return err
		}
	}
	return up.problems.orNil()
}

// upgrader is one run of upgrade. Problems are collected; an error of the
// database ends it.
type upgrader struct {
	ctx      context.Context
	conn     *sqlx.Conn
	dialect  Dialect
	traits   Traits
	memory   memory
	log      *slog.Logger
	tables   []*table
	problems SchemaError
}

func (u *upgrader) exec(parts ...string) error {
	_, err := u.conn.ExecContext(u.ctx, strings.Join(parts, ""))
	return err
}

func (u *upgrader) count(from string) (n int64, err error) {
	err = u.conn.GetContext(u.ctx, &n, "SELECT count(*) FROM "+from)
	return n, err
}

// table brings one table up to its classes.
func (u *upgrader) table(t *table) error {
	known, err := u.known(t)
	if err != nil {
		return err
	}
	if !known {
		if len(u.problems.Problems) > 0 {
			return nil // the table might be there under a similar name
		}
		if err := u.create(t); err != nil {
			return err
		}
		return u.extras(t)
	}
	rows := int64(-1) // counted when it matters
	for _, c := range t.classes {
		change, err := u.class(t, c)
		if err != nil {
			return err
		}
		if change == "" {
			continue
		}
		if rows < 0 {
			if rows, err = u.count(t.quoted); err != nil {
				return err
			}
		}
		if rows == 0 {
			return u.recreate(t)
		}
		u.problems.Problems = append(u.problems.Problems, change)
	}
	if err := u.columns(t); err != nil {
		return err
	}
	return u.extras(t)
}

// known reports whether t has a table, and finds the classes that share it and
// are gone, and those that were stored in another table.
func (u *upgrader) known(t *table) (bool, error) {
	names := map[string]bool{}
	for _, c := range t.classes {
		names[c.FullName] = true
	}
	known := false
	for class, properties := range u.memory {
		k := properties[""]
		switch {
		case k.Root == t.name:
			known = true
			t.foreign = t.foreign || !names[class]
		case names[class]:
			n, err := u.count(u.traits.quote(k.Root) + " WHERE " + classColumn + " = " + quoteText(class))
			if err != nil {
				return false, err
			}
			if n > 0 {
				u.problems.add("class %s was stored with class %s and would now be stored with %s; %d objects would be lost: restore its ancestor, or export these objects, delete them, and import them after the change",
					class, k.Root, t.name, n)
			} else if err := u.abandon(k.Root); err != nil {
				return false, err
			}
		case lower(k.Root) == lower(t.name):
			u.problems.add("classes %s and %s differ only by letter case: rename one of them", k.Root, t.name)
		}
	}
	return known, nil
}

// abandon drops a table that no class is stored in any more, if it is empty:
// it would be in the way of a class of its name.
func (u *upgrader) abandon(name string) error {
	if slices.ContainsFunc(u.tables, func(t *table) bool { return t.name == name }) {
		return nil
	}
	n, err := u.count(u.traits.quote(name))
	if err != nil || n > 0 {
		return err
	}
	return u.drop(name)
}

// unseen warns of objects whose class is gone: a class that was renamed has
// left them behind. Commands that know no class of the application see none.
func (u *upgrader) unseen() error {
	seen, application := map[string]bool{}, false
	for _, t := range u.tables {
		application = application || !strings.HasPrefix(t.name, "#")
		for _, c := range t.classes {
			seen[c.FullName] = true
		}
	}
	for _, class := range slices.Sorted(maps.Keys(u.memory)) {
		k, known := u.memory.class(class)
		if !known || !application || seen[class] || strings.HasPrefix(class, "#") {
			continue
		}
		n, err := u.count(u.traits.quote(k.Root) + " WHERE " + classColumn + " = " + quoteText(class))
		if err != nil {
			return err
		}
		if n > 0 {
			u.log.Warn("objects of a class that is no longer there stay in the database and are not seen: restore the class, or export them and import them as another", "class", class, "objects", n)
		}
	}
	return nil
}

// class compares a class as a whole with what is remembered; the text, if
// any, says what cannot be changed in a table with rows.
func (u *upgrader) class(t *table, c *engine.Class) (string, error) {
	old, ok := u.memory.class(c.FullName)
	if !ok || old.Root != t.name {
		return "", u.remember(newKept(t, c, nil))
	}
	if key := strings.Join(c.Key, ","); old.Kind != key {
		n, err := u.count(t.quoted)
		return fmt.Sprintf("class %s: the key was %s and would become %s; %d objects are stored by it: restore the key, or export the objects, delete them, and import them after the change",
			c.FullName, old.Kind, key, n), err
	}
	return "", nil
}

func (u *upgrader) remember(k kept) error {
	b := newBuilder(u.traits)
	b.add("INSERT INTO ", memoryTable, ` ("class", "property", "root", "kind", "indexes", "gone") VALUES (`)
	for i, v := range []any{k.Class, k.Property, k.Root, k.Kind, k.Indexes, k.Gone} {
		b.add([]string{"", ", "}[min(i, 1)])
		b.bind(v)
	}
	b.add(`) ON CONFLICT ("class", "property") DO UPDATE SET "root" = excluded."root", "kind" = excluded."kind", "indexes" = excluded."indexes", "gone" = excluded."gone"`)
	_, err := u.conn.ExecContext(u.ctx, b.text(), b.args...)
	return err
}
