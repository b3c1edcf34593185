package script

import (
	"context"
	"errors"
	"net/http"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// exchangeBinding makes the req objects of a VM and converts the results of handlers to responses.
type exchangeBinding struct {
	*vm
	requestProto *goja.Object
	scratch      []byte // buffer of the JSON writer, kept between calls
}

func newExchange(v *vm) *exchangeBinding { return &exchangeBinding{vm: v} }

// serveRoute runs a request of one route of a service.
func serveRoute(ctx context.Context, s *vmService, in *intake, r *engine.Request, route int) (*engine.Response, error) {
	body, err := readBody(ctx, r, &s.limits, in)
	defer body.close()
	if err != nil {
		return nil, err
	}
	o, err := s.run(ctx, r, &routeWork{route: route, body: body})
	if err != nil {
		return nil, err
	}
	return o.response, o.err
}

// routeWork is the work of a request: the handler of a route.
type routeWork struct {
	route int
	body  body
}

var _ work = (*routeWork)(nil)

// Start implements vm.Work.
func (w *routeWork) Start(c *call) (goja.Value, error) {
	route := c.vm.routes[w.route]
	return route.handler(route.this, bindingOf[*exchangeBinding](c.vm).requestObject(c, w.body))
}

// Finish implements vm.Work.
func (w *routeWork) Finish(c *call, result goja.Value) outcome {
	return outcome{response: bindingOf[*exchangeBinding](c.vm).buildResponse(result)}
}

const internalText = "Internal server error"

// devHeader is the response header with the position of a failure in development mode.
const devHeader = "X-Script-Error"

// Fail returns the response or the error for a failure. If the script set a status, the client receives the status
// and the message. Otherwise it receives an internal error, or the error of the repository if that was unavailable,
// timed out or rejected too many requests.
func (w *routeWork) Fail(c *call, f *Failure) outcome {
	s, r := c.service, c.req
	if f.status != 0 {
		s.log.Debug("a handler refused a request", "request", r.ID, "status", f.status, "error", f)
		return outcome{response: addPlace(s, text(f.status, f.text), f)}
	}
	var e *engine.Error
	if errors.As(f.cause, &e) && (e.Code == engine.Unavailable || e.Code == engine.Timeout || e.Code == engine.TooMany) {
		return outcome{err: e}
	}
	if s.dev {
		s.log.Error("a handler failed", s.failureArgs(f, "request", r.ID, "method", r.Method, "path", r.Path)...)
		return outcome{response: addPlace(s, text(http.StatusInternalServerError, internalText), f)}
	}
	return outcome{err: &engine.Error{Code: engine.Internal, Reason: "script", Message: internalText, Err: f}}
}

// Displaced implements vm.Work.
func (w *routeWork) Displaced() outcome {
	r := text(http.StatusServiceUnavailable, "the service was restarted, try again")
	r.SetHeader("Retry-After", "0")
	return outcome{displaced: true, response: r}
}

// Urgent implements vm.Work.
func (w *routeWork) Urgent() bool { return false }

func addPlace(s *vmService, r *engine.Response, f *Failure) *engine.Response {
	if s.dev && f.File != "" {
		r.SetHeader(devHeader, f.place())
	}
	return r
}

// text returns a plain text response. Browsers must not guess another content type.
func text(status int, s string) *engine.Response {
	r := &engine.Response{Status: status, ContentType: "text/plain; charset=utf-8", Body: []byte(s)}
	r.SetHeader("X-Content-Type-Options", "nosniff")
	return r
}

// job is work that is not the handler of a route. Its function receives an argument before req.
type job struct {
	function string // name of the function, for the log
	body     body   // body of req
	handler  func(c *call) (f goja.Callable, this goja.Value)
	argument func(c *call) goja.Value
	result   func(c *call, result goja.Value) outcome
	failure  func(f *Failure) error // converts a failure; nil for the usual way
	prompt   bool                   // the work is urgent
}

var _ work = (*job)(nil)

// Start implements vm.Work.
func (j *job) Start(c *call) (goja.Value, error) {
	f, this := j.handler(c)
	req := bindingOf[*exchangeBinding](c.vm).requestObject(c, j.body)
	return f(this, j.argument(c), req)
}

// Finish implements vm.Work.
func (j *job) Finish(c *call, result goja.Value) outcome { return j.result(c, result) }

// Fail returns the error of a job. In development mode, it also logs the position of the failure.
func (j *job) Fail(c *call, f *Failure) outcome {
	if j.failure != nil {
		return outcome{err: j.failure(f)}
	}
	err := jobError(f)
	if engine.CodeOf(err) == engine.Internal && c.service.dev {
		c.service.log.Error("a converter failed", c.service.failureArgs(f, "request", c.req.ID, "function", j.function)...)
	}
	return outcome{err: err}
}

// Displaced implements vm.Work.
func (j *job) Displaced() outcome {
	return outcome{displaced: true, err: engine.Errorf(engine.Unavailable, "script", "the service was restarted, try again")}
}

// Urgent implements vm.Work.
func (j *job) Urgent() bool { return j.prompt }

func jobError(f *Failure) error {
	var e *engine.Error
	switch {
	case f.status == http.StatusForbidden:
		return &engine.Error{Code: engine.Forbidden, Reason: "converter", Message: f.text, Err: f}
	case f.status != 0:
		return &engine.Error{Code: engine.Invalid, Reason: "converter", Message: f.text, Err: f}
	case errors.As(f.cause, &e):
		return e
	}
	return &engine.Error{Code: engine.Internal, Reason: "script", Message: internalText, Err: f}
}

// handlerOf returns the function of a route and its receiver.
func handlerOf(route int) func(*call) (goja.Callable, goja.Value) {
	return func(c *call) (goja.Callable, goja.Value) {
		r := c.vm.routes[route]
		return r.handler, r.this
	}
}
