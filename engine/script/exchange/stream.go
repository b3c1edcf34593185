package exchange

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/dop251/goja"

	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// streamResponse returns the response with the stream value as its body. Its type is set when the first bytes are known,
// unless a header sets it.
func (h *Binding) streamResponse(value goja.Value) *service.Response {
	return &service.Response{Stream: &pendingStream{value: value}}
}

// eventsResponse returns the response for the result of the function eventStream of the module restsrv. described is
// the object {source, headers, heartbeat}.
func (h *Binding) eventsResponse(described *goja.Object) *service.Response {
	r := &service.Response{ContentType: eventStream}
	r.SetHeader("X-Accel-Buffering", "no") // a proxy must pass on each event at once
	if headers := described.Get("headers"); headers != nil {
		h.setHeaders(r, headers)
	}
	p := &pendingStream{value: described.Get("source"), atOnce: true}
	if beat := described.Get("heartbeat"); beat != nil && goja.IsNumber(beat) {
		p.heartbeat = time.Duration(beat.ToFloat() * float64(time.Second))
	}
	r.Stream = p
	return r
}

// pendingStream is the stream of a response that BuildResponse has not completed.
type pendingStream struct {
	value     goja.Value
	heartbeat time.Duration
	atOnce    bool // the head is sent without waiting for the first bytes
}

// Send implements service.Stream. It is not called.
func (p *pendingStream) Send(service.StreamWriter) error { return nil }

// Close implements service.Stream. It is not called.
func (p *pendingStream) Close() {}

// streamOf starts the stream of the response r to the call c, if it has one.
func (h *Binding) streamOf(c *vm.Call, r *service.Response) *vm.Stream {
	p, ok := r.Stream.(*pendingStream)
	if !ok {
		return nil
	}
	r.Stream = nil
	h.Call = c // the functions of the platform that BuildResponse has called may have ended the asynchronous context
	if c.Req.Method == http.MethodHead || r.Status == http.StatusNoContent || r.Status == http.StatusNotModified {
		h.cancelUnread(p.value)
		return nil
	}
	events := strings.HasPrefix(strings.ToLower(r.ContentType), eventStream)
	s := vm.NewStream(h.VM, p.value, vm.StreamOptions{Events: events, Heartbeat: p.heartbeat})
	r.Stream = &answerStream{Stream: s, atOnce: p.atOnce || events}
	return s
}

// cancelUnread ends a stream that is not sent, so that it releases its resources.
func (h *Binding) cancelUnread(value goja.Value) {
	o := value.(*goja.Object)
	for _, name := range []string{"cancel", "return"} {
		if f, ok := goja.AssertFunction(o.Get(name)); ok {
			_, err := f(o)
			js.Must(err)
			return
		}
	}
}

// answerStream is the stream of a response, together with the body of the request, which the script may read
// meanwhile.
type answerStream struct {
	*vm.Stream
	body   Body
	atOnce bool
}

// Close implements service.Stream.
func (s *answerStream) Close() {
	s.Stream.Close()
	s.body.Close()
}

// finishStream completes the outcome of a route that returned a stream. Before the head is sent, it waits for the
// first bytes: a failure before them is answered like any other failure. The parameter body is closed with the stream.
func finishStream(ctx context.Context, o vm.Outcome, body Body) vm.Outcome {
	s := o.Response.Stream.(*answerStream)
	s.body = body
	if s.atOnce {
		return o
	}
	first, err := s.Await(ctx)
	if err != nil {
		failed := s.FailureOf(err)
		s.Close()
		return failed
	}
	if o.Response.ContentType == "" && o.Response.Header["Content-Type"] == nil {
		o.Response.ContentType = octetStream
		if first.Text {
			o.Response.ContentType = "text/plain; charset=utf-8"
		}
	}
	return o
}
