package rest

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"time"
)

// AnswerGrace is how long a client may leave the bytes of answers unread before
// its connection is closed.
const AnswerGrace = 10 * time.Second

// Listen returns a listener that closes a connection if its client reads
// answers more slowly than rate bytes per second. A client may fall behind by
// grace. The limit applies to every byte that is written to a connection:
// answers of services, files, pages, and small answers that a client requests
// without reading them.
func Listen(l net.Listener, rate int, grace time.Duration, log *slog.Logger) net.Listener {
	return &listener{l, int64(max(rate, 1)), grace, log}
}

type listener struct {
	net.Listener
	rate  int64
	grace time.Duration
	log   *slog.Logger
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok { // a connection without the buffers of a kernel socket
		return c, nil
	}
	return &conn{TCPConn: tcp, of: l, left: l.grace}, nil
}

// conn is a connection whose writes must make progress. net/http writes from
// one goroutine at a time.
type conn struct {
	*net.TCPConn
	of    *listener
	left  time.Duration // remaining time for which writes may be blocked
	until time.Time     // the current deadline
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (written int, err error) {
	for {
		now := c.setDeadline()
		n, err := c.TCPConn.Write(p[written:])
		written += n
		if !c.shouldRetry(now, int64(n), err) {
			return written, err
		}
	}
}

// ReadFrom implements io.ReaderFrom, so that the kernel can copy files.
func (c *conn) ReadFrom(r io.Reader) (written int64, err error) {
	if !isFile(r) {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	for {
		now := c.setDeadline()
		n, err := c.TCPConn.ReadFrom(r) // after a timeout, r continues after the bytes that were sent
		written += n
		if !c.shouldRetry(now, n, err) {
			return written, err
		}
	}
}

// SetWriteDeadline implements net.Conn. It has no effect, because each write
// sets its own deadline and net/http would remove it after every answer.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

func isFile(r io.Reader) bool {
	if l, ok := r.(*io.LimitedReader); ok {
		r = l.R
	}
	_, ok := r.(*os.File)
	return ok
}

// tries is how often a write is retried within its grace. The kernel reports
// free space only if a third of its buffer is free, which takes long with a
// slow client. A retry uses smaller free space, too, and so detects that the
// client reads.
const tries = 8

// setDeadline sets the deadline of a write that begins now. It keeps the
// deadline of an earlier write if that is late enough, because setting a
// deadline takes a lock of the runtime.
func (c *conn) setDeadline() (now time.Time) {
	now = time.Now()
	wait := min(c.left, c.of.grace/tries)
	if c.until.Sub(now) < wait {
		c.until = now.Add(wait + c.of.grace/tries)
		_ = c.TCPConn.SetWriteDeadline(c.until) // ignored: on a closed connection the write fails
	}
	return now
}

// shouldRetry records how many bytes a write sent. It returns true if the write
// should be retried: the write ended at its deadline, and the client has not
// used up its grace.
func (c *conn) shouldRetry(began time.Time, moved int64, err error) bool {
	c.left -= time.Since(began)
	c.left = min(c.left+time.Duration(float64(moved)/float64(c.of.rate)*float64(time.Second)), c.of.grace)
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.until = time.Time{}
	if c.left > 0 {
		return true
	}
	c.of.log.Info("closing a connection whose client does not read its answer", "address", c.RemoteAddr().String(), "minAnswerRate", c.of.rate)
	return false
}
