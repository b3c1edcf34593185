package rest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"restsrv/engine"
	"restsrv/engine/service"
)

// sendStream writes a response whose body is produced while it is sent. If the body is not complete, it panics with
// http.ErrAbortHandler: net/http then closes the connection without the end of the body, so that the client notices.
func (o *responder) sendStream(r *service.Response) {
	began := time.Now()
	h, status := o.prepareHead(r)
	o.setCaching()
	if h["Content-Type"] == nil {
		h["Content-Type"] = nil // prevents net/http from guessing the type
	}
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = []string{"no-cache"}
	}
	defer r.Stream.Close()
	w := &streamWriter{w: o.w, control: http.NewResponseController(o.w)}
	_ = w.control.EnableFullDuplex() // the handler may read the body of the request meanwhile; not every writer supports this
	o.w.WriteHeader(status)
	err := w.Flush()
	if err == nil {
		err = r.Stream.Send(w)
	}
	r.Stream.Close()
	o.logStream(status, w.sent, time.Since(began), err)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// logStream logs the end of a stream. Clients that disconnect are not an error.
func (o *responder) logStream(status int, sent int64, took time.Duration, err error) {
	level, attrs := slog.LevelInfo, []any{
		"request", o.req.ID, "service", o.req.Service, "method", o.req.Method, "path", o.req.Path, "status", status, "bytes", sent, "took", took,
	}
	if err != nil {
		attrs = append(attrs, "incomplete", err)
		if e := (*engine.Error)(nil); errors.As(err, &e) {
			level = slog.LevelWarn
		}
	}
	o.server.cfg.Log.Log(context.Background(), level, "stream ended", attrs...)
}

// streamWriter implements service.StreamWriter.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sent    int64
}

var _ service.StreamWriter = (*streamWriter)(nil)

// Write implements io.Writer.
func (w *streamWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	w.sent += int64(n)
	return n, err
}

// Flush implements service.StreamWriter. A writer that cannot flush, such as one that collects the response, keeps the
// bytes.
func (w *streamWriter) Flush() error {
	if err := w.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
