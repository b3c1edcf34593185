package script

import (
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/platform"
)

// TestBuffer compares Buffer with Node's documentation.
func TestBuffer(t *testing.T) {
	runProbes(t, platform.Settings{}, []probe{
		{`Buffer.from('a') instanceof Uint8Array && Buffer.isBuffer(Buffer.from('a')) && !Buffer.isBuffer(new Uint8Array(1))`, `true`},
		{`Buffer.from('Привет').toString('hex')`, `"d09fd180d0b8d0b2d0b5d182"`},
		{`['hex', 'base64', 'base64url', 'latin1', 'ascii', 'utf16le', 'utf8'].map((e) => Buffer.from([0xfb, 0xff, 0x41, 0x00]).toString(e))`,
			"[\"fbff4100\",\"+/9BAA==\",\"-_9BAA\",\"ûÿA\\u0000\",\"{\x7fA\\u0000\",\"\ufffbA\",\"��A\\u0000\"]"},
		{`['0a0', 'zz', '0aZZ'].map((s) => Buffer.from(s, 'hex').length)`, `[1,0,1]`},
		{`['YQ', 'YQ==', 'Y Q\n', '-_8', 'YWI=YWI='].map((s) => Buffer.from(s, 'base64').toString('hex'))`, `["61","61","61","fbff","6162"]`},
		{`[Buffer.from([1, 256, -1, 2.9]), Buffer.from(new Uint16Array([1, 300])), Buffer.from(new Map() && [])].map((b) => b.toString('hex'))`, `["0100ff02","012c",""]`},
		{`(() => { const ab = new ArrayBuffer(4), b = Buffer.from(ab, 1, 2); b[0] = 7; return [...new Uint8Array(ab), b.length, b.byteOffset] })()`, `[0,7,0,0,2,1]`},
		{`(() => { const a = Buffer.from('ab'), c = Buffer.from(a); c[0] = 0x7a; return a.toString() + c })()`, `"abzb"`},
		{`Buffer.from({type: 'Buffer', data: [104, 105]}).toString() + Buffer.from(new String('x'))`, `"hix"`},
		{`Buffer.from(5)`, `!TypeError: The "first" argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object. Received type number (5)`},
		{`Buffer.from('x', 'utf-7')`, `!TypeError: Unknown encoding: utf-7; …`},
		{`[Buffer.alloc(3), Buffer.alloc(5, 'ab'), Buffer.alloc(2, 1), Buffer.alloc(4, 'YQ==', 'base64'), Buffer.allocUnsafe(2), new Buffer(2), Buffer('hi')].map((b) => b.toString('hex'))`,
			`["000000","6162616261","0101","61616161","0000","0000","6869"]`},
		{`Buffer.alloc(-1)`, `!RangeError: The value of "size" is out of range: -1`},
		{`[Buffer.concat([Buffer.from('a'), Buffer.from('bc')]).toString(), Buffer.concat([Buffer.from('abc')], 2).toString(), Buffer.concat([], 2).length]`, `["abc","ab",2]`},
		{`[Buffer.byteLength('é'), Buffer.byteLength('é', 'latin1'), Buffer.byteLength('YWI=', 'base64'), Buffer.byteLength(new ArrayBuffer(3))]`, `[2,1,2,3]`},
		{`[[1, 2], [2, 1], [1, 1]].map(([a, b]) => Buffer.compare(Buffer.from([a]), Buffer.from([b])))`, `[-1,1,0]`},
		{`[Buffer.from('abc').compare(Buffer.from('xbc'), 1, 3, 1, 3), Buffer.from('a').equals(new Uint8Array([97])), Buffer.from('a').equals(Buffer.from('b'))]`, `[0,true,false]`},
		{`(() => { const b = Buffer.from('abcdef'), s = b.slice(1, -1), u = b.subarray(-2); s[0] = 0x42; u[1] = 0x46; return [b + '', s + '', u + '', s instanceof Buffer] })()`, `["aBcdeF","Bcde","eF",true]`},
		{`(() => { const b = Buffer.from('ababa'); return [b.indexOf('ba'), b.indexOf('ba', 2), b.indexOf('ba', -2), b.lastIndexOf('ab'), b.lastIndexOf('ab', 1), b.indexOf(97, 1), b.indexOf(Buffer.from('zz')), b.includes('bab'), b.indexOf('6261', 'hex')] })()`,
			`[1,3,3,2,0,2,-1,true,1]`},
		{`(() => { const b = Buffer.alloc(6); return [b.write('abc', 1), b.write('é', 5), b.write('6465', 4, 'hex'), b.toString()] })()`, `[3,0,2,"\u0000abcde"]`},
		{`Buffer.alloc(1).write('a', 5)`, `!RangeError: The value of "offset" is out of range. It must be an integer from 0 to 1. Received 5`},
		{`(() => { const a = Buffer.from('abcdef'), b = Buffer.alloc(4, '.'); return [a.copy(b, 1, 2, 4), b + '', a.copy(a, 1), a + ''] })()`, `[2,".cd.",5,"aabcde"]`},
		{`Buffer.alloc(6).fill('xyz', 1, 5) + Buffer.from('abc').fill(0x61).toString()`, `"\u0000xyzx\u0000aaa"`},
		{`(() => { const b = Buffer.from([0xff, 0xfe, 0xfd, 0xfc, 1, 2, 3, 4]); return [b.readUInt8(0), b.readInt8(0), b.readUInt16LE(0), b.readUInt16BE(0), b.readInt16BE(0), b.readUInt32BE(0), b.readInt32LE(0), b.readUint32LE(4), b.readUIntBE(0, 3), b.readIntLE(0, 6), String(b.readBigUInt64BE(0)), String(b.readBigInt64BE(0))] })()`,
			`[255,-1,65279,65534,-2,4294901244,-50462977,67305985,16776957,2207562727167,"18446460382546625284","-283691162926332"]`},
		{`(() => { const b = Buffer.alloc(16); b.writeUInt8(255); b.writeInt16BE(-2, 1); b.writeUInt32LE(0xdeadbeef, 3); b.writeUIntBE(0x123456, 7, 3); b.writeIntLE(-3, 10, 6); return b.toString('hex') })()`, `"fffffeefbeadde123456fdffffffffff"`},
		{`(() => { const b = Buffer.alloc(16); b.writeDoubleBE(Math.PI); b.writeFloatLE(1.5, 8); return [b.readDoubleBE(), b.readFloatLE(8), b.writeBigInt64LE(BigInt(-5), 8), String(b.readBigInt64LE(8))] })()`, `[3.141592653589793,1.5,16,"-5"]`},
		{`Buffer.alloc(1).writeUInt8(256)`, `!RangeError: The value of "value" is out of range. It must be >= 0 and <= 255. Received 256`},
		{`Buffer.alloc(1).readUInt16LE(0)`, `!RangeError: The value of "offset" is out of range. …`},
		{`[Buffer.from([1, 2, 3, 4]).swap16().toString('hex'), Buffer.from([1, 2, 3, 4]).swap32().toString('hex')]`, `["02010403","04030201"]`},
		{`Buffer.from([1, 2, 3]).swap16()`, `!RangeError: Buffer size must be a multiple of 16-bits`},
		{`[JSON.stringify(Buffer.from('ab')), {nested: Buffer.from('a')}]`, `["{\"type\":\"Buffer\",\"data\":[97,98]}",{"nested":{"type":"Buffer","data":[97]}}]`},
		{`[...Buffer.from('ab').entries()].concat([...Buffer.from('c')], Buffer.from('ab').map((x) => x + 1).toString(), Object.keys(Buffer.from('ab')))`, `[[0,97],[1,98],99,"bc","0","1"]`},
		{`[Buffer.isEncoding('UTF-8'), Buffer.isEncoding('nope'), typeof Buffer.poolSize, Buffer.name, Object.prototype.toString.call(Buffer.from(''))]`, `[true,false,"number","Buffer","[object Uint8Array]"]`},
		{`require('node:buffer').Buffer === Buffer && require('buffer').kMaxLength`, `67108864`},
		{`[Buffer.from([0xe2, 0x82, 0x41, 0xff, 0xf0, 0x9f, 0x98]).toString(), Buffer.from('\ud800').toString('hex'), Buffer.from('😀', 'utf16le').toString('hex')]`, "[\"�A��\",\"efbfbd\",\"3dd800de\"]"},
		{`Buffer.from('abc').toString('utf8', 1, 2) + Buffer.from('abc').toString('latin1', -1, 99)`, `"babc"`},
		{`[String(Buffer), String(Buffer.from), String(atob)].some((s) => s.includes('goja') || s.includes('restsrv/'))`, `false`},
	})
}

