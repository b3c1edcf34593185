package rest

import (
	"io"
	"net/http"
	"time"

	"restsrv/engine"
)

func hasBody(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// limitBody gives a body Config.BodyGrace to arrive, whoever will answer:
// net/http waits for the rest of a small body before it sends an answer, so a
// client that never sends it would hold the connection for ever. A handler
// that reads the body gives it more time as it arrives.
func (s *Server) limitBody(w http.ResponseWriter, r *http.Request) {
	if hasBody(r) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.cfg.BodyGrace)) // not every writer can
	}
}

// body limits the size of a request's body and the time it may take.
type body struct {
	src      io.Reader
	control  *http.ResponseController
	started  time.Time // of reading; zero before
	left     int64     // bytes until the limit
	received int64
	max      int64
	rate     int64 // bytes a second
	grace    time.Duration
}

func (s *Server) newBody(w http.ResponseWriter, r *http.Request, max int64) *body {
	b := &body{src: r.Body, control: http.NewResponseController(w), left: max, max: max, rate: int64(s.cfg.MinBodyRate), grace: s.cfg.BodyGrace}
	if r.ContentLength > max {
		b.left = -1
	}
	return b
}

// Read returns TooLarge once the limit is passed. The time limit stays until
// the body has ended: after a failure net/http may read on.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, engine.Errorf(engine.TooLarge, "too-large", "the body is larger than %d bytes", b.max)
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more tells whether the limit is passed
	}
	if b.started.IsZero() {
		b.started = time.Now()
	}
	allowed := b.grace + time.Duration(b.received/b.rate)*time.Second
	_ = b.control.SetReadDeadline(b.started.Add(allowed))
	n, err := b.src.Read(p)
	b.received += int64(n)
	b.left -= int64(n)
	if err == io.EOF { // a body cut short is another error
		// The connection goes on to serve; its own time limits apply again.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	if b.left < 0 {
		return 0, engine.Errorf(engine.TooLarge, "too-large", "the body is larger than %d bytes", b.max)
	}
	return n, err
}
