package rest

import (
	"net/http"
	"strings"

	"restsrv/engine"
)

// Values of headers that answers share. They must not be changed.
var (
	noSniff = []string{"nosniff"}
	// private lets the client cache an answer if it revalidates it every time, and
	// forbids shared caches to store it. Shared caches take Authorization into
	// account, but not the other headers with credentials.
	private = []string{"private, no-cache"}

	varyAccount = []string{"Authorization, Auth-User, Auth-User-Type, Auth-Pwd"}
	varyToken   = []string{"Authorization, Auth-Token"}
	varyOAuth   = []string{"Authorization"}
	varyAny     = []string{"Authorization, Auth-User, Auth-User-Type, Auth-Pwd, Auth-Token, Cookie"}
)

// varies returns the Vary header for a mode, which names the headers with its
// credentials; nil if the mode has none.
func varies(mode engine.AuthMode) []string {
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

// setCaching sets Cache-Control and Vary of an answer that depends on credentials,
// unless the handler has set them.
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

// single are the request headers that must not be repeated: of two values, one
// program may use the first and another one the last.
var single = map[string]bool{
	"Authorization": true, "Auth-User": true, "Auth-User-Type": true, "Auth-Pwd": true, "Auth-Token": true,
	"Content-Type": true, "Content-Encoding": true, "Content-Length": true, "Idempotency-Key": true, "Svc-Converter": true, "Ion-Converter": true,
	"X-Http-Method-Override": true, "X-Http-Method": true, "X-Method-Override": true,
}

// methodHeaders override the method of a POST; the first one that is set counts.
var methodHeaders = [...]string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"}

// ambiguous refuses a request whose headers can be read in more than one way: a
// proxy may have checked them in another way than this server.
func ambiguous(r *http.Request) error {
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

// encoded refuses a body with a content coding: the server decodes none (RFC
// 9110 sections 8.4 and 15.5.16).
func encoded(w http.ResponseWriter, r *http.Request) error {
	for _, coding := range r.Header["Content-Encoding"] {
		if c := strings.TrimSpace(coding); c != "" && !strings.EqualFold(c, "identity") {
			w.Header().Set("Accept-Encoding", "identity")
			return engine.Errorf(engine.Unsupported, "content-encoding", "bodies are sent without Content-Encoding, found %s", engine.Quote(c))
		}
	}
	return nil
}
