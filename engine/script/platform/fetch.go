package platform

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"sort"
	"strings"
	"time"
)

// Defaults of Fetch.
const (
	DefaultFetchTimeout = 10 * time.Second // maximum time of a request
	DefaultFetchBytes   = 10 << 20         // maximum size of a response
	maxRedirects        = 10
)

// message is an HTTP request that a script sends.
type message struct {
	url      *webURL
	method   string
	header   http.Header
	body     []byte // nil if there is no body
	redirect string // "follow", "manual" or "error"
}

// reply is the response to a message.
type reply struct {
	status     int
	statusText string
	headers    []string // a name in lower case, its value, the next name, and so on
	url        string
	redirected bool
	body       []byte
	broken     error     // error that made the body incomplete, or nil
	transfer   *transfer // used instead of body if the body is still arriving
}

// errTimeout is the error if a request takes longer than Fetch.Timeout.
type errTimeout struct{ limit time.Duration }

func (e errTimeout) Error() string {
	return "fetch: the server did not answer within " + e.limit.String() + ", the limit globals.scripts.fetch.timeout of deploy.json"
}

// send sends a request, follows redirects, and reads the head of the response. It checks the URL of the request and of
// each redirect. If lazy is true, the body may be read later; otherwise send reads it.
func (f *Fetch) send(ctx context.Context, m *message, lazy bool) (*reply, error) {
	t := newTransfer(ctx, f, m)
	r, err := f.receiveHead(t, m)
	if err != nil {
		t.close()
		return nil, err
	}
	if n := t.response.ContentLength; lazy && (n < 0 || n > smallResponse) {
		t.timer.Stop()
		r.transfer = t
		return r, nil
	}
	r.body, r.broken = t.readAll()
	return r, nil
}

// smallResponse is the size up to which a response is read together with its head, in bytes.
const smallResponse = 64 << 10

// receiveHead sends a request and receives the head of the response that is not a redirect to be followed.
func (f *Fetch) receiveHead(t *transfer, m *message) (*reply, error) {
	ctx, r := t.ctx, &reply{}
	for hop := 0; ; hop++ {
		if err := checkMessage(m); err != nil {
			return nil, err
		}
		if err := f.checkHost(m.url); err != nil {
			return nil, err
		}
		response, err := f.sendOnce(ctx, m)
		if err != nil {
			return nil, explainError(ctx, m, err)
		}
		next := ""
		switch response.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			next = response.Header.Get("Location")
		}
		if next == "" || m.redirect == "manual" {
			t.response = response
			r.setHead(m, response)
			return r, nil
		}
		_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
		_ = response.Body.Close()
		switch {
		case m.redirect == "error":
			return nil, refusedError("fetch: %s answered with a redirect, which redirect: 'error' refuses", m.url.hostPort())
		case hop == maxRedirects:
			return nil, refusedError("fetch: more than %d redirects", maxRedirects)
		}
		if err := m.followRedirect(next, response.StatusCode); err != nil {
			return nil, err
		}
		r.redirected = true
	}
}

// checkMessage returns an error if the URL is not an http or https URL, or if it contains a user name or password.
func checkMessage(m *message) error {
	switch {
	case m.url.scheme != "http" && m.url.scheme != "https":
		return refusedError("fetch: URLs begin with http: or https:, not %s:", m.url.scheme)
	case m.url.username != "" || m.url.password != "":
		return refusedError("fetch: the URL has a user name or a password; send the header Authorization instead")
	}
	return nil
}

