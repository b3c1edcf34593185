package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"
)

// warmUp is the time for which a server gets requests before the first round, unless the scenario
// sets it.
const warmUp = 250 * time.Millisecond

// measureAll loads the rows into both servers and measures all selected scenarios with
// synchronous=NORMAL. On SQLite it then restarts them and measures the scenarios that write with
// FULL. The notes are for printing below the table.
func measureAll(ctx context.Context, s *settings, left, right *program) (rows []row, notes []string, err error) {
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
		servers, err := startEach(ctx, []string{sync, sync}, left, right)
		if err != nil {
			return nil, nil, err
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
			return nil, nil, err
		}
	}
	if !s.self {
		notes, err = statementNotes(ctx, right, rows)
	}
	return rows, notes, err
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

// measure drives both sides in alternating rounds. The side that goes first
// alternates too.
func measure(ctx context.Context, s *settings, sc scenario, servers []*process) pair {
	type side struct {
		server *process
		ask    *template
		total  sample
	}
	sides := [2]side{{server: servers[0], ask: sc.left}, {server: servers[1], ask: sc.right}}
	if sc.own {
		sides[0].server = servers[1]
	}
	if sc.find != nil {
		found, err := sc.find(ctx, sides[1].server)
		if err != nil {
			return pair{problem: sides[1].server.name + ": " + err.Error()}
		}
		sides[1].ask = found
	}
	connections := cmp.Or(sc.connections, s.connections)
	for i := range sides {
		d := &sides[i]
		if err := probeOnce(ctx, d.server, d.ask, sc.items); err != nil {
			return pair{problem: d.server.name + ": " + err.Error()}
		}
		warm := round{connections: connections, duration: cmp.Or(sc.warm, warmUp), limit: sc.limit}
		if _, err := drive(ctx, d.server, d.ask, warm); err != nil {
			return pair{problem: d.server.name + ": " + err.Error()}
		}
	}
	for n := range 2 * s.rounds {
		d := &sides[(n+n/2)%2] // 0 1 1 0 0 1 1 0
		one, err := drive(ctx, d.server, d.ask, round{connections: connections, duration: s.duration, limit: sc.limit})
		if err != nil {
			return pair{problem: d.server.name + ": " + err.Error()}
		}
		d.total.add(one)
	}
	return pair{left: sides[0].total, right: sides[1].total}
}

// startEach starts programs, each with the synchronous mode at its index.
func startEach(ctx context.Context, sync []string, programs ...*program) ([]*process, error) {
	var servers []*process
	for i, g := range programs {
		p, err := g.start(ctx, sync[i])
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
