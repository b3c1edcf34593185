package session

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"restsrv/engine"
	"restsrv/engine/page"
	"restsrv/engine/service"
)

// maxForm is the maximum size of a sign-in body in bytes. A password has at most 1024 bytes and
// the return path at most maxReturn. Encoding can triple both lengths.
const maxForm = 64 << 10

// form contains the values of a sign-in.
type form struct{ username, kind, password, back string }

// newHandler returns the handler for /auth or /auth/logout. GET only shows a page, and POST
// performs the action: if a GET signed users out, a link on another site could sign them out.
func (s *Sessions) newHandler(post http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page.Guard(w.Header())
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			s.signInPage(w, r)
		case http.MethodPost:
			post(w, r)
		default:
			otherMethod(w, r)
		}
	})
}

// otherMethod answers requests with other methods, in the same way as services do.
func otherMethod(w http.ResponseWriter, r *http.Request) {
	const allow = "GET, HEAD, OPTIONS, POST"
	w.Header().Set("Allow", allow)
	if r.Method == http.MethodOptions {
		return
	}
	service.Fail(w, engine.Errorf(engine.NotFound, "unknown-method", "%s answers %s", r.URL.Path, allow))
}

// signIn handles POST /auth with a form, or with a JSON object with the same names.
func (s *Sessions) signIn(w http.ResponseWriter, r *http.Request) {
	// Without this check, another site could sign its visitors in with an account that belongs to
	// the site, and then see the activity of the visitors.
	if err := s.sameOrigin(r); err != nil {
		service.Fail(w, err)
		return
	}
	in, err := readForm(r)
	if err != nil {
		service.Fail(w, err)
		return
	}
	id, token, err := s.openSession(r, in)
	if err != nil {
		s.failSignIn(w, r, in, err)
		return
	}
	s.setCookie(w, r, token)
	if wantsJSON(r) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(append(engine.AppendString([]byte(`{"account":`), id), '}'))
		return
	}
	if in.back == "" {
		in.back = signInPath
	}
	redirect(w, in.back, nil)
}

// openSession authenticates the account and starts a session. It replaces the
// session of the browser if there is one.
func (s *Sessions) openSession(r *http.Request, in form) (id, token string, err error) {
	a, basis, err := s.checkPassword(r, in)
	if err != nil {
		return "", "", err
	}
	ctx, err := s.scs.Load(engine.AsServer(r.Context()), s.readToken(r))
	if err != nil {
		return "", "", err
	}
	// The token changes even if the browser had one, so that a person with the
	// old token cannot use the new session.
	if err := s.scs.RenewToken(ctx); err != nil {
		return "", "", err
	}
	s.scs.Put(ctx, accountKey, a.ID)
	s.scs.Put(ctx, basisKey, basis)
	token, _, err = s.scs.Commit(ctx)
	return a.ID, token, err
}

// checkPassword checks the password. It returns the account and its basis (see Accounts.Current).
// Both must belong to the same revision of the account. The revisions can differ: the account may
// change between the two reads, and for half a second Authenticate accepts a recently verified
// password without reading the account. In that case checkPassword tries again, and finally returns
// an error.
func (s *Sessions) checkPassword(r *http.Request, in form) (*engine.Account, string, error) {
	ctx := engine.AsServer(r.Context())
	c := engine.Credentials{User: in.username, Type: in.kind, Password: in.password, Caller: engine.CallerFrom(ctx)}
	for range 5 {
		a, err := s.cfg.Auth.Authenticate(ctx, engine.AuthPwd, c)
		if err != nil {
			return nil, "", err
		}
		now, basis, err := s.cfg.Accounts.Current(ctx, a.ID)
		if err != nil {
			return nil, "", err
		}
		if now.Revision == a.Revision {
			return now, basis, nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, "", &engine.Error{Code: engine.Timeout, Reason: "given-up", Message: "the sign-in was given up", Err: ctx.Err()}
		}
	}
	e := engine.Errorf(engine.Unavailable, "account-changing", "the account is being changed, try again")
	e.RetryAfter = time.Second
	return nil, "", e
}

// failSignIn answers a failed sign-in. After a form, it redirects the browser to the page, which
// shows the message.
func (s *Sessions) failSignIn(w http.ResponseWriter, r *http.Request, in form, err error) {
	var e *engine.Error
	if !errors.As(err, &e) {
		service.Fail(w, err)
		return
	}
	code := "wrong"
	switch e.Code {
	case engine.Unauthenticated:
		if in.username == "" || in.password == "" {
			code = "missing"
		}
	case engine.Forbidden: // a name that no account can have
		e = engine.Errorf(engine.Unauthenticated, "credentials", "the user name or the password is wrong")
	case engine.TooMany, engine.Unavailable:
		code = ""
	default:
		service.Fail(w, err)
		return
	}
	if wantsJSON(r) {
		service.Fail(w, e)
		return
	}
	if code == "" {
		s.busyPage(w, in, e)
		return
	}
	query := url.Values{"m": {code}}
	if in.back != "" {
		query.Set("return", in.back)
	}
	redirect(w, signInPath, query)
}

// readForm reads the body. It returns Invalid if a value is repeated or is not
// a text.
func readForm(r *http.Request) (form, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	read := readJSON
	switch kind {
	case "application/x-www-form-urlencoded":
		read = readURLEncoded
	case "application/json":
	default:
		return form{}, engine.Errorf(engine.Invalid, "media-type", "a sign-in is sent as application/x-www-form-urlencoded or application/json")
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxForm+1))
	if err != nil {
		var e *engine.Error
		if errors.As(err, &e) {
			return form{}, e
		}
		return form{}, &engine.Error{Code: engine.Invalid, Reason: "body", Message: "the body could not be read", Err: err}
	}
	if len(b) > maxForm {
		return form{}, engine.Errorf(engine.TooLarge, "too-large", "a sign-in has at most %d bytes", maxForm)
	}
	get, err := read(b)
	if err != nil {
		return form{}, err
	}
	var f form
	for _, field := range []struct {
		name string
		to   *string
	}{{"username", &f.username}, {"type", &f.kind}, {"password", &f.password}, {"return", &f.back}} {
		if *field.to, err = get(field.name); err != nil {
			return form{}, err
		}
	}
	if f.back == "" {
		f.back = r.URL.Query().Get("return")
	}
	f.back = localPath(f.back)
	if f.kind == "" && !strings.Contains(f.username, "@") {
		f.kind = "local"
	}
	return f, nil
}

func readURLEncoded(b []byte) (func(name string) (string, error), error) {
	all, err := url.ParseQuery(string(b))
	if err != nil {
		return nil, engine.Errorf(engine.Invalid, "body", "the form is malformed")
	}
	return func(name string) (string, error) {
		if len(all[name]) > 1 {
			return "", notText(name)
		}
		return all.Get(name), nil
	}, nil
}

func readJSON(b []byte) (func(name string) (string, error), error) {
	var all map[string]any
	if err := json.Unmarshal(b, &all); err != nil || all == nil {
		return nil, engine.Errorf(engine.Invalid, "body", "the body is to be a JSON object with username and password")
	}
	return func(name string) (string, error) {
		v, there := all[name]
		s, ok := v.(string)
		if there && !ok {
			return "", notText(name)
		}
		return s, nil
	}, nil
}

func notText(name string) error {
	e := engine.Errorf(engine.Invalid, "type", "%s is to be one text", name)
	e.Attribute = name
	return e
}
