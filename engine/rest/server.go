// Package rest is the HTTP server. For a request to a service, it finds the service, authenticates the account, finds
// the route, calls the handler and writes the response. It defines the order of the checks before a handler is
// called, and the HTTP statuses of errors (error.go). It does not use classes or the database; handlers do.
//
// gorilla/mux distributes the requests to services, files, thumbnails and other handlers. The routes within a service
// belong to one version of the service. They are replaced atomically together with the version, and have patterns as
// in Express: names ignore case, parameters can be optional and the first registered route that matches is used.
// router.go matches them. It takes 0.3 µs for the 20 routes of crud, where gorilla/mux takes 5 µs (BenchmarkRoutes),
// which is more than a tenth of the time of a short request.
package rest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"

	"restsrv/engine"
	"restsrv/engine/attachment"
	"restsrv/engine/page"
	"restsrv/engine/service"
	"restsrv/engine/share"
)

// Config contains the settings of a Server.
type Config struct {
	Auth  engine.Authenticator
	OAuth engine.Authenticator // for mode oauth; if nil, all requests get 401
	Audit engine.Auditor       // gets events of denied requests; may be nil
	Log   *slog.Logger
	// Sessions returns the account of a browser's session. It is used for files and images if a request has no
	// credentials. The error is Unauthenticated if the request has no session. Sessions is nil if there are no
	// sessions.
	Sessions func(r *http.Request) (*engine.Account, error)
	// Handlers maps paths outside of /rest to handlers. A path that ends with a slash includes
	// all paths below it. The context of a request contains the engine.Caller, and the
	// http.ResponseWriter that a handler gets implements service.Failer.
	Handlers map[string]http.Handler
	// TrustedProxies are the addresses of proxies that may set headers such as X-Forwarded-For.
	TrustedProxies []netip.Prefix
	// Ready returns the reasons why the server is not ready, one line each. Clients can read the lines at /readyz.
	// Therefore they name services and components, but contain no paths and no causes.
	Ready func() []string
	// Files finds the files for GET /files/{id}.
	Files attachment.Files
	// Images makes the thumbnails for GET /images/{kind}/{id}. It is nil if the server has no thumbnails.
	Images engine.ImageStorage
	// Advise logs advice about refused requests, for developers: the nearest name of an unknown service or route, and
	// the command that explains missing permissions.
	Advise bool
	// MinBodyRate is the minimum rate at which a client must send a request body, in bytes per second; 0 means 1 KiB.
	MinBodyRate int
	// BodyGrace is the time that a client gets for a body in addition to the time that MinBodyRate allows; 0 means 10
	// s.
	BodyGrace time.Duration
	// Bodies and Answers limit the memory of all request bodies and of all responses, in bytes. nil means no limit.
	Bodies, Answers *share.Pool
}

// Server serves HTTP requests. Services may be mounted while it runs.
type Server struct {
	cfg      Config
	outer    *mux.Router
	mu       sync.Mutex // serializes Mount
	services atomic.Pointer[map[string]*mounted]
	idPrefix string
	idCount  atomic.Uint64

	untrusted, contradiction sync.Once // for warnings that are logged once
}

// mounted is one version of a service with the settings that the server needs for a request.
type mounted struct {
	name   string
	mode   engine.AuthMode
	vary   []string
	form   service.ErrorForm
	router *router
}

// New returns a Server without services.
func New(cfg Config) *Server {
	var b [6]byte
	rand.Read(b[:])
	if cfg.MinBodyRate <= 0 {
		cfg.MinBodyRate = 1 << 10
	}
	if cfg.BodyGrace <= 0 {
		cfg.BodyGrace = 10 * time.Second
	}
	s := &Server{cfg: cfg, idPrefix: hex.EncodeToString(b[:]) + "-"}
	s.services.Store(&map[string]*mounted{})
	// Match paths as the client has sent them: without cleaning, and with %2F instead of a slash.
	s.outer = mux.NewRouter().SkipClean(true).UseEncodedPath()
	s.outer.PathPrefix("/rest/").HandlerFunc(s.serveService)
	s.outer.HandleFunc("/rest", s.noService)
	s.outer.PathPrefix("/files/").HandlerFunc(s.serveFile)
	s.outer.PathPrefix("/images/").HandlerFunc(s.serveImage)
	s.outer.HandleFunc("/livez", s.serveLive).Methods(http.MethodGet, http.MethodHead)
	s.outer.HandleFunc("/readyz", s.serveReady).Methods(http.MethodGet, http.MethodHead)
	s.mountHandlers()
	s.outer.HandleFunc("/", s.serveRoot).Methods(http.MethodGet, http.MethodHead)
	s.outer.NotFoundHandler = http.HandlerFunc(notFound)
	s.outer.MethodNotAllowedHandler = http.HandlerFunc(notFound)
	return s
}

