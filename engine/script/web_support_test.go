package script

import (
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/platform"
)

// probe is an expression of a script and the JSON of its value. If the
// expression throws, the value is "!" and "name: message", in which … matches
// any text.
type probe struct{ code, want string }

// runProbes evaluates each expression in a new VM.
func runProbes(t *testing.T, settings platform.Settings, probes []probe) {
	t.Helper()
	a := startApp(t, Config{Platform: settings, Limits: limits.Limits{CPU: longestCPU}})
	for _, p := range probes {
		script := "module.exports = {'GET /': async () => {\n try { return {data: [await (" + p.code + ")]} }" +
			" catch (e) { return {data: ['!' + e.name + ': ' + e.message]} } }}"
		g := a.load(script)
		got := answer(send(t, g, request{account: &engine.Account{ID: "a@b"}}))
		g.Close()
		got = strings.TrimPrefix(got, jsonType)
		want := "[" + p.want + "]"
		if message, fails := strings.CutPrefix(p.want, "!"); fails {
			want = `["!` + strings.ReplaceAll(message, `"`, `\"`) + `"]`
		}
		if !alikeText(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", p.code, got, want)
		}
	}
}

// alikeText compares texts, in which … matches any text.
func alikeText(got, want string) bool {
	parts := strings.Split(want, "…")
	for i, part := range parts {
		at := strings.Index(got, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		got = got[at+len(part):]
	}
	return got == "" || parts[len(parts)-1] == "" && len(parts) > 1
}
