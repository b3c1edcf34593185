package script

import (
	"strings"
	"testing"
	"time"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/platform"
)

// TestSubtleStandard has cases in which Node.js 20 differs from the standard, so that they cannot be rows of the table
// testdata/node/webcrypto.txt. The wanted results are those of https://www.w3.org/TR/WebCryptoAPI/.
func TestSubtleStandard(t *testing.T) {
	const hmac = `{name: 'HMAC', hash: 'SHA-256'}`
	key := func(extractable, alg, usages string) string {
		return `await crypto.subtle.importKey('raw', new Uint8Array(16), ` + alg + `, ` + extractable + `, ` + usages + `)`
	}
	runProbes(t, platform.Settings{}, []probe{
		{`(` + key("true", hmac, `['sign', 'verify', 'sign']`) + `).usages`, `["sign","verify"]`},
		{`(` + key("true", `{name: 'HMAC', hash: 'SHA-256', length: 127}`, `['sign']`) + `).algorithm.length`, `127`},
		{`(await crypto.subtle.generateKey({name: 'HMAC', hash: 'SHA-256', length: 100}, true, ['sign'])).algorithm.length`, `100`},
		{`crypto.subtle.importKey('jwk', new Uint8Array(3), ` + hmac + `, true, ['sign'])`, `!TypeError: …`},
		{`crypto.subtle.importKey('pkcs8', new Uint8Array(3), ` + hmac + `, true, ['sign'])`, `!NotSupportedError: …`},
		{`crypto.subtle.exportKey('raw', ` + key("false", hmac, `['sign']`) + `)`, `!InvalidAccessError: key is not extractable`},
		{`crypto.subtle.exportKey('spki', ` + key("true", hmac, `['sign']`) + `)`, `!NotSupportedError: …`},
		{`crypto.subtle.exportKey('raw', ` + key("false", `'PBKDF2'`, `['deriveBits']`) + `)`, `!NotSupportedError: …`},
		{`crypto.subtle.deriveKey({name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: new Uint8Array()}, ` + key("false", `'HKDF'`, `['deriveKey']`) +
			`, {name: 'HMAC', hash: 'SHA-256', length: 0}, true, ['sign'])`, `!TypeError: …`},
		{`crypto.subtle.wrapKey('raw', ` + key("false", hmac, `['sign']`) + `, ` + key("true", `'AES-KW'`, `['wrapKey']`) + `, 'AES-KW')`, `!InvalidAccessError: …`},
	})
}

// TestSubtleLimits checks the limits for parameters of SubtleCrypto, and that the time of derivations is limited by the
// CPU time of the request, not of each derivation.
func TestSubtleLimits(t *testing.T) {
	const password = `await crypto.subtle.importKey('raw', new Uint8Array(8), 'PBKDF2', false, ['deriveBits'])`
	derive := func(iterations string) string {
		return `crypto.subtle.deriveBits({name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(8), iterations: ` + iterations + `}, ` + password + `, 256)`
	}
	rsa := func(length, exponent string) string {
		return `crypto.subtle.generateKey({name: 'RSA-PSS', hash: 'SHA-256', modulusLength: ` + length + `, publicExponent: new Uint8Array(` + exponent + `)}, true, ['sign'])`
	}
	runProbes(t, platform.Settings{}, []probe{
		{derive("1e9"), `!OperationError: PBKDF2: 1000000000 iterations for 32 bytes are too many; the limit is 10000000 for each block of the hash`},
		{derive("9e6"), `!OperationError: the request used more than 2s of CPU outside of its turns`},
		{`(async () => { for (;;) await ` + derive("1e6") + ` })()`, `!OperationError: the request used more than 2s of CPU outside of its turns`},
		{rsa("16384", "[1, 0, 1]"), `!OperationError: RSA: the modulus must have from 2048 to 4096 bits, not 16384`},
		{rsa("1024", "[1, 0, 1]"), `!OperationError: …`},
		{rsa("2048", "[3]"), `!OperationError: The public exponent must be 65537`},
		{`crypto.subtle.importKey('spki', new Uint8Array(10000), {name: 'RSA-PSS', hash: 'SHA-256'}, true, ['verify'])`, `!DataError: …the key is too long…`},
		{`crypto.subtle.importKey('jwk', {kty: 'RSA', e: 'AQAB', n: Buffer.alloc(2048, 255).toString('base64url')}, {name: 'RSA-PSS', hash: 'SHA-256'}, true, ['verify'])`,
			`!DataError: …the key is too long…`},
		{`(() => { const list = [], b = new ArrayBuffer(3e7); for (let i = 0; i < 4; i++) list.push(crypto.subtle.digest('SHA-256', b)); return Promise.all(list) })()`,
			`!Error: crypto.subtle.digest: too much data waits for operations of this request; await each operation`},
		{`(async () => { for (let i = 0; i < 4; i++) await crypto.subtle.digest('SHA-256', new ArrayBuffer(3e7)); return 1 })()`, `1`},
	})
}

