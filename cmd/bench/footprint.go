package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

const (
	footprintName = "start, memory and size" // name of this table for -only

	startups        = 10 // number of starts, of which the median counts
	manyStartups    = 5  // the same for an application with thousandClasses
	thousandClasses = 1000
	// time between start and measurement of memory
	settle = 3 * time.Second
	crowd  = 64 // connections during the measurement of memory
)

// The goals of the second table.
const (
	mustStart    = "40.0 ms"
	mustThousand = "150.0 ms"
	mustNew      = "700.0 ms"
	mustIdle     = "30.0 MiB"
	mustScripted = "40.0 MiB"
	mustLoaded   = "120.0 MiB"
	mustSize     = "22.0 MiB"
)

// measureFootprints measures the time from process start to the first answer with status 200, the
// memory and the size of the binary. It uses the databases that the scenarios have filled.
func measureFootprints(ctx context.Context, s *settings, dir string, programs []*program) ([][]string, error) {
	lines := [][]string{
		{"process"},
		{fmt.Sprintf("first 200 with an existing database, median of %d", startups)},
		{"the same with 100 classes"},
		{fmt.Sprintf("the same with %d classes, median of %d", thousandClasses, manyStartups)},
		{"the same with a new database, once"},
		{fmt.Sprintf("resident memory, idle %s after start", settle)},
		{"the same with 20 further script services"},
		{fmt.Sprintf("highest resident memory under %d connections", crowd)},
		{"stripped binary"},
	}
	for _, g := range programs {
		fmt.Fprintln(os.Stderr, footprintName, "of", g.name)
		start, err := medianStart(ctx, g, startups)
		if err != nil {
			return nil, err
		}
		many, thousand, first, scripted := "-", "-", "-", "-"
		if g.path == s.restsrv {
			if many, _, err = manyClasses(ctx, dir, g, 100, startups); err != nil {
				return nil, err
			}
			if thousand, first, err = manyClasses(ctx, dir, g, thousandClasses, manyStartups); err != nil {
				return nil, err
			}
			if scripted, err = manyServices(ctx, dir, g); err != nil {
				return nil, err
			}
		}
		idle, loaded, err := measureMemory(ctx, s, g)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(g.path)
		if err != nil {
			return nil, err
		}
		for i, cell := range []string{g.name, milliText(start), many, thousand, first, mebiText(idle), scripted, mebiText(loaded), mebiText(info.Size())} {
			lines[i] = append(lines[i], cell)
		}
	}
	for i, cell := range []string{"must", mustStart, mustStart, mustThousand, mustNew, mustIdle, mustScripted, mustLoaded, mustSize} {
		lines[i] = append(lines[i], cell)
	}
	return lines, nil
}

// medianStart starts and stops a program several times and returns the median time until it is
// ready.
func medianStart(ctx context.Context, g *program, starts int) (time.Duration, error) {
	var times []time.Duration
	for range starts {
		p, err := g.start(ctx, "normal")
		if err != nil {
			return 0, err
		}
		p.stop()
		times = append(times, p.started)
	}
	return median(times), nil
}

// manyClasses measures the start of an application with a number of classes. again is the median
// with an existing database, and first the time of the first start, which creates the tables.
func manyClasses(ctx context.Context, dir string, g *program, classes, starts int) (again, first string, err error) {
	many, p, err := startLarger(ctx, g, filepath.Join(dir, fmt.Sprintf("classes%d", classes)), further{classes: classes - ownClasses})
	if err != nil {
		return "", "", err
	}
	p.stop()
	d, err := medianStart(ctx, many, starts)
	return milliText(d), milliText(p.started), err
}

// startLarger starts a program like g, with more classes or services, on a new database.
func startLarger(ctx context.Context, g *program, dir string, more further) (*program, *process, error) {
	other, err := newRestsrv(program{name: "restsrv", dir: dir, path: g.path, db: g.db, numbers: g.numbers}, more)
	if err != nil {
		return nil, nil, err
	}
	p, err := other.start(ctx, "normal") // creates the tables
	return other, p, err
}

// manyServices measures the memory of an application with 20 more script services, after one
// request to each.
func manyServices(ctx context.Context, dir string, g *program) (string, error) {
	const services = 20
	other, p, err := startLarger(ctx, g, filepath.Join(dir, "scripted"), further{services: services})
	if err != nil {
		return "", err
	}
	p.stop()
	if p, err = other.start(ctx, "normal"); err != nil {
		return "", err
	}
	defer p.stop()
	for i := range services {
		t := ask("GET", path("copy"+strconv.Itoa(i)), authLine(), nil)
		if err := probeOnce(ctx, p, t, 0); err != nil {
			return "", err
		}
	}
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(settle):
	}
	idle, _, err := p.memory()
	return mebiText(idle), err
}

// measureMemory starts a program. idle is its resident memory before the first request, and loaded
// the maximum while many connections read and write.
func measureMemory(ctx context.Context, s *settings, g *program) (idle, loaded int64, err error) {
	p, err := g.start(ctx, "normal")
	if err != nil {
		return 0, 0, err
	}
	defer p.stop()
	select {
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	case <-time.After(settle):
	}
	if idle, _, err = p.memory(); err != nil {
		return 0, 0, err
	}
	for _, sc := range scenarios(authLine(), s.bulks) {
		if sc.own || sc.limit > 0 {
			continue
		}
		if _, err := drive(ctx, p, sc.left, round{connections: crowd, duration: s.duration}); err != nil {
			return 0, 0, err
		}
	}
	_, loaded, err = p.memory()
	return idle, loaded, err
}
