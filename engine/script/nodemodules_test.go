package script

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"restsrv/engine/script/limits"
	"restsrv/engine/script/platform"
)

// run loads a service that answers GET / with the result of an async function with the given body.
func (a *app) run(body string) string {
	a.t.Helper()
	g := a.load("module.exports = {'GET /': async () => {\n" + body + "\n}}")
	defer g.Close()
	return strings.TrimPrefix(get(a.t, g), jsonType)
}

// TestEveryNodeModuleLoads: scripts can require every module of Node.js, and a refused member is a function that throws
// an error with its name.
func TestEveryNodeModuleLoads(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	got := a.run(`const wrong = [];
		for (const name of [...require('module').builtinModules, 'node:test', 'node:sqlite', '_stream_transform']) {
			const o = require(name);
			if ((typeof o !== 'object' && typeof o !== 'function') || require('node:' + name.replace('node:', '')) !== o) wrong.push(name);
		}
		return wrong`)
	expect(t, got, "[]")
	for code, want := range map[string]string{
		`cp.exec('ls')`:                       "child_process.exec is not supported: scripts start no processes; call another server with the global fetch",
		`new cp.ChildProcess()`:               "child_process.ChildProcess is not supported",
		`new (class extends net.Socket {})()`: "net.Socket is not supported",
		`net.Socket.call({})`:                 "net.Socket is not supported",
		`await promisify(cp.execFile)('ls')`:  "child_process.execFile is not supported",
		`(({exec: run}) => run('ls'))(cp)`:    "child_process.exec is not supported",
		`({...cp}).fork('x')`:                 "child_process.fork is not supported",
		`await fsp.writeFile('a', 'b').catch((e) => { throw new Error('rejected: ' + e.message) })`: "rejected: fs/promises.writeFile is not supported: scripts only read files of the application directory; use fileStorage to store files",
		`new (require('worker_threads').Worker)('x')`:                                               "worker_threads.Worker is not supported: scripts start no threads",
	} {
		got := a.run("const cp = require('child_process'), net = require('net'), fsp = require('fs/promises'), {promisify} = require('util');\n" +
			"try { return " + code + " } catch (e) { return [e.message, e.code] }")
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	a.write("svc.mjs", "import cp, {exec, ChildProcess as C} from 'node:child_process'; export {spawn} from 'child_process'; class D extends C {}\nexport default {'GET /': () => [cp.exec === exec, D.name]}")
	a.answers("svc.mjs", `[true,"D"]`)
}

// TestFiles: the module fs reads files of the application directory, but none that the server keeps.
func TestFiles(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := platform.Settings{}
	a := startApp(t, Config{Platform: settings})
	real, err := filepath.EvalSymlinks(a.dir)
	if err != nil {
		t.Fatal(err)
	}
	settings.Hidden = []string{filepath.Join(real, "data.db"), filepath.Join(real, "files")}
	if a.rt, err = a.rt.With(Config{Dir: a.dir, Platform: settings}); err != nil {
		t.Fatal(err)
	}
	a.tree("text.txt", "one\ntwo", ".env", "PASSWORD=secret", ".git/config", "secret", "data.db", "secret", "data.db-wal", "secret", "files/a", "secret",
		"copy.bak", "SQLite format 3\x00secret", "pages/a.html", "<p>", "pages/deep/b.html", "<b>")
	for link, to := range map[string]string{"out": outside, "leak.txt": filepath.Join(outside, "secret.txt"), "alias": ".env", "data": "data.db", "inner.txt": "text.txt"} {
		if err := os.Symlink(to, filepath.Join(a.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for code, want := range map[string]string{
		`fs.readFileSync('text.txt', 'utf8')`:                                                                              `"one\ntwo"`,
		`fs.readFileSync('/text.txt').length`:                                                                              `7`,
		`fs.readFileSync('inner.txt', 'utf8')`:                                                                             `"one\ntwo"`,
		`fs.readFileSync('../../../text.txt', {encoding: 'hex'})`:                                                          `"6f6e650a74776f"`,
		`fs.readFileSync(require('url').pathToFileURL('/text.txt')).toString()`:                                            `"one\ntwo"`,
		`fs.readdirSync('/').sort()`:                                                                                       `["copy.bak","inner.txt","pages","svc.js","text.txt"]`,
		`fs.readdirSync('pages', {recursive: true}).sort()`:                                                                `["a.html","deep","deep/b.html"]`,
		`fs.readdirSync('pages', {withFileTypes: true}).map((e) => [e.name, e.isDirectory()])`:                             `[["a.html",false],["deep",true]]`,
		`[fs.statSync('text.txt').size, fs.statSync('pages').isDirectory(), fs.statSync('none', {throwIfNoEntry: false})]`: `[7,true,null]`,
		`['text.txt', '.env', '.git/config', 'data.db', 'data.db-wal', 'files/a', 'files', 'out/secret.txt', 'leak.txt', 'alias', 'data', '/etc/passwd'].map((n) => fs.existsSync(n))`:     `[true,false,false,false,false,false,false,false,false,false,false,false]`,
		`['.env', 'out/secret.txt', 'leak.txt', 'alias', 'data', 'copy.bak', 'pages', 'text.txt/a'].map((n) => { try { return String(fs.readFileSync(n)) } catch (e) { return e.code } })`: `["ENOENT","ENOENT","ENOENT","ENOENT","ENOENT","EACCES","EISDIR","ENOTDIR"]`,
		`await new Promise((done) => fs.readFile('text.txt', 'utf8', (e, s) => done(s)))`:                                                                                                  `"one\ntwo"`,
		`await new Promise((done) => fs.readFile('none', (e) => done([e.code, e.message])))`:                                                                                               `["ENOENT","ENOENT: no such file or directory, open 'none'"]`,
		`await fs.promises.readFile('text.txt', 'utf8')`:                                                                                                             `"one\ntwo"`,
		`await require('util').promisify(fs.stat)('text.txt').then((s) => s.isFile())`:                                                                               `true`,
		`await require('stream/consumers').text(fs.createReadStream('text.txt', {start: 1, end: 4}))`:                                                                `"ne\nt"`,
		`(() => { const fd = fs.openSync('text.txt', 'r'), b = Buffer.alloc(3); const n = fs.readSync(fd, b, 0, 3, 4); fs.closeSync(fd); return [n, String(b)] })()`: `[3,"two"]`,
		`(() => { try { fs.openSync('text.txt', 'w') } catch (e) { return [e.code, e.message.includes('fileStorage')] } })()`:                                        `["EROFS",true]`,
		`(() => { try { fs.accessSync('text.txt', fs.constants.W_OK) } catch (e) { return e.code } })()`:                                                             `"EROFS"`,
		`fs.readFileSync(__dirname + '/text.txt', 'utf8')`:                                                                                                           `"one\ntwo"`,
	} {
		if got := a.run("const fs = require('fs');\nreturn " + code); got != want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
}

// TestStreams: streams of Node work with those of zlib, of the web platform, and with async generators.
func TestStreams(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	got := a.run(`const zlib = require('zlib'), {pipeline} = require('stream/promises'), {Readable, Writable, Transform} = require('stream'), {text} = require('stream/consumers'), out = [];
		await pipeline(Readable.from([Buffer.from('hello '), Buffer.from('world')]), zlib.createGzip(), zlib.createGunzip(), async function* (s) { for await (const c of s) out.push(String(c)) });
		const reader = Readable.toWeb(Readable.from([Buffer.from('a'), Buffer.from('b')])).getReader();
		out.push(String.fromCharCode((await reader.read()).value[0], (await reader.read()).value[0]), (await reader.read()).done);
		const {readable, writable} = new TransformStream(), w = Writable.fromWeb(writable); w.end('through');
		for await (const c of Readable.fromWeb(readable)) out.push(String(c));
		class Upper extends Transform { _transform(c, e, done) { done(null, String(c).toUpperCase()) } }
		out.push(await text(Readable.from(['up']).pipe(new Upper())));
		return out`)
	expect(t, got, `["hello world","ab",true,"through","UP"]`)
}

// TestAsyncLocalStorage: the store of run is that of the code that it starts, across awaits, timers and callbacks, and
// of no other code.
func TestAsyncLocalStorage(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	got := a.run(`const {AsyncLocalStorage, AsyncResource} = require('async_hooks'), als = new AsyncLocalStorage(), other = new AsyncLocalStorage(), seen = [];
		const pause = (ms) => new Promise((done) => setTimeout(done, ms));
		const work = async (n) => { await null; seen.push(als.getStore() === n); await pause(n); seen.push(als.getStore() === n);
			await new Promise((done) => setImmediate(done)); seen.push(als.getStore() === n);
			await new Promise((done) => process.nextTick(done)); seen.push(als.getStore() === n);
			for await (const x of (async function* () { yield 1; await pause(1); yield 2 })()) seen.push(als.getStore() === n);
			await new Promise((done) => queueMicrotask(() => { seen.push(als.getStore() === n); done() })) };
		await Promise.all([3, 1, 2].map((n) => als.run(n, work, n)));
		let fired; als.run('timer', () => { const id = setInterval(() => { fired = als.getStore(); clearInterval(id) }, 1) }); await pause(5);
		const bound = als.run('bound', () => AsyncLocalStorage.bind(() => als.getStore())), snapshot = als.run('snap', () => AsyncLocalStorage.snapshot());
		const resource = als.run('resource', () => new AsyncResource('x'));
		const nested = als.run(1, () => other.run(2, () => [als.getStore(), other.getStore(), als.exit(() => als.getStore() ?? null), als.run(3, () => als.getStore()), als.getStore()]));
		let thrown; try { als.run('x', () => { throw new Error('y') }) } catch { thrown = als.getStore() ?? null }
		const entered = await (async () => { als.enterWith('entered'); await pause(1); return als.getStore() })();
		return [seen.length, seen.every(Boolean), fired, bound(), snapshot(() => als.getStore()), resource.runInAsyncScope(() => als.getStore()), nested, thrown, entered]`)
	expect(t, got, `[21,true,"timer","bound","snap","resource",[1,2,null,3,1],null,"entered"]`)

	g := a.load(`const {AsyncLocalStorage} = require('async_hooks'), als = new AsyncLocalStorage();
		module.exports = {'GET /': async () => { const before = als.getStore() ?? null; als.enterWith('left'); await 1; return before }}`)
	defer g.Close()
	for range 3 {
		expect(t, get(t, g), jsonType+"null")
	}
}

// TestHTTPClient: http.request sends requests under the rules of fetch.
func TestHTTPClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL, r.Header.Get("X-A"), body[:n])
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	a := startApp(t, Config{Platform: platform.Settings{Fetch: platform.Fetch{Hosts: []string{host}, Private: true}}})
	head := `const http = require('http'), https = require('https'), base = ` + "`" + server.URL + "`" + `;
		const send = (...args) => new Promise((done, fail) => { const body = args.pop(); const r = http.request(...args, (m) => { const all = []; m.on('data', (c) => all.push(c)).on('error', fail).on('end', () => done([m.statusCode, m.headers['set-cookie'] || m.headers.location, Buffer.concat(all).toString()])) }); r.on('error', fail); r.end(body) });
		const failed = async (f) => { try { await f(); return 'no error' } catch (e) { return e.message } };
		return `
	for code, want := range map[string]string{
		`await send(base + '/p?q=1', {method: 'POST', headers: {'X-A': 'h', 'Content-Length': 4, Connection: 'close', 'Accept-Encoding': 'gzip'}}, 'body')`: `[201,["a=1","b=2"],"POST /p?q=1 h body"]`,
		`await send({hostname: new URL(base).hostname, port: new URL(base).port, path: '/x', headers: {Host: new URL(base).host}}, undefined)`:              `[201,["a=1","b=2"],"GET /x  "]`,
		`await send(new URL(base + '/redirect'), undefined).then((r) => r.slice(0, 2))`:                                                                     `[302,"/"]`,
		`await failed(() => send('http://127.0.0.1:1/', undefined))`:                                                                                        `"fetch: 127.0.0.1:1 is not allowed; list it in globals.scripts.fetch.hosts of deploy.json"`,
		`await failed(() => send(base, {headers: {Host: 'other.example'}}, undefined))`:                                                                     `"fetch: the header Host is set by the server itself: leave it out"`,
		`await failed(() => https.request(base))`:                                                                                                           `"Protocol \"http:\" not supported. Expected \"https:\""`,
		`await failed(() => https.request('https://a.example', {rejectUnauthorized: false}))`:                                                               `"http.request: rejectUnauthorized: false is not supported: certificates are always verified"`,
		`await failed(() => http.request({socketPath: '/run/x.sock'}))`:                                                                                     `"http.request: the option socketPath is not supported: requests are those of the global fetch, which chooses its connections"`,
		`await failed(() => http.get(base, {agent: new (class extends http.Agent { connect() {} })()}))`:                                                    `"http: an agent for a proxy is not supported: requests are those of the global fetch"`,
		`await new Promise((done) => { const r = http.get(base + '/x'); r.on('error', (e) => done(e.code)); r.destroy() })`:                                 `"ECONNRESET"`,
	} {
		if got := a.run(head + code); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", code, got, want)
		}
	}
}

// TestOldNodeHabits: old packages list the functions of Buffer, call Buffer.alloc with new and classes of zlib without
// it, and read the calls of a stack.
func TestOldNodeHabits(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	got := a.run(`const zlib = require('zlib'), util = require('util'), names = [];
		for (const name in Buffer) names.push(name);
		function Inflate(options) { zlib.Inflate.call(this, options) }
		util.inherits(Inflate, zlib.Inflate);
		const old = Error.prepareStackTrace;
		Error.prepareStackTrace = (e, sites) => sites;
		const e = {}; Error.captureStackTrace(e); const site = e.stack[0];
		Error.prepareStackTrace = old;
		return [names.includes('isBuffer') && names.includes('from'), new Buffer.alloc(2).length, Buffer.from('äb').latin1Slice(0, 3), Buffer.from('äb').utf8Slice(0, 2),
			zlib.createInflate() instanceof zlib.Inflate, new Inflate() instanceof zlib.Inflate, typeof new Inflate().pipe, site.getFileName(), site.getLineNumber() > 1, site.isNative()]`)
	expect(t, got, `[true,2,"Ã¤b","ä",true,true,"function","svc.js",true,false]`)
}

// TestFetchOptions: fetch warns of an unknown option once, and refuses those on which the security of a request depends.
func TestFetchOptions(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	got := a.run(`const wrong = (init) => { try { new Request('http://a.example', init); return 'taken' } catch (e) { return e.message } };
		class ProxyAgent {}
		return [wrong({timeout: 5}), wrong({timeout: 5, next: {}}), wrong({agent: new (require('http').Agent)()}), wrong({integrity: 'sha256-x'}), wrong({dispatcher: new ProxyAgent()}), wrong({cache: 'no-store'})]`)
	expect(t, got, `["taken","taken","taken","fetch: the option integrity is not supported","fetch: the option dispatcher is not supported","taken"]`)
	if n := strings.Count(a.log.String(), "option=timeout"); n != 1 {
		t.Errorf("got %d warnings of the option timeout, want 1", n)
	}
	expectIn(t, a.log.String(), "option=next", "use signal: AbortSignal.timeout(milliseconds)")
}

// TestGuardedConstructors: the constructors that restsrv guards have the prototypes of the language, so that scripts do
// not reach the originals.
func TestGuardedConstructors(t *testing.T) {
	a := newApp(t, limits.Limits{Text: 1 << 20}, false)
	got := a.run(`const typed = Object.getPrototypeOf(Uint8Array);
		return [typed.name, typed === Object.getPrototypeOf(Int8Array), Object.getPrototypeOf(ArrayBuffer) === Function.prototype, Object.getPrototypeOf(String) === Function.prototype,
			typeof Object.getOwnPropertyDescriptor(typed.prototype, 'buffer').get, Uint8Array.BYTES_PER_ELEMENT, ArrayBuffer.isView(Uint8Array.of(1)), String.raw` + "`a`" + `, Uint8Array.from([1, 2]) instanceof Uint8Array,
			(class A extends Uint8Array {}).from([1]).length]`)
	expect(t, got, `["TypedArray",true,true,true,"function",1,true,"a",true,1]`)
}
