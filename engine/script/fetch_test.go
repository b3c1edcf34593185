package script

import (
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/platform"
)

// otherServer returns the server that scripts send requests to.
func otherServer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Method", r.Method)
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.Header().Set("X-Seen", fmt.Sprint(r.Header.Get("Content-Type"), "|", r.Header.Get("Authorization"), "|", r.Header.Get("User-Agent"), "|", r.RequestURI))
		w.WriteHeader(201)
		_, _ = w.Write(body)
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\ufeff"+`{"a":[1]}`) })
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 255, 1}) })
	mux.HandleFunc("/status/418", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(20 * time.Second):
		}
	})
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 2000)) })
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, strings.Repeat("x", 1<<20))
		_ = z.Close()
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		c, _, _ := w.(http.Hijacker).Hijack()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		_ = c.Close()
	})
	mux.HandleFunc("/to/", func(w http.ResponseWriter, r *http.Request) {
		status := 302
		if s := r.URL.Query().Get("status"); s != "" {
			_, _ = fmt.Sscan(s, &status)
		}
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(status)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/form", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			http.Error(w, err.Error(), 400)
			return
		}
		f, h, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), 400)
			return
		}
		content, _ := io.ReadAll(f)
		_, _ = fmt.Fprint(w, r.FormValue("text"), "|", h.Filename, "|", h.Header.Get("Content-Type"), "|", string(content))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// TestFetch sends requests to a server of this machine.
