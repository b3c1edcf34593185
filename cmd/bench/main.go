// Command bench measures the real server against the floor, the least an answer
// can cost (see package floor beside it). It starts both as separate processes on
// loopback ports, drives them in short alternating rounds and prints one table.
// The judge is the processor time of the server per request, as the operating
// system counts it; requests per second and latencies are witnesses, because the
// load generator shares the processors with the servers. A difference under 15 %
// is none. It prints numbers and never fails on one. It needs Linux (/proc), and
// it is no test: correctness is tested elsewhere.
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

// settings are the command line of the benchmark.
type settings struct {
	rounds      int
	duration    time.Duration
	connections int
	rows        int
	bulks       int
	only        *regexp.Regexp
	restsrv     string // a prebuilt binary, "" to build it
	self        bool   // the floor on both sides
	keep        bool
}

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 12, "measure each scenario in this many rounds per server")
	flag.DurationVar(&s.duration, "duration", 300*time.Millisecond, "length of a round")
	flag.IntVar(&s.connections, "connections", 16, "keep-alive connections of a round")
	flag.IntVar(&s.rows, "rows", 100_000, "rows in both databases before measuring")
	flag.IntVar(&s.bulks, "bulks", 40, "bulk requests per round at most")
	only := flag.String("only", "", "measure only scenarios whose name matches this regular `expression`")
	flag.StringVar(&s.restsrv, "restsrv", "", "measure this prebuilt `binary` instead of building one")
	flag.BoolVar(&s.self, "self", false, "measure the floor against itself: what the ratios then differ from 1 is noise")
	flag.BoolVar(&s.keep, "keep", false, "keep the temporary directory with databases and logs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := s.check(*only)
	if err == nil {
		err = run(ctx, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// check completes the settings and refuses what cannot be measured.
func (s *settings) check(only string) error {
	var err error
	if s.only, err = regexp.Compile(only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if s.restsrv != "" {
		if s.restsrv, err = filepath.Abs(s.restsrv); err != nil {
			return err
		}
	}
	if s.rounds < 1 || s.connections < 1 || s.bulks < 1 || s.duration <= 0 {
		return errors.New("-rounds, -connections, -bulks and -duration must be positive")
	}
	if s.rows < bulkSize || s.rows%bulkSize != 0 {
		return fmt.Errorf("-rows must be a multiple of %d", bulkSize)
	}
	return nil
}

// run measures everything in a temporary directory.
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
	left, right, err := programs(ctx, s, dir)
	if err != nil {
		return err
	}
	rows, err := measureAll(ctx, s, left, right)
	if err != nil {
		return err
	}
	prints, err := footprints(ctx, s, dir, []*program{left, right})
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d processors, %s. %d rows, %d connections, %d rounds of %s per scenario and server.\n",
		runtime.Version(), runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly), s.rows, s.connections, s.rounds, s.duration)
	fmt.Print("Server CPU time per request decides. SQLite on both sides: WAL, synchronous=NORMAL; ",
		"the FULL columns (floor / ", right.name, "): WAL, synchronous=FULL.\n\n")
	printRows(os.Stdout, rows)
	fmt.Println()
	printTable(os.Stdout, prints)
	return nil
}

// programs builds what is measured, without cgo and stripped, as it is shipped.
func programs(ctx context.Context, s *settings, dir string) (left, right *program, err error) {
	floor := filepath.Join(dir, "floor-binary")
	if err := build(ctx, "restsrv/cmd/bench/floor", floor); err != nil {
		return nil, nil, err
	}
	if left, err = newFloor(filepath.Join(dir, "floor"), floor, "floor", &counters{rows: s.rows}); err != nil {
		return nil, nil, err
	}
	if s.self {
		right, err = newFloor(filepath.Join(dir, "twin"), floor, "twin", &counters{rows: s.rows})
		return left, right, err
	}
	binary := s.restsrv
	if binary == "" {
		binary = filepath.Join(dir, "restsrv-binary")
		if err := build(ctx, "restsrv/cmd/restsrv", binary); err != nil {
			return nil, nil, err
		}
	}
	s.restsrv = binary
	right, err = newRestsrv(filepath.Join(dir, "restsrv"), binary, &counters{rows: s.rows}, 0)
	return left, right, err
}

func build(ctx context.Context, pkg, binary string) error {
	fmt.Fprintln(os.Stderr, "building", pkg)
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("building %s: %w", pkg, err)
	}
	return nil
}
