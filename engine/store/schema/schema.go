// Package schema creates and changes the tables of a database so that they fit a layout. This includes columns,
// indexes, tables of links, and search words. All changes are made in one transaction; changes that would lose data
// are refused. A system table, the memory, records the created tables and columns (MemoryTable). The package also
// contains the counters of autoassigned numbers.
package schema

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
	"restsrv/engine/store/conns"
	"restsrv/engine/store/layout"
	"restsrv/engine/store/sqldb"
)

// Upgrade creates and changes the tables of a database so that they fit a layout.
type Upgrade struct {
	Db     *sqldb.Database
	Traits sqldb.Traits
	Log    *slog.Logger
	Layout *layout.Layout
	Fresh  bool // set by UpgradeIn: the database is new, and Store.Seed has not succeeded yet
}

// failureKind returns the kind of failure of err.
func (s *Upgrade) failureKind(err error) sqldb.Failure { return conns.Classify(s.Db.Dialect, err) }

// UpgradeTables changes the tables as the classes require. If the tables fit already, it only reads. If several
// processes upgrade a database at the same time, they do so one after the other.
func (s *Upgrade) UpgradeTables(ctx context.Context) error {
	conn, err := s.Db.Write.Connx(ctx)
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
		case (kind == sqldb.Lost && attempt < conns.MaxAttempts || kind == sqldb.Locked && time.Since(began) < UpgradeTime) && conns.Pause(ctx, attempt):
			s.Fresh = false
		case kind == sqldb.Locked:
			return TablesInUse(err)
		default:
			return err
		}
	}
}

// UpgradeTime limits how long an upgrade tries to lock the tables that it changes. Other requests wait behind such an
// attempt, so each attempt waits only for a moment.
const UpgradeTime = time.Minute

// TablesInUse returns the error of an upgrade that could not lock the tables.
func TablesInUse(err error) error {
	return &engine.Error{Code: engine.Unavailable, Reason: "locked", RetryAfter: conns.RetryAfter,
		Message: "the tables cannot be changed because other sessions of the database use them, such as restsrv export; nothing has changed, try again later", Err: err}
}

