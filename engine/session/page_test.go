package session_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/session"
)

// TestPages checks the pages for sign-in and sign-out in three browsers: with a session, without
// a session, and with a session that has ended.
func TestPages(t *testing.T) {
	f := open(t)
	cookie := f.signIn()
	const ended = "restsrv=AAAA"
	for _, x := range []struct {
		name, path, cookie string
		status             int
		title, says        string
	}{
		{"signed in", "/auth", cookie, 200, "<title>Signed in", "You are signed in as <strong>anna@local</strong>"},
		{"signed in, to sign out", "/auth/logout", cookie, 200, "<title>Sign out?", "autofocus>Sign out"},
		{"no session", "/auth", "", 200, "<title>Sign in", `<form method="post" action="/auth">`},
		{"a wrong password", "/auth?m=wrong", "", 200, "<title>Sign in", "The user name or the password is wrong."},
		{"signed out", "/auth?m=out", "", 200, "<title>Sign in", "You are signed out."},
		{"an ended session", "/auth", ended, 200, "<title>Sign in", "Your session has ended."},
		{"no session to sign out of", "/auth/logout", "", 302, "", ""},
		{"an ended session to sign out of", "/auth/logout", ended, 302, "", ""},
	} {
		w := f.ask(with(httptest.NewRequest("GET", x.path, nil), "Cookie", x.cookie))
		body := w.Body.String()
		if w.Code != x.status || w.err != nil || !strings.Contains(body, x.title) || !strings.Contains(body, x.says) {
			t.Errorf("%s: got %d (%v), want %d with %q and %q:\n%s", x.name, w.Code, w.err, x.status, x.title, x.says, body)
		}
		for _, only := range []string{"You are signed out.", "Your session has ended.", "autofocus>Sign out"} {
			if strings.Contains(body, only) && x.says != only {
				t.Errorf("%s: the page says %q", x.name, only)
			}
		}
		if got := w.Header().Get("Set-Cookie") != ""; got != (x.name == "an ended session") {
			t.Errorf("%s: deletes the cookie: got %v", x.name, got)
		}
	}
}

// TestSignInRedirects checks the redirects after successful and failed sign-ins.
func TestSignInRedirects(t *testing.T) {
	f := open(t)
	for _, x := range []struct{ username, password, back, want string }{
		{"anna", password, "", "/auth"},
		{"anna", password, "/x?y=z", "/x?y=z"},
		{"anna", "x", "", "/auth?m=wrong"},
		{"anna", "x", "/x", "/auth?m=wrong&return=%2Fx"},
		{"", "x", "", "/auth?m=missing"},
		{"anna", "", "", "/auth?m=missing"},
	} {
		w := f.ask(post("/auth", url.Values{"username": {x.username}, "password": {x.password}, "return": {x.back}}.Encode()))
		if got := w.Header().Get("Location"); w.Code != http.StatusFound || got != x.want {
			t.Errorf("%q with %q, from %q: got %d to %s, want 302 to %s", x.username, x.password, x.back, w.Code, got, x.want)
		}
	}
}

// TestSignInBodyBounds checks the longest accepted body, and JSON that is not an object.
func TestSignInBodyBounds(t *testing.T) {
	f := open(t)
	const form = "username=anna&password=" + password + "&x="
	for _, x := range []struct {
		name string
		body string
		json bool
		want string // reason of the failure
	}{
		{"the longest form", form + strings.Repeat("x", 64<<10-len(form)), false, ""},
		{"one byte more", form + strings.Repeat("x", 64<<10-len(form)+1), false, "too-large"},
		{"a JSON array", `["anna"]`, true, "body"},
		{"broken JSON", `{"username":"anna"`, true, "body"},
		{"a JSON object", `{"username":"anna","password":"` + password + `"}`, true, ""},
	} {
		r := post("/auth", x.body)
		if x.json {
			r.Header.Set("Content-Type", "application/json")
		}
		w := f.ask(r)
		got := ""
		if e, ok := w.err.(*engine.Error); ok {
			got = e.Reason
		}
		if got != x.want || (w.Header().Get("Set-Cookie") != "") != (x.want == "") {
			t.Errorf("%s: got %q with headers %v, want %q", x.name, got, w.Header(), x.want)
		}
	}
}

// TestLongestToken checks that a cookie of 64 bytes is looked up and one of 65
// is not.
func TestLongestToken(t *testing.T) {
	f := open(t)
	f.want("restsrv="+strings.Repeat("A", 64), "session-ended", "a token of 64 bytes")
	f.want("restsrv="+strings.Repeat("A", 65), "no-session", "a token of 65 bytes")
}

// TestSignInEndsWithItsRequest checks a sign-in to an account that changes constantly: it stops
// trying when its request ends.
func TestSignInEndsWithItsRequest(t *testing.T) {
	f := open(t, func(c *session.Config) {
		c.Auth = authFunc(func(engine.Credentials) (*engine.Account, error) {
			return &engine.Account{ID: "anna@local", Revision: 12345}, nil
		})
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if w := f.ask(post("/auth", "username=anna&password=x").WithContext(ctx)); engine.CodeOf(w.err) != engine.Timeout {
		t.Errorf("got %v (%d), want a timeout", w.err, w.Code)
	}
}
