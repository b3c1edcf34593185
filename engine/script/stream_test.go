package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// collector is a service.StreamWriter that stores the body. If it has a gate, each Write waits for a value from it.
type collector struct {
	mu      sync.Mutex
	body    bytes.Buffer
	flushes int
	gate    chan struct{}
	failAt  int // number of bytes after which Write fails; 0 means never
}

func (c *collector) Write(b []byte) (int, error) {
	if c.gate != nil {
		<-c.gate
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failAt > 0 && c.body.Len()+len(b) > c.failAt {
		return 0, errors.New("the client has gone")
	}
	return c.body.Write(b)
}

func (c *collector) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushes++
	return nil
}

func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.body.String()
}

// stream sends a request and returns the response in one line, with the whole stream as its body.
func stream(t testing.TB, s service.Service, q request) string {
	t.Helper()
	r, err := send(t, s, q)
	if err != nil || r.Stream == nil {
		return answer(r, err)
	}
	defer r.Stream.Close()
	c := &collector{}
	err = r.Stream.Send(c)
	r.Body = c.body.Bytes()
	text := answer(r, nil)
	if err != nil {
		text += " incomplete: " + err.Error()
	}
	return text
}

// TestStreamedResults: each kind of stream that a handler can return is sent with its type.
func TestStreamedResults(t *testing.T) {
	const plain, bin = "200 text/plain; charset=utf-8 ", "200 application/octet-stream "
	a := newApp(t, limits.Limits{Wall: 2 * time.Second}, false)
	a.data = a.repo
	for _, c := range []struct{ name, result, want string }{
		{"generator of texts", `(async function* () { yield 'a'; yield 'ж'; })()`, plain + "aж"},
		{"generator of bytes", `(async function* () { yield Buffer.from('a'); yield new Uint8Array([98]); })()`, bin + "ab"},
		{"empty generator", `(async function* () {})()`, plain},
		{"waits", `(async function* () { for (let i = 0; i < 3; i++) { yield i + ','; await new Promise((r) => setTimeout(r, 2)); } })()`, plain + "0,1,2,"},
		{"plain iterator", `({ n: 0, async next() { return this.n < 3 ? { value: String(this.n++), done: false } : { done: true } }, [Symbol.asyncIterator]() { return this } })`, plain + "012"},
		{"ReadableStream", `new ReadableStream({ start(c) { c.enqueue('x'); c.enqueue(new Uint8Array([121])); c.close(); } })`, plain + "xy"},
		{"byte stream", `new ReadableStream({ type: 'bytes', start(c) { c.enqueue(new Uint8Array([120])); c.close(); } })`, bin + "x"},
		{"transformed", `ReadableStream.from(['a', 'b']).pipeThrough(new TransformStream({ transform(x, c) { c.enqueue(x.toUpperCase()) } }))`, plain + "AB"},
		{"envelope", `({ data: (async function* () { yield 'a,b' })(), status: 201, headers: { 'content-type': 'text/csv' } })`, "201 text/csv a,b"},
		{"events", `require('restsrv').eventStream(async function* () { yield 'a'; yield { data: { b: 1 }, event: 'e', id: 7 } })`, "200 text/event-stream data: a\n\nevent: e\nid: 7\ndata: {\"b\":1}\n\n"},
		{"failure before the first chunk", `(async function* () { throw Object.assign(new Error('not here'), { status: 404 }) })()`, "404 text/plain; charset=utf-8 not here"},
		{"failure later", `(async function* () { yield 'a'; throw new Error('later') })()`, plain + "a incomplete: Error: later"},
		{"chunk of a wrong type", `(async function* () { yield 'a'; yield { b: 1 } })()`, plain + "a incomplete: TypeError: a chunk of a stream is a text or bytes, found an object (Object)"},
		{"locked", `(() => { const s = new ReadableStream(); s.getReader(); return s })()`, "error internal Internal server error"},
		{"no content", `({ data: (async function* () { yield 'a' })(), status: 204 })`, "204  "},
		{"never pulls", `new ReadableStream({ start(c) { c.enqueue('a') } })`, plain + "a incomplete: the stream produced no data for 2s, the limit wallTime"},
		{"never begins", `new ReadableStream()`, "error timeout service svc did not answer in time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a.write(strings.ReplaceAll(c.name, " ", "-")+".js", "module.exports = {'GET /': async () => ("+c.result+")}")
			s := a.service(strings.ReplaceAll(c.name, " ", "-") + ".js")
			s.Name = c.name
			g, err := a.rt.Load(s)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			got := stream(t, g, request{})
			got, _, _ = strings.Cut(got, "\n\tat")
			expect(t, strings.ReplaceAll(got, "service "+c.name, "service svc"), c.want)
			if open := a.rt.Metrics()[c.name].OpenStreams; open != 0 {
				t.Errorf("got %d open streams, want none", open)
			}
		})
	}
}

