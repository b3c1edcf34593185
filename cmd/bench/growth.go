package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// sizes are the numbers of rows for which growth is measured.
var sizes = [...]int{1_000, 100_000, 1_000_000}

// growthConnections is small, so that the latency does not include waiting in a queue.
const growthConnections = 4

// growth is a request that is measured for each of the sizes.
type growth struct {
	name string
	must float64 // goal of the ratio; 0 if there is none
	// items in the answer; 0 if it is an object
	items int
	after int // number of lines up to the request that the ratio compares with; 0 compares the largest with the smallest size
	ask   func(ctx context.Context, p *process) (*template, error)

	at [len(sizes)]sample
}

// allGrowths returns the requests in the order of the table.
func allGrowths() []*growth {
	fixed := func(t *template) func(context.Context, *process) (*template, error) {
		return func(context.Context, *process) (*template, error) { return t, nil }
	}
	first := func(sort string) func(context.Context, *process) (*template, error) {
		return fixed(get(path("crud/note@bench/?" + sort + "_count=20&_after=")))
	}
	far := func(sort string) func(context.Context, *process) (*template, error) {
		return func(ctx context.Context, p *process) (*template, error) { return middlePage(ctx, p, sort) }
	}
	return []*growth{
		{name: "GET one", must: 2, ask: fixed(get(item("crud")))},
		{name: "20 by indexed text", must: 1.3, items: 20, ask: fixed(get(group("crud/note@bench/?_count=20&")))},
		{name: "keyset: first page of 20", items: 20, ask: first("")},
		{name: "keyset: page in the middle", must: 1.1, after: 1, items: 20, ask: far("")},
		{name: "keyset by indexed text: first page", items: 20, ask: first("_sort=group&")},
		{name: "keyset by indexed text: page in the middle", must: 1.1, after: 1, items: 20, ask: far("_sort=group&")},
		{name: "list of 20 with _total", items: 20, ask: fixed(get(path("crud/note@bench/?_count=20&_total=1")))},
		{name: "20 by indexed text with _total", items: 20, ask: fixed(get(group("crud/note@bench/?_count=20&_total=1&")))},
	}
}

// printGrowth measures one database with servers for all sizes, and prints the table.
func printGrowth(ctx context.Context, s *settings, dir string, db *database) error {
	var servers []*process
	defer func() { stopAll(servers) }()
	for _, n := range sizes {
		name := fmt.Sprint("restsrv-", n)
		g, err := newRestsrv(program{name: name, dir: filepath.Join(dir, name), path: s.restsrv, db: db, numbers: &counters{rows: n}}, further{})
		if err != nil {
			return err
		}
		p, err := g.start(ctx, "normal")
		if err != nil {
			return err
		}
		servers = append(servers, p)
	}
	begin := time.Now()
	if err := seedAll(ctx, servers); err != nil {
		return err
	}
	loaded := time.Since(begin)
	all := allGrowths()
	for _, g := range all {
		if !s.only.MatchString(g.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s, %s\n", db.name, g.name)
		if err := g.measure(ctx, s, servers); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	if db.cpu != nil {
		fmt.Print("µs: the server / PostgreSQL's own processes; ratios are of the sum. ")
	}
	fmt.Printf("%d connections. All sizes were loaded through the acceptor in %s.\n\n", growthConnections, loaded.Round(time.Second))
	printTable(os.Stdout, growthLines(all, db.cpu != nil))
	return nil
}

// measure sends the request to the servers in alternating rounds.
func (g *growth) measure(ctx context.Context, s *settings, servers []*process) error {
	var asks [len(sizes)]*template
	for i, p := range servers {
		t, err := g.ask(ctx, p)
		if err == nil {
			err = probeOnce(ctx, p, t, g.items)
		}
		if err == nil {
			_, err = drive(ctx, p, t, round{connections: growthConnections, duration: warmUp})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		asks[i] = t
	}
	for n := range s.rounds {
		for i := range servers {
			i = (i + n) % len(servers)
			one, err := drive(ctx, servers[i], asks[i], round{connections: growthConnections, duration: s.duration})
			if err != nil {
				return fmt.Errorf("%s: %w", servers[i].name, err)
			}
			if one.failed > 0 {
				return fmt.Errorf("%s: %d of %d requests failed, the first with: %s", servers[i].name, one.failed, one.failed+one.answered, one.fault)
			}
			g.at[i].add(one)
		}
	}
	return ctx.Err()
}

// growthLines returns the lines of the table. If beside is set, a line shows the processor time of
// the server and, after a slash, of the database's own processes; the ratio is of their sum.
func growthLines(all []*growth, beside bool) [][]string {
	head := []string{"request"}
	for _, n := range sizes {
		head = append(head, fmt.Sprintf("%d: µs", n), "median")
	}
	lines := [][]string{append(head, "1k to 1M", "to the first", "must", "held")}
	last := len(sizes) - 1
	for i, g := range all {
		if g.at[0].answered == 0 {
			continue
		}
		line := []string{g.name}
		for j := range g.at {
			at := &g.at[j]
			cell := microText(at.perRequest())
			if beside {
				cell += " / " + microText(at.perAnswer(at.database))
			}
			line = append(line, cell, fmt.Sprintf("%.2f ms", float64(median(at.latencies))/1e6))
		}
		grown := ratio(&g.at[last], &g.at[0])
		judged, further := grown, ""
		if g.after > 0 {
			judged = ratio(&g.at[last], &all[i-g.after].at[last])
			further = fmt.Sprintf("%.2f", judged)
		}
		must, held := "", ""
		if g.must > 0 {
			must, held = fmt.Sprintf("%.1f", g.must), yesNo(judged <= g.must)
		}
		lines = append(lines, append(line, fmt.Sprintf("%.2f", grown), further, must, held))
	}
	return lines
}

// ratio returns the processor time per request of a, including the database, divided by that of b.
func ratio(a, b *sample) float64 {
	under := b.perAnswer(b.cpu + b.database)
	if under == 0 {
		return 0
	}
	return float64(a.perAnswer(a.cpu+a.database)) / float64(under)
}
