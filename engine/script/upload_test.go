package script

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// sink is a FileStorage that counts and hashes contents without keeping them.
type sink struct{ engine.FileStorage }

// Put implements engine.FileStorage.
func (sink) Put(_ context.Context, name, mimeType string, content io.Reader) (engine.StoredFile, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, content)
	return engine.StoredFile{ID: hex.EncodeToString(sum.Sum(nil)), Name: name, MimeType: mimeType, Size: n}, err
}

// pattern is a reader of size bytes that are not all alike.
type pattern struct{ at, size int64 }

func (p *pattern) Read(b []byte) (int, error) {
	if p.at >= p.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), p.size-p.at))
	for i := range n {
		b[i] = byte((p.at + int64(i)) * 31 >> 4)
	}
	p.at += int64(n)
	return n, nil
}

func patternHash(size int64) string {
	sum := sha256.New()
	_, _ = io.Copy(sum, &pattern{size: size})
	return hex.EncodeToString(sum.Sum(nil))
}

// post sends a request with a body that is read from r.
func post(t *testing.T, g *Generation, path string, r io.Reader) (*service.Response, error) {
	t.Helper()
	q := &service.Request{ID: "r1", Service: "svc", Method: "POST", Path: path, Header: http.Header{}, Body: r}
	for _, route := range g.Routes() {
		if route.Method == "POST" && route.Path == path {
			return route.Handler(context.Background(), q)
		}
	}
	t.Fatal("no route " + path)
	return nil, nil
}

const uploads = `
	const { createHash } = require('crypto');
	const streaming = (f) => Object.assign(f, { bodyParser: false });
	module.exports = {
		'POST /request': streaming(async (req) => { const f = await fileStorage.accept(req, null, { name: 'a.bin' }); return [f.name, f.size, f.id]; }),
		'POST /body': streaming(async (req) => { const f = await fileStorage.accept(req.body); return [f.size, f.id]; }),
		'POST /piped': streaming(async (req) => { const f = await fileStorage.accept(req.body.pipeThrough(new TransformStream())); return [f.size, f.id]; }),
		'POST /loop': streaming(async (req) => { let n = 0; for await (const chunk of req) n += chunk.length; return n; }),
		'POST /reader': streaming(async (req) => { let n = 0; for await (const chunk of req.body) n += chunk.length; return [n, typeof req.rawBody]; }),
		'POST /events': streaming((req) => new Promise((ok, no) => { let n = 0; req.on('data', (c) => { n += c.length; }); req.on('end', () => ok(n)); req.on('error', no); })),
		'POST /text': streaming(async (req) => new Response(req.body).text()),
		'POST /unread': streaming(async () => 'unread'),
		'POST /twice': streaming(async (req) => { await fileStorage.accept(req); return fileStorage.accept(req).catch((e) => e.message); }),
		'POST /generated': async () => { const f = await fileStorage.accept((async function* () { yield 'ab'; yield Buffer.from('c'); })()); return f.size; },
		'POST /parsed': async (req) => [typeof req.body, req.rawBody.length],
		'POST /echo': streaming(async (req) => ({ data: req.body, headers: { 'content-type': 'text/plain' } })),
	}`

func uploadApp(t *testing.T, l limits.Limits) (*app, *Generation) {
	t.Helper()
	a := newApp(t, l, false)
	a.data = a.repo
	a.write("svc.js", uploads)
	s := a.service("svc.js")
	s.Env.Files = sink{}
	g, err := a.rt.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	return a, g
}

