package rest

import (
	"context"
	"errors"
	"html"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/service"
)

// statuses maps error codes to HTTP statuses.
var statuses = map[engine.Code]int{
	engine.Internal:        http.StatusInternalServerError,
	engine.Invalid:         http.StatusBadRequest,
	engine.Unauthenticated: http.StatusUnauthorized,
	engine.Forbidden:       http.StatusForbidden,
	engine.NotFound:        http.StatusNotFound,
	engine.Conflict:        http.StatusConflict,
	engine.Unmatched:       http.StatusPreconditionFailed,
	engine.Unprocessable:   http.StatusUnprocessableEntity,
	engine.TooLarge:        http.StatusRequestEntityTooLarge,
	engine.Unsupported:     http.StatusUnsupportedMediaType,
	engine.TooMany:         http.StatusTooManyRequests,
	engine.Unavailable:     http.StatusServiceUnavailable,
	engine.Timeout:         http.StatusGatewayTimeout,
}

// fail writes the response for an error in the form that the service has chosen (service.ErrorForm).
func (o *responder) fail(err error) {
	var e *engine.Error
	if !errors.As(err, &e) {
		e = engine.Wrap(err, "the handler failed")
	}
	o.logFailure(e, err)
	o.advise(e)
	o.setCaching()
	status := statuses[e.Code]
	h := o.w.Header()
	o.auditStatus(status, e.Reason)
	switch e.Code {
	case engine.Unauthenticated:
		if c := challengeFor(o.mode, o.token); c != "" {
			h.Set("WWW-Authenticate", c)
		}
	case engine.TooMany, engine.Unavailable:
		h.Set("Retry-After", retryAfter(e.RetryAfter))
	case engine.TooLarge:
		h.Set("Connection", "close") // the rest of the body is not read
	}
	detail := e.Message
	if e.Code == engine.Internal {
		detail = engine.InternalText
	}
	if o.form != service.ProblemErrors && o.form != outerPage && o.failUnhandled(e, status, detail) {
		return
	}
	switch o.form {
	case service.PageErrors:
		o.failPage(e, status, detail)
	case service.ProblemErrors:
		o.writeProblem(e, status, detail)
	case outerPage:
		o.failOuterPage(status, detail)
	default:
		writePlain(o.w, status, detail)
	}
}

// auditStatus records an audit event if the status means that the request was denied: 401, 403 or 429.
func (o *responder) auditStatus(status int, reason string) {
	if status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusTooManyRequests || o.server.cfg.Audit == nil {
		return
	}
	e := engine.Event{Kind: engine.RequestDenied, Caller: *o.caller, Service: o.req.Service, Details: engine.Fields{
		{Name: "method", Value: o.req.Method}, {Name: "path", Value: engine.Cut(o.req.Path, maxMember)},
		{Name: "status", Value: int64(status)}}}
	if reason != "" {
		e.Details = append(e.Details, engine.Field{Name: "reason", Value: reason})
	}
	if o.req.Account != nil {
		e.Account = o.req.Account.ID
	}
	o.server.cfg.Audit.Audit(context.Background(), e)
}

// failPage writes an error response of the acceptor as an HTML page. Errors during the processing
// of the data, even internal ones, have the status 400. Other errors, such as 401 and 413, have
// the given status. A client that accepts problem+json gets that instead of a page.
func (o *responder) failPage(e *engine.Error, status int, detail string) {
	switch e.Code {
	case engine.Invalid, engine.Internal, engine.Unmatched, engine.Timeout, engine.NotFound:
		status = http.StatusBadRequest
	}
	if strings.Contains(o.req.Header.Get("Accept"), problemJSON) {
		o.writeProblem(e, status, detail)
		return
	}
	o.writePage(status, http.StatusText(status))
}

// writePage writes an HTML page with one line of text. It looks like the error pages of Express.
func (o *responder) writePage(status int, says string) {
	o.w.Header().Set("Content-Security-Policy", "default-src 'none'")
	writeText(o.w, status, textHTML, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>"+http.StatusText(status)+
		"</title></head>\n<body><pre>"+html.EscapeString(says)+"</pre></body>\n</html>\n")
}

// failUnhandled writes the response for an error that occurs before the handler of a service is
// called. The texts are those of IONDV, but a client that accepts problem+json gets that instead.
// If IONDV does not have the error, failUnhandled writes no response and returns false.
func (o *responder) failUnhandled(e *engine.Error, status int, detail string) bool {
	switch {
	case o.stage == atHandler:
		return false
	case strings.Contains(o.req.Header.Get("Accept"), problemJSON):
		o.writeProblem(e, status, detail)
	case o.stage == atRoute:
		o.writePage(status, "Cannot "+engine.Cut(o.req.Method+" "+o.path, maxDetail))
	case e.Code == engine.Unauthenticated:
		writePlain(o.w, status, http.StatusText(status))
	case e.Code == engine.Forbidden && e.Reason == engine.UnknownToken:
		writeText(o.w, status, textHTML, "Access level not enough for the action.")
	default:
		return false
	}
	return true
}

const problemJSON = "application/problem+json"

// Limits for the texts in problem+json, in characters. A message may contain text that the client has sent. maxMember
// is long enough for every name and id that can be stored.
const (
	maxDetail = 1000
	maxMember = 255
)

// writeProblem writes an error as application/problem+json (RFC 9457).
func (o *responder) writeProblem(e *engine.Error, status int, detail string) {
	b := append([]byte(`{"type":"about:blank","title":`), strconv.Quote(http.StatusText(status))...)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(status), 10)
	b = engine.AppendString(append(b, `,"detail":`...), engine.Cut(detail, maxDetail))
	for _, m := range [...]struct{ name, value string }{
		{"code", e.Reason}, {"class", e.Class}, {"id", e.ID}, {"attribute", e.Attribute},
	} {
		if m.value != "" {
			b = engine.AppendString(append(b, `,"`+m.name+`":`...), engine.Cut(m.value, maxMember))
		}
	}
	if e.Bulk {
		b = strconv.AppendInt(append(b, `,"index":`...), int64(e.Index), 10)
	}
	b = append(engine.AppendString(append(b, `,"requestId":`...), o.req.ID), '}')
	h := o.w.Header()
	h.Set("Content-Type", problemJSON)
	h.Set("X-Content-Type-Options", "nosniff")
	o.w.WriteHeader(status)
	_, _ = o.w.Write(b)
}

func retryAfter(d time.Duration) string {
	seconds := int64((d + time.Second - 1) / time.Second)
	if seconds < 1 {
		seconds = 1
	}
	return strconv.FormatInt(seconds, 10)
}

// logFailure logs an error with its cause. The level depends on the cause: Error or Warn for faults of the server,
// Debug for errors of the client.
func (o *responder) logFailure(e *engine.Error, err error) {
	level := slog.LevelDebug
	switch e.Code {
	case engine.Internal:
		level = slog.LevelError
	case engine.Unavailable, engine.Timeout:
		if e.Reason != engine.PasswordQueue {
			level = slog.LevelWarn
		}
	}
	o.server.cfg.Log.Log(context.Background(), level, "request failed",
		"request", o.req.ID, "service", o.req.Service, "method", o.req.Method, "path", o.req.Path, "error", err)
}
