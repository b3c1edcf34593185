// Package gateway lends the browsers of people who signed in the authority of
// one account at chosen paths (the ancestor's modules/rest/client/GateWay): it
// finds the path, asks for a session, and sends the request on, to this server
// or to another one, with that account's credentials in place of the browser's.
// It owns those credentials and the token that they fetch. It is not for
// sessions (engine/session has them), and does not know what is asked for.
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
)

// Config is one gateway.
type Config struct {
	Name      string // in the log
	Base      string // what stands before its paths, such as /api, without a slash at its end
	Endpoint  string // scheme, host and perhaps path of the server that is asked; "" for Local
	Account   string // that acts there; system is its type when it has none
	Secret    string // its password
	TokenPath string // where that account gets tokens; "" sends its name and password each time
	Routes    []Route
}

// Route is a path with its methods, in capitals. Parts of the path in braces
// stand for anything without a slash.
type Route struct {
	Path    string
	Methods []string
}

// Server is what gateways need of the server.
type Server struct {
	// Require returns the account of the browser's session. Without one, and
	// for a request to change something that another site had the browser
	// send, it answers itself and reports false.
	Require func(w http.ResponseWriter, r *http.Request) (*engine.Account, bool)
	Local   http.Handler // answers what has no Endpoint
	// Valid reports whether a token of this server still proves its account.
	Valid func(ctx context.Context, token string) bool
	Log   *slog.Logger
	Idle  time.Duration // that a server may stay silent; 0 means 60 s
}

// Gateways answer the paths of all gateways of an application. Mount them at
// each of Prefixes.
type Gateways struct {
	server  Server
	all     []*gateway
	remotes []*http.Transport
}

type gateway struct {
	Config
	proxy *httputil.ReverseProxy
	to    string // Endpoint, or what stands for this server
}

// New returns the gateways of an application; when paths are the same the
// first one counts.
func New(server Server, configs []Config) (*Gateways, error) {
	if server.Idle <= 0 {
		server.Idle = 60 * time.Second
	}
	gs := &Gateways{server: server}
	for _, c := range configs {
		if !strings.Contains(c.Account, "@") {
			c.Account += "@system" // as the ancestor completes it
		}
		g := &gateway{Config: c, to: c.Endpoint}
		transport := remote(server.Idle)
		var next http.RoundTripper = transport
		var valid func(context.Context, string) bool
		if c.Endpoint == "" {
			g.to, next, valid = "http://restsrv.invalid", local{server.Local}, server.Valid
		} else {
			gs.remotes = append(gs.remotes, transport)
		}
		target, err := url.Parse(g.to)
		if err != nil || target.Host == "" {
			return nil, errors.New("gateway " + c.Name + ": its endPoint is no address")
		}
		g.proxy = &httputil.ReverseProxy{
			Rewrite:        g.rewrite,
			Transport:      &sender{gateway: g, next: next, valid: valid, idle: server.Idle, turn: make(chan struct{}, 1), clock: time.Now},
			ModifyResponse: tidy,
			FlushInterval:  -1, // what comes is handed on at once
			ErrorLog:       slog.NewLogLogger(server.Log.Handler(), slog.LevelDebug),
			ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
				if r.Context().Err() != nil {
					panic(http.ErrAbortHandler) // the browser is gone
				}
				engine.Fail(w, failure(c.Name, err))
			},
		}
		gs.all = append(gs.all, g)
	}
	return gs, nil
}

// Close gives up the connections to other servers that nobody uses. The
// gateways answer after it, too.
func (gs *Gateways) Close() {
	for _, t := range gs.remotes {
		t.CloseIdleConnections()
	}
}

// Prefixes are the paths below which the gateways answer, each with a slash at
// its end.
func (gs *Gateways) Prefixes() []string {
	var all []string
	for _, g := range gs.all {
		if p := g.Base + "/"; !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// ServeHTTP answers a request at or below a prefix.
func (gs *Gateways) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g, path, allow := gs.match(r.Method, r.URL.EscapedPath())
	if g == nil {
		if allow != "" {
			w.Header().Set("Allow", allow)
		}
		engine.Fail(w, engine.Errorf(engine.NotFound, "unknown-route", "no gateway has this path with this method"))
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
	r.Header.Del("Upgrade") // nothing but HTTP goes through
	g.proxy.ServeHTTP(w, r)
}

// ForwardsBodies implements rest.Forwarder.
func (gs *Gateways) ForwardsBodies() {}

// match finds the gateway that has the escaped path, and what it asks for.
// Without one, allow lists the methods that the path has.
func (gs *Gateways) match(method, path string) (g *gateway, to, allow string) {
	var methods []string
	for _, g := range gs.all {
		to, ok := strings.CutPrefix(path, g.Base)
		if !ok {
			continue
		}
		for _, route := range g.Routes {
			if !matches(route.Path, to) {
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

// matches compares an escaped path with a template part by part. A trailing
// slash is optional.
func matches(template, path string) bool {
	want, got := strings.Split(strings.TrimSuffix(template, "/"), "/"), strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(want) != len(got) {
		return false
	}
	for i, part := range want {
		if strings.HasPrefix(part, "{") {
			if !harmless(got[i]) {
				return false
			}
		} else if decoded, err := url.PathUnescape(got[i]); err != nil || decoded != part {
			return false
		}
	}
	return true
}

// harmless reports whether a part of a path stays one however a server reads
// it: an id may hold slashes, but nothing that leads up.
func harmless(escaped string) bool {
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

// private are the headers of a browser that are not handed on: what proves
// who it is, what proxies tell of it, and what would make the request another
// one than was allowed.
var private = []string{
	"Cookie", "Authorization", "Auth-User", "Auth-User-Type", "Auth-Pwd", "Auth-Token", "Proxy-Authorization",
	"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Real-Ip", "Via",
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "Origin", "Referer", "Expect",
}

// rewrite makes the request that is sent on. Its address is the configured one
// and the path that was matched, whatever the browser says of hosts.
func (g *gateway) rewrite(p *httputil.ProxyRequest) {
	path := strings.TrimPrefix(p.In.URL.EscapedPath(), g.Base)
	to, err := url.Parse(g.to + path)
	if err != nil { // the parts were decoded before
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
		p.Out.Header["User-Agent"] = nil // none is added
	}
	caller := engine.CallerFrom(p.In.Context())
	if caller.Request != "" {
		p.Out.Header.Set("X-Request-Id", caller.Request)
	}
	p.Out.RemoteAddr, p.Out.TLS = "", nil // what proxies told is in caller
	if caller.Address.IsValid() {
		p.Out.RemoteAddr = netip.AddrPortFrom(caller.Address, 0).String()
	}
	if caller.Secure {
		p.Out.TLS = &tls.ConnectionState{}
	}
}

// tidy takes out of an answer what concerns the gateway's account or another
// host and not the browser, and keeps it out of caches that others share. The
// request id and X-Content-Type-Options are in the answer already.
func tidy(r *http.Response) error {
	for _, name := range []string{"Set-Cookie", "Www-Authenticate", "Proxy-Authenticate", "Clear-Site-Data", "Strict-Transport-Security", "X-Request-Id", "X-Content-Type-Options"} {
		r.Header.Del(name)
	}
	if r.Header.Get("Cache-Control") == "" {
		r.Header.Set("Cache-Control", "private")
	}
	r.Header.Add("Vary", "Cookie")
	return nil
}

// failure is what a browser is told of a request that could not be sent on;
// the cause is for the log.
func failure(name string, err error) error {
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
