package token_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"restsrv/builtin/token"
	"restsrv/engine"
	"restsrv/engine/service"
)

// issuer is a token issuer that records its calls. Its clock stands still.
type issuer struct {
	asked  []string
	tokens []engine.Token
	fail   error
}

const (
	text = "0123456789abcdef0123456789abcdef01234567"
	day  = 24 * time.Hour
)

func (i *issuer) Issue(_ context.Context, account, name string, lifetime time.Duration) (string, engine.Token, error) {
	i.asked = append(i.asked, fmt.Sprintf("issue %s %q %s", account, name, lifetime))
	if lifetime > 30*day {
		return "", engine.Token{}, engine.Errorf(engine.Invalid, "lifetime", "a token lives at most 30 days")
	}
	if lifetime == 0 {
		lifetime = 30 * day
	}
	created := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	t := engine.Token{ID: fmt.Sprint("t", len(i.tokens)), Name: name, Created: created, Expires: created.Add(lifetime)}
	i.tokens = append(i.tokens, t)
	return text, t, i.fail
}

func (i *issuer) Tokens(_ context.Context, account string) ([]engine.Token, error) {
	i.asked = append(i.asked, "tokens "+account)
	return i.tokens, i.fail
}

func (i *issuer) Revoke(_ context.Context, account, id string) error {
	i.asked = append(i.asked, "revoke "+account+" "+id)
	return i.fail
}

// call finds the route and calls its handler.
func call(t *testing.T, i *issuer, method, path string, r *service.Request) (*service.Response, error) {
	t.Helper()
	s, err := token.New(&service.Env{Tokens: i, Access: allowed(true)}, service.Options{"auth": nil})
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range s.Routes() {
		if route.Method == method && route.Path == path {
			return route.Handler(context.Background(), r)
		}
	}
	t.Fatalf("no route %s %s", method, path)
	return nil, nil
}

func request(body string) *service.Request {
	r := &service.Request{Account: &engine.Account{ID: "ann@local", Revision: 1}, Header: http.Header{}}
	if body != "" {
		r.Body = strings.NewReader(body)
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	return r
}

func TestGetAnswersTheBareToken(t *testing.T) {
	var i issuer
	a, err := call(t, &i, "GET", "/", request(""))
	if err != nil {
		t.Fatal(err)
	}
	if string(a.Body) != text || a.ContentType != "text/html; charset=utf-8" || a.Header.Get("Cache-Control") != "no-store" || a.Status != 0 {
		t.Errorf("got the answer %+v, want the uncached page %s", a, text)
	}
	if len(i.asked) != 1 || i.asked[0] != `issue ann@local "" 0s` {
		t.Errorf("got the calls %q, want one Issue", i.asked)
	}
}

func TestHeadIssuesNothing(t *testing.T) {
	var i issuer
	a, err := call(t, &i, "HEAD", "/", request(""))
	if err != nil || len(a.Body) != 0 || a.Status != 0 || len(i.asked) != 0 {
		t.Errorf("got the answer %+v, %v, calls %q, want an empty answer without calls", a, err, i.asked)
	}
}

// TestScopeGivesNoTokens checks that a request with a scoped token cannot issue tokens, because
// the new tokens would have no scope.
func TestScopeGivesNoTokens(t *testing.T) {
	scope, err := engine.ParseScope("token crud:read")
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"GET", "HEAD", "POST"} {
		var i issuer
		r := request("")
		r.Account.Scope, r.Account.Limit = scope, engine.MayAll
		if _, err := call(t, &i, method, "/", r); engine.CodeOf(err) != engine.Forbidden || len(i.asked) > 0 {
			t.Errorf("%s: got %v, calls %q, want Forbidden", method, err, i.asked)
		}
	}
}

