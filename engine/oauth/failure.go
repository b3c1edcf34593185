package oauth

import (
	stderrors "errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-oauth2/oauth2/v4/errors"

	"restsrv/engine"
)

// failure is an error of RFC 6749 sections 4.1.2.1 and 5.2, or of a related
// RFC.
type failure struct {
	kind   error // an error of the library
	text   string
	status int           // 0 means 400
	shown  int           // if not 0, the text is shown with this status instead of the consent page; the text must not contain data of the client
	retry  time.Duration // for Retry-After; 0 means that it is not sent
}

func (f *failure) Error() string { return f.kind.Error() + ": " + f.text }

func invalidRequest(text string) error {
	return &failure{kind: errors.ErrInvalidRequest, text: text}
}

func invalidGrant(text string) error {
	return &failure{kind: errors.ErrInvalidGrant, text: text}
}

// invalidClient returns the same error for unknown clients and for wrong
// secrets.
func invalidClient() error {
	return &failure{kind: errors.ErrInvalidClient, text: "the client is unknown or its secret is wrong", status: http.StatusUnauthorized}
}

func unauthorizedClient(text string) error {
	return &failure{kind: errors.ErrUnauthorizedClient, text: text}
}

// failureOf converts any error to one of RFC 6749. Internal errors get no
// details.
func failureOf(err error) *failure {
	var f *failure
	var e *engine.Error
	switch {
	case stderrors.As(err, &f):
		return f
	case !stderrors.As(err, &e):
	case e.Code == engine.TooMany:
		return &failure{kind: errors.ErrTemporarilyUnavailable, text: e.Message, status: http.StatusTooManyRequests, retry: max(e.RetryAfter, time.Second)}
	case e.Code == engine.Unavailable || e.Code == engine.Timeout:
		return &failure{kind: errors.ErrTemporarilyUnavailable, text: "the server is busy, try again later", status: http.StatusServiceUnavailable, retry: max(e.RetryAfter, time.Second)}
	case e.Code == engine.Invalid || e.Code == engine.TooLarge:
		return &failure{kind: errors.ErrInvalidRequest, text: e.Message}
	}
	return &failure{kind: errors.ErrServerError, text: "internal server error", status: http.StatusInternalServerError}
}

// response converts a failure to a response of the library (see newLibrary).
func (f *failure) response() *errors.Response {
	r := errors.NewResponse(f.kind, f.status)
	if r.StatusCode == 0 {
		r.StatusCode = http.StatusBadRequest
	}
	r.Description = errorDescription(f.text)
	if f.status == http.StatusUnauthorized {
		r.SetHeader("WWW-Authenticate", `Basic realm="restsrv", charset="UTF-8"`)
	}
	if f.retry > 0 {
		r.SetHeader("Retry-After", strconv.FormatInt(int64((f.retry+time.Second-1)/time.Second), 10))
	}
	return r
}

// errorDescription replaces the characters of a text that are not allowed in an
// error_description.
func errorDescription(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"' || r == '\\' || r == '“' || r == '”':
			return '\''
		case r < ' ' || r > '~':
			return '?'
		}
		return r
	}, engine.Cut(text, 500))
}

// logFailure logs a failure with its cause, at the level error if the server failed and debug
// otherwise.
func (p *Provider) logFailure(r *http.Request, err error) {
	f := failureOf(err)
	var e *engine.Error
	if f.status >= http.StatusInternalServerError && !(stderrors.As(err, &e) && e.Reason == engine.PasswordQueue) {
		p.cfg.Log.Error("an OAuth2 request failed", "request", engine.CallerFrom(r.Context()).Request, "path", r.URL.Path, "error", err)
		return
	}
	p.cfg.Log.Debug("an OAuth2 request was refused", "request", engine.CallerFrom(r.Context()).Request, "path", r.URL.Path, "error", err)
}
