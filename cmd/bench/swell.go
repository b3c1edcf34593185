package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

const (
	swellName = "acceptor of 10,000, memory" // name of this table for -only
	mustSwell = "64.0 MiB"                   // goal for one request
	calm      = time.Second                  // time to wait before memory is measured
)

// swell is a measurement of memory that a server needs to save large requests.
type swell struct {
	name     string
	block    number
	requests int
	at       int // number of concurrent requests
	must     string
}

// measureSwells measures the difference between the peak of resident memory during the requests and
// the memory before them. It uses a new server each time, which has answered only one small write.
func measureSwells(ctx context.Context, programs []*program) ([][]string, error) {
	all := []swell{
		{"one request, updates", oldBlock, 1, 1, mustSwell},
		{"one request, new", newBlock, 1, 1, mustSwell},
		{"8 in a row, updates", oldBlock, 8, 1, ""},
		{"4 at once, updates", oldBlock, 4, 4, ""},
	}
	head := []string{swellName}
	for _, g := range programs {
		head = append(head, g.name)
	}
	lines := [][]string{append(head, "must")}
	for _, w := range all {
		fmt.Fprintf(os.Stderr, "%s: %s\n", swellName, w.name)
		line := []string{w.name}
		for _, g := range programs {
			grown, err := w.measure(ctx, g)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", g.name, w.name, err)
			}
			line = append(line, mebiText(grown))
		}
		lines = append(lines, append(line, w.must))
	}
	return lines, nil
}

func (w *swell) measure(ctx context.Context, g *program) (grown int64, err error) {
	p, err := g.start(ctx, "normal")
	if err != nil {
		return 0, err
	}
	defer p.stop()
	t := ask("POST", path("acceptor"), authLine(), bulkBody(largeSize, w.block))
	if err := probeOnce(ctx, p, patchOne(), 0); err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(calm):
	}
	if err := p.resetPeak(); err != nil {
		return 0, err
	}
	before, _, err := p.memory()
	if err != nil {
		return 0, err
	}
	sample, err := drive(ctx, p, t, round{connections: w.at, duration: time.Minute, limit: w.requests})
	if err != nil {
		return 0, err
	}
	if sample.answered != w.requests {
		return 0, fmt.Errorf("%d of %d requests were answered, the first failure: %s", sample.answered, w.requests, sample.fault)
	}
	_, peak, err := p.memory()
	return peak - before, err
}

// resetPeak sets the peak of resident memory to its current value.
func (p *process) resetPeak() error {
	return os.WriteFile(p.procFile("clear_refs"), []byte("5"), 0)
}
