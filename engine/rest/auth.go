package rest

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"restsrv/engine"
)

// offered returns what a request offers to prove its account.
func offered(r *http.Request, from engine.Caller) engine.Credentials {
	c := credentials(r.Header)
	c.Caller = from
	return c
}

// sameSite refuses what another site makes a browser send that changes
// something: a browser that was once given a password for Basic authentication
// sends it along with any form. Other clients do not tell of sites (W3C Fetch
// Metadata).
func sameSite(r *http.Request) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	site := r.Header["Sec-Fetch-Site"]
	if len(site) > 0 && site[0] == "cross-site" && isBasic(r.Header.Get("Authorization")) {
		return engine.Errorf(engine.Forbidden, "cross-site", "the request comes from a page of another site")
	}
	return nil
}

func isBasic(authorization string) bool {
	scheme, _, _ := strings.Cut(authorization, " ")
	return strings.EqualFold(scheme, "Basic")
}

// account proves who sends a request to a service of that mode.
func (s *Server) account(r *http.Request, mode engine.AuthMode, x *exchange) (*engine.Account, error) {
	if mode == engine.AuthNone {
		return engine.Anonymous, nil
	}
	if mode == engine.AuthOAuth {
		return s.bearer(r, x)
	}
	if err := sameSite(r); err != nil {
		return nil, err
	}
	return s.cfg.Auth.Authenticate(r.Context(), mode, offered(r, x.caller))
}

// bearer proves the account of a service of mode oauth, where nothing counts
// but Authorization: Bearer (RFC 6750 section 2.1).
func (s *Server) bearer(r *http.Request, x *exchange) (*engine.Account, error) {
	token := bearerToken(r.Header)
	x.out.token = token != ""
	switch {
	case s.cfg.OAuth == nil:
		return nil, engine.Errorf(engine.Unauthenticated, "auth-mode", "OAuth2 is not set up on this server")
	case token == "":
		return nil, engine.Errorf(engine.Unauthenticated, "credentials-missing", "an access token is needed, as Authorization: Bearer")
	}
	return s.cfg.OAuth.Authenticate(r.Context(), engine.AuthOAuth, engine.Credentials{Token: token, Caller: x.caller})
}

func bearerToken(h http.Header) string {
	scheme, payload, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(payload, " ")
}

// anyAccount proves it by whichever credential the request offers, the session
// of a browser when it offers none. A bearer token may be one of ours or of
// OAuth2.
func (s *Server) anyAccount(r *http.Request, x *exchange) (*engine.Account, error) {
	c := offered(r, x.caller)
	mode := engine.AuthPwd
	switch {
	case c.Token != "":
		mode = engine.AuthToken
	case c.User == "" && c.Password == "" && r.Header["Authorization"] == nil && s.cfg.Sessions != nil:
		return s.cfg.Sessions(r)
	}
	a, err := s.cfg.Auth.Authenticate(r.Context(), mode, c)
	if err == nil || s.cfg.OAuth == nil || bearerToken(r.Header) == "" {
		return a, err
	}
	if code := engine.CodeOf(err); code != engine.Forbidden && code != engine.Unauthenticated {
		return nil, err
	}
	a, refused := s.bearer(r, x)
	if code := engine.CodeOf(refused); refused != nil && (code == engine.Forbidden || code == engine.Unauthenticated) {
		return nil, err
	}
	return a, refused
}

// limited is the account as the scope of its token leaves it on a service.
func (x *exchange) limited(a *engine.Account, service string) (*engine.Account, error) {
	if a.Scope == nil {
		return a, nil
	}
	limit := a.Scope.On(service)
	if limit == 0 {
		x.out.w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
		return nil, engine.Errorf(engine.Forbidden, "insufficient_scope", "the scope of the token does not reach %s", engine.Quote(service))
	}
	within := *a
	within.Limit = limit
	return &within, nil
}

// credentials reads what a request offers (interface.md, "Authentication";
// decisions.md section 4). The header auth-user wins over Basic, Bearer over
// auth-token.
func credentials(h http.Header) engine.Credentials {
	c := engine.Credentials{
		User:     h.Get("Auth-User"),
		Type:     h.Get("Auth-User-Type"),
		Password: h.Get("Auth-Pwd"),
		Token:    h.Get("Auth-Token"),
	}
	scheme, payload, _ := strings.Cut(h.Get("Authorization"), " ")
	payload = strings.TrimLeft(payload, " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		if payload != "" {
			c.Token = payload
		}
	case strings.EqualFold(scheme, "Basic") && c.User == "":
		c.User, c.Password = basic(payload)
	}
	return c
}

// basic reads the payload of Basic authentication: base64 of user:password, or
// user:password as it is. Base64 never holds a colon, so the two cannot be
// confused. The first colon separates; without one it is half a credential.
func basic(payload string) (user, password string) {
	if !strings.Contains(payload, ":") {
		payload = decodeBase64(payload)
	}
	user, password, _ = strings.Cut(payload, ":")
	return user, password
}

func decodeBase64(s string) string {
	s = strings.TrimRight(s, "= ")
	for _, e := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if b, err := e.DecodeString(s); err == nil && utf8.Valid(b) {
			return string(b)
		}
	}
	return ""
}

// challenge is the WWW-Authenticate value of a 401 in a mode; token says that
// one was given. Pages have none: a browser would ask for a password itself.
func challenge(mode engine.AuthMode, token bool) string {
	switch {
	case mode == "":
		return ""
	case mode == engine.AuthOAuth && token:
		return `Bearer realm="restsrv", error="invalid_token"`
	case mode == engine.AuthToken || mode == engine.AuthOAuth:
		return `Bearer realm="restsrv"`
	}
	return `Basic realm="restsrv", charset="UTF-8"`
}
