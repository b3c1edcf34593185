package rest

import (
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"restsrv/engine"
	"restsrv/engine/page"
	"restsrv/engine/service"
)

// maxHandlerBody is the maximum size of a request body for handlers outside of /rest, in bytes. Most handlers have a
// lower limit of their own.
const maxHandlerBody = 64 << 20

// mountHandlers adds routes for Config.Handlers. Longer paths come first, so that the most specific handler serves a
// request.
func (s *Server) mountHandlers() {
	paths := make([]string, 0, len(s.cfg.Handlers))
	for p := range s.cfg.Handlers {
		paths = append(paths, p)
	}
	sort.Slice(paths, func(i, j int) bool { return len(paths[i]) > len(paths[j]) })
	for _, p := range paths {
		route := s.outer.NewRoute().Handler(s.wrapHandler(p, s.cfg.Handlers[p]))
		if strings.HasSuffix(p, "/") {
			route.PathPrefix(p)
		} else {
			route.Path(p)
		}
		if err := route.GetError(); err != nil {
			s.cfg.Log.Error("a path cannot be routed; its requests are answered with 404", "path", p, "error", err)
		}
	}
}

// Forwarder marks a handler that forwards request bodies without reading them, such as a proxy.
// All other handlers get no requests whose body has a Content-Encoding: these requests are
// rejected.
type Forwarder interface{ ForwardsBodies() }

// wrapHandler gives a handler outside of /rest the same environment as services: a request id, the caller in the
// context, and limits for the body. If the handler panics, only its request fails.
func (s *Server) wrapHandler(path string, next http.Handler) http.Handler {
	name := strings.Trim(path, "/")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := s.newExchange(w, r)
		x.req.Service, x.req.Path = name, r.URL.EscapedPath()
		x.out.vary = varyAny
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			x.out.form = outerPage
		}
		err := checkAmbiguous(r)
		if _, forwards := next.(Forwarder); err == nil && hasBody(r) && !forwards {
			err = checkEncoding(w, r)
		}
		if err != nil {
			x.out.fail(err)
			return
		}
		r = r.WithContext(engine.WithCaller(r.Context(), &x.caller))
		if hasBody(r) {
			r.Body = struct {
				io.Reader
				io.Closer
			}{s.newBody(w, r, maxHandlerBody), r.Body}
		}
		h := &handled{ResponseWriter: w, out: &x.out}
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				h.handlePanic(p)
			} else if p != nil {
				panic(p)
			}
		}()
		next.ServeHTTP(h, r)
		if !h.failed {
			x.out.auditStatus(h.status, "")
		}
	})
}

// handled is the http.ResponseWriter that a handler outside of /rest gets.
type handled struct {
	http.ResponseWriter
	out    *responder
	status int  // status of the response; 0 before it is written
	failed bool // Fail was called; Fail itself records the audit event
}

var _ service.Failer = (*handled)(nil)

func (h *handled) WriteHeader(status int) {
	if h.status == 0 && status >= 200 {
		h.status = status
	}
	h.ResponseWriter.WriteHeader(status)
}

func (h *handled) Write(b []byte) (int, error) {
	if h.status == 0 {
		h.status = http.StatusOK
	}
	return h.ResponseWriter.Write(b)
}

// Unwrap returns the underlying writer. http.ResponseController uses it.
func (h *handled) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Fail implements service.Failer.
func (h *handled) Fail(err error) {
	h.failed, h.out.w = true, h
	h.out.fail(err)
}

// handlePanic handles the value p of a panic. The client gets an error response, or a broken connection if the
// response has begun.
func (h *handled) handlePanic(p any) {
	err := engine.Wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "the handler of "+h.out.req.Service+" panicked")
	if h.status != 0 {
		h.out.logFailure(err, err)
		panic(http.ErrAbortHandler)
	}
	h.Fail(err)
}

// outerPage is the error form of handlers outside of /rest for clients that accept HTML.
const outerPage service.ErrorForm = -1

var failurePage = page.New(`<p>{{.Detail}}</p>
<p class="hint">Request {{.ID}}</p>`)

// failOuterPage writes an error response as an HTML page with a message.
func (o *responder) failOuterPage(status int, detail string) {
	err := failurePage.Write(o.w, status, http.StatusText(status), struct{ Detail, ID string }{toSentence(engine.Cut(detail, maxDetail)), o.req.ID})
	if err != nil {
		o.server.cfg.Log.Error("an error page could not be written; the response has no body", "request", o.req.ID, "error", err)
		o.w.WriteHeader(status)
	}
}

// toSentence converts an error message to a sentence: it adds a capital letter and a full stop.
func toSentence(s string) string {
	if s == "" {
		return s
	}
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:] + "."
}
