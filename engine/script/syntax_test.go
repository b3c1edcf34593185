package script

import (
	"strings"
	"testing"

	"restsrv/engine/script/limits"
)

// TestUnparsedSyntax loads a file for each kind of syntax that the engine does not compile. Such syntax must work if
// it is the only one in its file, since the compiler is then called for it alone.
func TestUnparsedSyntax(t *testing.T) {
	const all = "const out = []; for await (const v of it) out.push(v); return out.join();"
	for name, code := range map[string]string{
		"async generator":            "async function* g() { yield 1; yield 2; }\nmodule.exports = async () => { const it = g(); return (await it.next()).value + '' + (await it.next()).value; };",
		"async generator expression": "const g = async function* () { yield 1; yield 2; };\nmodule.exports = async () => { const it = g(); return (await it.next()).value + '' + (await it.next()).value; };",
		"async generator method":     "class A { async *g() { yield 1; yield 2; } }\nmodule.exports = async () => { const it = new A().g(); return (await it.next()).value + '' + (await it.next()).value; };",
		"for await":                  "const run = async (it) => {" + strings.ReplaceAll(all, "out.join()", "out.join('')") + "};\nmodule.exports = () => run([1, Promise.resolve(2)]);",
		"field set":                  "class A { set = 1; b = 2; }\nmodule.exports = () => '' + new A().set + new A().b;",
		"fields get and async":       "class A { get = 1; async = 2; }\nmodule.exports = () => '' + new A().get + new A().async;",
		"static field get":           "class A { static get = 1; static set = 2; }\nmodule.exports = () => '' + A.get + A.set;",
	} {
		for _, file := range []string{"x.js", "x.ts"} {
			t.Run(name+" in "+file, func(t *testing.T) {
				a := newApp(t, limits.Limits{}, false)
				a.write(file, code)
				if got := get(t, a.load("const run = require('./"+file+"');\nmodule.exports = { 'GET /': async () => ({ got: await run() }) };")); !strings.HasSuffix(got, `{"got":"12"}`) {
					t.Errorf("got %s, want 12", got)
				}
			})
		}
	}
}
