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

// newTransport returns a transport to other servers. It uses no proxy, has time
// limits and does not follow redirects.
func newTransport(idle time.Duration) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  idle,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxConnsPerHost:        256,
		MaxResponseHeaderBytes: 1 << 20,
		DisableCompression:     true, // forward the encoding that the browser asked for
		ForceAttemptHTTP2:      true,
	}
}

// local is a transport that passes requests to a handler of this process.
type local struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper. It starts the handler and returns when the response
// begins. The handler then continues while the caller reads the body. When the request has ended
// or the caller has closed the body, writes of the handler fail.
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
		w.runHandler(l.handler)
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

// answer is the http.ResponseWriter of the handler and produces the response.
type answer struct {
	header   http.Header
	request  *http.Request
	read     *io.PipeReader
	body     *io.PipeWriter
	once     sync.Once
	begun    chan struct{} // closed when response is set, or when the handler has failed without one
	response *http.Response
}

func (a *answer) runHandler(h http.Handler) {
	defer func() {
		err := context.Cause(a.request.Context()) // if the request has ended, the response is incomplete
		if p := recover(); p != nil {
			err = errAborted
			a.once.Do(func() { close(a.begun) })
		}
		a.WriteHeader(http.StatusOK)
		a.body.CloseWithError(err) // nil means a complete body
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