func TestPost(t *testing.T) {
	tests := []struct{ body, asked, answer string }{
		{`{"name":"laptop","lifetime":3600}`, `issue ann@local "laptop" 1h0m0s`,
			`{"id":"t0","name":"laptop","token":"` + text + `","created":"2024-05-01T12:00:00.000Z","expires":"2024-05-01T13:00:00.000Z"}`},
		{`{"lifetime":60.0}`, `issue ann@local "" 1m0s`,
			`{"id":"t0","name":"","token":"` + text + `","created":"2024-05-01T12:00:00.000Z","expires":"2024-05-01T12:01:00.000Z"}`},
		{`{"name":null,"lifetime":null}`, `issue ann@local "" 0s`, ""},
		{`{}`, `issue ann@local "" 0s`, ""},
		{"", `issue ann@local "" 0s`, ""},
	}
	for _, test := range tests {
		var i issuer
		a, err := call(t, &i, "POST", "/", request(test.body))
		if err != nil {
			t.Errorf("%s: got %v, want no error", test.body, err)
			continue
		}
		if i.asked[0] != test.asked || test.answer != "" && string(a.Body) != test.answer {
			t.Errorf("%s: got the call %s and the answer %s, want %s and %s", test.body, i.asked[0], a.Body, test.asked, test.answer)
		}
		if a.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(a.ContentType, "application/json") {
			t.Errorf("%s: got the answer %+v, want uncached JSON", test.body, a)
		}
	}
}

func TestPostRefuses(t *testing.T) {
	bad := map[string]string{ // body, attribute
		`{"name":5}`: "name", `{"name":["a"]}`: "name", `{"name":{}}`: "name",
		`{"lifetime":"60"}`: "lifetime", `{"lifetime":1.5}`: "lifetime", `{"lifetime":0}`: "lifetime", `{"lifetime":-1}`: "lifetime",
		`{"lifetime":true}`: "lifetime", `{"lifetime":1e400}`: "lifetime", `{"lifetimes":1}`: "lifetimes", `{"id":"x"}`: "id",
		`[]`: "", `"x"`: "", `{`: "", `null`: "",
	}
	for body, attribute := range bad {
		var i issuer
		_, err := call(t, &i, "POST", "/", request(body))
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != engine.Invalid || e.Attribute != attribute || len(i.asked) != 0 {
			t.Errorf("%s: got %#v, calls %q, want Invalid with the attribute %s", body, err, i.asked, attribute)
		}
	}
	for _, body := range []string{`{"lifetime":2592001}`, `{"lifetime":9223372036854775807}`, `{"lifetime":9223372037}`} {
		if _, err := call(t, &issuer{}, "POST", "/", request(body)); engine.CodeOf(err) != engine.Invalid {
			t.Errorf("%s: got %v, want Invalid", body, err)
		}
	}
	r := request("name=a")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if _, err := call(t, &issuer{}, "POST", "/", r); engine.CodeOf(err) != engine.Invalid {
		t.Errorf("a form: got %v, want Invalid", err)
	}
}

func TestListAndRevoke(t *testing.T) {
	var i issuer
	a, err := call(t, &i, "GET", "/list", request(""))
	if err != nil || string(a.Body) != "[]" {
		t.Errorf("an empty list: got %+v, %v, want []", a, err)
	}
	for _, body := range []string{`{"name":"a"}`, `{"name":"b"}`} {
		if _, err := call(t, &i, "POST", "/", request(body)); err != nil {
			t.Fatal(err)
		}
	}
	a, err = call(t, &i, "GET", "/list", request(""))
	want := `[{"id":"t0","name":"a","created":"2024-05-01T12:00:00.000Z","expires":"2024-05-31T12:00:00.000Z"},` +
		`{"id":"t1","name":"b","created":"2024-05-01T12:00:00.000Z","expires":"2024-05-31T12:00:00.000Z"}]`
	if err != nil || string(a.Body) != want {
		t.Errorf("list: got %s, %v, want %s", a.Body, err, want)
	}
	r := request("")
	r.Params = []service.Param{{Name: "id", Value: "t1"}}
	a, err = call(t, &i, "DELETE", "/:id", r)
	if err != nil || a.Status != 0 || len(a.Body) != 0 || i.asked[len(i.asked)-1] != "revoke ann@local t1" {
		t.Errorf("got the answer %+v, %v, calls %q, want Revoke of t1", a, err, i.asked)
	}
	i.fail = engine.Errorf(engine.NotFound, "unknown-token", "none")
	if _, err := call(t, &i, "DELETE", "/:id", r); engine.CodeOf(err) != engine.NotFound {
		t.Error(err)
	}
}

