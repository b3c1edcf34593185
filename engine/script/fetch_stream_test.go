package script

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine/script/limits"
	"restsrv/engine/script/platform"
)

// streamingServer returns a server whose answers arrive in parts. open counts the requests that are being served.
func streamingServer(t *testing.T, open *atomic.Int64) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Add(-1)
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s", body)
			return
		}
		parts, pause := 3, 5*time.Millisecond
		if r.URL.Path == "/endless" {
			parts = 1 << 30
		}
		if r.URL.Path == "/silent" {
			pause = time.Hour
		}
		for i := range parts {
			if _, err := fmt.Fprintf(w, "part %d,", i); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
				return
			}
		}
		if r.URL.Path == "/cut" {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestFetchStreams: bodies of responses are read as they arrive, are copied by clone, and end with an abort, an error or
// a limit.
func TestFetchStreams(t *testing.T) {
	var open atomic.Int64
	server := streamingServer(t, &open)
	a := startApp(t, Config{Platform: platform.Settings{Fetch: platform.Fetch{Hosts: []string{"127.0.0.1:*", "*"}, Private: true, Timeout: 300 * time.Millisecond, MaxBytes: 5000}}})
	g := a.load(`const td = new TextDecoder(), tests = {
		text: async (at) => (await fetch(at + '/')).text(),
		stream: async (at) => { const out = []; for await (const c of (await fetch(at + '/')).body) out.push(td.decode(c)); return [out.length >= 2, out.join('')]; },
		early: async (at) => { const r = (await fetch(at + '/endless')).body.getReader(); const { value } = await r.read(); await r.cancel(); return td.decode(value).startsWith('part 0,'); },
		clone: async (at) => { const r = await fetch(at + '/'), c = r.clone(); return [await r.text(), await c.text(), r.bodyUsed, c.bodyUsed]; },
		used: async (at) => { const r = await fetch(at + '/'); r.body.getReader(); return r.text().catch((e) => e.name); },
		wrapped: async (at) => { const r = await fetch(at + '/'); return new Response(r.body.pipeThrough(new TextDecoderStream()).pipeThrough(new TransformStream({ transform(x, c) { c.enqueue(x.toUpperCase()) } })).pipeThrough(new TextEncoderStream())).text(); },
		cut: async (at) => (await fetch(at + '/cut')).text().catch((e) => e.message.replace(/: .*: /, ': ')),
		tooLong: async (at) => { let n = 0; try { for await (const c of (await fetch(at + '/endless')).body) n += c.length; } catch (e) { return [n <= 5000, e.message.includes('maxBytes')]; } },
		late: async (at) => { try { for await (const c of (await fetch(at + '/silent')).body) ; } catch (e) { return e.name; } },
		aborted: async (at) => { const c = new AbortController(); const r = await fetch(at + '/silent', { signal: c.signal }); setTimeout(() => c.abort(), 10); return r.text().catch((e) => e.name); },
		upload: async (at) => (await fetch(at + '/', { method: 'POST', duplex: 'half', body: ReadableStream.from([new Uint8Array([97]), new Uint8Array([98])]) })).text(),
		iterated: async (at) => (await fetch(at + '/', { method: 'POST', duplex: 'half', body: (async function* () { yield Buffer.from('c'); })() })).text(),
		request: async () => { const r = new Request('http://h/', { method: 'POST', body: new Blob(['xyz']).stream(), duplex: 'half' }); const n = new Request(r); return [r.bodyUsed, await n.text()]; },
		made: async () => { const r = new Response('abc'); const [one, two] = r.body.tee(); return [r.body.locked, await new Response(one).text(), await new Response(two).text()]; },
		none: async () => [new Response().body, new Response('').body !== null],
		twice: async () => { const r = new Response('abc'); return r.body === r.body; },
		texts: async () => new Response(ReadableStream.from(['a'])).text().catch((e) => e.name),
	};
	module.exports = {'GET /': (req) => tests[req.query.test](req.query.at)}`)
	for name, want := range map[string]string{
		"text": `"part 0,part 1,part 2,"`, "stream": `[true,"part 0,part 1,part 2,"]`, "early": `true`,
		"clone": `["part 0,part 1,part 2,","part 0,part 1,part 2,",true,true]`, "used": `"TypeError"`, "wrapped": `"PART 0,PART 1,PART 2,"`,
		"cut": `"fetch failed: the connection was closed"`, "tooLong": `[true,true]`, "late": `"TimeoutError"`, "aborted": `"AbortError"`,
		"upload": `"ab"`, "iterated": `"c"`, "request": `[true,"xyz"]`, "made": `[true,"abc","abc"]`, "none": `[null,true]`, "twice": `true`, "texts": `"TypeError"`,
	} {
		got := answer(send(t, g, request{query: "test=" + name + "&at=" + server.URL}))
		if got != jsonType+want {
			t.Errorf("%s: got %s, want %s", name, got, jsonType+want)
		}
	}
	waitFor(t, "the end of the connections", func() bool { return open.Load() == 0 })
}

// TestFetchUnread: responses that a script does not read hold a limited number of connections, and none after the
// request has ended.
func TestFetchUnread(t *testing.T) {
	var open atomic.Int64
	server := streamingServer(t, &open)
	a := startApp(t, Config{Platform: platform.Settings{Fetch: platform.Fetch{Hosts: []string{"*"}, Private: true, Timeout: 50 * time.Millisecond}}})
	g := a.load(`module.exports = {'GET /': async (req) => {
		for (let i = 0; i < 70; i++) await fetch(req.query.at + '/silent').catch((e) => 0);
		await fetch(req.query.at + '/count').then((r) => r.text());
		return 'done'; }}`)
	done := make(chan string)
	most := int64(0)
	go func() { done <- answer(send(t, g, request{query: "at=" + server.URL})) }()
	for got := ""; got == ""; {
		most = max(most, open.Load())
		select {
		case got = <-done:
			expect(t, got, jsonType+`"done"`)
		case <-time.After(time.Millisecond):
		}
	}
	if most > 66 {
		t.Errorf("got %d connections, want at most 66", most)
	}
	waitFor(t, "the end of the connections", func() bool { return open.Load() == 0 })
}

// TestRelay: a handler passes a stream of another server on to its client, as it arrives and for longer than the time
// limits of a request and of fetch.
func TestRelay(t *testing.T) {
	var open atomic.Int64
	server := streamingServer(t, &open)
	a := startApp(t, Config{
		Limits:   limits.Limits{Wall: time.Second},
		Platform: platform.Settings{Fetch: platform.Fetch{Hosts: []string{"*"}, Private: true, Timeout: time.Second}},
	})
	g := a.load(`module.exports = {
		'GET /': (req) => fetch(req.query.at + '/endless'),
		'PUT /': async (req) => new Response((await fetch(req.query.at + '/')).body, { status: 203, headers: { 'content-type': 'text/x' } })}`)
	query := "at=" + server.URL
	expect(t, stream(t, g, request{method: "PUT", query: query}), "203 text/x part 0,part 1,part 2,")
	ctx, cancel := context.WithCancel(context.Background())
	r, err := send(t, g, request{query: query, ctx: ctx})
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{}
	ended := make(chan error)
	go func() { ended <- r.Stream.Send(c) }()
	time.Sleep(1500 * time.Millisecond)
	if n := strings.Count(c.String(), "part"); n < 10 {
		t.Errorf("got %d parts, want more", n)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("got no error after the client has gone")
	}
	r.Stream.Close()
	waitFor(t, "the end of the connection", func() bool { return open.Load() == 0 })
}
