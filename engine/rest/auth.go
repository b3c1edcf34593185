package rest

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"restsrv/engine"
)

// requestCredentials returns the credentials in the headers of a request. from is the origin of the request.
func requestCredentials(r *http.Request, from engine.Caller) engine.Credentials {
	c := parseCredentials(r.Header)
	c.Caller = from
	return c
}

// sameSite rejects a request that changes data with Basic authentication if a page of another
// site has sent it. A browser that has stored a password for Basic authentication sends the
// password with every form, even with a form of another site. Browsers report the site in the
// header Sec-Fetch-Site (W3C Fetch Metadata); other clients do not send this header.
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

// authenticateRequest returns the account of a request to a service with the authentication mode mode.
func (s *Server) authenticateRequest(r *http.Request, mode engine.AuthMode, x *exchange) (*engine.Account, error) {
	if mode == engine.AuthNone {
		return engine.Anonymous, nil
	}
	if mode == engine.AuthOAuth {
		return s.authenticateBearer(r, x)
	}
	if err := sameSite(r); err != nil {
		return nil, err
	}
	return s.cfg.Auth.Authenticate(r.Context(), mode, requestCredentials(r, x.caller))
}

// authenticateBearer returns the account of a request to a service with the mode oauth. Such a service accepts
// credentials only in the header Authorization: Bearer (RFC 6750 section 2.1).
func (s *Server) authenticateBearer(r *http.Request, x *exchange) (*engine.Account, error) {
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

// authenticateAny returns the account for the credentials of a request, of any kind. If the request has none, it uses
// the browser session. A bearer token may be a token of this server or an OAuth2 token.
func (s *Server) authenticateAny(r *http.Request, x *exchange) (*engine.Account, error) {
	c := requestCredentials(r, x.caller)
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
	a, refused := s.authenticateBearer(r, x)
	if code := engine.CodeOf(refused); refused != nil && (code == engine.Forbidden || code == engine.Unauthenticated) {
		return nil, err
	}
	return a, refused
}

// restrictToScope returns the account a, restricted to the permissions that the scope of its token includes for the
// service. It returns an error if the scope does not include the service.
func (x *exchange) restrictToScope(a *engine.Account, service string) (*engine.Account, error) {
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

// parseCredentials reads the credentials from the headers of a request. If several headers have credentials,
// auth-user has priority over Basic, and Bearer has priority over auth-token.
func parseCredentials(h http.Header) engine.Credentials {
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
		c.User, c.Password = parseBasic(payload)
	}
	return c
}

// parseBasic parses the value of Basic authentication: the base64 encoding of user:password, or
// user:password in plain text. Base64 contains no colon, so the two forms cannot be confused. The
// user name ends at the first colon. Without a colon, the password is empty.
func parseBasic(payload string) (user, password string) {
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

// challengeFor returns the header WWW-Authenticate of a response with the status 401 from a
// service with the given mode. token reports whether the request had a token. The value is empty
// for HTML pages, because the header would make the browser open its own password dialog.
func challengeFor(mode engine.AuthMode, token bool) string {
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
