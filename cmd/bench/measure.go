package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// warmUp is the time for which a server gets requests before the first round, unless the scenario
// sets it.
const warmUp = 250 * time.Millisecond

// measureAll loads the rows into both servers and measures all selected scenarios with
// synchronous=NORMAL. On SQLite it then restarts the servers and measures the scenarios that write
// with FULL.
func measureAll(ctx context.Context, s *settings, left, right *program) (rows []row, err error) {
	for _, sc := range scenarios(authLine(), s.bulks) {
		if s.only.MatchString(sc.name) && !(s.self && sc.own) {
			if sc.limit > 0 && sc.write {
				sc.must.ratio = right.db.bulk
			}
			rows = append(rows, row{scenario: sc})
		}
	}
	modes := []string{"normal", "full"}
	if isPostgres(right.address) {
		modes = modes[:1]
	}
	for _, sync := range modes {
		servers, err := startEach(ctx, sync, left, right)
		if err != nil {
			return nil, err
		}
		err = func() error {
			defer stopAll(servers)
			if sync == "normal" {
				if err := seedAll(ctx, servers); err != nil {
					return err
				}
			}
			return measureRows(ctx, s, rows, sync, servers)
		}()
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// measureRows measures the rows of the table for one value of synchronous.
func measureRows(ctx context.Context, s *settings, rows []row, sync string, servers []*process) error {
	for i := range rows {
		r := &rows[i]
		if sync == "full" {
			if !r.scenario.write {
				continue
			}
			r.full = &pair{}
		}
		fmt.Fprintf(os.Stderr, "%s, synchronous=%s\n", r.scenario.name, sync)
		p := &r.normal
		if r.full != nil {
			p = r.full
		}
		*p = measure(ctx, s, r.scenario, servers)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// measure measures both servers in alternating rounds. The server that goes first alternates too.
func measure(ctx context.Context, s *settings, sc scenario, servers []*process) pair {
	sides, servers := [2]sample{}, slices.Clone(servers)
	asks := []*template{sc.left, sc.right}
	if sc.own {
		servers[0] = servers[1]
	}
	failed := func(i int, err error) pair { return pair{problem: servers[i].name + ": " + err.Error()} }
	if sc.find != nil {
		found, err := sc.find(ctx, servers[1])
		if err != nil {
			return failed(1, err)
		}
		asks[1] = found
	}
	r := round{connections: cmp.Or(sc.connections, s.connections), duration: cmp.Or(sc.warm, warmUp), limit: sc.limit}
	for i, p := range servers {
		if err := probeOnce(ctx, p, asks[i], sc.items); err != nil {
			return failed(i, err)
		}
		if _, err := drive(ctx, p, asks[i], r); err != nil {
			return failed(i, err)
		}
	}
	r.duration = s.duration
	for n := range 2 * s.rounds {
		i := (n + n/2) % 2 // order of the servers: 0 1 1 0 0 1 1 0
		one, err := drive(ctx, servers[i], asks[i], r)
		if err != nil {
			return failed(i, err)
		}
		sides[i].add(one)
	}
	return pair{left: sides[0], right: sides[1]}
}

// startEach starts programs. sync is the synchronous mode (see start).
func startEach(ctx context.Context, sync string, programs ...*program) ([]*process, error) {
	var servers []*process
	for _, g := range programs {
		p, err := g.start(ctx, sync)
		if err != nil {
			stopAll(servers)
			return nil, err
		}
		servers = append(servers, p)
	}
	return servers, nil
}

func stopAll(servers []*process) {
	for _, p := range servers {
		p.stop()
	}
}