// TestEventFields: fields of events are encoded as the standard prescribes, and a value cannot add a field.
func TestEventFields(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	for event, want := range map[string]string{
		`'a\nb\r\nc\rd'`:          "data: a\ndata: b\ndata: c\ndata: d\n\n",
		`''`:                      "data: \n\n",
		`5`:                       "data: 5\n\n",
		`{data: ''}`:              "data: \n\n",
		`{data: [1, 'x\ny']}`:     "data: [1,\"x\\ny\"]\n\n",
		`{event: 'e'}`:            "event: e\n\n",
		`{id: '', data: 1}`:       "id: \ndata: 1\n\n",
		`{retry: 10}`:             "retry: 10\n\n",
		`{comment: 'a\nb'}`:       ": a\n: b\n\n",
		`{event: 'a\ndata: x'}`:   "incomplete",
		`{id: 'a\rdata: x'}`:      "incomplete",
		`{id: 'a\0'}`:             "incomplete",
		`{retry: '1\n'}`:          "incomplete",
		`{retry: -1}`:             "incomplete",
		`{name: 'x'}`:             "incomplete",
		`Promise.resolve('late')`: "data: late\n\n",
	} {
		g := a.load("module.exports = {'GET /': () => require('restsrv').eventStream(async function* () { yield 0; yield (" + event + ") })}")
		got := strings.TrimPrefix(stream(t, g, request{}), "200 text/event-stream data: 0\n\n")
		if want == "incomplete" {
			got, _, _ = strings.Cut(strings.TrimSpace(got), ":")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", event, got, want)
		}
		g.Close()
	}
}

// TestStreamBackPressure: the script waits while the client does not read, and other requests of the VM are answered
// meanwhile.
func TestStreamBackPressure(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 1, InFlight: 1}, false)
	g := a.load(`let made = 0; module.exports = {
		'GET /': async () => (async function* () { for (;;) { made++; yield 'x'.repeat(10000); } })(),
		'PUT /': () => made}`)
	r, err := send(t, g, request{})
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{gate: make(chan struct{}), failAt: 500_000}
	ended := make(chan error)
	go func() { ended <- r.Stream.Send(c) }()
	for range 10 {
		c.gate <- struct{}{}
	}
	made := strings.TrimPrefix(answer(send(t, g, request{method: "PUT"})), jsonType)
	if n := len(c.String()) / 10000; made == "" || len(made) > 2 {
		t.Errorf("got %s chunks made while the client has read %d, want at most 99", made, n)
	}
	close(c.gate)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "the client has gone") {
		t.Errorf("got %v, want the error of the writer", err)
	}
	r.Stream.Close()
}

// TestStreamCancelled: when the client has gone, the finally blocks of a generator run, and the method return of an
// iterator can use data.
func TestStreamCancelled(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 1}, false)
	a.repo.fill(t, 3)
	g := a.load(`let ended = []; module.exports = {
		'GET /': async () => (async function* () { try { for (;;) yield 'x'; } finally { ended.push('generator'); } })(),
		'POST /': async () => ({
			async next() { return { value: 'x', done: false }; },
			async return() { ended.push((await dataRepo.getList('note@demo')).length); return {}; },
			[Symbol.asyncIterator]() { return this; },
		}),
		'PUT /': () => ended}`)
	for _, method := range []string{"GET", "POST"} {
		r, err := send(t, g, request{method: method})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Stream.Send(&collector{failAt: 1}); err == nil {
			t.Error("got no error")
		}
		r.Stream.Close()
	}
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+`["generator",3]`)
	if m := a.rt.Metrics()["svc"]; m.InFlight != 0 || m.OpenStreams != 0 {
		t.Errorf("got %d calls and %d streams, want none", m.InFlight, m.OpenStreams)
	}
}