// Mount installs svc as the service with the given name, or replaces the present service.
// Requests that are being handled finish with the version with which they began. If a route has
// an invalid pattern, Mount returns an error that names the route.
func (s *Server) Mount(name string, mode engine.AuthMode, svc service.Service) error {
	r, err := newRouter(svc.Routes())
	if err != nil {
		return fmt.Errorf("service %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make(map[string]*mounted)
	for k, v := range *s.services.Load() {
		next[k] = v
	}
	next[name] = &mounted{name: name, mode: mode, vary: varyFor(mode), form: svc.Errors(), router: r}
	s.services.Store(&next)
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.limitBody(w, r)
	s.outer.ServeHTTP(w, r)
}

// readyAgain is the Retry-After of /readyz while the server is not ready.
const readyAgain = 2 * time.Second

var rootPage = page.New(`<p>This is a restsrv server. Programs use its services below <code>/rest</code>.</p>
{{if .}}<p><a href="{{.}}">Sign in</a></p>{{end}}`)

// serveRoot answers browsers with a page, which is the same for every caller and contains no data
// of the application. Other clients get the response for an unknown path.
func (s *Server) serveRoot(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		notFound(w, r)
		return
	}
	signIn := ""
	if s.cfg.Handlers[signInPath] != nil {
		signIn = signInPath
	}
	w.Header().Set("Vary", "Accept")
	if err := rootPage.Write(w, http.StatusOK, "restsrv", signIn); err != nil {
		s.cfg.Log.Error("the page at / could not be written", "error", err)
		notFound(w, r)
	}
}

func (s *Server) serveLive(w http.ResponseWriter, _ *http.Request) {
	writePlain(w, http.StatusOK, "ok\n")
}

func (s *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	if s.cfg.Ready != nil {
		if faults := s.cfg.Ready(); len(faults) > 0 {
			w.Header().Set("Retry-After", retryAfter(readyAgain))
			writePlain(w, http.StatusServiceUnavailable, strings.Join(faults, "\n")+"\n")
			return
		}
	}
	writePlain(w, http.StatusOK, "ok\n")
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	writePlain(w, http.StatusNotFound, "Not Found")
}

func writePlain(w http.ResponseWriter, status int, body string) {
	writeText(w, status, textPlain, body)
}

// writeText writes a response with a text. If the text may contain data of a client, contentType must be textPlain,
// so that browsers do not interpret it as HTML.
func writeText(w http.ResponseWriter, status int, contentType, body string) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the error is ignored: the client may have disconnected
}

// exchange contains a request and its response. They are one struct to save allocations.
type exchange struct {
	req    service.Request
	out    responder
	caller engine.Caller

	body, answer reservation
	staging      *engine.Staging // nil before the handler is called
}

// end releases the resources of the request that its handler may use.
func (x *exchange) end() {
	x.staging.End()
	x.body.release()
}

// newExchange determines the caller and the id of a request, and prepares its response. Errors are returned as
// problem+json, unless the form is set later.
func (s *Server) newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	id := s.requestID(r)
	h := w.Header()
	h["X-Request-Id"], h["X-Content-Type-Options"] = []string{id}, noSniff
	x := new(exchange)
	var address string
	x.caller, address = s.callerOf(r, id)
	x.req = service.Request{
		ID: id, Method: r.Method, RawQuery: r.URL.RawQuery,
		Header: r.Header, Host: r.Host, Secure: x.caller.Secure, RemoteIP: address,
	}
	x.out = responder{w: w, req: &x.req, server: s, form: service.ProblemErrors, caller: &x.caller}
	return x
}

// serveService handles all requests to services, below /rest/.
func (s *Server) serveService(w http.ResponseWriter, r *http.Request) {
	name, path := splitPath(r.URL.EscapedPath())
	m := (*s.services.Load())[name]
	if m == nil {
		s.adviseService(name)
		s.noService(w, r)
		return
	}
	x := s.newExchange(w, r)
	x.req.Service, x.req.Method, x.req.Path = m.name, overriddenMethod(r), path
	x.out.form, x.out.mode, x.out.vary = m.form, m.mode, m.vary
	defer x.answer.release()
	resp, err := s.answerRequest(w, r, m, x)
	if err == nil && resp.Stream != nil {
		defer x.end()
		x.out.sendStream(resp)
		return
	}
	if err == nil {
		err = x.answer.settle(resp.Body, isSafeMethod(x.req.Method))
	}
	if err != nil {
		x.out.fail(err)
		return
	}
	x.out.send(resp)
	if resp.Done != nil {
		resp.Done()
	}
}

// noService answers a request for a service that does not exist. A request for /rest itself redirects to the sign-in
// page if there is one, as in IONDV.
func (s *Server) noService(w http.ResponseWriter, r *http.Request) {
	w.Header()["X-Request-Id"] = []string{s.requestID(r)}
	if whole := r.URL.EscapedPath(); (whole == "/rest" || whole == "/rest/") && s.cfg.Handlers[signInPath] != nil {
		service.Redirect(w, signInPath)
		return
	}
	writeText(w, http.StatusNotFound, textHTML, "Service not found")
}

