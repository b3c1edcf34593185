package script

import (
	"net/http"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

func TestRequest(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	show := func(expression string, q request) string {
		g := a.load("module.exports = {'POST /': (req) => [" + expression + "]}")
		defer g.Close()
		q.method = "POST"
		return strings.TrimPrefix(answer(send(t, g, q)), jsonType)
	}
	account := &engine.Account{ID: "bob@local", Name: "Bob", Roles: []string{"r"}}
	header := http.Header{"X-One": {"1", "2"}, "Cookie": {"a=1", "b=2"}}
	for _, c := range []struct {
		expression string
		q          request
		want       string
	}{
		{"req.method, req.path, req.url, req.originalUrl, req.baseUrl", request{path: "/a%2Fb", query: "x=1"},
			`["POST","/a%2Fb","/a%2Fb?x=1","/rest/svc/a%2Fb?x=1","/rest/svc"]`},
		{"req.params, req.params === req.params", request{params: []service.Param{{Name: "id", Value: "a/б"}}}, `[{"id":"a/б"},true]`},
		{"req.headers, req.get('x-one'), req.header('X-ONE'), req.get('none') === undefined", request{header: header},
			`[{"cookie":"a=1; b=2","x-one":"1, 2","host":"example.org:8888"},"1, 2","1, 2",true]`},
		{"req.user, req.ip, req.hostname, req.protocol, req.secure, req.id", request{}, `[null,"192.0.2.1","example.org","http",false,"r1"]`},
		{"req.user.id(), req.user.type()", request{account: engine.Anonymous}, `["anonymous",""]`},
		{"req.user.id(), req.user.login(), req.user.type(), req.user.name(), `${req.user}`, req.user.coactors()", request{account: account},
			`["bob@local","bob","local","Bob","bob@local",["r"]]`},
		{"'body' in req, Object.keys(req), (req.extra = 1, req.extra), (req.body = 5, req.body), Object.isFrozen(Object.freeze(req))", request{},
			`[true,[],1,5,true]`},
		{"req.body", request{}, `[{}]`},
		{"req.body", request{contentType: "application/json"}, `[{}]`},
		{"req.body", request{contentType: "application/json; charset=utf-8", body: `{"b":1,"a":[1.5,null,"x"],"__proto__":{"p":1}}`},
			`[{"b":1,"a":[1.5,null,"x"]}]`},
		{"req.body.p, ({}).p, Object.keys(req.body)", request{contentType: "application/json", body: `{"__proto__":{"p":1}}`}, `[null,null,[]]`},
		{"req.body", request{contentType: "application/json", body: `[{"a":{"b":[{"\u005f_proto__":{"p":1},"c":1}]}}]`}, `[[{"a":{"b":[{"c":1}]}}]]`},
		{"Object.keys(JSON.parse('{\"__proto__\":1}'))", request{}, `[["__proto__"]]`},
		{"req.body, typeof req.body.n", request{contentType: "application/merge-patch+json", body: `{"n":9007199254740993}`}, `[{"n":9007199254740993},"bigint"]`},
		{"req.body", request{contentType: "application/x-www-form-urlencoded", body: `a=1&b=x+y&b=%D1%8F&c[d]=2`}, `[{"a":"1","b":["x y","я"],"c":{"d":"2"}}]`},
		{"req.body", request{contentType: "text/plain", body: "hé\xff"}, `["hé�"]`},
		{"Buffer.isBuffer(req.body), req.body.length, req.body[1]", request{contentType: "image/png", body: "\x01\xff"}, `[true,2,255]`},
		{"req.body.length", request{body: "abc"}, `[3]`},
		{"Buffer.isBuffer(req.rawBody), `${req.rawBody}`, req.rawBody === req.rawBody, req.body", request{contentType: "application/json", body: `{ "a": 1.0 }`}, `[true,"{ \"a\": 1.0 }",true,{"a":1}]`},
		{"`${req.rawBody}`", request{contentType: "application/x-www-form-urlencoded", body: `a=1&a=%2b`}, `["a=1&a=%2b"]`},
		{"`${req.rawBody}`, req.rawBody[2] === 0xff", request{contentType: "text/plain", body: "hi\xff"}, `["hi�",true]`},
		{"req.rawBody.length", request{}, `[0]`},
	} {
		expect(t, show(c.expression, c.q), c.want)
	}
}

func TestBadBodies(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`let n = 0; module.exports = {'POST /': () => ++n}`)
	for body, want := range map[string]string{
		`{"a":`:                    "malformed JSON at line 1",
		`5`:                        "the body must be a JSON object or array",
		`"x"`:                      "the body must be a JSON object or array",
		`null`:                     "the body must be a JSON object or array",
		strings.Repeat("[", 1000):  "nested deeper than 512 levels",
		`{} {}`:                    "malformed JSON",
		`{"a":1e999999999999999}x`: "malformed JSON",
	} {
		got := answer(send(t, g, request{method: "POST", contentType: "application/json", body: body}))
		expectIn(t, got, "error invalid ", want)
	}
	expect(t, answer(send(t, g, request{method: "POST", contentType: "application/json", body: "[]"})), jsonType+"1")
}
