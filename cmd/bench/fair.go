package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	signIns         = 48 // accounts that have not signed in yet
	signInsPerRound = 8
	settling        = 300 * time.Millisecond // time until rival does not count as present any more
	heavyRegexps    = 28
	fairShare       = 0.5 // minimum throughput beside the load, relative to alone
	fairSlowdown    = 5.0 // maximum 99th percentile beside the load, relative to alone
)

// load is a request that rival repeats while requests of reader are measured.
type load struct {
	name string
	ask  *template
}

func rivalLoads() []load {
	auth := basicLine(rival)
	as := func(method string, p, body *template) *template { return ask(method, p, auth, body) }
	var patterns []string
	for i := range heavyRegexps {
		patterns = append(patterns, `{"body":{"$regex":"(a|b|c|d)*([a-z ]+)+x`+strconv.Itoa(i)+`$"}}`)
	}
	search := new(template).text(`{"filter":{"$or":[` + strings.Join(patterns, ",") + `]},"count":20}`)
	return []load{
		{"search with 28 regular expressions", as("POST", path("signed/note@bench/_search"), search)},
		{"_search without an index", as("GET", path("signed/note@bench?_count=20&_search=nowhere"), nil)},
		{"_total=1", as("GET", path("signed/note@bench?_count=20&_total=1"), nil)},
		{"_eager of 200", as("GET", path("signed/entry@bench?_count=200&_eager=author|topic"), nil)},
		{"bulk of 1000", as("POST", path("acceptor"), bulkBody(bulkNew, oldBlock, newBlock))},
	}
}

// printFair measures fairness on one database and prints the table.
func printFair(ctx context.Context, s *settings, dir string, db *database, v *verdict) error {
	g, err := newRestsrv(program{name: "restsrv", dir: filepath.Join(dir, "restsrv"), path: s.restsrv, db: db, numbers: &counters{rows: s.rows}}, further{})
	if err != nil {
		return err
	}
	begin := time.Now()
	p, err := g.start(ctx, "full")
	if err != nil {
		return err
	}
	defer func() { p.stop() }()
	if err := seedAll(ctx, []*process{p}); err != nil {
		return err
	}
	if err := addRivals(ctx, p); err != nil {
		return err
	}
	filled := time.Since(begin)
	begin = time.Now()
	f := &fairness{settings: s, program: g, process: p, verdict: v}
	defer func() { p = f.process }()
	lines := [][]string{{"beside", "request", "alone/s", "beside/s", "share", "p99 alone", "p99 beside", "times", "held", "answers of rival/s", "refused/s"}}
	for _, l := range rivalLoads() {
		if !s.only.MatchString(l.name) {
			continue
		}
		more, err := f.measureLoad(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		lines = append(lines, more...)
	}
	fmt.Printf("%d rows. %d connections of one account, alone and beside %d of another. Held: at least %.0f %% of the throughput, and a p99 of at most %.0f times that alone. Filled in %s, measured in %s; SQLite with synchronous=FULL.\n\n",
		s.rows, fairConnections, rivals, 100*fairShare, fairSlowdown, filled.Round(time.Second), time.Since(begin).Round(time.Second))
	printTable(os.Stdout, lines)
	return nil
}

// addRivals adds rival and the accounts for first sign-ins.
func addRivals(ctx context.Context, p *process) error {
	ids := []string{rival}
	for i := range signIns {
		ids = append(ids, signerName(i))
	}
	for _, id := range ids {
		if err := p.runCommand(ctx, "user", "add", "-roles", "reader", id); err != nil {
			return err
		}
	}
	time.Sleep(time.Second) // the server notices new accounts within half a second
	return nil
}

func signerName(i int) string { return fmt.Sprintf("signer%d@local", i) }

// verdict collects the results of all tables: the number of lines, and the lines that miss a goal.
type verdict struct {
	lines  int
	broken []string
}

func (v *verdict) print(w io.Writer) {
	fmt.Fprintf(w, "\nThe goals hold in %d of %d lines.\n", v.lines-len(v.broken), v.lines)
	for _, b := range v.broken {
		fmt.Fprintln(w, "Not held:", b)
	}
}

type fairness struct {
	*settings
	verdict *verdict
	program *program
	process *process
	signed  int // number of accounts that have signed in since the start of the server
}

func (f *fairness) measuredRequests() (names []string, asks []*template) {
	auth := basicLine(reader)
	patch := new(template).text(`{"title":"Title `).number(serial, 0).text(`"}`)
	return []string{"GET one", "20 by indexed text", "PATCH one", "first sign-in"}, []*template{
		ask("GET", item("signed"), auth, nil),
		ask("GET", group("signed/note@bench/?_count=20&"), auth, nil),
		ask("PATCH", item("signed"), auth, patch),
		nil,
	}
}

// measureLoad measures each request alone and beside a load, in alternating rounds. It returns the
// lines of the table.
func (f *fairness) measureLoad(ctx context.Context, l load) (lines [][]string, err error) {
	names, asks := f.measuredRequests()
	for i, t := range asks {
		fmt.Fprintf(os.Stderr, "%s beside %q\n", names[i], l.name)
		var alone, beside sample
		var answered, refused float64
		for range f.rounds {
			one, err := f.round(ctx, t)
			if err != nil {
				return nil, err
			}
			alone.add(one)
			stop := f.startRival(ctx, l)
			one, err = f.round(ctx, t)
			a, r := stop()
			time.Sleep(settling)
			if err != nil {
				return nil, err
			}
			beside.add(one)
			answered, refused = answered+a/float64(f.rounds), refused+r/float64(f.rounds)
		}
		if beside.failed > 0 {
			fmt.Fprintf(os.Stderr, "%d requests failed, the first with: %s\n", beside.failed, beside.fault)
		}
		line, held := fairLine(l.name, names[i], alone, beside, answered, refused)
		f.verdict.lines++
		if !held {
			f.verdict.broken = append(f.verdict.broken, fmt.Sprintf("%s: %s beside %q: %s of the throughput, a p99 of %s times, %d failures", f.program.db.name, names[i], l.name, line[4], line[7], beside.failed))
		}
		lines = append(lines, line)
	}
	return lines, ctx.Err()
}

// round measures one request. If t is nil, it measures first sign-ins.
func (f *fairness) round(ctx context.Context, t *template) (one sample, err error) {
	if t == nil {
		return f.signIn(ctx)
	}
	if _, err = drive(ctx, f.process, t, round{connections: fairConnections, duration: warmUp}); err != nil {
		return one, err
	}
	return drive(ctx, f.process, t, round{connections: fairConnections, duration: f.duration})
}

func fairLine(load, name string, alone, beside sample, answered, refused float64) (line []string, held bool) {
	rate := func(s sample) float64 { return float64(s.answered) / s.elapsed.Seconds() }
	p99 := func(s sample) time.Duration { return percentile(s.latencies, 0.99) }
	share, times := rate(beside)/rate(alone), float64(p99(beside))/float64(p99(alone))
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }
	held = share >= fairShare && times <= fairSlowdown && beside.failed == 0
	return []string{load, name, fmt.Sprintf("%.0f", rate(alone)), fmt.Sprintf("%.0f", rate(beside)), fmt.Sprintf("%.2f", share),
		ms(p99(alone)), ms(p99(beside)), fmt.Sprintf("%.1f", times), yesNo(held),
		fmt.Sprintf("%.1f", answered), fmt.Sprintf("%.1f", refused)}, held
}

