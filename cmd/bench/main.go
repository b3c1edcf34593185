// Command bench measures restsrv against the floor, a server with the minimum cost of an answer
// (see package floor beside it). It starts both as separate processes on loopback ports, on SQLite
// and then on PostgreSQL. It sends requests to them in short alternating rounds and prints a table
// for each database.
//
// With -fair it measures the requests of one account while another account causes load. To find out
// how the time of a request depends on the number of objects, compare runs with different -rows.
//
// The decisive figure is the processor time of the server per request, as the operating system
// counts it. Requests per second and latencies are only additional information, because the load
// generator uses the same processors as the servers. Differences under 15 % are noise. The command
// does not fail if a goal is missed (column must), and it does not test correctness. It needs Linux
// (/proc).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// settings holds the options of the command line.
type settings struct {
	rounds      int
	duration    time.Duration
	connections int
	rows        int
	bulks       int
	only        *regexp.Regexp
	restsrv     string // path of a restsrv binary; "" to build it
	self        bool   // set if the floor should be measured on both sides
	fair        bool
	db          string // sqlite, postgres or both
	keep        bool
}

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 10, "measure each scenario in this many rounds per server")
	flag.DurationVar(&s.duration, "duration", 300*time.Millisecond, "length of a round")
	flag.IntVar(&s.connections, "connections", 16, "keep-alive connections of a round")
	flag.IntVar(&s.rows, "rows", 100_000, "rows in both databases before measuring")
	flag.IntVar(&s.bulks, "bulks", 40, "bulk requests per round at most")
	only := flag.String("only", "", "measure only what has a name that matches this regular `expression`")
	flag.StringVar(&s.restsrv, "restsrv", "", "measure this prebuilt `binary` instead of building one")
	flag.BoolVar(&s.self, "self", false, "measure the floor against itself: what the ratios then differ from 1 is noise")
	flag.BoolVar(&s.fair, "fair", false, fmt.Sprintf("measure instead how requests of one account fare beside the load of another; in %d rounds of %s unless given", fairRounds, fairDuration))
	flag.StringVar(&s.db, "db", "both", "the `database`: sqlite, postgres or both; for postgres see RESTSRV_TEST_POSTGRES")
	flag.BoolVar(&s.keep, "keep", false, "keep the temporary directory with databases and logs")
	flag.Parse()
	if s.fair {
		s.setFairRounds()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := s.checkSettings(*only)
	if err == nil {
		err = run(ctx, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// setFairRounds sets the number and the duration of the rounds to the defaults of -fair: fewer
// and longer rounds than without -fair. It does not change a value that the command line sets.
func (s *settings) setFairRounds() {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["rounds"] {
		s.rounds = fairRounds
	}
	if !given["duration"] {
		s.duration = fairDuration
	}
}

// checkSettings completes the settings and returns an error if one is invalid.
func (s *settings) checkSettings(only string) error {
	var err error
	if s.only, err = regexp.Compile(only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if s.restsrv != "" {
		if s.restsrv, err = filepath.Abs(s.restsrv); err != nil {
			return err
		}
	}
	if s.db != "sqlite" && s.db != "postgres" && s.db != "both" {
		return fmt.Errorf("-db: %q is none of sqlite, postgres and both", s.db)
	}
	if s.fair && s.self {
		return errors.New("-fair has no floor: it cannot be combined with -self")
	}
	if s.rounds < 1 || s.connections < 1 || s.bulks < 1 || s.duration <= 0 {
		return errors.New("-rounds, -connections, -bulks and -duration must be positive")
	}
	if s.rows < largeSize || s.rows%largeSize != 0 {
		return fmt.Errorf("-rows must be a multiple of %d", largeSize)
	}
	return nil
}

// run does all measurements in a temporary directory.
func run(ctx context.Context, s *settings) error {
	dir, err := os.MkdirTemp("", "restsrv-bench-")
	if err != nil {
		return err
	}
	if s.keep {
		fmt.Fprintln(os.Stderr, "files stay in", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	floor, err := buildBinaries(ctx, s, dir)
	if err != nil {
		return err
	}
	all, missing, err := openDatabases(s)
	if err != nil {
		return err
	}
	for _, db := range all {
		defer db.close()
	}
	fmt.Printf("%s, %d processors, %s. %d rounds of %s per scenario and server. Server CPU time per request decides.\n",
		runtime.Version(), runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), s.rounds, s.duration)
	for _, db := range all {
		fmt.Printf("\n%s: %s.\n\n", db.name, db.settings)
		sub := filepath.Join(dir, db.name)
		if s.fair {
			err = printFair(ctx, s, sub, db)
		} else {
			err = compareDatabase(ctx, s, db, sub, floor)
		}
		if err != nil {
			return err
		}
	}
	if missing != nil {
		fmt.Printf("\nPostgreSQL was left out: %v.\n", missing)
	}
	return nil
}

// openDatabases opens the databases that -db names. If PostgreSQL is not installed and SQLite is
// measured too, it returns the reason in missing instead of an error.
func openDatabases(s *settings) (all []*database, missing, err error) {
	if s.db != "postgres" {
		all = append(all, sqliteFiles())
	}
	if s.db == "sqlite" {
		return all, nil, nil
	}
	db, err := postgresServer()
	switch {
	case err == nil:
		return append(all, db), nil, nil
	case s.db == "both":
		fmt.Fprintln(os.Stderr, "no PostgreSQL:", err)
		return all, err, nil
	}
	return nil, nil, fmt.Errorf("no PostgreSQL: %w", err)
}

// compareDatabase measures restsrv and the floor on one database and prints the tables.
func compareDatabase(ctx context.Context, s *settings, db *database, dir, floor string) error {
	one := func(name, binary string) program {
		return program{name: name, dir: filepath.Join(dir, name), path: binary, db: db, numbers: &counters{rows: s.rows}}
	}
	left, err := newFloor(one("floor", floor))
	if err != nil {
		return err
	}
	right, err := newRestsrv(one("restsrv", s.restsrv), further{})
	if s.self {
		right, err = newFloor(one("twin", floor))
	}
	if err != nil {
		return err
	}
	rows, err := measureAll(ctx, s, left, right)
	if err != nil {
		return err
	}
	footprints, err := measureFootprints(ctx, s, dir, []*program{left, right})
	if err != nil {
		return err
	}
	fmt.Printf("%s%d rows, %d connections.\n\n", db.columns, s.rows, s.connections)
	printRows(os.Stdout, rows, db.cpu != nil)
	if len(footprints) > 1 {
		fmt.Println()
		printTable(os.Stdout, footprints)
	}
	return nil
}

// buildBinaries builds restsrv and the floor like a release, without cgo and stripped. It returns
// the path of the floor.
func buildBinaries(ctx context.Context, s *settings, dir string) (floor string, err error) {
	floor = filepath.Join(dir, "floor-binary")
	if !s.fair {
		if err := buildBinary(ctx, "restsrv/cmd/bench/floor", floor); err != nil {
			return "", err
		}
	}
	if s.restsrv == "" && !s.self {
		s.restsrv = filepath.Join(dir, "restsrv-binary")
		return floor, buildBinary(ctx, "restsrv/cmd/restsrv", s.restsrv)
	}
	return floor, nil
}

func buildBinary(ctx context.Context, pkg, binary string) error {
	fmt.Fprintln(os.Stderr, "building", pkg)
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("building %s: %w", pkg, err)
	}
	return nil
}
