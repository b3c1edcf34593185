// Package gateway lets signed-in users call selected paths with the permissions of one configured
// account (modules/rest/client/GateWay of IONDV). It matches the path, requires a session, and
// forwards the request to this server or to another server. In the forwarded request, the
// credentials of the configured account replace the credentials of the browser. No other package
// uses the credentials of the account, or the token that this package fetches with them. The
// package does not manage sessions, which package engine/session does, and it does not interpret
// the forwarded requests.
package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/service"
)

// Config contains the settings of one gateway.
type Config struct {
	Name      string // name for the log
	Base      string // prefix of its paths, such as /api, without a trailing slash
	Endpoint  string // scheme, host and optional path of the target server; "" for Server.Local
	Account   string // account that the target server sees; New adds the type system if there is none
	Secret    string // password of the account
	TokenPath string // path where the account gets tokens; if "", each request is sent with name and password
	Routes    []Route
}

// Route is a path with its methods, in capitals. A part of the path in braces
// matches any part.
type Route struct {
	Path    string
	Methods []string
}

// Server contains the functions and settings that gateways need from the
// server.
type Server struct {
	// Require returns the account of the browser's session. If there is no
	// session, or if a request that changes data was sent from another site,
	// Require writes the response and returns false.
	Require func(w http.ResponseWriter, r *http.Request) (*engine.Account, bool)
	Local   http.Handler // handler for gateways without Endpoint
	// Valid reports whether a token of this server is still valid.
	Valid func(ctx context.Context, token string) bool
	Log   *slog.Logger
	Idle  time.Duration // maximum time that a target server may send no data; 0 means 60 s
}

// Gateways is the handler for all gateways of an application. It must be
// mounted at each of Prefixes.
type Gateways struct {
	server  Server
	all     []*gateway
	remotes []*http.Transport
}

type gateway struct {
	Config
	proxy *httputil.ReverseProxy
	to    string // Endpoint, or a placeholder for this server
}

// New returns the gateways of an application. If several gateways have the same path and method,
// the first one is used.
func New(server Server, configs []Config) (*Gateways, error) {
	if server.Idle <= 0 {
		server.Idle = 60 * time.Second
	}
	gs := &Gateways{server: server}
	for _, c := range configs {
		if !strings.Contains(c.Account, "@") {
			c.Account += "@system" // IONDV uses this type, too
		}
		g := &gateway{Config: c, to: c.Endpoint}
		transport := newTransport(server.Idle)
		var next http.RoundTripper = transport
		var valid func(context.Context, string) bool
		if c.Endpoint == "" {
			g.to, next, valid = "http://restsrv.invalid", local{server.Local}, server.Valid
		} else {
			gs.remotes = append(gs.remotes, transport)
		}
		target, err := url.Parse(g.to)
		if err != nil || target.Host == "" {
			return nil, errors.New("gateway " + c.Name + ": its endPoint is not a URL")
		}
		g.proxy = &httputil.ReverseProxy{
			Rewrite:        g.rewriteRequest,
			Transport:      &sender{gateway: g, next: next, valid: valid, idle: server.Idle, turn: make(chan struct{}, 1), clock: time.Now},
			ModifyResponse: cleanResponse,
			FlushInterval:  -1, // forward data immediately
			ErrorLog:       slog.NewLogLogger(server.Log.Handler(), slog.LevelDebug),
			ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
				if r.Context().Err() != nil {
					panic(http.ErrAbortHandler) // the browser closed the connection
				}
				service.Fail(w, gatewayError(c.Name, err))
			},
		}
		gs.all = append(gs.all, g)
	}
	return gs, nil
}

// Close closes the idle connections to other servers. The gateways still work
// after it.
func (gs *Gateways) Close() {
	for _, t := range gs.remotes {
		t.CloseIdleConnections()
	}
}

// Prefixes returns the paths below which the gateways answer, each with a
// trailing slash.
func (gs *Gateways) Prefixes() []string {
	var all []string
	for _, g := range gs.all {
		if p := g.Base + "/"; !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// ServeHTTP forwards a request at or below one of Prefixes.
func (gs *Gateways) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g, path, allow := gs.findRoute(r.Method, r.URL.EscapedPath())
	if g == nil {
		if allow != "" {
			w.Header().Set("Allow", allow)
		}
		service.Fail(w, engine.Errorf(engine.NotFound, "unknown-route", "no gateway has this path with this method"))
		return
	}
	account, ok := gs.server.Require(w, r)
	if !ok {
		return
	}
	level := slog.LevelInfo
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		level = slog.LevelDebug
	}
	gs.server.Log.Log(r.Context(), level, "gateway called", "request", engine.CallerFrom(r.Context()).Request, "gateway", g.Name,
		"account", account.ID, "as", g.Account, "method", r.Method, "path", path)
	r = r.Clone(r.Context())
	r.Header.Del("Upgrade") // only HTTP is forwarded
	g.proxy.ServeHTTP(w, r)
}

// ForwardsBodies implements rest.Forwarder.
func (gs *Gateways) ForwardsBodies() {}

