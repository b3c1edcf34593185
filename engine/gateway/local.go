package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// remote reaches other servers: directly, with time limits, following nothing.
func remote(idle time.Duration) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  idle,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxConnsPerHost:        256,
		MaxResponseHeaderBytes: 1 << 20,
		DisableCompression:     true, // what the browser asked for is handed on
		ForceAttemptHTTP2:      true,
	}
}

// local answers requests by a handler of this process.
type local struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper. The handler runs until it is done or
// nobody reads its answer any more.
func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	read, write := io.Pipe()
	w := &answer{header: http.Header{}, body: write, begun: make(chan struct{}), request: r, read: read}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	ctx := r.Context()
	stop := context.AfterFunc(ctx, func() { write.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		w.run(l.handler)
	}()
	select {
	case <-w.begun:
		if w.response == nil {
			return nil, errAborted
		}
		return w.response, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var errAborted = errors.New("the handler ended without an answer")

// answer is the writer of a handler, and the response that becomes of it.
type answer struct {
	header   http.Header
	request  *http.Request
	read     *io.PipeReader
	body     *io.PipeWriter
	once     sync.Once
	begun    chan struct{} // response is there, or never will be
	response *http.Response
}

func (a *answer) run(h http.Handler) {
	defer func() {
		err := context.Cause(a.request.Context()) // an answer that nobody waited for is not whole
		if p := recover(); p != nil {
			err = errAborted
			a.once.Do(func() { close(a.begun) })
		}
		a.WriteHeader(http.StatusOK)
		a.body.CloseWithError(err) // nil is the end
	}()
	h.ServeHTTP(a, a.request)
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if status < http.StatusOK {
		return
	}
	a.once.Do(func() {
		a.response = &http.Response{
			Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: a.header.Clone(), Body: a.read, ContentLength: -1, Request: a.request,
		}
		close(a.begun)
	})
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.request.Method == http.MethodHead {
		return len(b), nil
	}
	return a.body.Write(b)
}
