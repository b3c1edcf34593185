package script

import (
	"testing"

	"restsrv/engine/script/platform"
)

// TestCrypto tests the global crypto and the module crypto.
func TestCrypto(t *testing.T) {
	runProbes(t, platform.Settings{}, []probe{
		{`crypto === require('crypto') && crypto === require('node:crypto') && crypto.webcrypto === crypto`, `true`},
		{`/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()) && crypto.randomUUID() !== crypto.randomUUID()`, `true`},
		{`['md5', 'sha1', 'SHA256', 'sha-384', 'RSA-SHA512'].map((a) => crypto.createHash(a).update('abc').digest('hex').slice(0, 16))`, `["900150983cd24fb0","a9993e364706816a","ba7816bf8f01cfea","cb00753f45a35e8b","ddaf35a193617aba"]`},
		{`crypto.createHash('sha256').update('a').update(Buffer.from('b')).update(new Uint8Array([99])).digest('base64url')`, `"ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"`},
		{`[crypto.createHash('md5').update('6162', 'hex').digest('base64'), crypto.createHash('md5').digest() instanceof Buffer, crypto.createHash('md5').update('ü', 'latin1').digest('hex').length]`, `["GH70Q2Ei0cwvQNwrkvDroA==",true,32]`},
		{`(() => { const h = crypto.createHash('sha1').update('a'), c = h.copy().update('b'); return [h.digest('hex').slice(0, 8), c.digest('hex').slice(0, 8)] })()`, `["86f7e437","da23614e"]`},
		{`(() => { const h = crypto.createHash('md5'); h.digest(); h.update('x') })()`, `!Error: Digest already called`},
		{`crypto.createHash('whirlpool')`, `!Error: Invalid digest: whirlpool; known are md5, sha1, sha224, sha256, sha3-224, sha3-256, sha3-384, sha3-512, sha384, sha512, sha512-224, sha512-256`},
		{`crypto.createHash('md5').update(5)`, `!TypeError: The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView`},
		{`crypto.createHmac('sha256', 'key').update('The quick brown fox jumps over the lazy dog').digest('hex')`, `"f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"`},
		{`[crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('b'))]`, `[true,false]`},
		{`crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('bc'))`, `!RangeError: Input buffers must have the same byte length`},
		{`[crypto.randomBytes(8).length, Buffer.isBuffer(crypto.randomBytes(0)), crypto.randomBytes(16).equals(crypto.randomBytes(16))]`, `[8,true,false]`},
		{`new Promise((done) => crypto.randomBytes(4, (e, b) => done([e, b.length])))`, `[null,4]`},
		{`crypto.randomBytes(1e12)`, `!RangeError: randomBytes: 1000000000000 bytes are more than the 67108864 that one call may take`},
		{`(() => { const seen = new Set(); for (let i = 0; i < 200; i++) seen.add(crypto.randomInt(3, 6)); return [...seen].sort() })()`, `[3,4,5]`},
		{`crypto.randomInt(5, 5)`, `!RangeError: randomInt: …`},
		{`(() => { const a = new Uint32Array(4); return crypto.getRandomValues(a) === a && a.some((n) => n > 0) })()`, `true`},
		{`crypto.getRandomValues(new Uint8Array(70000))`, `!QuotaExceededError: …`},
		{`crypto.getRandomValues([1])`, `!TypeMismatchError: …`},
		{`crypto.subtle.digest('SHA-256', new TextEncoder().encode('abc')).then((b) => [b instanceof ArrayBuffer, Buffer.from(b).toString('hex').slice(0, 8)])`, `[true,"ba7816bf"]`},
		{`crypto.subtle.digest('MD5', new Uint8Array())`, `!NotSupportedError: Unrecognized algorithm name "MD5"`},
		{`crypto.subtle.encrypt()`, `!TypeError: Failed to execute 'encrypt' on 'SubtleCrypto': 3 arguments required, but only 0 present`},
		{`crypto.pbkdf2Sync('password', 'salt', 2, 20, 'sha1').toString('hex')`, `"ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"`},
		{`new Promise((done) => crypto.pbkdf2('password', 'salt', 4096, 20, 'sha1', (e, key) => done([e, key.toString('hex')])))`, `[null,"4b007901b765489abead49d926f721d065a429c1"]`},
		{`crypto.pbkdf2Sync('p', 's', 1e9, 32, 'sha256')`, `!RangeError: PBKDF2: 1000000000 iterations for 32 bytes are too many; …`},
		{`crypto.pbkdf2Sync('p', 's', 1e5, 1e6, 'sha256')`, `!RangeError: PBKDF2: 100000 iterations for 1000000 bytes are too many; …`},
		{`crypto.scryptSync('password', 'NaCl', 64, {N: 1024, r: 8, p: 16}).toString('hex').slice(0, 16)`, `"fdbabe1c9d347200"`},
		{`crypto.scryptSync('p', 's', 32, {N: 2 ** 20})`, `!RangeError: Invalid scrypt params: memory limit exceeded`},
		{`crypto.scryptSync('p', 's', 32, {N: 2 ** 20, maxmem: 2 ** 40})`, `!RangeError: scrypt: 1073742848 bytes are more than the 67108864 that one call may take`},
		{`crypto.scryptSync('p', 's', 32, {N: 2 ** 10, r: 8, p: 1e6, maxmem: 2 ** 40})`, `!RangeError: …`},
		{`new Promise((done) => crypto.scrypt('', '', 64, {N: 16, r: 1, p: 1}, (e, key) => done([e, key.toString('hex').slice(0, 16)])))`, `[null,"77d6576238657b20"]`},
		{`Buffer.from(crypto.hkdfSync('sha256', Buffer.alloc(22, 11), Buffer.from('000102030405060708090a0b0c', 'hex'), Buffer.from('f0f1f2f3f4f5f6f7f8f9', 'hex'), 42)).toString('hex').slice(0, 16)`, `"3cb25f25faacd57a"`},
		{`crypto.getHashes().includes('sha256') && crypto.hash('md5', 'abc')`, `"900150983cd24fb0d6963f7d28e17f72"`},
		{`[String(crypto), String(crypto.subtle), String(crypto.createHash).includes('goja')]`, `["[object Crypto]","[object SubtleCrypto]",false]`},
	})
}