func TestAnonymousGetsNothing(t *testing.T) {
	for _, a := range []*engine.Account{nil, engine.Anonymous} {
		for _, route := range [][2]string{{"GET", "/"}, {"HEAD", "/"}, {"POST", "/"}, {"GET", "/list"}, {"DELETE", "/:id"}} {
			var i issuer
			r := request("")
			r.Account = a
			if _, err := call(t, &i, route[0], route[1], r); engine.CodeOf(err) != engine.Forbidden || len(i.asked) != 0 {
				t.Errorf("%s %s as %v: got %v, calls %q, want Forbidden", route[0], route[1], a, err, i.asked)
			}
		}
	}
}

func TestModule(t *testing.T) {
	if _, err := token.New(&service.Env{}, nil); err == nil {
		t.Error("New without an issuer: got no error, want one")
	}
	s, err := token.New(&service.Env{Tokens: &issuer{}, Access: allowed(true)}, nil)
	if err != nil || s.Errors() != service.ProblemErrors {
		t.Errorf("New: got %v, %v, want a service with ProblemErrors", s, err)
	}
}

// allowed is an access check that always gives the same answer.
type allowed bool

func (a allowed) Check(_ context.Context, _ *engine.Account, resource string, p engine.Permission) (bool, error) {
	if resource != "ws:::gen-ws-token" || p != engine.MayUse {
		return false, errors.New("asked for " + p.String() + " on " + resource)
	}
	return bool(a), nil
}

// events is an engine.Auditor that records the events.
type events []string

func (e *events) Audit(_ context.Context, ev engine.Event) {
	*e = append(*e, fmt.Sprint(ev.Kind, " ", ev.Account, " ", ev.Caller.Request, " ", ev.Service, " ", string(engine.AppendValue(nil, ev.Details))))
}

// TestIssuingTakesPermission checks that issuing a token needs the permission use on
// ws:::gen-ws-token, and that the permission is checked before the input. An account can list and
// revoke its own tokens without the permission. The events are audited, without the secret.
func TestIssuingTakesPermission(t *testing.T) {
	const issued = `{"token":"t0","name":"","expires":"2024-05-31T12:00:00.000Z"}`
	for _, test := range []struct {
		method, path, body string
		may                allowed
		want, event        string
	}{
		{"GET", "/", "", true, "ok", "token ann@local r1 token " + issued},
		{"POST", "/", `{}`, true, "ok", "token ann@local r1 token " + issued},
		{"POST", "/", `{"lifetime":9999999999}`, true, "a token lives at most 30 days", ""},
		{"HEAD", "/", "", true, "ok", ""},
		{"GET", "/", "", false, "the account may not do this", ""},
		{"HEAD", "/", "", false, "the account may not do this", ""},
		{"POST", "/", `{"what":1}`, false, "the account may not do this", ""},
		{"GET", "/list", "", false, "ok", ""},
		{"DELETE", "/:id", "", false, "ok", `token-revoked ann@local r1 token {"token":"t9"}`},
	} {
		var i issuer
		var told events
		s, err := token.New(&service.Env{Tokens: &i, Access: test.may, Audit: &told}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := request(test.body)
		r.Service, r.Params = "token", []service.Param{{Name: "id", Value: "t9"}}
		ctx := engine.WithCaller(context.Background(), &engine.Caller{Request: "r1"})
		for _, route := range s.Routes() {
			if route.Method != test.method || route.Path != test.path {
				continue
			}
			got := "ok"
			if _, err := route.Handler(ctx, r); err != nil {
				got = err.Error()
				if bool(test.may) == (engine.CodeOf(err) == engine.Forbidden) {
					t.Errorf("%s %s with the permission %v: got %v, want Forbidden only without it", test.method, test.path, test.may, err)
				}
			}
			if got != test.want || strings.Join(told, ";") != test.event || !bool(test.may) && strings.Contains(fmt.Sprint(i.asked), "issue") {
				t.Errorf("%s %s %s: got %s, events %q, calls %q, want %s, %s", test.method, test.path, test.body, got, told, i.asked, test.want, test.event)
			}
		}
	}
	if _, err := token.New(&service.Env{Tokens: &issuer{}}, nil); err == nil {
		t.Error("New without Access: got no error, want one")
	}
}
