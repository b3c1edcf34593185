package store

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"restsrv/engine"
)

// SchemaError lists all changes of the classes that the stored data does not permit, and invalid names. The database is
// unchanged.
type SchemaError struct{ Problems []string }

// Error lists the problems, one per line.
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

// upgradeTables adapts the tables to the classes. If there is no difference, it only reads. Concurrent upgrades of
// several processes are serialized.
func (s *Store) upgradeTables(ctx context.Context) error {
	conn, err := s.db.Write.Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := s.makeGuard(ctx, conn); err != nil {
		return err
	}
	began := time.Now()
	for attempt := 1; ; attempt++ {
		err := s.upgradeOnce(ctx, conn)
		switch kind := s.failureKind(err); {
		case (kind == Lost && attempt < maxAttempts || kind == Locked && time.Since(began) < upgradeTime) && pause(ctx, attempt):
			s.fresh = false
		case kind == Locked:
			return tablesInUse(err)
		default:
			return err
		}
	}
}

// upgradeTime limits how long an upgrade tries to lock the tables that it changes. Each attempt waits only for a
// moment, because other requests wait behind it.
const upgradeTime = time.Minute

// tablesInUse returns the error of an upgrade that could not lock the tables.
func tablesInUse(err error) error {
	return &engine.Error{Code: engine.Unavailable, Reason: "locked", RetryAfter: retryAfter,
		Message: "the tables cannot be changed because other sessions of the database use them, such as restsrv export; nothing has changed, try again later", Err: err}
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

// The guard is a row that a process locks before it reads and changes the tables. If a transaction locks the whole
// database, no guard is needed.
const (
	guardTable = `"##guard"`
	guardDDL   = `CREATE TABLE IF NOT EXISTS ` + guardTable + ` ("id" INTEGER PRIMARY KEY)`
	guardRow   = `INSERT INTO ` + guardTable + ` ("id") VALUES (1) ON CONFLICT ("id") DO NOTHING`
	guardLock  = `SELECT "id" FROM ` + guardTable
)

// makeGuard creates the guard. If several processes do so at the same time, all but one may fail with errors that
// differ between databases, so makeGuard retries.
func (s *Store) makeGuard(ctx context.Context, conn *sqlx.Conn) error {
	if s.traits.Lock == "" {
		return nil
	}
	for attempt := 1; ; attempt++ {
		_, err := conn.ExecContext(ctx, guardDDL)
		if err == nil {
			_, err = conn.ExecContext(ctx, guardRow)
		}
		if err == nil || s.failureKind(err) == Away || attempt == maxAttempts || !pause(ctx, attempt) {
			return err
		}
	}
}

func (s *Store) passGuard(ctx context.Context, conn *sqlx.Conn) error {
	if s.traits.Lock == "" {
		return nil
	}
	if s.traits.Patient != "" { // other processes may build indexes for minutes
		if _, err := conn.ExecContext(ctx, s.traits.Patient); err != nil {
			return err
		}
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
	all := len(rows)
	rows = slices.DeleteFunc(rows, func(k kept) bool { return k.Class == freshMark })
	marked := len(rows) < all
	m := newMemory(rows)
	if !s.namedBy(m) {
		if err := s.layOut(s.cfg.Classes, m); err != nil {
			return err
		}
	}
	used := slices.ContainsFunc(rows, func(k kept) bool { return !strings.HasPrefix(k.Root, "#") })
	up := &upgrader{ctx: ctx, conn: conn, dialect: s.db.Dialect, traits: s.traits, memory: m, log: s.cfg.Log, tables: s.tables, links: s.linkNames}
	if s.traits.Hurry != "" {
		if _, err := conn.ExecContext(ctx, s.traits.Hurry); err != nil {
			return err
		}
	}
	if err := up.adaptAll(); err != nil {
		return err
	}
	s.fresh = marked || !used
	if s.fresh && !marked {
		up.rememberRow(kept{Class: freshMark, Root: freshMark})
	}
	if err := up.writeMemory(); err != nil {
		return err
	}
	return up.problems.orNil()
}

// adaptAll adapts the database to the classes. It changes existing tables, then creates new ones, which takes CREATE
// statements only.
func (u *upgrader) adaptAll() error {
	var missing []*table
	for _, t := range u.tables {
		known, err := u.findKnown(t)
		if err == nil && known {
			err = u.adaptTable(t)
		}
		if err != nil {
			return err
		}
		if !known {
			missing = append(missing, t)
		}
	}
	if len(u.problems.Problems) == 0 { // otherwise a table may exist under a similar name
		if err := u.createAll(missing); err != nil {
			return err
		}
	}
	return u.warnUnseen()
}

// upgrader is one run of upgradeTables. Problems are collected; an error of the database ends the run.
type upgrader struct {
	ctx       context.Context
	conn      *sqlx.Conn
	dialect   Dialect
	traits    Traits
	memory    *memory
	log       *slog.Logger
	tables    []*table
	links     linkNames
	problems  SchemaError
	unwritten map[[2]string]kept // rows of memoryTable, by class and property
}

func (u *upgrader) exec(parts ...string) error {
	_, err := u.conn.ExecContext(u.ctx, strings.Join(parts, ""))
	return err
}

func (u *upgrader) countRows(from string) (n int64, err error) {
	err = u.conn.GetContext(u.ctx, &n, "SELECT count(*) FROM "+from)
	return n, err
}

// adaptTable adapts an existing table to its classes.
func (u *upgrader) adaptTable(t *table) error {
	rows := int64(-1) // counted when needed
	for _, c := range t.classes {
		change, err := u.compareClass(t, c)
		if err != nil {
			return err
		}
		if change == "" {
			continue
		}
		if rows < 0 {
			if rows, err = u.countRows(t.quoted); err != nil {
				return err
			}
		}
		if rows == 0 {
			return u.recreateTable(t)
		}
		u.problems.Problems = append(u.problems.Problems, change)
	}
	if err := u.updateColumns(t); err != nil {
		return err
	}
	return u.updateExtras(t)
}

// findKnown reports whether t exists in the database. It also detects removed classes that share the table, and classes
// that were stored in another table.
func (u *upgrader) findKnown(t *table) (bool, error) {
	names := map[string]bool{}
	for _, c := range t.classes {
		names[c.FullName] = true
		if k, there := u.memory.findClass(c.FullName); there && k.Root != t.name {
			if err := u.checkMoved(t, k); err != nil {
				return false, err
			}
		}
	}
	stranger := func(class string) bool { return !names[class] }
	classes := u.memory.findTable(t.name).classes
	if slices.ContainsFunc(classes, stranger) {
		t.foreign.Store(true)
	}
	return len(classes) > 0, nil
}

// checkMoved reports a problem if a class of t would leave objects behind in the table where it was stored before.
func (u *upgrader) checkMoved(t *table, k kept) error {
	n, err := u.countRows(u.traits.quote(k.Root) + " WHERE " + classColumn + " = " + quoteText(k.Class))
	if err != nil {
		return err
	}
	if n == 0 {
		return u.dropAbandoned(k.Root)
	}
	u.problems.add("class %s was stored with class %s and would now be stored with %s; %d objects would be lost: restore its ancestor, or export these objects, delete them, and import them after the change",
		k.Class, k.Root, t.name, n)
	return nil
}

// dropAbandoned drops a table that stores no class any more, if it is empty. Otherwise it would conflict with a class
// of its name.
func (u *upgrader) dropAbandoned(name string) error {
	if slices.ContainsFunc(u.tables, func(t *table) bool { return t.name == name }) {
		return nil
	}
	n, err := u.countRows(u.traits.quote(name))
	if err != nil || n > 0 {
		return err
	}
	return u.dropTable(name)
}

// warnUnseen warns about objects of classes that no longer exist, for example because a class was renamed. It does not
// warn in commands that load no classes of the application.
func (u *upgrader) warnUnseen() error {
	seen, application := map[string]bool{}, false
	for _, t := range u.tables {
		application = application || !strings.HasPrefix(t.name, "#")
		for _, c := range t.classes {
			seen[c.FullName] = true
		}
	}
	for _, class := range slices.Sorted(maps.Keys(u.memory.classes)) {
		k, known := u.memory.findClass(class)
		if !known || !application || seen[class] || strings.HasPrefix(class, "#") {
			continue
		}
		n, err := u.countRows(u.traits.quote(k.Root) + " WHERE " + classColumn + " = " + quoteText(class))
		if err != nil {
			return err
		}
		if n > 0 {
			u.log.Warn("objects of a class that is no longer there stay in the database and are not seen: restore the class, or export them and import them as another", "class", class, "objects", n)
		}
	}
	return nil
}

// compareClass compares a class as a whole with the memory. If the text is not empty, it describes a change that is
// impossible in a table with rows.
func (u *upgrader) compareClass(t *table, c *engine.Class) (string, error) {
	old, ok := u.memory.findClass(c.FullName)
	if !ok || old.Root != t.name {
		u.rememberRow(newKept(t, c, nil))
		return "", nil
	}
	if key := strings.Join(c.Key, ","); old.Kind != key {
		n, err := u.countRows(t.quoted)
		return fmt.Sprintf("class %s: the key was %s and would become %s; %d objects are stored by it: restore the key, or export the objects, delete them, and import them after the change",
			c.FullName, old.Kind, key, n), err
	}
	return "", nil
}

// rememberRow queues a row of memoryTable for writeMemory.
func (u *upgrader) rememberRow(k kept) {
	if u.unwritten == nil {
		u.unwritten = map[[2]string]kept{}
	}
	u.unwritten[[2]string{k.Class, k.Property}] = k
}

// writeMemory writes the queued rows of memoryTable, many rows per statement.
func (u *upgrader) writeMemory() error {
	rows := slices.Collect(maps.Values(u.unwritten))
	u.unwritten = nil
	for part := range slices.Chunk(rows, 200) {
		b := newBuilder(u.traits)
		b.add("INSERT INTO ", memoryTable, ` ("class", "property", "root", "kind", "indexes", "gone") VALUES `)
		for i, k := range part {
			b.add([]string{"(", ", ("}[min(i, 1)])
			for n, v := range []any{k.Class, k.Property, k.Root, k.Kind, k.Indexes, k.Gone} {
				b.add([]string{"", ", "}[min(n, 1)])
				b.bind(v)
			}
			b.add(")")
		}
		b.add(` ON CONFLICT ("class", "property") DO UPDATE SET "root" = excluded."root", "kind" = excluded."kind", "indexes" = excluded."indexes", "gone" = excluded."gone"`)
		if _, err := u.conn.ExecContext(u.ctx, b.text(), b.args...); err != nil {
			return err
		}
	}
	return nil
}
