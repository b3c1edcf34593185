package rest

import (
	"net/http"
	"strings"

	"restsrv/engine"
)

// Values of headers that are shared by all responses. They must not be changed.
var (
	noSniff = []string{"nosniff"}
	// private allows the client to cache a response if it revalidates the response at each use,
	// and forbids shared caches to store the response. Shared caches do not store responses to
	// requests with Authorization anyway, but they do not know the other headers with
	// credentials.
	private = []string{"private, no-cache"}

	varyAccount = []string{"Authorization, Auth-User, Auth-User-Type, Auth-Pwd"}
	varyToken   = []string{"Authorization, Auth-Token"}
	varyOAuth   = []string{"Authorization"}
	varyAny     = []string{"Authorization, Auth-User, Auth-User-Type, Auth-Pwd, Auth-Token, Cookie"}
)

// varyFor returns the value of the header Vary for a mode of authentication: the names of the request headers that
// contain the credentials. It returns nil for modes without credentials.
func varyFor(mode engine.AuthMode) []string {
	switch mode {
	case engine.AuthNone, "":
		return nil
	case engine.AuthToken:
		return varyToken
	case engine.AuthOAuth:
		return varyOAuth
	}
	return varyAccount
}

// setCaching sets Cache-Control and Vary if the response depends on the credentials of the request. It does not
// replace values that the handler has set.
func (o *responder) setCaching() {
	if o.vary == nil {
		return
	}
	h := o.w.Header()
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = private
	}
	if h["Vary"] == nil {
		h["Vary"] = o.vary
	}
}

// single contains the request headers that must not be repeated. If a header had two values, a
// proxy could use the first value and this server the last value.
var single = map[string]bool{
	"Authorization": true, "Auth-User": true, "Auth-User-Type": true, "Auth-Pwd": true, "Auth-Token": true,
	"Content-Type": true, "Content-Encoding": true, "Content-Length": true, "Idempotency-Key": true, "Svc-Converter": true, "Ion-Converter": true,
	"X-Http-Method-Override": true, "X-Http-Method": true, "X-Method-Override": true,
}

// methodHeaders are the headers with which a POST request can choose another method. If a request
// has several of these headers, the first one in this list is used.
var methodHeaders = [...]string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// checkAmbiguous rejects a request with headers that can be interpreted in different ways.
// Otherwise, a proxy could check one interpretation, and this server could use another.
func checkAmbiguous(r *http.Request) error {
	for name, lines := range r.Header {
		if len(lines) > 1 && single[name] {
			return engine.Errorf(engine.Invalid, "repeated-header", "the header %s is given more than once", name)
		}
	}
	if r.Method != http.MethodPost {
		return nil
	}
	method := ""
	for _, name := range methodHeaders {
		m := strings.ToUpper(r.Header.Get(name))
		if m != "" && method != "" && m != method {
			return engine.Errorf(engine.Invalid, "method-override", "headers override the method with %s and with %s", engine.Quote(method), engine.Quote(m))
		}
		if m != "" {
			method = m
		}
	}
	return nil
}

// checkEncoding rejects a request whose body has a Content-Encoding such as gzip, because the server cannot decode it
// (RFC 9110 sections 8.4 and 15.5.16).
func checkEncoding(w http.ResponseWriter, r *http.Request) error {
	for _, coding := range r.Header["Content-Encoding"] {
		if c := strings.TrimSpace(coding); c != "" && !strings.EqualFold(c, "identity") {
			w.Header().Set("Accept-Encoding", "identity")
			return engine.Errorf(engine.Unsupported, "content-encoding", "bodies are sent without Content-Encoding, found %s", engine.Quote(c))
		}
	}
	return nil
}
