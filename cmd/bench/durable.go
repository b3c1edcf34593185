package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The goals for durable writes.
const (
	mustDurable = 1.1 // processor time of a write with synchronous=FULL, relative to NORMAL
	mustShare   = 8   // writes per flush if shareAt connections write
	shareAt     = 64
)

// durable is a request that is measured with synchronous=FULL and NORMAL.
type durable struct {
	name        string
	connections int
	pair        pair // left is NORMAL, right is FULL
	answered    int  // answers during the count of flushes
	flushed     int
}

// selectDurables returns the measurements that match -only.
func selectDurables(s *settings) (chosen []*durable) {
	for _, n := range []int{16, shareAt} {
		d := &durable{name: fmt.Sprintf("PATCH one at %d connections", n), connections: n}
		if s.only.MatchString(d.name) {
			chosen = append(chosen, d)
		}
	}
	return chosen
}

// measureDurable measures writes on two servers, with NORMAL and FULL, on copies of the SQLite
// database of program g, which is not running. Then it counts the flushes of a third server.
// counted says which unit it counted.
func measureDurable(ctx context.Context, s *settings, dir string, g *program, all []*durable) (counted string, err error) {
	normal, err := copyProgram(filepath.Join(dir, "normal"), g)
	if err != nil {
		return "", err
	}
	full, err := copyProgram(filepath.Join(dir, "full"), g)
	if err != nil {
		return "", err
	}
	servers, err := startEach(ctx, []string{"normal", "full"}, normal, full)
	if err != nil {
		return "", err
	}
	for _, d := range all {
		fmt.Fprintf(os.Stderr, "%s, synchronous=FULL and NORMAL\n", d.name)
		sc := scenario{name: d.name, left: patchOne(), right: patchOne(), connections: d.connections}
		d.pair = measure(ctx, s, sc, servers)
	}
	stopAll(servers)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return countFlushes(ctx, s, full, all)
}

// copyProgram returns a program with the same application on a copy of the database, below dir.
func copyProgram(dir string, g *program) (*program, error) {
	other, err := newRestsrv(program{name: g.name, dir: dir, path: g.path, db: g.db, numbers: g.numbers}, further{})
	if err != nil {
		return nil, err
	}
	from, err := os.Open(g.address)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	to, err := os.OpenFile(other.address, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(to, from); err != nil {
		to.Close()
		return nil, err
	}
	return other, to.Close()
}

// countFlushes sends writes to a server and counts its flushes, with strace if that is installed.
// Otherwise it counts commits, since each of them flushes once.
func countFlushes(ctx context.Context, s *settings, g *program, all []*durable) (counted string, err error) {
	flushes := g.loggedCommits
	counted = "COMMIT statements: there is no strace to count flushes with"
	if strace, err := exec.LookPath("strace"); err == nil {
		counted, flushes = "fsync and fdatasync calls, counted by strace", g.tracedFlushes
		g.strace = strace
	} else {
		g.verbose = true
	}
	p, err := g.start(ctx, "full")
	if err != nil {
		return "", err
	}
	defer p.stop()
	for _, d := range all {
		before, err := flushes()
		if err != nil {
			return "", err
		}
		sample, err := drive(ctx, p, patchOne(), round{connections: d.connections, duration: 2 * s.duration})
		if err != nil {
			return "", err
		}
		after, err := flushes()
		if err != nil {
			return "", err
		}
		d.answered, d.flushed = sample.answered, after-before
	}
	return counted, nil
}

// tracedFlushes returns the number of flushes in the output of strace so far.
func (g *program) tracedFlushes() (int, error) {
	text, err := os.ReadFile(g.traceFile())
	return strings.Count(string(text), "sync("), err // fsync(4) = 0, fdatasync(4 <unfinished ...>
}

// loggedCommits returns the number of commits in the log of the server so far.
func (g *program) loggedCommits() (int, error) {
	text, err := os.ReadFile(g.logFile())
	return strings.Count(string(text), "sql=COMMIT"), err
}

// printDurable prints the table of durable writes.
func printDurable(w io.Writer, all []*durable, counted string) {
	lines := [][]string{{"synchronous=FULL against NORMAL, restsrv", "NORMAL µs", "FULL µs", "ratio", "must", "held",
		"answers per flush", "must", "held", "NORMAL req/s", "FULL req/s", "NORMAL p99", "FULL p99", "failed"}}
	for _, d := range all {
		cells := d.pair.normalCells(target{ratio: mustDurable})
		share, wanted, held := "-", "", ""
		if d.flushed > 0 {
			share = fmt.Sprintf("%.1f", float64(d.answered)/float64(d.flushed))
			if d.connections == shareAt {
				wanted, held = fmt.Sprint(mustShare), yesNo(d.answered >= mustShare*d.flushed)
			}
		}
		line := append([]string{d.name}, cells[:5]...)
		line = append(line, share, wanted, held)
		lines = append(lines, append(line, cells[5:]...))
	}
	printTable(w, lines)
	for _, d := range all {
		for _, n := range d.pair.problemNotes(d.name) {
			fmt.Fprintln(w, "! "+n)
		}
	}
	fmt.Fprintf(w, "Flushes are %s.\n", counted)
}
