package session

import (
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"restsrv/engine"
	"restsrv/engine/page"
	"restsrv/engine/service"
)

//go:embed page.html
var pageText string

var pages = page.New(pageText)

// content is the data for the template page.html.
type content struct {
	Account string // the signed-in account, or ""
	SignOut bool   // the page should ask for confirmation to sign out
	Message string // error message
	Notice  string // success message
	Return  string // local path to open after signing in
}

// messages contains the texts of error messages. To show a message, the server redirects the
// browser to the page with the key of the message in the query.
var messages = map[string]string{
	"wrong":   "The user name or the password is wrong.",
	"missing": "Enter a user name and a password.",
	"ended":   "Your session has ended. Sign in again.",
}

func (s *Sessions) signInPage(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	p := content{SignOut: r.URL.Path == signOutPath, Message: messages[query.Get("m")], Return: localPath(query.Get("return"))}
	a, err := s.Account(r)
	switch {
	case err == nil:
		p.Account, p.Message = a.ID, ""
	case engine.CodeOf(err) != engine.Unauthenticated:
		service.Fail(w, err)
		return
	case p.SignOut:
		redirect(w, signInPath, nil)
		return
	case reasonOf(err) == reasonEnded:
		p.Message = messages["ended"]
		s.setCookie(w, r, "") // show the message only once
	case query.Get("m") == "out":
		p.Notice = "You are signed out."
	}
	p.write(w, http.StatusOK)
}

func reasonOf(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// busyPage shows that the sign-in was not processed and when to try again.
func (s *Sessions) busyPage(w http.ResponseWriter, in form, e *engine.Error) {
	seconds := max(1, int64((e.RetryAfter+time.Second-1)/time.Second))
	status, cause := http.StatusServiceUnavailable, "The server is busy."
	if e.Code == engine.TooMany {
		status, cause = http.StatusTooManyRequests, "There were too many attempts to sign in."
	}
	w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	content{Message: fmt.Sprintf("%s Try again in %s.", cause, formatSeconds(seconds)), Return: in.back}.write(w, status)
}

func formatSeconds(seconds int64) string {
	switch {
	case seconds == 1:
		return "a second"
	case seconds < 120:
		return fmt.Sprintf("%d seconds", seconds)
	}
	return fmt.Sprintf("%d minutes", (seconds+59)/60)
}

func (c content) write(w http.ResponseWriter, status int) {
	title := "Sign in"
	switch {
	case c.Account != "" && c.SignOut:
		title = "Sign out?"
	case c.Account != "":
		title = "Signed in"
	}
	if err := pages.Write(w, status, title, c); err != nil {
		service.Fail(w, engine.Wrap(err, "a page could not be made"))
	}
}
