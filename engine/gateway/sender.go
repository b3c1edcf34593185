package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"restsrv/engine"
)

// Limits for fetching tokens. When the target server rejects a token, the gateway replaces the
// token only if the token is older than its waiting time. The waiting time starts with firstWait,
// and doubles up to lastWait if the next tokens are rejected as well.
const (
	tokenTime = 15 * time.Second // time limit for one fetch
	maxToken  = 4 << 10          // bytes
	sulk      = 5 * time.Second  // time after a failed fetch without another attempt
	firstWait = time.Second
	lastWait  = 10 * time.Minute
)

// sender sends requests with the credentials of a gateway. If the target rejects a request,
// sender sends it once more with a new token. It cannot do so if a part of the body has been
// read.
type sender struct {
	gateway *gateway
	next    http.RoundTripper
	valid   func(ctx context.Context, token string) bool // nil if only the other server can check tokens
	idle    time.Duration
	clock   func() time.Time

	turn    chan struct{} // semaphore, held while a token is fetched
	current atomic.Pointer[token]
	failed  error     // error of the last fetch, protected by turn
	until   time.Time // time of the next attempt after failed, protected by turn
}

// token is a fetched token. If the target rejects the token, it can be replaced only when its age
// is at least wait.
type token struct {
	secret string
	at     time.Time
	wait   time.Duration
}

// RoundTrip implements http.RoundTripper.
func (s *sender) RoundTrip(r *http.Request) (*http.Response, error) {
	used, err := s.getToken(r.Context(), nil)
	if err != nil {
		return nil, err
	}
	resp, unsent, err := s.send(r, used)
	if err != nil || !isRefused(resp) || used == nil || !s.isReplaceable(r.Context(), used, resp.StatusCode) {
		return s.reportRefusal(resp, err)
	}
	fresh, err := s.getToken(r.Context(), used)
	if err != nil {
		discardBody(resp)
		return nil, err
	}
	if !unsent() {
		return s.reportRefusal(resp, nil) // the next request uses the new token
	}
	discardBody(resp)
	resp, _, err = s.send(r, fresh)
	if err == nil && isRefused(resp) {
		s.current.CompareAndSwap(fresh, &token{secret: fresh.secret, at: fresh.at, wait: min(2*used.wait, lastWait)})
	}
	return s.reportRefusal(resp, err)
}

func isRefused(r *http.Response) bool {
	return r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden
}

// reportRefusal turns a 401 of the target into an internal error, because it means that the
// target rejects the credentials of the gateway. A browser that got the 401 would ask the user to
// sign in again, which could not help.
func (s *sender) reportRefusal(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized {
		discardBody(resp)
		return nil, engine.Wrap(errors.New("the service does not accept "+s.gateway.Account), "gateway "+s.gateway.Name)
	}
	return resp, nil
}

// isReplaceable reports whether a new token could help after the target has rejected
// t with status.
func (s *sender) isReplaceable(ctx context.Context, t *token, status int) bool {
	if s.valid != nil {
		return !s.valid(ctx, t.secret)
	}
	return status == http.StatusUnauthorized || s.clock().Sub(t.at) >= t.wait
}

// send sends a copy of the request once, with the credentials. After it, the caller can call
// unsent to find out whether the request can be sent again. unsent returns true if no part of the
// body has been read. From then on, no part of the body can be read through the first copy.
func (s *sender) send(r *http.Request, t *token) (resp *http.Response, unsent func() bool, err error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	out := r.Clone(ctx)
	s.authorize(out, t)
	timer := time.AfterFunc(s.idle, func() { cancel(context.DeadlineExceeded) })
	body := &attempt{src: r.Body, timer: timer, idle: s.idle}
	if r.Body != nil && r.Body != http.NoBody {
		out.Body = body
		if s.gateway.Endpoint != "" {
			out.Header.Set("Expect", "100-continue") // a server that rejects the request can do so before the body is sent
		}
	}
	resp, err = s.next.RoundTrip(out)
	body.stopTimer()
	if err != nil {
		timer.Stop()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, nil, err
	}
	resp.Body = &timed{ReadCloser: resp.Body, timer: timer, idle: s.idle, cancel: cancel}
	return resp, body.stopReading, nil
}