func (s *Upgrade) upgradeOnce(ctx context.Context, conn *sqlx.Conn) error {
	if _, err := conn.ExecContext(ctx, s.Traits.Begin); err != nil {
		return err
	}
	err := s.PassGuard(ctx, conn)
	if err == nil {
		err = s.UpgradeIn(ctx, conn)
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

// The guard is a row that a process locks before it reads and changes the tables. A database whose write transactions
// lock the whole database needs no guard.
const (
	guardTable = `"##guard"`
	guardDDL   = `CREATE TABLE IF NOT EXISTS ` + guardTable + ` ("id" INTEGER PRIMARY KEY)`
	guardRow   = `INSERT INTO ` + guardTable + ` ("id") VALUES (1)`
	guardLock  = `SELECT "id" FROM ` + guardTable
)

// makeGuard creates the guard if it does not exist. If several processes create it at the same time, all but one may
// fail. The errors differ between databases, so makeGuard tries again after any error, except if the database is
// unavailable.
func (s *Upgrade) makeGuard(ctx context.Context, conn *sqlx.Conn) error {
	if s.Traits.Lock == "" {
		return nil
	}
	for attempt := 1; ; attempt++ {
		_, err := conn.ExecContext(ctx, guardDDL)
		if err == nil {
			b := sqldb.NewBuilder(s.Traits)
			b.Add(guardRow)
			b.SkipExisting(`"id"`)
			_, err = conn.ExecContext(ctx, b.Text())
		}
		if err == nil || s.failureKind(err) == sqldb.Away || attempt == conns.MaxAttempts || !conns.Pause(ctx, attempt) {
			return err
		}
	}
}

// PassGuard waits for the guard and locks it until the transaction of conn ends.
func (s *Upgrade) PassGuard(ctx context.Context, conn *sqlx.Conn) error {
	if s.Traits.Lock == "" {
		return nil
	}
	if s.Traits.Patient != "" { // wait longer, because another process may build indexes for minutes while it holds the guard
		if _, err := conn.ExecContext(ctx, s.Traits.Patient); err != nil {
			return err
		}
	}
	_, err := conn.ExecContext(ctx, guardLock+s.Traits.Lock)
	return err
}

// UpgradeIn changes the tables within the transaction of conn.
func (s *Upgrade) UpgradeIn(ctx context.Context, conn *sqlx.Conn) error {
	var rows []layout.Kept
	for _, ddl := range []string{memoryDDL, counterDDL} {
		if _, err := conn.ExecContext(ctx, ddl); err != nil {
			return err
		}
	}
	if err := conn.SelectContext(ctx, &rows, `SELECT * FROM `+MemoryTable); err != nil {
		return err
	}
	all := len(rows)
	rows = slices.DeleteFunc(rows, func(k layout.Kept) bool { return k.Class == FreshMark })
	marked := len(rows) < all
	m := layout.NewMemory(rows)
	if !s.Layout.NamedBy(m) {
		if err := s.Layout.LayOut(m); err != nil {
			return err
		}
	}
	used := slices.ContainsFunc(rows, func(k layout.Kept) bool { return !strings.HasPrefix(k.Root, "#") })
	up := &upgrader{ctx: ctx, conn: conn, dialect: s.Db.Dialect, traits: s.Traits, memory: m, log: s.Log, tables: s.Layout.Tables, links: s.Layout.LinkNames}
	if s.Traits.Hurry != "" {
		if _, err := conn.ExecContext(ctx, s.Traits.Hurry); err != nil {
			return err
		}
	}
	if err := up.adaptAll(); err != nil {
		return err
	}
	s.Fresh = marked || !used
	if s.Fresh && !marked {
		up.rememberRow(layout.Kept{Class: FreshMark, Root: FreshMark})
	}
	if err := up.writeMemory(); err != nil {
		return err
	}
	return up.problems.OrNil()
}

// adaptAll changes existing tables first, and then creates new ones, for which CREATE statements suffice.
func (u *upgrader) adaptAll() error {
	var missing []*layout.Table
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
	if len(u.problems.Problems) == 0 { // a problem may be that a table of a similar name exists
		if err := u.createAll(missing); err != nil {
			return err
		}
	}
	return u.warnUnseen()
}

// upgrader is one run of UpgradeTables. The field problems collects changes that the stored data does not permit. An
// error of the database ends the run.
type upgrader struct {
	ctx       context.Context
	conn      *sqlx.Conn
	dialect   sqldb.Dialect
	traits    sqldb.Traits
	memory    *layout.Memory
	log       *slog.Logger
	tables    []*layout.Table
	links     layout.LinkNames
	problems  layout.SchemaError
	unwritten map[[2]string]layout.Kept // rows of MemoryTable that writeMemory will write, by class and property
}

func (u *upgrader) exec(parts ...string) error {
	_, err := u.conn.ExecContext(u.ctx, strings.Join(parts, ""))
	return err
}

func (u *upgrader) countRows(from string) (n int64, err error) {
	err = u.conn.GetContext(u.ctx, &n, "SELECT count(*) FROM "+from)
	return n, err
}

// adaptTable changes an existing table as its classes require.
func (u *upgrader) adaptTable(t *layout.Table) error {
	rows := int64(-1) // counted when needed
	for _, c := range t.Classes {
		change, err := u.compareClass(t, c)
		if err != nil {
			return err
		}
		if change == "" {
			continue
		}
		if rows < 0 {
			if rows, err = u.countRows(t.Quoted); err != nil {
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

// findKnown reports whether t exists in the database. It also notes in t whether the table has rows of classes that
// are not in t, and checks classes of t that were stored in another table before.
func (u *upgrader) findKnown(t *layout.Table) (bool, error) {
	names := map[string]bool{}
	for _, c := range t.Classes {
		names[c.FullName] = true
		if k, there := u.memory.FindClass(c.FullName); there && k.Root != t.Name {
			if err := u.checkMoved(t, k); err != nil {
				return false, err
			}
		}
	}
	stranger := func(class string) bool { return !names[class] }
	classes := u.memory.FindTable(t.Name).Classes
	if slices.ContainsFunc(classes, stranger) {
		t.Foreign.Store(true)
	}
	return len(classes) > 0, nil
}

// checkMoved checks a class of t that was stored in another table before. It adds a problem if objects of the class
// are still in that table. k is the row of MemoryTable for the class.
func (u *upgrader) checkMoved(t *layout.Table, k layout.Kept) error {
	n, err := u.countRows(u.traits.Quote(k.Root) + " WHERE " + layout.ClassColumn + " = " + sqldb.QuoteText(k.Class))
	if err != nil {
		return err
	}
	if n == 0 {
		return u.dropAbandoned(k.Root)
	}
	u.problems.Add("class %s was stored with class %s and would now be stored with %s; %d objects would be lost: restore its ancestor, or export these objects, delete them, and import them after the change",
		k.Class, k.Root, t.Name, n)
	return nil
}

// dropAbandoned drops an empty table in which no class is stored any more. If the table stayed, a new class with its
// name could not be stored.
func (u *upgrader) dropAbandoned(name string) error {
	if slices.ContainsFunc(u.tables, func(t *layout.Table) bool { return t.Name == name }) {
		return nil
	}
	n, err := u.countRows(u.traits.Quote(name))
	if err != nil || n > 0 {
		return err
	}
	return u.dropTable(name)
}

// warnUnseen logs a warning for each removed class that still has objects; it may have been renamed. It does not warn
// in commands that load no classes of the application.
func (u *upgrader) warnUnseen() error {
	seen, application := map[string]bool{}, false
	for _, t := range u.tables {
		application = application || !strings.HasPrefix(t.Name, "#")
		for _, c := range t.Classes {
			seen[c.FullName] = true
		}
	}
	for _, class := range slices.Sorted(maps.Keys(u.memory.Classes)) {
		k, known := u.memory.FindClass(class)
		if !known || !application || seen[class] || strings.HasPrefix(class, "#") {
			continue
		}
		n, err := u.countRows(u.traits.Quote(k.Root) + " WHERE " + layout.ClassColumn + " = " + sqldb.QuoteText(class))
		if err != nil {
			return err
		}
		if n > 0 {
			u.log.Warn("objects of a class that is no longer there stay in the database and are not seen: restore the class, or export them and import them as another", "class", class, "objects", n)
		}
	}
	return nil
}

// compareClass compares the key and the table of a class with the memory. It returns a description of a change that is
// impossible in a table with rows, or "" if there is no such change.
func (u *upgrader) compareClass(t *layout.Table, c *engine.Class) (string, error) {
	old, ok := u.memory.FindClass(c.FullName)
	if !ok || old.Root != t.Name {
		u.rememberRow(layout.NewKept(t, c, nil))
		return "", nil
	}
	if key := strings.Join(c.Key, ","); old.Kind != key {
		n, err := u.countRows(t.Quoted)
		return fmt.Sprintf("class %s: the key was %s and would become %s; %d objects are stored by it: restore the key, or export the objects, delete them, and import them after the change",
			c.FullName, old.Kind, key, n), err
	}
	return "", nil
}

// rememberRow queues a row of MemoryTable for writeMemory.
func (u *upgrader) rememberRow(k layout.Kept) {
	if u.unwritten == nil {
		u.unwritten = map[[2]string]layout.Kept{}
	}
	u.unwritten[[2]string{k.Class, k.Property}] = k
}

// writeMemory writes the queued rows of MemoryTable, many rows with each statement.
func (u *upgrader) writeMemory() error {
	rows := slices.Collect(maps.Values(u.unwritten))
	u.unwritten = nil
	for part := range slices.Chunk(rows, 200) {
		b := sqldb.NewBuilder(u.traits)
		b.Add("INSERT INTO ", MemoryTable, ` ("class", "property", "root", "kind", "indexes", "gone") VALUES `)
		for i, k := range part {
			b.Add([]string{"(", ", ("}[min(i, 1)])
			for n, v := range []any{k.Class, k.Property, k.Root, k.Kind, k.Indexes, k.Gone} {
				b.Add([]string{"", ", "}[min(n, 1)])
				b.Bind(v)
			}
			b.Add(")")
		}
		b.UpdateExisting(`"class"`, `"property"`)
		b.AssignNew(`"root"`, `"kind"`, `"indexes"`, `"gone"`)
		if _, err := u.conn.ExecContext(u.ctx, b.Text(), b.Args...); err != nil {
			return err
		}
	}
	return nil
}

// MemoryTable records the stored classes. It has one row for each property of a class, and one row with an empty
// property for each class. In the latter, the column kind describes the key of the class.
const MemoryTable = `"##schema"`

const memoryDDL = `CREATE TABLE IF NOT EXISTS ` + MemoryTable + ` ("class" TEXT NOT NULL, "property" TEXT NOT NULL, "root" TEXT NOT NULL, "kind" TEXT NOT NULL, "indexes" TEXT NOT NULL, "gone" BOOLEAN NOT NULL, PRIMARY KEY ("class", "property"))`

// FreshMark is the class name of a row of MemoryTable that marks a new database: it has tables, but Store.Seed has not
// succeeded yet. No class can have this name. CountFresh counts such rows, and ForgetFresh deletes them.
const (
	FreshMark   = "##fresh"
	ForgetFresh = `DELETE FROM ` + MemoryTable + ` WHERE "class" = '` + FreshMark + `'`
	CountFresh  = `SELECT COUNT(*) FROM ` + MemoryTable + ` WHERE "class" = '` + FreshMark + `'`
)
