package script

import (
	"strings"
	"testing"

	"restsrv/engine/script/limits"
)

// TestLongNumberInBody checks that a JSON number of 3,000,000 digits in a body
// is refused before a script or a conversion sees it, and that JSON.parse
// refuses it, too.
func TestLongNumberInBody(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.write("svc.js", `module.exports = {'POST /': (req) => typeof req.body.n,
		'PUT /': (req) => { try { return typeof JSON.parse(req.body) } catch (e) { return e.name } }}`)
	g, err := a.rt.Load(a.service("svc.js"))
	if err != nil {
		t.Fatal(err)
	}
	long := `{"n":` + strings.Repeat("7", 3_000_000) + `}`
	got := answer(send(t, g, request{method: "POST", contentType: "application/json", body: long}))
	expectIn(t, got, "a number has at most 2100 characters, found 3000000")
	got = answer(send(t, g, request{method: "PUT", contentType: "text/plain", body: long}))
	expectIn(t, got, "SyntaxError")
	got = answer(send(t, g, request{method: "POST", contentType: "application/json", body: `{"n":` + strings.Repeat("7", 2000) + `}`}))
	expectIn(t, got, `"bigint"`)
}