// sendOnce sends one request and does not follow redirects.
func (f *Fetch) sendOnce(ctx context.Context, m *message) (*http.Response, error) {
	target := &url.URL{Scheme: m.url.scheme, Host: m.url.hostPort(), RawPath: m.url.pathname()}
	target.Path = string(percentDecode(target.RawPath))
	if target.EscapedPath() != target.RawPath {
		target.Opaque = "//" + target.Host + target.RawPath // keeps the path as the script has written it
	}
	if m.url.query != nil {
		target.RawQuery, target.ForceQuery = *m.url.query, *m.url.query == ""
	}
	r := &http.Request{
		Method: m.method, URL: target, Host: target.Host, Header: m.header.Clone(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if m.body != nil {
		r.ContentLength = int64(len(m.body))
		r.Body = io.NopCloser(bytes.NewReader(m.body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.body)), nil }
		if len(m.body) == 0 {
			r.Body = http.NoBody
		}
	}
	return f.httpClient().Do(r.WithContext(ctx))
}

// followRedirect changes the request so that it can be sent to the target of a redirect. If the target has another
// origin, it removes the headers with credentials.
func (m *message) followRedirect(location string, status int) error {
	next := parseURL(location, m.url)
	if next == nil {
		return refusedError("fetch: the server redirects to what is no URL")
	}
	if next.fragment == nil {
		next.fragment = m.url.fragment
	}
	if status == http.StatusSeeOther && m.method != http.MethodHead || status <= http.StatusFound && m.method == http.MethodPost {
		if m.method != http.MethodGet {
			m.method, m.body = http.MethodGet, nil
			for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Location"} {
				m.header.Del(name)
			}
		}
	}
	if next.origin() != m.url.origin() {
		for _, name := range []string{"Authorization", "Cookie", "Proxy-Authorization"} {
			m.header.Del(name)
		}
	}
	m.url = next
	return nil
}

// setHead copies the head of a response into r.
func (r *reply) setHead(m *message, response *http.Response) {
	r.status, r.url = response.StatusCode, m.url.href()
	r.statusText = strings.TrimSpace(strings.TrimPrefix(response.Status, decimal(response.StatusCode)))
	if at := strings.IndexByte(r.url, '#'); at >= 0 {
		r.url = r.url[:at]
	}
	names := make([]string, 0, len(response.Header))
	for name := range response.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, value := range response.Header[name] {
			r.headers = append(r.headers, strings.ToLower(name), value)
		}
	}
}

// explainError returns the error that the script gets for a failed request. It does not contain addresses, which
// could reveal the internal network.
func explainError(ctx context.Context, m *message, err error) error {
	var late errTimeout
	switch {
	case errors.As(context.Cause(ctx), &late):
		return late
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errInner):
		return refusedError("fetch: %s leads to a private address, which is refused; globals.scripts.fetch.private of deploy.json allows such", m.url.hostPort())
	}
	return &errNetwork{m.url.hostPort(), err}
}

// errNetwork is the error if the connection to a server failed.
type errNetwork struct {
	host string
	err  error
}

func (e *errNetwork) Error() string { return "fetch failed: " + e.host + ": " + e.reason() }

// Unwrap returns the error of the network.
func (e *errNetwork) Unwrap() error { return e.err }

// forbiddenHeaders are the headers that scripts must not set: they control the connection, or could name another host
// than the one that was checked.
var forbiddenHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// newMessage returns a message. It returns an error if the method or a header is not allowed.
func newMessage(u *webURL, method string, headers []string, body []byte, redirect string) (*message, error) {
	m := &message{url: u, method: method, header: http.Header{}, body: body, redirect: redirect}
	switch strings.ToUpper(method) {
	case "CONNECT", "TRACE", "TRACK":
		return nil, refusedError("fetch: the method %s is not allowed", method)
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		m.method = strings.ToUpper(method)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		name := textproto.CanonicalMIMEHeaderKey(headers[i])
		if slices.Contains(forbiddenHeaders, name) {
			return nil, refusedError("fetch: the header %s is set by the server itself: leave it out", name)
		}
		m.header.Add(name, headers[i+1])
	}
	if m.header.Get("User-Agent") == "" {
		m.header.Set("User-Agent", "restsrv")
	}
	if m.header.Get("Accept") == "" {
		m.header.Set("Accept", "*/*")
	}
	return m, nil
}