const signInPath = "/auth"

func (s *Server) answerRequest(w http.ResponseWriter, r *http.Request, m *mounted, x *exchange) (*service.Response, error) {
	req := &x.req
	x.out.stage = atAccount
	if err := checkAmbiguous(r); err != nil {
		return nil, err
	}
	account, err := s.authenticateRequest(r, m.mode, x)
	if err != nil {
		return nil, err
	}
	if account, err = x.restrictToScope(account, m.name); err != nil {
		return nil, err
	}
	req.Account = account
	route, params, allow := m.router.match(req.Method, req.Path)
	if route == nil {
		return x.answerUnrouted(r, m.router, allow)
	}
	x.out.stage = atHandler
	req.Params = params
	if hasBody(r) {
		if err := checkEncoding(w, r); err != nil {
			return nil, err
		}
		req.Body = s.newBody(w, r, route.MaxBody)
	}
	ctx := engine.WithRequest(r.Context(), account, &x.caller)
	x.staging = engine.StagingFrom(ctx)
	x.body.pool, x.body.ctx, x.answer.pool, x.answer.ctx = s.cfg.Bodies, ctx, s.cfg.Answers, ctx
	req.Input, req.Answer = &x.body, &x.answer
	streams := false // the response is a stream, during which the handler goes on
	defer func() {
		if !streams {
			x.end()
		}
	}()
	if !isSafeMethod(req.Method) && s.cfg.Answers != nil && s.cfg.Answers.Over(share.Key(ctx)) {
		return nil, noRoomForAnswer()
	}
	resp, err := s.callHandler(ctx, route, req)
	if err != nil {
		return nil, s.suggestName(ctx, err)
	}
	streams = resp.Stream != nil
	return resp, nil
}

// isSafeMethod reports whether requests with a method do not change data (RFC 9110 section 9.2.1, and RFC 5323 for
// SEARCH).
func isSafeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == "SEARCH"
}

// answerUnrouted answers a request for which there is no route. allow contains the methods of
// routes with the same path. A request with the method OPTIONS gets these methods, and a request
// with any other method gets an error.
func (x *exchange) answerUnrouted(r *http.Request, routes *router, allow []string) (*service.Response, error) {
	x.out.stage, x.out.path = atRoute, r.URL.EscapedPath()
	req := &x.req
	if len(allow) == 0 {
		return nil, engine.Errorf(engine.NotFound, "unknown-route", "service %s has no route %s%s", req.Service, engine.Quote(req.Path), routes.suggestRoute(req.Path))
	}
	list := strings.Join(allow, ",")
	x.out.w.Header().Set("Allow", list)
	if req.Method == http.MethodOptions {
		return &service.Response{ContentType: textHTML, Body: []byte(list)}, nil
	}
	return nil, engine.Errorf(engine.NotFound, "unknown-method", "service %s answers %s at %s, not %s",
		req.Service, strings.Join(allow, ", "), engine.Quote(req.Path), engine.Quote(req.Method))
}

// callHandler calls the handler of a route. It returns a panic as an error, so that only this request fails.
func (s *Server) callHandler(ctx context.Context, route *service.Route, req *service.Request) (resp *service.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = engine.Wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "the handler of "+req.Service+" panicked")
		}
	}()
	resp, err = route.Handler(ctx, req)
	if err == nil && resp == nil {
		resp = &service.Response{}
	}
	return resp, err
}

// requestID returns the id in the header X-Request-Id if it is safe to log. Otherwise it returns a new id.
func (s *Server) requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && len(id) <= 128 && isHarmless(id) {
		return id
	}
	return s.idPrefix + strconv.FormatUint(s.idCount.Add(1), 36)
}

func isHarmless(id string) bool {
	for i := 0; i < len(id); i++ {
		c := id[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// overriddenMethod returns the method of a request. A POST request can choose another method with one of
// methodHeaders, for clients that cannot send all methods.
func overriddenMethod(r *http.Request) string {
	if r.Method != http.MethodPost {
		return r.Method
	}
	for _, h := range methodHeaders {
		switch m := strings.ToUpper(r.Header.Get(h)); m {
		case http.MethodPut, http.MethodPatch, http.MethodDelete, "SEARCH":
			return m
		}
	}
	return r.Method
}

// splitPath splits the escaped path /rest/{service}/{path}. The name of the service is returned decoded, the path
// escaped and with a leading slash.
func splitPath(escaped string) (service, path string) {
	rest := strings.TrimPrefix(escaped, "/rest/")
	service, path, found := strings.Cut(rest, "/")
	if found {
		path = "/" + path
	} else {
		path = "/"
	}
	if decoded, err := url.PathUnescape(service); err == nil {
		service = decoded
	}
	return service, path
}