// TestBytesAreBounded: every function that allocates bytes respects the limit of one call.
func TestBytesAreBounded(t *testing.T) {
	for _, code := range []string{
		`Buffer.alloc(1e12)`, `Buffer.allocUnsafe(1e9)`, `new Buffer(1e10)`, `Buffer.concat([Buffer.alloc(10)], 1e11)`,
		`Buffer.from(Buffer.alloc(5000).toString('hex').repeat(10000), 'hex')`, `Buffer.from({length: 1e11})`,
		`new (Buffer.from('a').constructor)(1e12)`, `Buffer.from('a').buffer.constructor(1e12)`,
		`new TextEncoder().encode('x'.repeat(3e7) + 'x'.repeat(3e7) + 'x'.repeat(3e7))`,
	} {
		a := newApp(t, limits.Limits{}, false)
		g := a.load("module.exports = {'GET /': async () => " + code + "}")
		expect(t, answer(send(t, g, request{account: &engine.Account{ID: "a@b"}})), "error internal Internal server error")
	}
}

// TestBuffersAreBytes: a Buffer can be a response body and the content of a file.
func TestBuffersAreBytes(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	expect(t, get(t, a.load("module.exports = {'GET /': () => Buffer.from('Привет').subarray(0, 4)}")), "200 application/octet-stream Пр")
	expect(t, get(t, a.load("module.exports = {'GET /': () => ({data: Buffer.from('x'), headers: {'Content-Type': 'image/png'}})}")), "200 image/png x")
}

