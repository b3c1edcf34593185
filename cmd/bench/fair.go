package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The fairness benchmark (-fair) measures requests of one account, reader, first alone and then
// while another account, rival, sends requests on several connections.
const (
	rival           = "rival@local"
	fairConnections = 4
	rivals          = 8
	fairRounds      = 2
	fairDuration    = time.Second
	settling        = 300 * time.Millisecond // time until the server does not count rival as active any more
	heavyRegexps    = 28
	fairShare       = 0.5 // minimum throughput beside the load, relative to alone
	fairSlowdown    = 5.0 // maximum 99th percentile beside the load, relative to alone
)

// named is a request with its name in the table.
type named struct {
	name string
	ask  *template
}

// rivalLoads returns the requests that rival repeats, one for each load.
func rivalLoads() []named {
	as := func(method string, p, body *template) *template { return ask(method, p, basicLine(rival), body) }
	var patterns []string
	for i := range heavyRegexps {
		patterns = append(patterns, `{"body":{"$regex":"(a|b|c|d)*([a-z ]+)+x`+strconv.Itoa(i)+`$"}}`)
	}
	search := new(template).text(`{"filter":{"$or":[` + strings.Join(patterns, ",") + `]},"count":20}`)
	return []named{
		{"search with 28 regular expressions", as("POST", path("signed/note@bench/_search"), search)},
		{"_search without an index", as("GET", path("signed/note@bench?_count=20&_search=nowhere"), nil)},
		{"_total=1", as("GET", path("signed/note@bench?_count=20&_total=1"), nil)},
		{"_eager of 200", as("GET", path("signed/entry@bench?_count=200&_eager=author|topic"), nil)},
		{"bulk of 1000", as("POST", path("acceptor"), bulkBody(bulkNew, oldBlock, newBlock))},
	}
}

// readerRequests returns the measured requests of reader.
func readerRequests() []named {
	auth := basicLine(reader)
	return []named{
		{"GET one", ask("GET", item("signed"), auth, nil)},
		{"20 by indexed text", ask("GET", group("signed/note@bench/?_count=20&"), auth, nil)},
		{"PATCH one", ask("PATCH", item("signed"), auth, new(template).text(`{"title":"Title `).number(serial, 0).text(`"}`))},
	}
}

// printFair measures one database and prints its table. Use it when the machine has no other work,
// because other load changes the results.
func printFair(ctx context.Context, s *settings, dir string, db *database) error {
	g, err := newRestsrv(program{name: "restsrv", dir: filepath.Join(dir, "restsrv"), path: s.restsrv, db: db, numbers: &counters{rows: s.rows}}, further{})
	if err != nil {
		return err
	}
	p, err := g.start(ctx, "full")
	if err != nil {
		return err
	}
	defer p.stop()
	if err := seedAll(ctx, []*process{p}); err != nil {
		return err
	}
	if err := p.runCommand(ctx, "user", "add", "-force", "-roles", "reader", rival); err != nil {
		return err
	}
	time.Sleep(time.Second) // the server notices new accounts within half a second
	lines := [][]string{{"beside", "request", "alone/s", "beside/s", "share", "p99 alone", "p99 beside", "times", "held", "failed", "answers of rival/s", "refused/s"}}
	for _, load := range rivalLoads() {
		if !s.only.MatchString(load.name) {
			continue
		}
		for _, r := range readerRequests() {
			fmt.Fprintf(os.Stderr, "%s beside %q\n", r.name, load.name)
			line, err := fairLine(ctx, s, p, load, r)
			if err != nil {
				return fmt.Errorf("%s beside %s: %w", r.name, load.name, err)
			}
			lines = append(lines, line)
		}
	}
	fmt.Printf("%d rows. %d connections of one account, alone and beside %d of another. Held: at least %.0f %% of the throughput, and a p99 of at most %.0f times that alone. SQLite with synchronous=FULL.\n\n",
		s.rows, fairConnections, rivals, 100*fairShare, fairSlowdown)
	printTable(os.Stdout, lines)
	return nil
}

// fairLine measures a request alone and during a load, in alternating rounds. It returns a line of
// the table.
func fairLine(ctx context.Context, s *settings, p *process, load, r named) ([]string, error) {
	var alone, beside, other sample
	own := round{connections: fairConnections, duration: s.duration}
	for range s.rounds {
		for _, total := range []*sample{&alone, &beside} {
			stop := func() sample { return sample{} }
			if total == &beside {
				stop = startRival(ctx, p, load.ask)
			}
			_, err := drive(ctx, p, r.ask, round{connections: fairConnections, duration: warmUp})
			if err != nil {
				return nil, err
			}
			one, err := drive(ctx, p, r.ask, own)
			other.add(stop())
			if err != nil {
				return nil, err
			}
			total.add(one)
			time.Sleep(settling)
		}
	}
	rate := func(n int, s sample) float64 { return float64(n) / s.elapsed.Seconds() }
	share, times := rate(beside.answered, beside)/rate(alone.answered, alone), float64(p99(&beside))/float64(p99(&alone))
	held := share >= fairShare && times <= fairSlowdown && beside.failed == 0
	return []string{load.name, r.name, fmt.Sprintf("%.0f", rate(alone.answered, alone)), fmt.Sprintf("%.0f", rate(beside.answered, beside)),
		fmt.Sprintf("%.2f", share), milliText(p99(&alone)), milliText(p99(&beside)), fmt.Sprintf("%.1f", times), yesNo(held), strconv.Itoa(beside.failed),
		fmt.Sprintf("%.1f", rate(other.answered, other)), fmt.Sprintf("%.1f", rate(other.failed, other))}, ctx.Err()
}

// startRival starts a load. stop ends it and returns its result.
func startRival(ctx context.Context, p *process, t *template) (stop func() sample) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan sample, 1)
	go func() {
		all, err := drive(ctx, p, t, round{connections: rivals, duration: time.Hour})
		if err != nil {
			fmt.Fprintln(os.Stderr, "rival:", err)
		}
		done <- all
	}()
	time.Sleep(time.Second)
	return func() sample {
		cancel()
		return <-done
	}
}
