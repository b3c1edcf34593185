package session

import (
	"net/http"
	"strings"

	"restsrv/engine"
)

// cookieName is that of the session's cookie. Over TLS it has a prefix with
// which browsers take the cookie from this very host only, so that none of
// another host of its domain can stand in for it.
const cookieName = "restsrv"

// secure reports whether the browser of a request speaks TLS to us or to a
// proxy before us.
func (s *Sessions) secure(r *http.Request) bool {
	return engine.CallerFrom(r.Context()).Secure || strings.HasPrefix(s.cfg.PublicURL, "https:")
}

func (s *Sessions) name(r *http.Request) string {
	if s.secure(r) {
		return "__Host-" + cookieName
	}
	return cookieName
}

// token returns the token in the cookie of a request, "" for none.
func (s *Sessions) token(r *http.Request) string {
	c, err := r.Cookie(s.name(r))
	if err != nil || len(c.Value) > 64 { // longer than any that was given out
		return ""
	}
	return c.Value
}

// setCookie hands a token out, or takes it back when it is "". The browser
// forgets it when it is closed; when the session ends is ours to say.
func (s *Sessions) setCookie(w http.ResponseWriter, r *http.Request, token string) {
	c := &http.Cookie{Name: s.name(r), Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.secure(r)}
	if token == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}
