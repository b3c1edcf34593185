package rest

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"restsrv/engine"
)

// offered returns what a request offers to prove its account.
func offered(r *http.Request) (engine.Credentials, error) {
	if len(r.Header["Authorization"]) > 1 { // a proxy may look at the other one
		return engine.Credentials{}, engine.Errorf(engine.Invalid, "credentials", "the header Authorization is given more than once")
	}
	return credentials(r.Header), nil
}

// account proves who sends a request to a service of that mode.
func (s *Server) account(r *http.Request, mode engine.AuthMode) (*engine.Account, error) {
	if mode == engine.AuthNone {
		return engine.Anonymous, nil
	}
	c, err := offered(r)
	if err != nil {
		return nil, err
	}
	return s.cfg.Auth.Authenticate(r.Context(), mode, c)
}

// anyAccount proves it by whichever credential the request offers.
func (s *Server) anyAccount(r *http.Request) (*engine.Account, error) {
	c, err := offered(r)
	if err != nil {
		return nil, err
	}
	mode := engine.AuthPwd
	if c.Token != "" {
		mode = engine.AuthToken
	}
	return s.cfg.Auth.Authenticate(r.Context(), mode, c)
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

// challenge is the WWW-Authenticate value of a 401 in a mode.
func challenge(mode engine.AuthMode) string {
	switch mode {
	case engine.AuthToken, engine.AuthOAuth:
		return `Bearer realm="restsrv"`
	}
	return `Basic realm="restsrv", charset="UTF-8"`
}
