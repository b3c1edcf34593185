package script

import (
	"net/http"
	"testing"

	"restsrv/engine/script/limits"
)

// TestRequestAsExpress tests is, accepts and the body as a stream.
func TestRequestAsExpress(t *testing.T) {
	cases := []struct {
		name, code, contentType, accept, body, want string
	}{
		{name: "is by extension", code: `[req.is('json'), req.is('html', 'json'), req.is(['html'])]`, contentType: "application/json; charset=utf-8", body: `{}`, want: `["json","json",false]`},
		{name: "is by pattern", code: `[req.is('application/*'), req.is('*/*'), req.is('+json'), req.is()]`, contentType: "application/vnd.api+json", body: `{}`, want: `["application/vnd.api+json","application/vnd.api+json","application/vnd.api+json","application/vnd.api+json"]`},
		{name: "is without a body", code: `[req.is('json')]`, contentType: "application/json", want: `[null]`},
		{name: "is without a type", code: `[req.is('json')]`, body: "x", want: `[false]`},
		{name: "accepts anything", code: `[req.accepts('json', 'html'), req.accepts('image/png')]`, want: `["json","image/png"]`},
		{name: "accepts by weight", code: `[req.accepts('json', 'html'), req.accepts(['json', 'text']), req.accepts('png'), req.accepts()]`, accept: "text/html, application/json;q=0.5, text/*;q=0.4",
			want: `["html","json",false,["text/html","application/json","text/*"]]`},
		{name: "accepts not q=0", code: `[req.accepts('html'), req.accepts('json')]`, accept: "text/html;q=0, */*", want: `[false,"json"]`},
		{name: "stream of bytes", code: `await new Promise((ok, no) => { const got = []; req.on('data', (c) => got.push(Buffer.isBuffer(c), c.toString('hex'))).on('end', () => ok(got)).on('error', no); })`,
			contentType: "image/x-raw", body: "\x00\xffab", want: `[true,"00ff6162"]`},
		{name: "stream of text", code: `await new Promise((ok) => { let got = ''; req.setEncoding('utf8'); req.on('data', (c) => { got += c; }); req.on('end', () => ok([got, typeof got])); })`,
			contentType: "application/xml", body: "<é/>", want: `["<é/>","string"]`},
		{name: "stream without a body", code: `await new Promise((ok) => { const got = []; req.on('data', () => got.push('data')); req.on('end', () => ok(got)); })`, want: `[]`},
		{name: "pipe", code: `await new Promise((ok) => { let got = ''; const to = {write(c) { got += c.toString(); }, end() { ok([got, back === to]); }}; const back = req.pipe(to); })`,
			contentType: "application/xml", body: "<a/>", want: `["<a/>",true]`},
		{name: "pipe of a parsed body", code: `(() => { try { return req.on('data', () => {}); } catch (e) { return [e.code]; } })()`, contentType: "application/json", body: `{"a":1}`, want: `["not-supported"]`},
		{name: "bytes are a Buffer", code: `[Buffer.isBuffer(req.body), req.body.toString('base64')]`, contentType: "application/octet-stream", body: "abc", want: `[true,"YWJj"]`},
		{name: "text", code: `[req.body, req.get('content-type'), req.header('X-None') === undefined]`, contentType: "text/plain", body: "plain", want: `["plain","text/plain",true]`},
	}
	a := newApp(t, limits.Limits{}, false)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := a.load(`module.exports = {'POST /': async (req) => (` + c.code + `)};`)
			defer g.Close()
			header := http.Header{}
			if c.accept != "" {
				header.Set("Accept", c.accept)
			}
			expect(t, answer(send(t, g, request{method: "POST", contentType: c.contentType, body: c.body, header: header})), jsonType+c.want)
		})
	}
}
