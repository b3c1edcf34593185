package rest

import (
	"io"
	"net/http"
	"time"

	"restsrv/engine"
)

// bodyGrace is how long a body may take before Config.MinBodyRate counts.
const bodyGrace = 10 * time.Second

// body limits the size of a request's body and the time it may take.
type body struct {
	src      io.Reader
	control  *http.ResponseController
	started  time.Time
	left     int64 // bytes until the limit
	received int64
	max      int64
	rate     int64 // bytes a second
}

func newBody(w http.ResponseWriter, r *http.Request, max, rate int64) io.Reader {
	b := &body{src: r.Body, control: http.NewResponseController(w), started: time.Now(), left: max, max: max, rate: rate}
	if r.ContentLength > max {
		b.left = -1
	}
	return b
}

// Read returns TooLarge once the limit is passed.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, engine.Errorf(engine.TooLarge, "too-large", "the body is larger than %d bytes", b.max)
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more tells whether the limit is passed
	}
	allowed := bodyGrace + time.Duration(b.received/b.rate)*time.Second
	_ = b.control.SetReadDeadline(b.started.Add(allowed)) // not every writer can
	n, err := b.src.Read(p)
	b.received += int64(n)
	b.left -= int64(n)
	if err != nil {
		// The connection goes on to serve; its own time limits apply again.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	if b.left < 0 {
		return 0, engine.Errorf(engine.TooLarge, "too-large", "the body is larger than %d bytes", b.max)
	}
	return n, err
}