// TestEncodings tests TextEncoder, TextDecoder, atob and btoa.
func TestEncodings(t *testing.T) {
	runProbes(t, platform.Settings{}, []probe{
		{`[...new TextEncoder().encode('aй')]`, `[97,208,185]`},
		{`new TextEncoder().encode().length + new TextEncoder().encoding`, `"0utf-8"`},
		{`(() => { const b = new Uint8Array(4); return [new TextEncoder().encodeInto('aйй', b), [...b]] })()`, `[{"read":2,"written":3},[97,208,185,0]]`},
		{`new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]))`, `"a"`},
		{`new TextDecoder('utf8', {ignoreBOM: true}).decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])).length`, `2`},
		{`new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([0xff]))`, `!TypeError: the bytes are no text in utf-8`},
		{`(() => { const d = new TextDecoder(); return [d.decode(new Uint8Array([0xe2, 0x82]), {stream: true}), d.decode(new Uint8Array([0xac, 0x21]), {stream: true}), d.decode(new Uint8Array([0xf0])), d.decode(new Uint8Array([0x61]))] })()`, `["","€!","�","a"]`},
		{`new TextDecoder('windows-1251').decode(new Uint8Array([0xcf, 0xf0, 0xe8, 0xb8, 0x98]))`, "\"Приё\u0098\""},
		{`['cp866', 'koi8-r', 'latin1', 'UTF-16', 'utf-16be'].map((e) => new TextDecoder(e).encoding)`, `["ibm866","koi8-r","windows-1252","utf-16le","utf-16be"]`},
		{`(() => { const d = new TextDecoder('utf-16le'); return [d.decode(new Uint8Array([0x3d, 0xd8, 0]), {stream: true}), d.decode(new Uint8Array([0xde, 0x41]))] })()`, `["","😀�"]`},
		{`new TextDecoder('shift_jis')`, `!RangeError: the encoding "shift_jis" is not supported; utf-8, …`},
		{`[btoa('hi\xff'), atob('aGn/'), atob(' aG k='), atob('')]`, `["aGn/","hiÿ","hi",""]`},
		{`btoa('й')`, `!InvalidCharacterError: btoa: …`},
		{`atob('a')`, `!InvalidCharacterError: atob: the text is no base64`},
		{`(() => { try { atob('*') } catch (e) { return [e instanceof DOMException, e instanceof Error, e.code] } })()`, `[true,true,5]`},
		{`[new TextDecoder() + '', new TextEncoder() + '']`, `["[object TextDecoder]","[object TextEncoder]"]`},
	})
}

