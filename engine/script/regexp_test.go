package script

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"restsrv/engine/script/limits"
	"restsrv/engine/script/module"
)

// slowly is the beginning of a script. It has an expression that backtracks for
// a very long time and a text that it does not match.
const slowly = `const text = 'a'.repeat(60) + '!', re = (flags) => flags === undefined ? /^(a|aa)+$(?!b)/ : new RegExp('^(a|aa)+$(?!b)', flags);
`

// TestExpressionsNeverTellNoMatch checks that no script continues with the
// result "no match" of an expression that has timed out. The turn must have
// ended by then, wherever the script uses the expression.
func TestExpressionsNeverTellNoMatch(t *testing.T) {
	var all sync.WaitGroup // each takes seconds, also without other load
	for name, handler := range map[string]string{
		"literal":     `() => re().test(text)`,
		"exec":        `() => re().exec(text) === null`,
		"constructor": `() => new RegExp('^(a|aa)+$(?!b)').test(text)`,
		"sticky":      `() => re('y').test(text)`,
		"unicode":     `() => re('u').test(text)`,
		"match":       `() => text.match(re()) === null`,
		"match all":   `() => [...text.matchAll(re('g'))].length`,
		"replace":     `() => text.replace(re(), 'x') === text`,
		"replace f":   `() => text.replace(re('g'), () => 'x') === text`,
		"replaceAll":  `() => text.replaceAll(re('g'), 'x') === text`,
		"search":      `() => text.search(re())`,
		"split":       `() => text.split(re()).length`,
		"try":         `() => { try { return re().test(text) } catch (e) { return 'caught' } finally { shared.set('effect', 1) } }`,
		"sort":        `() => [2, 1].sort((a, b) => re().test(text) ? 1 : -1)`,
		"promise":     `() => Promise.resolve().then(() => re().test(text)).catch(() => 'caught').then((found) => { shared.set('effect', 1); return found })`,
		"await":       `async () => { await null; if (!re().test(text)) { shared.set('effect', 1); return 'no match' } }`,
		"timer":       `() => new Promise(ok => setTimeout(() => ok(re().test(text)), 1))`,
		"getter":      `() => ({get found() { return re().test(text) }})`,
		"generator":   `() => { function* g() { yield re().test(text) } return [...g()] }`,
	} {
		all.Go(func() {
			a := newApp(t, limits.Limits{CPU: 500 * time.Millisecond}, false)
			g := a.load(slowly + "module.exports = {'GET /': " + handler + ", 'PUT /': () => shared.has('effect')}")
			if got := get(t, g); got != "error internal Internal server error" {
				t.Errorf("%s: got %s", name, got)
			}
			expect(t, answer(send(t, g, request{method: "PUT"})), jsonType+"false")
		})
	}
	all.Go(func() {
		a := newApp(t, limits.Limits{Load: 500 * time.Millisecond}, false)
		a.write("svc.js", slowly+"module.exports = re().test(text) ? {'GET /': () => 1} : {'GET /': () => 2}")
		_, err := a.rt.Load(a.service("svc.js"))
		var e *module.LoadError
		if !errors.As(err, &e) || !strings.Contains(e.Message, "CPU") {
			t.Errorf("got %v, want the end of the time for loading", err)
		}
	})
	all.Wait()
}