// findRoute returns the gateway for a method and an escaped path. to is the part of the path
// below the base of the gateway. If no gateway has the path with this method, g is nil, and allow
// lists the methods with which gateways have the path.
func (gs *Gateways) findRoute(method, path string) (g *gateway, to, allow string) {
	var methods []string
	for _, g := range gs.all {
		to, ok := strings.CutPrefix(path, g.Base)
		if !ok {
			continue
		}
		for _, route := range g.Routes {
			if !matchPath(route.Path, to) {
				continue
			}
			if slices.Contains(route.Methods, method) || method == http.MethodHead && slices.Contains(route.Methods, http.MethodGet) {
				return g, to, ""
			}
			methods = append(methods, route.Methods...)
		}
	}
	sort.Strings(methods)
	return nil, "", strings.Join(slices.Compact(methods), ", ")
}

// matchPath compares an escaped path with a template part by part. A trailing
// slash is optional.
func matchPath(template, path string) bool {
	want, got := strings.Split(strings.TrimSuffix(template, "/"), "/"), strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(want) != len(got) {
		return false
	}
	for i, part := range want {
		if strings.HasPrefix(part, "{") {
			if !isHarmless(got[i]) {
				return false
			}
		} else if decoded, err := url.PathUnescape(got[i]); err != nil || decoded != part {
			return false
		}
	}
	return true
}

// isHarmless reports whether every server will interpret an escaped part of a path as one part.
// The part can contain escaped slashes, because ids can contain them. It must not be a step such
// as "..", with which another server could leave the folder.
func isHarmless(escaped string) bool {
	part, err := url.PathUnescape(escaped)
	if err != nil || part == "" || strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
	}
	for _, p := range strings.FieldsFunc(part, func(r rune) bool { return r == '/' || r == '\\' }) {
		if p == "." || p == ".." || strings.HasPrefix(p, "..;") || strings.HasPrefix(p, ".;") {
			return false
		}
	}
	return true
}

// private lists the headers of the browser that are not forwarded: credentials, headers that
// proxies add, and headers that could change the request into one that the route does not allow.
var private = []string{
	"Cookie", "Authorization", "Auth-User", "Auth-User-Type", "Auth-Pwd", "Auth-Token", "Proxy-Authorization",
	"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Real-Ip", "Via",
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "Origin", "Referer", "Expect",
}

// rewriteRequest makes the forwarded request. Its URL consists of the configured address and the
// matched path. Headers of the browser that name a host are ignored.
func (g *gateway) rewriteRequest(p *httputil.ProxyRequest) {
	path := strings.TrimPrefix(p.In.URL.EscapedPath(), g.Base)
	to, err := url.Parse(g.to + path)
	if err != nil { // unreachable: match has decoded the parts
		to = &url.URL{}
	}
	to.RawQuery = p.In.URL.RawQuery
	p.Out.URL = to
	if g.Endpoint != "" {
		p.Out.Host = to.Host
	}
	for _, name := range private {
		p.Out.Header.Del(name)
	}
	for name := range p.Out.Header {
		if strings.HasPrefix(name, "Sec-Fetch-") {
			p.Out.Header.Del(name)
		}
	}
	if _, ok := p.Out.Header["User-Agent"]; !ok {
		p.Out.Header["User-Agent"] = nil // prevents the default value
	}
	caller := engine.CallerFrom(p.In.Context())
	if caller.Request != "" {
		p.Out.Header.Set("X-Request-Id", caller.Request)
	}
	p.Out.RemoteAddr, p.Out.TLS = "", nil // these describe the browser as trusted proxies report it
	if caller.Address.IsValid() {
		p.Out.RemoteAddr = netip.AddrPortFrom(caller.Address, 0).String()
	}
	if caller.Secure {
		p.Out.TLS = &tls.ConnectionState{}
	}
}

// cleanResponse removes the headers of a response that concern the account of the gateway or
// another host, and keeps the response out of shared caches. It also removes X-Request-Id and
// X-Content-Type-Options, because this server has already set them.
func cleanResponse(r *http.Response) error {
	for _, name := range []string{"Set-Cookie", "Www-Authenticate", "Proxy-Authenticate", "Clear-Site-Data", "Strict-Transport-Security", "X-Request-Id", "X-Content-Type-Options"} {
		r.Header.Del(name)
	}
	if r.Header.Get("Cache-Control") == "" {
		r.Header.Set("Cache-Control", "private")
	}
	r.Header.Add("Vary", "Cookie")
	return nil
}

// gatewayError returns the error that the browser gets if a request could not be forwarded. The
// cause in the error is only logged.
func gatewayError(name string, err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return &engine.Error{Code: engine.Timeout, Reason: "gateway-timeout", Message: "the server behind the gateway did not answer in time", Err: err}
	}
	return &engine.Error{Code: engine.Unavailable, Reason: "gateway", Message: "the server behind the gateway is not available", Err: errors.New("gateway " + name + ": " + err.Error())}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