// TestEvents tests Event, EventTarget, AbortController and AbortSignal.
func TestEvents(t *testing.T) {
	runProbes(t, platform.Settings{}, []probe{
		{`(() => { const t = new EventTarget(), seen = []; const f = (e) => seen.push(e.type + (e.target === t)); t.addEventListener('x', f); t.addEventListener('x', f); t.addEventListener('x', {handleEvent(e) { seen.push('object') }}, {once: true}); t.dispatchEvent(new Event('x')); t.dispatchEvent(new Event('x')); t.removeEventListener('x', f); t.dispatchEvent(new Event('x')); return seen })()`, `["xtrue","object","xtrue"]`},
		{`(() => { const t = new EventTarget(); t.addEventListener('x', (e) => { e.preventDefault(); e.stopImmediatePropagation() }); t.addEventListener('x', () => { throw 1 }); return [t.dispatchEvent(new Event('x', {cancelable: true})), t.dispatchEvent(new Event('x'))] })()`, `[false,true]`},
		{`(() => { class Clock extends EventTarget {} const c = new Clock(); let got; c.addEventListener('tick', (e) => { got = e.detail }); c.dispatchEvent(new CustomEvent('tick', {detail: 7})); return got })()`, `7`},
		{`(() => { const c = new AbortController(), t = new EventTarget(); let n = 0; t.addEventListener('x', () => n++, {signal: c.signal}); t.dispatchEvent(new Event('x')); c.abort(); t.dispatchEvent(new Event('x')); return n })()`, `1`},
		{`(() => { const c = new AbortController(), seen = []; c.signal.onabort = (e) => seen.push(e.type); c.abort(); c.abort(); return [c.signal.aborted, c.signal.reason.name, c.signal.reason.message, c.signal.reason.code, seen] })()`, `[true,"AbortError","This operation was aborted",20,["abort"]]`},
		{`(() => { try { AbortSignal.abort('why').throwIfAborted() } catch (e) { return e } })()`, `"why"`},
		{`new Promise((done) => { const s = AbortSignal.timeout(5); s.addEventListener('abort', () => done([s.aborted, s.reason.name, s.reason instanceof DOMException])) })`, `[true,"TimeoutError",true]`},
		{`(() => { const a = new AbortController(), b = new AbortController(), s = AbortSignal.any([AbortSignal.any([a.signal]), b.signal]); a.abort(new Error('first')); b.abort(); return [s.aborted, s.reason.message, AbortSignal.any([s]).aborted] })()`, `[true,"first",true]`},
		{`new AbortSignal()`, `!TypeError: Illegal constructor`},
		{`[new DOMException('m', 'NotFoundError').code, DOMException.ABORT_ERR, String(new DOMException('m', 'DataCloneError')), new DOMException('m').name, new DOMException('x', {name: 'N', cause: 5}).cause]`, `[8,20,"DataCloneError: m","Error",5]`},
		{`[new EventTarget(), new Event('x'), new AbortController(), new AbortController().signal].map(String)`, `["[object EventTarget]","[object Event]","[object AbortController]","[object AbortSignal]"]`},
		{`(() => { const a = performance.now(); return performance.now() >= a && performance.timeOrigin > 1e12 })()`, `true`},
	})
}

// TestTextOfMissingArgument checks that functions that take a text convert undefined and null as String does. goja's
// conversion returns them unchanged, which made the functions panic; core-js calls btoa without an argument.
func TestTextOfMissingArgument(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`module.exports = {'GET /': () => [btoa(), btoa(null), new TextEncoder().encode(null).length]}`)
	expect(t, get(t, g), jsonType+`["dW5kZWZpbmVk","bnVsbA==",4]`)
}