// authorize sets the credentials. For a service of this server it sets every form of
// credentials, and the service uses the form of its authentication mode.
func (s *sender) authorize(r *http.Request, t *token) {
	g := s.gateway
	if t != nil {
		r.Header.Set("Authorization", "Bearer "+t.secret)
	}
	switch {
	case g.Endpoint == "":
		r.Header.Set("Auth-User", g.Account)
		r.Header.Set("Auth-Pwd", g.Secret)
	case t == nil:
		r.Header.Set("Authorization", basicAuth(g.Account, g.Secret))
	}
}

func basicAuth(account, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(account+":"+secret))
}

// getToken returns the current token. old is a token that the target has rejected, or nil. If
// there is no token yet, or if the current token is the rejected one, getToken fetches a new
// token. Only one request at a time fetches a token. The result is nil if the gateway does not
// use tokens.
func (s *sender) getToken(ctx context.Context, old *token) (*token, error) {
	if s.gateway.TokenPath == "" {
		return nil, nil
	}
	if t := s.current.Load(); t != nil && t != old {
		return t, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if t := s.current.Load(); t != nil && t != old {
		return t, nil
	}
	if s.clock().Before(s.until) {
		return nil, s.failed
	}
	// Other requests wait for this token, so the fetch continues even if this
	// request ends.
	fetching, cancel := context.WithTimeout(context.WithoutCancel(ctx), tokenTime)
	defer cancel()
	secret, err := s.fetchToken(fetching)
	if err != nil {
		s.failed, s.until = err, s.clock().Add(sulk)
		return nil, err
	}
	t := &token{secret: secret, at: s.clock(), wait: firstWait}
	s.current.Store(t)
	return t, nil
}

// fetchToken gets a token with name and password. The body of the response is
// the token, as in IONDV.
func (s *sender) fetchToken(ctx context.Context) (string, error) {
	g := s.gateway
	// The request has no client address: failed attempts of the gateway must
	// not count for the caller.
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.to+g.TokenPath, http.NoBody)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", basicAuth(g.Account, g.Secret))
	if id := engine.CallerFrom(ctx).Request; id != "" {
		r.Header.Set("X-Request-Id", id)
	}
	resp, err := s.next.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer discardBody(resp)
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxToken+1))
	secret := strings.TrimSpace(string(text))
	switch {
	case err != nil:
		return "", err
	case isRefused(resp):
		return "", engine.Wrap(errors.New("no token for "+g.Account+": "+resp.Status), "gateway "+g.Name)
	case resp.StatusCode != http.StatusOK:
		return "", errors.New("no token for " + g.Account + ": " + resp.Status)
	case secret == "" || len(secret) > maxToken || strings.ContainsFunc(secret, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
		return "", errors.New("the response of " + g.TokenPath + " is not a token")
	}
	return secret, nil
}

// discardBody closes a response without using its body.
func discardBody(r *http.Response) {
	_, _ = io.CopyN(io.Discard, r.Body, 4<<10) // read the rest so that the connection can be used again
	r.Body.Close()
}

// attempt is the body of a request that is sent once.
type attempt struct {
	src   io.Reader
	idle  time.Duration
	mu    sync.Mutex
	timer *time.Timer // time limit for silence of the target; nil after the response
	taken bool        // a part of the body was read
	over  bool        // no further read is allowed
}

// Read implements io.Reader.
func (a *attempt) Read(p []byte) (int, error) {
	a.mu.Lock()
	if a.over {
		a.mu.Unlock()
		return 0, errAborted
	}
	a.taken = true
	if a.timer != nil {
		a.timer.Reset(a.idle)
	}
	a.mu.Unlock()
	return a.src.Read(p)
}

// Close implements io.Closer. It leaves src open, because the incoming request
// owns it.
func (a *attempt) Close() error { return nil }

func (a *attempt) stopTimer() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = nil
}

func (a *attempt) stopReading() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	return !a.taken
}

// timed is the body of a response. Read fails if the target sends no data for the time
// idle.
type timed struct {
	io.ReadCloser
	timer  *time.Timer
	idle   time.Duration
	cancel context.CancelCauseFunc
}

// Read implements io.Reader. The time between reads, in which the browser
// receives data, does not count.
func (t *timed) Read(p []byte) (int, error) {
	t.timer.Reset(t.idle)
	n, err := t.ReadCloser.Read(p)
	t.timer.Stop()
	return n, err
}

// Close implements io.Closer.
func (t *timed) Close() error {
	t.timer.Stop()
	err := t.ReadCloser.Close()
	t.cancel(nil)
	return err
}
