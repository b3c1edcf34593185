package session

import (
	"net/http"
	"strings"

	"restsrv/engine"
)

// cookieName is the name of the session cookie. Over TLS the name gets the
// prefix __Host-: browsers accept such a cookie only from this host, so another
// host of the domain cannot set it.
const cookieName = "restsrv"

// isSecure reports whether the browser uses TLS to reach this server or a proxy
// in front of it.
func (s *Sessions) isSecure(r *http.Request) bool {
	return engine.CallerFrom(r.Context()).Secure || strings.HasPrefix(s.cfg.PublicURL, "https:")
}

func (s *Sessions) cookieNameFor(r *http.Request) string {
	if s.isSecure(r) {
		return "__Host-" + cookieName
	}
	return cookieName
}

// readToken returns the token in the session cookie of a request, or "" if there is no such
// cookie.
func (s *Sessions) readToken(r *http.Request) string {
	c, err := r.Cookie(s.cookieNameFor(r))
	if err != nil || len(c.Value) > 64 { // longer than all tokens of this server
		return ""
	}
	return c.Value
}

// setCookie sets the cookie to token, or deletes it if token is "". Browsers
// delete the cookie when they are closed. The server decides when the session
// ends.
func (s *Sessions) setCookie(w http.ResponseWriter, r *http.Request, token string) {
	c := &http.Cookie{Name: s.cookieNameFor(r), Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.isSecure(r)}
	if token == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}
