package session

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"time"

	"restsrv/engine"
)

//go:embed page.html
var pageText string

//go:embed page.css
var style string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// policy lets a page have its one style sheet and nothing else: no script, no
// image, no frame around it. It says nothing of where forms may lead, because
// browsers hold that against every redirect after it, and the way of OAuth2
// leads on to the client.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; frame-ancestors 'none'"
}()

// page is what page.html shows.
type page struct {
	Style   template.CSS
	Account string // that is signed in, "" for nobody
	SignOut bool   // signing out was asked for
	Message string // what went wrong
	Notice  string // what went well
	Return  string // local path to go on to
}

// messages are what the page says for the codes that redirects give it.
var messages = map[string]string{
	"wrong":   "The user name or the password is wrong.",
	"missing": "Enter a user name and a password.",
	"ended":   "Your session has ended. Sign in again.",
}

func (s *Sessions) signInPage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	p := page{SignOut: r.URL.Path == signOutPath, Message: messages[query.Get("m")], Return: localPath(query.Get("return"))}
	a, err := s.Account(r)
	switch {
	case err == nil:
		p.Account, p.Message = a.ID, ""
	case engine.CodeOf(err) != engine.Unauthenticated:
		engine.Fail(w, err)
		return
	case p.SignOut:
		redirect(w, signInPath, nil)
		return
	case reason(err) == reasonEnded:
		p.Message = messages["ended"]
		s.setCookie(w, r, "") // said once
	case query.Get("m") == "out":
		p.Notice = "You are signed out."
	}
	p.write(w, http.StatusOK)
}

func reason(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// busyPage says that the sign-in was not looked at, and when it will be.
func (s *Sessions) busyPage(w http.ResponseWriter, in form, e *engine.Error) {
	seconds := max(1, int64((e.RetryAfter+time.Second-1)/time.Second))
	status, cause := http.StatusServiceUnavailable, "The server is busy."
	if e.Code == engine.TooMany {
		status, cause = http.StatusTooManyRequests, "There were too many attempts to sign in."
	}
	w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	page{Message: fmt.Sprintf("%s Try again in %s.", cause, span(seconds)), Return: in.back}.write(w, status)
}

func span(seconds int64) string {
	switch {
	case seconds == 1:
		return "a second"
	case seconds < 120:
		return fmt.Sprintf("%d seconds", seconds)
	}
	return fmt.Sprintf("%d minutes", (seconds+59)/60)
}

func (p page) write(w http.ResponseWriter, status int) {
	p.Style = template.CSS(style)
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p); err != nil {
		engine.Fail(w, engine.Wrap(err, "a page could not be made"))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

// guarded is for everything under /auth, redirects and failures included.
func guarded(h http.Header) {
	noStore(h)
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
}

// noStore keeps what an answer tells out of caches and of other sites.
func noStore(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}