// TestProcess: process.env contains only the variables that the setting lists.
func TestProcess(t *testing.T) {
	look := func(name string) (string, bool) {
		v, ok := map[string]string{"GREETING": "hello", "EMPTY": "", "SECRET": "x"}[name]
		return v, ok
	}
	runProbes(t, platform.Settings{Env: []string{"GREETING", "EMPTY", "MISSING"}, Look: look}, []probe{
		{`[process.env.GREETING, process.env.EMPTY, process.env.SECRET === undefined, process.env.PATH === undefined, Object.keys(process.env), 'MISSING' in process.env]`, `["hello","",true,true,["GREETING","EMPTY"],false]`},
		{`(() => { 'use strict'; process.env.GREETING = 'x' })()`, `!TypeError: …`},
		{`process.exit(1)`, `!Error: process.exit is not supported: a service does not end the server; throw an error instead`},
		{`new Promise((done) => { const seen = []; Promise.resolve().then(() => seen.push('promise')); process.nextTick((a, b) => { seen.push(a + b); setImmediate(() => done(seen)) }, 'x', 'y'); seen.push('now') })`, `["now","promise","xy"]`},
		{`(() => { const a = process.hrtime(), b = process.hrtime(a); return [a.length, b[0] >= 0, typeof process.hrtime.bigint(), process.uptime() > 0] })()`, `[2,true,"bigint",true]`},
		{`[process.cwd(), process.argv, /^v20\.\d+\.\d+$/.test(process.version), typeof process.versions.node, typeof process.platform, require('process') === process, String(process)]`, `["/",[],true,"string","string",true,"[object process]"]`},
	})
}

// TestStructuredClone: structuredClone copies the values that the web standard lists, and throws for others.
func TestStructuredClone(t *testing.T) {
	runProbes(t, platform.Settings{}, []probe{
		{`(() => { const o = {a: [1, , 3], d: new Date(5), r: /x/gi, n: null, u: undefined}, c = structuredClone(o); return [c, c !== o, c.a !== o.a, 1 in c.a, c.d.getTime(), String(c.r), 'u' in c] })()`, `[{"a":[1,null,3],"d":"1970-01-01T00:00:00.005Z","r":{},"n":null},true,true,false,5,"/x/gi",true]`},
		{`(() => { const o = {}; o.self = o; o.list = [o]; const c = structuredClone(o); return c.self === c && c.list[0] === c && c !== o })()`, `true`},
		{`(() => { const k = {}; const m = structuredClone(new Map([[k, new Set([k, 1])]])); const [[key, set]] = m; return [m instanceof Map, set.has(key), set.has(k), set.size] })()`, `[true,true,false,2]`},
		{`(() => { const b = new Uint8Array([1, 2, 3]), v = b.subarray(1); const c = structuredClone({b, v}); c.b[1] = 9; return [[...c.v], [...v], c.v.buffer === c.b.buffer, c.v.byteOffset] })()`, `[[9,3],[2,3],true,1]`},
		{`(() => { const c = structuredClone(new ArrayBuffer(3)); return [c instanceof ArrayBuffer, c.byteLength, structuredClone(new DataView(c, 1)).byteLength, structuredClone(Buffer.from('ab')).constructor.name] })()`, `[true,3,2,"Uint8Array"]`},
		{`(() => { const e = Object.assign(new RangeError('r', {cause: new Error('c')}), {code: 1}), c = structuredClone(e); return [c instanceof RangeError, c.message, c.cause.message, c.code === undefined, c.stack === e.stack] })()`, `[true,"r","c",true,true]`},
		{`[structuredClone(5n) === 5n, structuredClone('s'), structuredClone(undefined) === undefined, typeof structuredClone(Object(3)), structuredClone(new (class A { x = 1 })).constructor.name]`, `[true,"s",true,"object","Object"]`},
		{`structuredClone(() => 1)`, `!DataCloneError: A function could not be cloned.`},
		{`structuredClone({a: Symbol('s')})`, `!DataCloneError: Symbol(s) could not be cloned.`},
		{`structuredClone(Promise.resolve())`, `!DataCloneError: A Promise could not be cloned.`},
		{`structuredClone(new WeakMap())`, `!DataCloneError: An object of the class WeakMap could not be cloned.`},
		{`structuredClone(new URL('http://h'))`, `!DataCloneError: An object of the class URL could not be cloned.`},
		{`structuredClone((() => { let o = {}; for (let i = 0; i < 1e4; i++) o = {o}; return o })())`, `!DataCloneError: structuredClone: the value is nested deeper than 512 levels`},
		{`structuredClone([new ArrayBuffer(1)], {transfer: [new ArrayBuffer(1)]})`, `!DataCloneError: structuredClone: transfer is not supported; leave it out to have a copy`},
		{`structuredClone()`, `!TypeError: …`},
		{`(() => { const c = structuredClone(JSON.parse('{"__proto__": {"x": 1}}')); return [Object.keys(c), c.x === undefined] })()`, `[["__proto__"],true]`},
	})
}
