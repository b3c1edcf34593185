package rest

import (
	"io"
	"net/http"
	"time"

	"restsrv/engine"
)

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// limitBody sets a read deadline for the body of a request. It is needed for all handlers, even if a handler does not
// read the body: net/http reads the rest of a small body before it sends the response. A client that never sends the
// rest would hold the connection forever. A handler that reads the body extends the deadline as data arrives.
func (s *Server) limitBody(w http.ResponseWriter, r *http.Request) {
	if hasBody(r) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.cfg.BodyGrace)) // not every writer supports deadlines
	}
}

// body is a reader that limits the size of a request body and the time to receive it.
type body struct {
	src      io.Reader
	control  *http.ResponseController
	started  time.Time // time of the first read; zero before
	left     int64     // bytes that may still be read; negative if the body is too large
	received int64
	max      int64 // maximum number of bytes
	rate     int64 // minimum number of bytes per second
	grace    time.Duration
}

func (s *Server) newBody(w http.ResponseWriter, r *http.Request, max int64) *body {
	b := &body{src: r.Body, control: http.NewResponseController(w), left: max, max: max, rate: int64(s.cfg.MinBodyRate), grace: s.cfg.BodyGrace}
	if r.ContentLength > max {
		b.left = -1
	}
	return b
}

// Interrupt makes a Read that waits for the client return an error. It may be called while Read runs.
func (b *body) Interrupt() { _ = b.control.SetReadDeadline(time.Unix(1, 0)) }

// Read implements io.Reader. It returns TooLarge if the body is larger than the limit. The deadline stays until the
// end of the body, because net/http may continue reading after an error.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, engine.Errorf(engine.TooLarge, "too-large", "the body is larger than %d bytes", b.max)
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one byte more shows whether the body is too large
	}
	if b.started.IsZero() {
		b.started = time.Now()
	}
	allowed := b.grace + time.Duration(b.received/b.rate)*time.Second
	_ = b.control.SetReadDeadline(b.started.Add(allowed))
	n, err := b.src.Read(p)
	b.received += int64(n)
	b.left -= int64(n)
	if err == io.EOF { // the body is complete; a truncated body ends with another error
		// The connection stays open for the next request, which has its own time limits.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	if b.left < 0 {
		return 0, engine.Errorf(engine.TooLarge, "too-large", "the body is larger than %d bytes", b.max)
	}
	return n, err
}