func TestFetch(t *testing.T) {
	s := otherServer(t)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Method, "|", r.Header.Get("Authorization"), "|", r.Header.Get("Cookie"), "|", r.Header.Get("X-Kept"))
	}))
	defer other.Close()
	at := func(code string) string {
		return strings.NewReplacer("'AT/", "'"+s.URL+"/", "\"AT/", "\""+s.URL+"/", "OTHER", other.URL).Replace(code)
	}
	host := strings.TrimPrefix(s.URL, "http://")
	settings := platform.Settings{Fetch: platform.Fetch{Hosts: []string{host, strings.TrimPrefix(other.URL, "http://")}, Private: true, MaxBytes: 1500, Timeout: 5 * time.Second}}
	probes := []probe{
		{`fetch('AT/json').then((r) => r.json())`, `{"a":[1]}`},
		{`fetch('AT/bytes').then(async (r) => [...(await r.bytes())])`, `[0,255,1]`},
		{`fetch('AT/bytes').then(async (r) => [(await r.arrayBuffer()).byteLength, r.bodyUsed])`, `[3,true]`},
		{`fetch(new URL('AT/echo?ü#f'), {method: 'post', body: 'hi', headers: {Authorization: 'Bearer x'}}).then(async (r) => [r.status, r.ok, r.statusText, r.url, r.redirected, r.headers.get('x-method'), r.headers.get('X-Seen'), await r.text()])`,
			`[201,true,"Created","AT/echo?%C3%BC",false,"POST","text/plain;charset=UTF-8|Bearer x|restsrv|/echo?%C3%BC","hi"]`},
		{`fetch('AT/echo').then((r) => [r.headers.getSetCookie(), [...r.headers].map(([n]) => n).filter((n) => n !== 'date')])`, `[["a=1","b=2"],["content-length","set-cookie","set-cookie","x-method","x-seen"]]`},
		{`Promise.all([new URLSearchParams({a: 'ü'}), Buffer.from('ab'), new Uint8Array([104]).buffer, new Blob(['x', 'y'], {type: 'text/x'}), 5].map(async (body) => { const r = await fetch('AT/echo', {method: 'PATCH', body}); return [r.headers.get('x-seen').split('|')[0], await r.text()] }))`,
			`[["application/x-www-form-urlencoded;charset=UTF-8","a=%C3%BC"],["","ab"],["","h"],["text/x","xy"],["text/plain;charset=UTF-8","5"]]`},
		{`(() => { const f = new FormData(); f.append('text', 'жук'); f.append('file', new File(['data'], 'a"b.txt', {type: 'text/x-y'})); return fetch('AT/form', {method: 'POST', body: f}).then((r) => r.text()) })()`, `"жук|a%22b.txt|text/x-y|data"`},
		{`fetch('AT/status/418').then((r) => [r.status, r.ok])`, `[418,false]`},
		{`fetch('AT/long').then((r) => r.status)`, `200`},
		{`fetch('AT/long').then((r) => r.text())`, `!TypeError: fetch: the answer of HOST is longer than 1500 bytes, the limit globals.scripts.fetch.maxBytes of deploy.json`},
		{`fetch('AT/bomb').then((r) => r.text())`, `!TypeError: fetch: the answer of HOST is longer than 1500 bytes, …`},
		{`fetch('AT/broken').then((r) => r.text())`, `!TypeError: fetch failed: HOST: the connection was closed`},
		{`fetch('AT/json').then(async (r) => { let n = 0; for await (const b of r.body) n += b.length; return [n, r.bodyUsed] })`, `[12,true]`},
		{`fetch('AT/json').then(async (r) => { await r.text(); return r.json() })`, `!TypeError: Body is unusable: Body has already been read`},
		{`fetch('AT/json').then(async (r) => { const c = r.clone(); return [(await c.json()).a, (await r.text()).length] })`, `[[1],9]`},
		{`fetch('AT/echo', {method: 'POST', body: 'x=1&y=2', headers: {'content-type': 'application/x-www-form-urlencoded'}}).then((r) => r.status)`, `201`},
		// redirects
		{`fetch('AT/to/?to=/json').then(async (r) => [r.url, r.redirected, (await r.json()).a])`, `["AT/json",true,[1]]`},
		{`fetch('AT/to/?status=307&to=/echo', {method: 'PUT', body: 'kept'}).then(async (r) => [r.headers.get('x-method'), await r.text()])`, `["PUT","kept"]`},
		{`fetch('AT/to/?status=303&to=/echo', {method: 'PUT', body: 'dropped'}).then(async (r) => [r.headers.get('x-method'), r.headers.get('x-seen').split('|')[0], await r.text()])`, `["GET","",""]`},
		{`fetch('AT/to/?to=' + encodeURIComponent('OTHER/'), {method: 'POST', body: 'x', headers: {Authorization: 'secret', Cookie: 'c=1', 'X-Kept': 'k'}}).then((r) => r.text())`, `"GET|||k"`},
		{`fetch('AT/to/?to=/json', {redirect: 'manual'}).then((r) => [r.status, r.headers.get('location')])`, `[302,"/json"]`},
		{`fetch('AT/to/?to=/json', {redirect: 'error'})`, `!TypeError: fetch: HOST answered with a redirect, which redirect: 'error' refuses`},
		{`fetch('AT/loop')`, `!TypeError: fetch: more than 10 redirects`},
		{`fetch('AT/to/?to=http://elsewhere.example/')`, `!TypeError: fetch: elsewhere.example is not allowed; list it in globals.scripts.fetch.hosts of deploy.json`},
		{`fetch('AT/to/?to=file:///etc/passwd')`, `!TypeError: fetch: URLs begin with http: or https:, not file:`},
		{`fetch('AT/to/?to=' + encodeURIComponent('http://u:p@HOST/json'))`, `!TypeError: fetch: the URL has a user name or a password; send the header Authorization instead`},
		// requests that are refused
		{`fetch('/json')`, `!TypeError: Invalid URL`},
		{`fetch('AT/echo', {body: 'x'})`, `!TypeError: fetch: a request with the method GET has no body`},
		{`fetch('AT/echo', {method: 'POST', body: {a: 1}})`, `!TypeError: the body is an object; send JSON.stringify(body), and the header Content-Type: application/json`},
		{`fetch('AT/echo', {method: 'TRACE'})`, `!TypeError: fetch: the method TRACE is not allowed`},
		{`fetch('AT/echo', {method: 'A B'})`, `!TypeError: fetch: "A B" is no method`},
		{`fetch('AT/echo', {headers: {Host: 'inner.example'}})`, `!TypeError: fetch: the header Host is set by the server itself: leave it out`},
		{`fetch('AT/echo', {headers: {'Transfer-Encoding': 'chunked'}})`, `!TypeError: fetch: the header Transfer-Encoding is set by the server itself: leave it out`},
		{`fetch('AT/echo', {headers: {'X-A': 'a\r\nX-B: b'}})`, `!TypeError: Headers: the value of X-A has a line break …`},
		{`fetch('AT/echo', {integrity: 'sha256-x'})`, `!TypeError: fetch: the option integrity is not supported`},
		// aborted before the response
		{`fetch('AT/slow', {signal: AbortSignal.timeout(20)})`, `!TimeoutError: The operation was aborted due to timeout`},
		{`(() => { const c = new AbortController(); setTimeout(() => c.abort(), 10); return fetch('AT/slow', {signal: c.signal}) })()`, `!AbortError: This operation was aborted`},
		{`fetch('AT/json', {signal: AbortSignal.abort(new Error('mine'))})`, `!Error: mine`},
		{`fetch('AT/json').catch(() => 0).then(() => fetch('http://127.0.0.1:1/'))`, `!TypeError: fetch: 127.0.0.1:1 is not allowed; …`},
		{`[String(fetch).includes('goja'), fetch.name, fetch.length >= 1, String(new Headers()), String(new Response()), String(new Request('AT/')), String(new FormData()), String(new Blob())]`,
			`[false,"fetch",true,"[object Headers]","[object Response]","[object Request]","[object FormData]","[object Blob]"]`},
	}
	for i := range probes {
		probes[i].code = strings.ReplaceAll(at(probes[i].code), "HOST", host)
		probes[i].want = strings.ReplaceAll(at(probes[i].want), "HOST", host)
	}
	runProbes(t, settings, probes)
}

