package script

import (
	"strings"
	"testing"

	"restsrv/engine/script/limits"
)

// TestExcerptsInLog: in development mode only, every failure in the log has an excerpt of the script.
func TestExcerptsInLog(t *testing.T) {
	const mark = "> 3 |   nope.x();\\n    |   ^"
	const body = "module.exports = {'GET /': %s};\nfunction fail() {\n  nope.x();\n}\n"
	for name, handler := range map[string]string{
		"handler":   "() => fail()",
		"async":     "async () => { await null; fail(); }",
		"timer":     "() => { setTimeout(fail, 1); return 1; }",
		"rejection": "() => { Promise.resolve().then(fail); return 1; }",
	} {
		for _, dev := range []bool{true, false} {
			a := newApp(t, limits.Limits{}, dev)
			_, _ = send(t, a.load(strings.Replace(body, "%s", handler, 1)), request{})
			if name == "handler" || name == "async" {
				if !dev {
					continue // the server logs errors that it returns as 500
				}
			} else {
				eventually(t, name+" is logged", func() bool { return strings.Contains(a.log.String(), "level=ERROR") })
			}
			expectIn(t, a.log.String(), "level=ERROR", "service=svc", "request=r1", "svc.js:3:3")
			if got := strings.Contains(a.log.String(), mark); got != dev {
				t.Errorf("%s: excerpt in the log: got %v, want %v\n%s", name, got, dev, a.log)
			}
		}
	}
}

// TestConverterExcerpt: failures of converters have an excerpt, too.
func TestConverterExcerpt(t *testing.T) {
	a := newApp(t, limits.Limits{}, true)
	a.write("conv.js", "exports.parse = (data) => {\n  return data.a.b;\n};\n")
	c, err := NewManager(a.rt, nil).AddConverter(a.service("conv.js"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, r := request{method: "POST"}.build()
	if _, err := c.Parse(ctx, r, nil); err == nil {
		t.Fatal("Parse returned no error")
	}
	expectIn(t, a.log.String(), "a converter failed", "request=r1", "function=parse", "> 2 |   return data.a.b;")
}

// TestLoadErrorExcerpt: the error of a file that cannot be loaded has an excerpt.
func TestLoadErrorExcerpt(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	for text, want := range map[string]string{
		"const a = 1;\nconst b = ;\n": "  1 | const a = 1;\n> 2 | const b = ;\n    |           ^",
		"const a = 1;\n\na.b.c();\n":  "  1 | const a = 1;\n  2 |\n> 3 | a.b.c();\n    |   ^",
	} {
		a.write("svc.js", text)
		_, err := a.rt.Load(a.service("svc.js"))
		failed, ok := err.(*failedLoad)
		if !ok {
			t.Fatalf("got the error %v, want a *failedLoad", err)
		}
		expect(t, failed.Excerpt, want)
	}
}

// TestRejectionsAreErrors: an unhandled rejection is logged once, as an error with its stack, also after the end of
// the request. It is not logged if a handler is added within the same turn.
func TestRejectionsAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		handler string
		want    int
	}{
		"lost":                   {"() => { lose(); return 1; }", 1},
		"after the answer":       {"() => { setTimeout(lose, 5); return 1; }", 1},
		"awaited after answer":   {"() => { (async () => { await new Promise((ok) => setTimeout(ok, 5)); await lose(); })(); return 1; }", 1},
		"through a chain":        {"() => { lose().then(() => 1).then(() => 2); return 1; }", 1},
		"two":                    {"() => { lose(); lose(); return 1; }", 2},
		"handled in the turn":    {"async () => { const p = lose(); await null; await null; p.catch(() => 1); return 1; }", 0},
		"handled by try":         {"async () => { try { await lose(); } catch {} return 1; }", 0},
		"handled by allSettled":  {"async () => { await Promise.allSettled([lose(), lose()]); return 1; }", 0},
		"of the handler":         {"async () => { await null; await lose(); }", 0},
		"handled, the rest lost": {"() => { const p = lose(); p.catch(() => 1); p.finally(() => 1); return 1; }", 1},
	} {
		a := newApp(t, limits.Limits{}, false)
		g := a.load("const lose = async () => { throw new Error('lost'); };\nmodule.exports = {'GET /': " + c.handler + ", 'PUT /': () => new Promise((ok) => setTimeout(ok, 20))};")
		_, _ = send(t, g, request{})
		_, _ = send(t, g, request{method: "PUT"}) // all rejections were reported before this request
		log := a.log.String()
		if got := strings.Count(log, "level=ERROR msg=\"a promise was rejected and nobody handled it\" service=svc request=r1 error=\"Error: lost\\n\\tat lose (svc.js:1:34)"); got != c.want || strings.Count(log, "nobody handled") != c.want {
			t.Errorf("%s: got %d reports of rejections, want %d\n%s", name, got, c.want, log)
		}
	}
}
