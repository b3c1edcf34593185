package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"restsrv/engine"
	"restsrv/engine/server/appdata"
	"restsrv/engine/transfer"
)

const migrateUsage = `restsrv migrate copies everything from one database to another, of either kind:
objects, accounts, roles, tokens, keys, counters, in the order in which they were
made. Then it reads both and compares the number and the content of the rows.

  restsrv migrate -from sqlite:restsrv.db -to postgres://user@host/database

Stop the server first: writes during the migration are not copied, and are reported
as differences. The contents of files are in the directory files and stay there.
A database with objects is refused, also after an interrupted migration: remove it,
or continue with -force.
`

// migrateCommand runs restsrv migrate.
func migrateCommand(ctx context.Context, args []string, s Stdio) (err error) {
	c := newDataCommand("migrate", migrateUsage, s)
	from := c.set.String("from", "", "database to copy, sqlite:PATH or postgres://user@host/database")
	to := c.set.String("to", "", "database to fill")
	force := c.set.Bool("force", false, "fill a database that has objects; those with the same ids are replaced")
	if _, err := c.parseAtMost(args, 0); err != nil {
		return err
	}
	if *from == "" || *to == "" || *from == *to {
		fmt.Fprintln(s.Err, "restsrv migrate: -from and -to name two databases, such as -from sqlite:restsrv.db -to postgres://user@host/database")
		return ErrUsage
	}
	if err := c.loadApp(); err != nil {
		return err
	}
	sys := appdata.NewSystem()
	source, err := c.openAt(ctx, *from, appdata.Options{System: sys, MustExist: true})
	if err != nil {
		return fmt.Errorf("-from: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := c.openAt(ctx, *to, appdata.Options{System: sys})
	if err != nil {
		return fmt.Errorf("-to: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	m := &migration{c, source, target, slices.Concat(sys.Classes(), c.app.Meta.Classes())}
	if err := m.checkTarget(ctx, *force); err != nil {
		return appdata.PlainError(err)
	}
	if err := m.reportForgotten(ctx); err != nil {
		return appdata.PlainError(err)
	}
	if err := m.copy(ctx); err != nil {
		return fmt.Errorf("the migration broke off, -to is not complete: %w", appdata.PlainError(err))
	}
	return appdata.PlainError(m.verify(ctx))
}

type migration struct {
	*dataCommand
	source, target *appdata.Database
	classes        []*engine.Class
}

func (m *migration) checkTarget(ctx context.Context, force bool) error {
	n, err := transfer.Total(ctx, m.target.Store, m.classes)
	if err != nil || n == 0 || force {
		return err
	}
	return fmt.Errorf("-to has %d objects, accounts or other entries: expected an empty database, or -force", n)
}

// reportForgotten prints the number of objects that are not copied, by class, because the
// application does not have their class.
func (m *migration) reportForgotten(ctx context.Context) error {
	counts := map[string]int{}
	err := m.source.Store.DumpForgotten(ctx, func(it *engine.Item) error {
		counts[it.Class.FullName]++
		return nil
	})
	if err != nil {
		return err
	}
	for _, class := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(m.io.Err, "not copied: %d objects of class %s, which the application does not have (restsrv export writes them)\n", counts[class], class)
	}
	return nil
}

func (m *migration) copy(ctx context.Context) error {
	total, err := transfer.Total(ctx, m.source.Store, m.classes)
	if err != nil {
		return err
	}
	if total == 0 {
		return errors.New("-from has nothing to copy: is it the right database?")
	}
	add, done := progress(m.io, "copying", total, false)
	defer done()
	return transfer.Copy(ctx, m.source.Store, m.target.Store, m.classes, add)
}

// verify compares both databases. If they are equal, it marks the copy as not new, so that a server
// does not add the data of the application to it.
func (m *migration) verify(ctx context.Context) error {
	a, err := transfer.Sums(ctx, m.source.Store, m.classes)
	if err != nil {
		return err
	}
	b, err := transfer.Sums(ctx, m.target.Store, m.classes)
	if err != nil {
		return err
	}
	writeSums(m.io.Out, a)
	if differ := differingSums(a, b); len(differ) > 0 {
		fmt.Fprintln(m.io.Out, "-to differs:")
		writeSums(m.io.Out, differ)
		return errors.New("the databases differ: was something written meanwhile, or was -to in use?")
	}
	if _, err := m.target.Store.Seed(ctx, nil); err != nil {
		return err
	}
	fmt.Fprintln(m.io.Out, "both databases are the same")
	return nil
}

// differingSums returns the sums in b that differ from a. For names that only a has, it returns
// empty sums.
func differingSums(a, b []transfer.Sum) (differ []transfer.Sum) {
	for _, s := range b {
		if !slices.Contains(a, s) {
			differ = append(differ, s)
		}
	}
	for _, s := range a {
		if !slices.ContainsFunc(b, func(t transfer.Sum) bool { return t.Name == s.Name }) {
			differ = append(differ, transfer.Sum{Name: s.Name})
		}
	}
	return differ
}

func writeSums(out io.Writer, sums []transfer.Sum) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, s := range sums {
		fmt.Fprintf(w, "%d\t%s\t  %s\n", s.Count, s.Hash, s.Name)
	}
	_ = w.Flush() // if the terminal is gone, the migration does not fail
}
