package exchange

import (
	"context"
	"errors"
	"net/http"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// Binding creates the req objects in a VM and converts the results of handlers to responses.
type Binding struct {
	*vm.VM
	requestProto *goja.Object
	writer       *js.Writer // reused by each call; nil while it is in use
}

// New returns the binding of a VM.
func New(v *vm.VM) *Binding { return &Binding{VM: v} }

// ServeRoute serves a request with the handler of the route with index route.
func ServeRoute(ctx context.Context, s *vm.Service, in *Intake, r *service.Request, route int) (*service.Response, error) {
	body, err := ReadBody(ctx, r, &s.Limits, in)
	if err != nil {
		body.Close()
		return nil, err
	}
	return serveBody(ctx, s, r, route, body)
}

// ServeStreaming serves a request like ServeRoute, but does not read the body: the script reads it as a stream.
func ServeStreaming(ctx context.Context, s *vm.Service, r *service.Request, route int) (*service.Response, error) {
	if r.Body == nil {
		return serveBody(ctx, s, r, route, Body{})
	}
	r.Input = nil // the body is not in memory
	var interrupt func()
	if i, ok := r.Body.(interface{ Interrupt() }); ok {
		interrupt = i.Interrupt
	}
	return serveBody(ctx, s, r, route, Body{Kind: streamBody, input: vm.NewInput(r.Stream(), interrupt)})
}

func serveBody(ctx context.Context, s *vm.Service, r *service.Request, route int, body Body) (*service.Response, error) {
	o, err := s.Run(ctx, r, &routeWork{route: route, body: body})
	if err == nil && o.Stream != nil {
		o = finishStream(ctx, o, body)
		return o.Response, o.Err
	}
	body.Close()
	if err != nil {
		return nil, err
	}
	return o.Response, o.Err
}

// routeWork runs the handler of a route for a request.
type routeWork struct {
	route int
	body  Body
}

var _ vm.Work = (*routeWork)(nil)

// Input returns the body of the request if the script reads it as a stream, otherwise nil.
func (w *routeWork) Input() *vm.Input { return w.body.input }

// Start implements vm.Work.
func (w *routeWork) Start(c *vm.Call) (goja.Value, error) {
	route := c.VM.Routes[w.route]
	return route.Handler(route.This, vm.BindingOf[*Binding](c.VM).requestObject(c, w.body))
}

// Finish implements vm.Work.
func (w *routeWork) Finish(c *vm.Call, result goja.Value) vm.Outcome {
	h := vm.BindingOf[*Binding](c.VM)
	r := h.BuildResponse(result)
	return vm.Outcome{Response: r, Stream: h.streamOf(c, r)}
}

// devHeader is the name of the response header that contains the position of a failure, in development mode.
const devHeader = "X-Script-Error"

// Fail returns the outcome for a failed handler. If the script has set a status, the client gets this status and the
// message. If an operation failed because it was unavailable, timed out or was rejected as one of too many requests,
// the client gets that error. Otherwise the client gets an internal error without details.
func (w *routeWork) Fail(c *vm.Call, f *vm.Failure) vm.Outcome {
	s, r := c.Service, c.Req
	if f.Status != 0 {
		s.Log.Debug("a handler refused a request", "request", r.ID, "status", f.Status, "error", f)
		if e := (*engine.Error)(nil); s.Dev && r.Account != nil && errors.As(f.Cause, &e) && e.Code == engine.Forbidden {
			s.Log.Info("the account lacks a permission that the script needs", "request", r.ID, "account", r.Account.ID, "at", f.Place(), "to see why", "restsrv acl explain "+r.Account.ID+" c:::CLASS")
		}
		return vm.Outcome{Response: addPlace(s, text(f.Status, f.Text), f)}
	}
	var e *engine.Error
	if errors.As(f.Cause, &e) && c.Input != nil && c.Input.Failed(e) {
		return vm.Outcome{Err: e} // the client sent a body that is too long, or not all of it
	}
	if errors.As(f.Cause, &e) && (e.Code == engine.Unavailable || e.Code == engine.Timeout || e.Code == engine.TooMany) {
		return vm.Outcome{Err: e}
	}
	if s.Dev {
		s.Log.Error("a handler failed", s.FailureArgs(f, "request", r.ID, "method", r.Method, "path", r.Path)...)
		return vm.Outcome{Response: addPlace(s, text(http.StatusInternalServerError, engine.InternalText), f)}
	}
	return vm.Outcome{Err: &engine.Error{Code: engine.Internal, Reason: "script", Message: engine.InternalText, Err: f}}
}

// Displaced implements vm.Work.
func (w *routeWork) Displaced() vm.Outcome {
	r := text(http.StatusServiceUnavailable, "the service was restarted, try again")
	r.SetHeader("Retry-After", "0")
	return vm.Outcome{Displaced: true, Response: r}
}

// Source implements vm.Work.
func (w *routeWork) Source(c *vm.Call) string {
	if text := c.VM.Routes[w.route].Source; text != nil {
		return text.String()
	}
	return ""
}

// Urgent implements vm.Work.
func (w *routeWork) Urgent() bool { return false }

func addPlace(s *vm.Service, r *service.Response, f *vm.Failure) *service.Response {
	if s.Dev && f.File != "" {
		r.SetHeader(devHeader, f.Place())
	}
	return r
}

// text returns a plain text response. Browsers must not guess another content type.
func text(status int, s string) *service.Response {
	r := &service.Response{Status: status, ContentType: "text/plain; charset=utf-8", Body: []byte(s)}
	r.SetHeader("X-Content-Type-Options", "nosniff")
	return r
}

// Job runs a function of a script that is not the handler of a route. The function gets two arguments: the result of
// Argument, and req.
type Job struct {
	Function string // name of the function, for the log
	Body     Body   // body of the request
	Handler  func(c *vm.Call) (f goja.Callable, this goja.Value)
	Argument func(c *vm.Call) goja.Value
	Result   func(c *vm.Call, result goja.Value) vm.Outcome
	Failure  func(f *vm.Failure) error // converts a failure to an error; nil for the default conversion
	Prompt   bool                      // see vm.Work.Urgent
}

var _ vm.Work = (*Job)(nil)

// Start implements vm.Work.
func (j *Job) Start(c *vm.Call) (goja.Value, error) {
	f, this := j.Handler(c)
	req := vm.BindingOf[*Binding](c.VM).requestObject(c, j.Body)
	return f(this, j.Argument(c), req)
}

// Finish implements vm.Work.
func (j *Job) Finish(c *vm.Call, result goja.Value) vm.Outcome { return j.Result(c, result) }

// Fail returns the error for a failed job. In development mode, it also logs the position of the failure.
func (j *Job) Fail(c *vm.Call, f *vm.Failure) vm.Outcome {
	if j.Failure != nil {
		return vm.Outcome{Err: j.Failure(f)}
	}
	err := jobError(f)
	if engine.CodeOf(err) == engine.Internal && c.Service.Dev {
		c.Service.Log.Error("a converter failed", c.Service.FailureArgs(f, "request", c.Req.ID, "function", j.Function)...)
	}
	return vm.Outcome{Err: err}
}

// Displaced implements vm.Work.
func (j *Job) Displaced() vm.Outcome {
	return vm.Outcome{Displaced: true, Err: engine.Errorf(engine.Unavailable, "script", "the service was restarted, try again")}
}

// Source implements vm.Work.
func (j *Job) Source(*vm.Call) string { return "" }

// Urgent implements vm.Work.
func (j *Job) Urgent() bool { return j.Prompt }

func jobError(f *vm.Failure) error {
	var e *engine.Error
	switch {
	case f.Status == http.StatusForbidden:
		return &engine.Error{Code: engine.Forbidden, Reason: "converter", Message: f.Text, Err: f}
	case f.Status != 0:
		return &engine.Error{Code: engine.Invalid, Reason: "converter", Message: f.Text, Err: f}
	case errors.As(f.Cause, &e):
		return e
	}
	return &engine.Error{Code: engine.Internal, Reason: "script", Message: engine.InternalText, Err: f}
}

// HandlerOf returns the Handler of a Job that calls the function registered as VM.Routes[route].
func HandlerOf(route int) func(*vm.Call) (goja.Callable, goja.Value) {
	return func(c *vm.Call) (goja.Callable, goja.Value) {
		r := c.VM.Routes[route]
		return r.Handler, r.This
	}
}
