package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// patience is the maximum time to wait for one answer. Then the connection is closed.
const patience = 20 * time.Second

// client is a connection of a minimal HTTP/1.1 client. It reads only the status, Content-Length and
// chunks. It must use little processor time, because it runs on the same machine as the measured
// server.
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

// exchange sends a request and reads the answer. If body is not nil, the body is written to it.
func (c *client) exchange(request []byte, body *bytes.Buffer) (status int, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, err
	}
	return readAnswer(c.in, body)
}

// readAnswer reads an answer to its end and returns its status. If body is not nil, the body is
// written to it.
func readAnswer(in *bufio.Reader, body *bytes.Buffer) (int, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, fmt.Errorf("not an HTTP status line: %q", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, fmt.Errorf("not an HTTP status line: %q", line)
	}
	length, chunked := int64(-1), false
	for {
		line, err = in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.ParseInt(string(value), 10, 64); err != nil || length < 0 {
				return 0, fmt.Errorf("not a length: %q", value)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.EqualFold(value, []byte("chunked"))
		}
	}
	switch {
	case chunked:
		return status, readChunks(in, body)
	case status == 204 || status == 304:
		return status, nil
	case length < 0:
		return 0, errors.New("an answer with neither a length nor chunks")
	}
	return status, take(in, body, length)
}

// readChunks reads a chunked body. It does not support trailers.
func readChunks(in *bufio.Reader, body *bytes.Buffer) error {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimRight(line, "\r\n")), 16, 32)
		if err != nil {
			return fmt.Errorf("not a chunk size: %q", line)
		}
		if err := take(in, body, size); err != nil {
			return err
		}
		if _, err := in.Discard(2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}

func take(in *bufio.Reader, body *bytes.Buffer, n int64) error {
	if body != nil {
		_, err := io.CopyN(body, in, n)
		return err
	}
	_, err := in.Discard(int(n))
	return err
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
			parts[i] = c.repeat(p.numbers, t.copy(), func() bool {
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

// processorTimes returns the processor times since the start, of the server and of the database's
// own processes.
func (p *process) processorTimes() (own, database time.Duration, err error) {
	if own, err = p.cpuTime(); err == nil && p.db.cpu != nil {
		database, err = p.db.cpu()
	}
	return own, database, err
}

// repeat sends request t as long as more returns true. If the connection breaks, it returns; the
// other connections then send the remaining requests.
func (c *client) repeat(n *counters, t *template, more func() bool) sample {
	var s sample
	var values [numbers]int
	for more() {
		n.draw(t, &values)
		t.fill(&values)
		sent := time.Now()
		status, err := c.exchange(t.raw, nil)
		switch {
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