// TestFetchObjects tests Headers, Request, Response, Blob and FormData without a server.
func TestFetchObjects(t *testing.T) {
	runProbes(t, platform.Settings{}, []probe{
		{`(() => { const h = new Headers([['B', '1'], ['a', ' x ']]); h.append('b', '2'); h.set('C', 3); h.delete('a'); return [[...h], h.get('nope'), h.has('B')] })()`, `[[["b","1, 2"],["c","3"]],null,true]`},
		{`new Headers({'a b': 1})`, `!TypeError: Headers: "a b" is no name of a header`},
		{`new Headers({a: 'й'})`, `!TypeError: Headers: the value of a has …`},
		{`Response.json({a: 1}, {status: 202}).json().then((v) => v.a)`, `1`},
		{`(() => { const r = Response.json([1]); return [r.headers.get('content-type'), Response.redirect('http://h/x').headers.get('location'), Response.error().type, new Response(null).body] })()`, `["application/json","http://h/x","error",null]`},
		{`new Response('x', {status: 99})`, `!RangeError: Response: the status must be from 200 to 599`},
		{`new Response('a=1&b=%20').formData().catch((e) => e.message)`, `"formData: the body is no form"`},
		{`(async () => { const f = new FormData(); f.set('a', '1'); f.append('f', new Blob(['xyz']), 'n.txt'); const back = await new Response(f).formData(); return [[...back.keys()], back.get('a'), back.get('f').name, await back.get('f').text(), back.get('f').size] })()`, `[["a","f"],"1","n.txt","xyz",3]`},
		{`(async () => { const b = new Blob(['ab', new Uint8Array([99]), new Blob(['d'])], {type: 'Text/Plain'}); return [b.size, b.type, await b.text(), await b.slice(1, -1).text(), b instanceof Blob] })()`, `[4,"text/plain","abcd","bc",true]`},
		{`(async () => { let n = 0, chunks = 0; for await (const b of new Blob(['x'.repeat(100000)]).stream()) { n += b.length; chunks++; } return [n, chunks] })()`, `[100000,2]`},
		{`(() => { const r = new Request('http://h/', {method: 'put', body: 'x'}), s = new Request(r, {headers: {a: 'b'}}); return [s.method, r.bodyUsed, s.headers.get('a')] })()`, `["PUT",true,"b"]`},
	})
}

// TestFetchEndsWithTheRequest: the connection is closed when the request is answered, and an exceeded limit of the
// setting is named in the error.
func TestFetchEndsWithTheRequest(t *testing.T) {
	gone := make(chan struct{}, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer s.Close()
	a := startApp(t, Config{Platform: platform.Settings{Fetch: platform.Fetch{Hosts: []string{"127.0.0.1", "*"}, Private: true, Timeout: 300 * time.Millisecond}}})
	g := a.load("module.exports = {'GET /': async () => { fetch('" + s.URL + "').catch(() => 0); await new Promise((r) => setTimeout(r, 100)); return 1 }, 'POST /': async () => {\n await fetch('" + s.URL + "') }}")
	expect(t, get(t, g), jsonType+"1")
	<-gone
	expect(t, answer(send(t, g, request{method: "POST"})), "error internal Internal server error")
	<-gone
	_, err := send(t, g, request{method: "POST"})
	expectIn(t, err.(*engine.Error).Err.Error(), "TimeoutError: fetch: the server did not answer within 300ms, the limit globals.scripts.fetch.timeout of deploy.json", "svc.js:2:")
}

// TestFetchReleasesConnections: responses that are not read leave no connections open, except for the idle ones of
// the connection pool.
func TestFetchReleasesConnections(t *testing.T) {
	var open atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 5000)) }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	s.Start()
	defer s.Close()
	a := startApp(t, Config{Platform: platform.Settings{Fetch: platform.Fetch{Hosts: []string{"*"}, Private: true, MaxBytes: 100}}})
	g := a.load("module.exports = {'GET /': async () => { for (let i = 0; i < 50; i++) await fetch('" + s.URL + "'); return 1 }}")
	expect(t, get(t, g), jsonType+"1")
	eventually(t, "few connections are open", func() bool { return open.Load() <= 16 })
}

// TestFetchOutsideOfRequests: fetch throws outside of requests, because no request would wait for the result.
func TestFetchOutsideOfRequests(t *testing.T) {
	a := startApp(t, Config{Platform: platform.Settings{Fetch: platform.Fetch{Hosts: []string{"*"}, Private: true}}})
	g := a.load("let why; fetch('http://127.0.0.1:1/').catch((e) => { why = e.message }); module.exports = {'GET /': () => why}")
	expectIn(t, get(t, g), "cannot be called while the service loads")
}

// TestResponseIsAnAnswer: a handler can return a Response, either from fetch or its own.
func TestResponseIsAnAnswer(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`module.exports = {
		'GET /': () => new Response('<b>hi</b>', {status: 201, headers: {'content-type': 'text/html', 'X-One': '1'}}),
		'PUT /': async () => Response.json({a: 1}),
		'POST /': () => new Response(null, {status: 204}),
	}`)
	r, err := send(t, g, request{})
	expect(t, answer(r, err), "201 text/html <b>hi</b>")
	if got := r.Header.Get("X-One"); got != "1" {
		t.Errorf("X-One: got %q, want 1", got)
	}
	expect(t, answer(send(t, g, request{method: "PUT"})), `200 application/json {"a":1}`)
	expect(t, answer(send(t, g, request{method: "POST"})), "204  ")
}
