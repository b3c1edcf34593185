package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	settle = 3 * time.Second // time from the start to the measurement of idle memory
	crowd  = 64              // connections during the measurement of memory under load
)

// footprint is a line of the second table: a start time, memory or the size of a program.
type footprint struct {
	name, must string
	own        bool // set if the floor does not have this value
	measure    func(ctx context.Context, g *program) (string, error)
}

// footprints returns the lines of the second table. The programs use the databases that the
// scenarios have filled. Programs with a larger application have their files in dir.
func footprints(s *settings, dir string) []footprint {
	return []footprint{
		{"first 200 with an existing database, median of 10", "40.0 ms", false, startTime},
		{"the same with 100 classes", "40.0 ms", true, larger(dir, further{classes: 100 - ownClasses}, startTime)},
		{"with a new database and 1000 classes, once", "700.0 ms", true, larger(dir, further{classes: 1000 - ownClasses}, firstStart)},
		{"with an existing database and 1000 classes", "150.0 ms", true, larger(dir, further{classes: 1000 - ownClasses}, startTime)},
		{fmt.Sprintf("resident memory, idle %s after start", settle), "30.0 MiB", false, idleMemory(0)},
		{"the same with 20 further script services", "40.0 MiB", true, larger(dir, further{services: 20}, idleMemory(20))},
		{fmt.Sprintf("highest resident memory under %d connections", crowd), "120.0 MiB", false, loadedMemory(s)},
		{"growth of memory by an acceptor of 10,000, updates", "64.0 MiB", false, swell(oldBlock, 1, 1)},
		{"growth of memory by an acceptor of 10,000, new", "64.0 MiB", false, swell(newBlock, 1, 1)},
		{"the same, 8 updates in a row", "", false, swell(oldBlock, 8, 1)},
		{"the same, 4 updates at once", "", false, swell(oldBlock, 4, 4)},
		{"stripped binary", "34.0 MiB", false, func(_ context.Context, g *program) (string, error) {
			info, err := os.Stat(g.path)
			if err != nil {
				return "", err
			}
			return mebiText(info.Size()), nil
		}},
	}
}

// measureFootprints returns the second table. If -only selects no line, the table consists of its
// head.
func measureFootprints(ctx context.Context, s *settings, dir string, programs []*program) ([][]string, error) {
	lines := [][]string{{"process", programs[0].name, programs[1].name, "must"}}
	for _, f := range footprints(s, dir) {
		if !s.only.MatchString(f.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, f.name)
		line := []string{f.name}
		for _, g := range programs {
			cell := "-"
			if !f.own || g.path == s.restsrv {
				var err error
				if cell, err = f.measure(ctx, g); err != nil {
					return nil, fmt.Errorf("%s, %s: %w", g.name, f.name, err)
				}
			}
			line = append(line, cell)
		}
		lines = append(lines, append(line, f.must))
	}
	return lines, nil
}

// larger returns a function that calls measure for a variant of a program, with the additional
// classes or services in more. On SQLite, the lines of the table with the same variant share its
// database.
func larger(dir string, more further, measure func(context.Context, *program) (string, error)) func(context.Context, *program) (string, error) {
	return func(ctx context.Context, g *program) (string, error) {
		other, err := newRestsrv(program{name: "restsrv", dir: filepath.Join(dir, fmt.Sprint("larger-", more)), path: g.path, db: g.db, numbers: g.numbers}, more)
		if err != nil {
			return "", err
		}
		return measure(ctx, other)
	}
}

// firstStart measures one start on a new database, which creates the tables.
func firstStart(ctx context.Context, g *program) (string, error) {
	p, err := g.start(ctx, "normal")
	if err != nil {
		return "", err
	}
	p.stop()
	return milliText(p.started), nil
}

// startTime returns the median time of starts with an existing database.
func startTime(ctx context.Context, g *program) (string, error) {
	var times []time.Duration
	for i := range 11 {
		p, err := g.start(ctx, "normal")
		if err != nil {
			return "", err
		}
		p.stop()
		if i > 0 { // the first start may create the tables
			times = append(times, p.started)
		}
	}
	return milliText(percentile(times, 0.5)), nil
}

// idleMemory returns a function that starts a program, sends one request to each of its additional
// services and then measures its resident memory.
func idleMemory(services int) func(context.Context, *program) (string, error) {
	return func(ctx context.Context, g *program) (string, error) {
		if _, err := firstStart(ctx, g); err != nil {
			return "", err
		}
		p, err := g.start(ctx, "normal")
		if err != nil {
			return "", err
		}
		defer p.stop()
		for i := range services {
			if err := probeOnce(ctx, p, ask("GET", path(fmt.Sprint("copy", i)), authLine(), nil), 0); err != nil {
				return "", err
			}
		}
		time.Sleep(settle)
		idle, _, err := p.memory()
		return mebiText(idle), err
	}
}

// loadedMemory measures the peak resident memory while many connections read and write.
func loadedMemory(s *settings) func(context.Context, *program) (string, error) {
	return func(ctx context.Context, g *program) (string, error) {
		p, err := g.start(ctx, "normal")
		if err != nil {
			return "", err
		}
		defer p.stop()
		for _, sc := range scenarios(authLine(), s.bulks) {
			if sc.own || sc.limit > 0 {
				continue
			}
			if _, err := drive(ctx, p, sc.left, round{connections: crowd, duration: s.duration}); err != nil {
				return "", err
			}
		}
		_, loaded, err := p.memory()
		return mebiText(loaded), err
	}
}

// swell returns a function that measures the growth of memory during large saves: the peak
// resident memory minus the memory before the saves. Before these saves, the server answers only
// one small write.
func swell(block number, requests, connections int) func(context.Context, *program) (string, error) {
	return func(ctx context.Context, g *program) (string, error) {
		p, err := g.start(ctx, "normal")
		if err != nil {
			return "", err
		}
		defer p.stop()
		if err := probeOnce(ctx, p, patchOne(), 0); err != nil {
			return "", err
		}
		time.Sleep(time.Second)
		if err := os.WriteFile(p.procFile("clear_refs"), []byte("5"), 0); err != nil { // resets the peak
			return "", err
		}
		before, _, err := p.memory()
		if err != nil {
			return "", err
		}
		t := ask("POST", path("acceptor"), authLine(), bulkBody(largeSize, block))
		all, err := drive(ctx, p, t, round{connections: connections, duration: time.Minute, limit: requests})
		if err == nil && all.answered != requests {
			err = fmt.Errorf("%d of %d requests were answered, the first failure: %s", all.answered, requests, all.fault)
		}
		if err != nil {
			return "", err
		}
		_, peak, err := p.memory()
		return mebiText(peak - before), err
	}
}