// TestUploads: a handler with bodyParser false reads the body of the request as a stream, in each of the usual ways.
func TestUploads(t *testing.T) {
	const size = 300_000
	hash := patternHash(size)
	_, g := uploadApp(t, limits.Limits{Body: 1000})
	for path, want := range map[string]string{
		"/request": fmt.Sprintf(`["a.bin",%d,"%s"]`, size, hash), "/body": fmt.Sprintf(`[%d,"%s"]`, size, hash), "/piped": fmt.Sprintf(`[%d,"%s"]`, size, hash),
		"/loop": fmt.Sprint(size), "/reader": fmt.Sprintf(`[%d,"undefined"]`, size), "/events": fmt.Sprint(size), "/unread": `"unread"`,
		"/twice": `"the body of the request has already been read"`, "/generated": "3",
	} {
		r, err := post(t, g, path, &pattern{size: size})
		if got := answer(r, err); got != jsonType+want {
			t.Errorf("%s: got %s (%v), want %s", path, got, errors.Unwrap(err), want)
		}
	}
	expect(t, answer(post(t, g, "/text", strings.NewReader("hello"))), jsonType+`"hello"`)
	expect(t, answer(post(t, g, "/parsed", strings.NewReader("hello"))), jsonType+`["object",5]`)
	expect(t, answer(post(t, g, "/loop", nil)), jsonType+`0`)
	r, err := post(t, g, "/echo", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stream.Close()
	c := &collector{}
	if err := r.Stream.Send(c); err != nil || c.String() != "hello" {
		t.Errorf("echo: got %q, %v", c.String(), err)
	}
}

// waiting is a body that never arrives. Interrupt ends a Read.
type waiting struct{ ended chan struct{} }

func (w waiting) Read([]byte) (int, error) {
	<-w.ended
	return 0, errors.New("interrupted")
}

func (w waiting) Interrupt() {
	select {
	case <-w.ended:
	default:
		close(w.ended)
	}
}

// TestUploadLimits: a body that is too long, fails or does not arrive fails only its own request.
func TestUploadLimits(t *testing.T) {
	a, g := uploadApp(t, limits.Limits{StreamTime: 300 * time.Millisecond, Wall: 100 * time.Millisecond, UploadBytes: 5000, VMs: 1})
	if _, err := post(t, g, "/body", &pattern{size: 10_000}); err == nil {
		t.Error("a long body: got no error")
	}
	if _, err := post(t, g, "/loop", io.MultiReader(strings.NewReader("x"), errReader{})); err == nil {
		t.Error("a body that fails: got no error")
	}
	began := time.Now()
	if _, err := post(t, g, "/loop", waiting{make(chan struct{})}); engine.CodeOf(err) != engine.Timeout {
		t.Errorf("a body that does not arrive: got %v, want a timeout", err)
	}
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Errorf("the request ended after %v, want 300 ms", took)
	}
	expect(t, answer(post(t, g, "/loop", strings.NewReader("abc"))), jsonType+"3")
	if m := a.rt.Metrics()["svc"]; m.InFlight != 0 {
		t.Errorf("got %d calls, want none", m.InFlight)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) {
	return 0, engine.Errorf(engine.Invalid, "body", "the body could not be read")
}

// counter is a service.StreamWriter that counts the bytes.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) { c.n += int64(len(b)); return len(b), nil }
func (c *counter) Flush() error                { return nil }

// heapGrowth calls work and returns the growth of the heap meanwhile, measured every 20 ms.
func heapGrowth(work func()) int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, atomic.Uint64{}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
			select {
			case <-time.After(20 * time.Millisecond):
			case <-stop:
				return
			}
		}
	}()
	work()
	close(stop)
	<-stopped
	return int64(most.Load()) - int64(before)
}

// TestStreamMemory streams an answer and an upload that are much larger than the memory that they may take. The sizes
// are 200 MiB with RESTSRV_LONG, otherwise 8 MiB.
func TestStreamMemory(t *testing.T) {
	size := int64(8 << 20)
	if os.Getenv("RESTSRV_LONG") != "" {
		size = 200 << 20
	}
	const most = 32 << 20
	_, uploads := uploadApp(t, limits.Limits{})
	for _, path := range []string{"/request", "/body", "/piped", "/loop"} {
		began := time.Now()
		grown := heapGrowth(func() {
			r, err := post(t, uploads, path, &pattern{size: size})
			if err != nil || !bytes.Contains(r.Body, []byte(fmt.Sprint(size))) {
				t.Errorf("%s: got %s", path, answer(r, err))
			}
		})
		t.Logf("upload of %d MiB, %s: %v, heap growth %d KiB", size>>20, path, time.Since(began).Round(time.Millisecond), grown>>10)
		if grown > most {
			t.Errorf("%s: the heap grew by %d MiB, want at most %d", path, grown>>20, most>>20)
		}
	}
	a := newApp(t, limits.Limits{}, false)
	export := a.load(`module.exports = {'GET /': () => ({ data: rows(` + fmt.Sprint(size) + `), headers: { 'Content-Type': 'text/csv' } })};
	async function* rows(size) {
		const page = Array.from({ length: 200 }, (_, i) => i + ',"some title of a row",2026-11-23T00:00:00Z,' + 'x'.repeat(60)).join('\r\n') + '\r\n';
		for (let n = 0; n < size; n += page.length) yield page;
	}`)
	began := time.Now()
	grown := heapGrowth(func() {
		r, err := send(t, export, request{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Stream.Close()
		c := &counter{}
		if err := r.Stream.Send(c); err != nil || c.n < size {
			t.Errorf("got %d bytes, %v", c.n, err)
		}
	})
	t.Logf("export of %d MiB: %v, heap growth %d KiB", size>>20, time.Since(began).Round(time.Millisecond), grown>>10)
	if grown > most {
		t.Errorf("the heap grew by %d MiB, want at most %d", grown>>20, most>>20)
	}
}