// TestStreamLimits: a stream that exceeds a limit ends with an error.
func TestStreamLimits(t *testing.T) {
	a := newApp(t, limits.Limits{StreamBytes: 100_000, StreamTime: 300 * time.Millisecond, Wall: 10 * time.Second, Streams: 2, AccountStreams: 1}, false)
	g := a.load(`const { eventStream } = require('restsrv'); const wait = (ms) => new Promise((r) => setTimeout(r, ms)); module.exports = {
		'GET /': async () => (async function* () { for (;;) yield 'x'.repeat(1000) })(),
		'PUT /': async () => (async function* () { for (;;) { yield 'x'; await wait(20) } })(),
		'POST /': async () => eventStream(async function* () { for (;;) { yield 'x'; await wait(20) } })}`)
	for method, want := range map[string]string{"GET": "streamBytes", "PUT": "streamTime"} {
		if got := stream(t, g, request{method: method}); !strings.Contains(got, want) || !strings.Contains(got, "incomplete") {
			t.Errorf("%s: got %.100s, want %s", method, got, want)
		}
	}
	if got := stream(t, g, request{method: "POST"}); strings.Contains(got, "incomplete") {
		t.Errorf("got %s, want events to end without an error", got)
	}
	account := func(n int) request {
		who := &engine.Account{ID: fmt.Sprint("a", n, "@b")}
		return request{method: "PUT", account: who, ctx: engine.WithAccount(context.Background(), who)}
	}
	for i, want := range []engine.Code{0, engine.TooMany, 0, engine.Unavailable} {
		r, err := send(t, g, account([]int{1, 1, 2, 3}[i]))
		if want != 0 {
			if engine.CodeOf(err) != want {
				t.Errorf("stream %d: got %v, want code %v", i, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer r.Stream.Close()
	}
}

// TestStreamCPU: a stream that computes for too long fails, and other requests of its VM do not.
func TestStreamCPU(t *testing.T) {
	a := newApp(t, limits.Limits{CPU: 200 * time.Millisecond, VMs: 1}, false)
	g := a.load(`module.exports = {
		'GET /': async () => (async function* () { yield 'x'; await new Promise((r) => setTimeout(r, 20)); for (;;) ; })(),
		'PUT /': async () => 1}`)
	if got := stream(t, g, request{}); !strings.Contains(got, "x incomplete: the script used more than 200ms of CPU in one turn") {
		t.Errorf("got %s", got)
	}
	expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"1")
}

// TestStreamAtReload: after a reload, streams of the old version continue for the time streamGrace. Then events end
// regularly, and other bodies with an error.
func TestStreamAtReload(t *testing.T) {
	a := newApp(t, limits.Limits{StreamGrace: 100 * time.Millisecond}, false)
	g := a.load(`const { eventStream } = require('restsrv'); async function* f() { for (;;) { yield 'x'; await new Promise((r) => setTimeout(r, 5)) } } module.exports = {
		'GET /': () => f(), 'PUT /': () => eventStream(f)}`)
	for method, want := range map[string]string{"GET": "the service was reloaded, and the time streamGrace is over", "PUT": ""} {
		r, err := send(t, g, request{method: method})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- r.Stream.Send(&collector{}) }()
		time.Sleep(20 * time.Millisecond)
		began := time.Now()
		g.Close()
		err = <-ended
		if took := time.Since(began); method == "GET" && took < 50*time.Millisecond {
			t.Errorf("the stream ended after %v, want 100 ms", took)
		}
		if err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: got %v, want %q", method, err, want)
		}
		r.Stream.Close()
	}
}

// TestHeartbeat: a comment is sent while there are no events.
func TestHeartbeat(t *testing.T) {
	a := newApp(t, limits.Limits{StreamTime: 2500 * time.Millisecond}, false)
	g := a.load(`module.exports = {'GET /': () => require('restsrv').eventStream(async function* () { yield 'a'; await new Promise(() => {}) }, { heartbeat: 1, retry: 500 })}`)
	expect(t, stream(t, g, request{}), "200 text/event-stream retry: 500\n\ndata: a\n\n:\n\n:\n\n")
}