// TestSubtleWhileLoading checks that keys can be imported and derived while a service loads, when there is no request.
func TestSubtleWhileLoading(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`const key = crypto.subtle.importKey('raw', new Uint8Array(8), 'PBKDF2', false, ['deriveBits'])
		.then((k) => crypto.subtle.deriveBits({name: 'PBKDF2', hash: 'SHA-256', salt: new Uint8Array(8), iterations: 5000}, k, 64));
	module.exports = {'GET /': async () => (await key).byteLength}`)
	expect(t, get(t, g), jsonType+"8")
}

// TestSubtleNeighbours checks that another request of the same VM is answered while a request waits for a derivation.
func TestSubtleNeighbours(t *testing.T) {
	a := newApp(t, limits.Limits{VMs: 1}, false)
	g := a.load(`module.exports = {
		'GET /': async () => (await crypto.subtle.deriveBits({name: 'PBKDF2', hash: 'SHA-512', salt: new Uint8Array(8), iterations: 2e5},
			await crypto.subtle.importKey('raw', new Uint8Array(8), 'PBKDF2', false, ['deriveBits']), 256)).byteLength,
		'PUT /': () => 'now'}`)
	slow := make(chan string, 1)
	start := time.Now()
	go func() { slow <- get(t, g) }()
	for range 5 {
		expect(t, answer(send(t, g, request{method: "PUT"})), `200 application/json; charset=utf-8 "now"`)
	}
	if fast := time.Since(start); len(slow) > 0 {
		t.Errorf("the neighbours were answered after %v, when the derivation had ended", fast)
	}
	expect(t, <-slow, jsonType+"32")
}

// TestKeysStaySecret checks that the value of a key appears neither in JSON nor in logs.
func TestKeysStaySecret(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`const secret = 'cafebabecafebabecafebabecafebabe';
	module.exports = {'GET /': async () => {
		const key = await crypto.subtle.importKey('raw', Buffer.from(secret, 'hex'), 'AES-GCM', true, ['encrypt']);
		const object = crypto.createSecretKey(secret, 'hex');
		console.log(key, object, String(key), [key], {object});
		console.error(new Error('bad', {cause: key}));
		return {key, object, json: JSON.stringify([key, object]), text: String(object), inspected: require('util').inspect([key, object], {depth: 9, showHidden: true}),
			keys: [...Object.getOwnPropertyNames(key), ...Object.getOwnPropertySymbols(key), ...Object.getOwnPropertyNames(object), ...Object.getOwnPropertySymbols(object)].length};
	}}`)
	got := answer(send(t, g, request{account: &engine.Account{ID: "a@b"}}))
	expectIn(t, got, `"key":{}`, `"json":"[{},{}]"`, "CryptoKey {", `"keys":0`)
	for _, hidden := range []string{"cafebabe", "202,254", "yv66v", "[202", "ca fe"} {
		if text := got + a.log.String(); strings.Contains(text, hidden) {
			t.Errorf("got %q in the answer or the log: %s", hidden, text)
		}
	}
}