// startRival starts a load. stop ends it and returns the number of its requests that were answered
// and refused per second.
func (f *fairness) startRival(ctx context.Context, l load) (stop func() (answered, refused float64)) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	var answered, refused atomic.Int64
	start := time.Now()
	for range rivals {
		done.Go(func() {
			for ctx.Err() == nil {
				if err := f.sendRival(ctx, l.ask.copy(), &answered, &refused); err != nil {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	time.Sleep(time.Second)
	return func() (float64, float64) {
		seconds := time.Since(start).Seconds()
		cancel()
		done.Wait()
		return float64(answered.Load()) / seconds, float64(refused.Load()) / seconds
	}
}

// sendRival sends requests of a load on one connection until ctx ends.
func (f *fairness) sendRival(ctx context.Context, t *template, answered, refused *atomic.Int64) error {
	c, err := dial(ctx, f.process.addr)
	if err != nil {
		return err
	}
	leave := context.AfterFunc(ctx, func() { c.conn.Close() })
	defer leave()
	defer c.conn.Close()
	var values [numbers]int
	for ctx.Err() == nil {
		f.process.numbers.draw(t, &values)
		t.fill(&values)
		status, err := c.exchange(t.raw, nil)
		switch {
		case err != nil:
			return err
		case status == 200:
			answered.Add(1)
		default:
			refused.Add(1)
		}
	}
	return nil
}

// signIn measures sign-ins of accounts that have not signed in since the start of the server. If
// too few are left, it restarts the server first.
func (f *fairness) signIn(ctx context.Context) (total sample, err error) {
	if f.signed+signInsPerRound > signIns { // the server caches verified passwords until it stops
		f.process.stop()
		if f.process, err = f.program.start(ctx, "full"); err != nil {
			return total, err
		}
		f.signed = 0
	}
	ids := make(chan string, signInsPerRound)
	for range signInsPerRound {
		ids <- signerName(f.signed)
		f.signed++
	}
	close(ids)
	start := time.Now()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for id := range ids {
				t := ask("GET", item("signed"), basicLine(id), nil)
				one, failure := drive(ctx, f.process, t, round{connections: 1, duration: patience, limit: 1})
				mu.Lock()
				total.add(one)
				err = errors.Join(err, failure)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	total.elapsed = time.Since(start)
	return total, err
}
