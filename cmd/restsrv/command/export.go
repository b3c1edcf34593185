package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"restsrv/engine/server/appdata"
	"restsrv/engine/transfer"
)

const exportUsage = `restsrv export writes everything as NDJSON, also while the server runs: objects
with their creators, editors and hashes of passwords, members of
collections, accounts, roles, resources, permissions, stages of workflows, the
journal of changes, counters. Objects of classes that the application no longer
has, or that a mistake leaves out, are in it too. Tokens, events of the audit,
remembered answers and keys of the server are not in it. restsrv import restores it into any database;
exported again it is the same, byte by byte.

It has the state of the moment when it began. Writes do not wait for it. Until it
ends, however, the database keeps the rows that they replace: the -wal file of
SQLite grows, and PostgreSQL cannot change the columns of tables.

  restsrv export > all.ndjson
  restsrv export -o all.ndjson -files

A reader of the file can try to guess passwords from their hashes: protect it as
you protect the database.
`

// exportCommand runs restsrv export.
func exportCommand(ctx context.Context, args []string, s Stdio) (err error) {
	c := newDataCommand("export", exportUsage, s)
	file := c.set.String("o", "", "file to write, for its owner alone (default the standard output)")
	withFiles := c.set.Bool("files", false, "write the contents of files, too")
	d, err := c.openForReading(ctx, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	config := transfer.ExportConfig{Data: d.Store, Classes: slices.Concat(d.System.ExportedClasses(), c.app.Meta.Classes()), Files: d.System.Files}
	var lost []string
	if *withFiles {
		config.Content = appdata.Contents{Files: d.Files}
		config.Lost = func(hash, file string) { lost = append(lost, fmt.Sprintf("file %s, content %s", file, hash)) }
		resume, err := d.Files.Pause() // contents of exported objects must not be deleted until the end
		if err != nil {
			return appdata.PlainError(err)
		}
		defer resume()
	}
	done := func() {}
	if s.Terminal {
		config.Begin = func(total int64) (add func(int64)) {
			add, done = progress(s, "exporting", total, false)
			return add
		}
	}
	config.Read = warnWhileReading(s.Err, "export", longReading)
	defer config.Read()
	items := map[string]int{}
	err = writeAtomically(*file, s.Out, func(out io.Writer) (err error) {
		items, err = transfer.Export(ctx, config, out)
		return err
	})
	done()
	if err != nil {
		return appdata.PlainError(err)
	}
	for _, name := range lost {
		fmt.Fprintf(s.Err, "restsrv export: %s: the content is lost and not in the export\n", name)
	}
	n := 0
	for _, count := range items {
		n += count
	}
	fmt.Fprintf(s.Err, "%d objects of %d classes exported\n", n, len(items))
	return nil
}

// longReading is the time after which a command that reads from one snapshot prints a warning. The
// warning is repeated at this interval.
const longReading = 5 * time.Minute

// warnWhileReading prints a warning at each interval until stop is called. Commands use it while
// they read from one snapshot, because the database cannot reuse the space of changed rows while
// the snapshot is open.
func warnWhileReading(out io.Writer, command string, every time.Duration) (stop func()) {
	began, ended := time.Now(), make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		again := time.NewTicker(every)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				fmt.Fprintf(out, "restsrv %s: reading for %s; until it ends, the database cannot reuse the space of changed rows, and the -wal file of SQLite grows\n",
					command, time.Since(began).Round(time.Second))
			case <-ended:
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(ended); running.Wait() })
}

// writeAtomically writes a file completely or not at all. Only the owner can read the file. If name
// is "", it writes to out.
func writeAtomically(name string, out io.Writer, write func(io.Writer) error) (err error) {
	if name == "" {
		return write(out)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // its mode is 0600
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", name, appdata.PathCause(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	buffered := bufio.NewWriter(f)
	if err := write(buffered); err != nil {
		return err
	}
	if err := errors.Join(buffered.Flush(), f.Sync()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return f.Close()
}
