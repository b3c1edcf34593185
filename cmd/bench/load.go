package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// patience is the maximum time to wait for one answer. Then the connection is closed.
const patience = 20 * time.Second

// client is a keep-alive connection. It sends complete requests as bytes to save processor time,
// because it runs on the same machine as the measured server.
type client struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(ctx context.Context, addr string) (*client, error) {
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// exchange sends one request and writes the body of the answer to body.
func (c *client) exchange(request []byte, body io.Writer) (status int, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(body, answer.Body)
	return answer.StatusCode, err
}

// round holds the parameters of one measurement of a server.
type round struct {
	connections int
	duration    time.Duration
	limit       int // maximum number of requests; 0 means no limit
}

// sample is the result of one round, or the sum of several rounds.
type sample struct {
	answered, failed int
	fault            string // reason of the first failure
	elapsed, cpu     time.Duration
	database         time.Duration   // processor time of the database's own processes
	latencies        []time.Duration // of the answered requests
	rates            []float64       // answered requests per second, by round
}

func (s *sample) add(o sample) {
	s.answered += o.answered
	s.failed += o.failed
	if s.fault == "" {
		s.fault = o.fault
	}
	s.elapsed += o.elapsed
	s.cpu += o.cpu
	s.database += o.database
	s.latencies = append(s.latencies, o.latencies...)
	s.rates = append(s.rates, o.rates...)
}

// perRequest returns the processor time of the server per answer.
func (s *sample) perRequest() time.Duration { return s.perAnswer(s.cpu) }

// perAnswer divides a time by the number of answers.
func (s *sample) perAnswer(all time.Duration) time.Duration {
	if s.answered == 0 {
		return 0
	}
	return all / time.Duration(s.answered)
}

// drive sends request t to server p on several connections at the same time. Each connection waits
// for the answer before it sends the next request. Failed requests are counted in the result. The
// error is only set if the server cannot be reached or measured.
func drive(ctx context.Context, p *process, t *template, r round) (sample, error) {
	clients := make([]*client, r.connections)
	for i := range clients {
		c, err := dial(ctx, p.addr)
		if err != nil {
			return sample{}, err
		}
		defer c.conn.Close()
		defer context.AfterFunc(ctx, func() { c.conn.Close() })()
		c.conn.SetDeadline(time.Now().Add(r.duration + patience))
		clients[i] = c
	}
	before, beside, err := p.processorTimes()
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	end := start.Add(r.duration)
	var left atomic.Int64
	left.Store(int64(r.limit))
	parts := make([]sample, len(clients))
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			parts[i] = c.repeat(ctx, p.numbers, t.copy(), func() bool {
				return time.Now().Before(end) && ctx.Err() == nil && (r.limit == 0 || left.Add(-1) >= 0)
			})
		})
	}
	all.Wait()
	var total sample
	for _, part := range parts {
		total.add(part)
	}
	total.elapsed = time.Since(start)
	total.rates = []float64{float64(total.answered) / total.elapsed.Seconds()}
	after, behind, err := p.processorTimes()
	total.cpu, total.database = after-before, behind-beside
	return total, err
}

// processorTimes returns the processor time of the server since its start, and the processor time
// of the database's own processes.
func (p *process) processorTimes() (own, database time.Duration, err error) {
	if own, err = p.cpuTime(); err == nil && p.db.cpu != nil {
		database, err = p.db.cpu()
	}
	return own, database, err
}

// repeat sends t as long as more returns true. If the connection breaks, repeat returns, and the
// other connections send the remaining requests. A request that is interrupted because ctx ends
// is not counted.
func (c *client) repeat(ctx context.Context, n *counters, t *template, more func() bool) sample {
	var s sample
	for more() {
		n.fill(t)
		sent := time.Now()
		status, err := c.exchange(t.raw, io.Discard)
		switch {
		case ctx.Err() != nil:
			return s
		case err != nil:
			s.failed++
			s.fault = err.Error()
			return s
		case status != 200:
			s.failed++
			s.fault = "status " + strconv.Itoa(status)
		default:
			s.answered++
			s.latencies = append(s.latencies, time.Since(sent))
		}
	}
	return s
}
