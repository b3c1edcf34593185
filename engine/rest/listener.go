package rest

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"time"
)

// AnswerGrace is how long a client may leave bytes of responses unread before its connection is
// closed.
const AnswerGrace = 10 * time.Second

// Listen returns a listener whose connections are closed if the client reads responses more slowly than rate bytes
// per second. A client may be late by the time grace in total. The limit applies to all bytes that are written to a
// connection: responses of services, files, pages, and small responses that a client requests without reading them.
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
	if !ok { // not a kernel socket, so it has no buffer that a slow client could fill
		return c, nil
	}
	return &conn{TCPConn: tcp, of: l, left: l.grace}, nil
}

// conn is a connection on which a blocked write fails after some time. It has no lock, because net/http writes from
// one goroutine at a time.
type conn struct {
	*net.TCPConn
	of    *listener
	left  time.Duration // time for which writes may still be blocked; it grows when the client reads
	until time.Time     // the write deadline that is set
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

// ReadFrom implements io.ReaderFrom, so that the kernel can send files without copying them to the process.
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

// SetWriteDeadline implements net.Conn. It has no effect: each write sets its own deadline, and net/http would remove
// that deadline after every response.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

func isFile(r io.Reader) bool {
	if l, ok := r.(*io.LimitedReader); ok {
		r = l.R
	}
	_, ok := r.(*os.File)
	return ok
}

// tries is how often a blocked write is repeated before the connection is closed. A blocked write
// continues only when a third of the kernel's buffer is free, which takes long with a slow
// client. A new write also uses smaller free space, and so it shows whether the client is reading
// at all.
const tries = 8

// setDeadline sets the deadline for a write that begins now. If the deadline of an earlier write is late enough,
// setDeadline keeps it, because setting a deadline takes a lock of the Go runtime.
func (c *conn) setDeadline() (now time.Time) {
	now = time.Now()
	wait := min(c.left, c.of.grace/tries)
	if c.until.Sub(now) < wait {
		c.until = now.Add(wait + c.of.grace/tries)
		_ = c.TCPConn.SetWriteDeadline(c.until) // the error is ignored: on a closed connection the write fails
	}
	return now
}

// shouldRetry updates c.left after a write that began at the given time and sent moved bytes. It returns true if the
// write should be repeated: it has reached its deadline, and the client may still be late.
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
