package script

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"restsrv/engine"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
)

// TestMissingIsNamed: using an unsupported part of a built-in module or of Intl throws an error that names the part
// and an alternative.
func TestMissingIsNamed(t *testing.T) {
	for code, want := range map[string]string{
		`new Intl.NumberFormat('en', {style: 'unit', unit: 'liter'})`:            `Intl: style "unit" is not supported`,
		`new Intl.NumberFormat('en', {notation: 'compact'})`:                     `Intl: notation "compact" is not supported`,
		`(1).toLocaleString('en', {notation: 'compact'})`:                        `Intl: notation "compact" is not supported`,
		`new Intl.NumberFormat('en', {roundingMode: 'ceil'})`:                    `Intl: roundingMode "ceil" is not supported`,
		`new Intl.NumberFormat().formatRange(1, 2)`:                              "Intl: formatRange is not supported",
		`new Intl.DateTimeFormat('en', {era: 'short'})`:                          "Intl: era is not supported",
		`new Intl.DateTimeFormat('en', {calendar: 'buddhist'})`:                  `Intl: calendar "buddhist" is not supported`,
		`new Intl.DateTimeFormat('en', {timeZoneName: 'longGeneric'})`:           `Intl: timeZoneName "longGeneric" is not supported`,
		`new Intl.RelativeTimeFormat('en', {style: 'narrow'})`:                   `Intl: style "narrow" of RelativeTimeFormat`,
		`new Intl.Collator('en', {caseFirst: 'upper'})`:                          `Intl: caseFirst "upper" is not supported`,
		`new Intl.Segmenter('en')`:                                               "Intl: Intl.Segmenter is not supported",
		`require('fs').writeFileSync('a', 'b')`:                                  `fs.writeFileSync is not supported: scripts only read files of the application directory; use fileStorage`,
		`require('node:https').createServer()`:                                   `https.createServer is not supported: a service does not listen on a port`,
		`require('path').win32.join('a', 'b')`:                                   "path/win32.join is not supported: paths of scripts have slashes",
		`Atomics.wait(new Int32Array(1), 0, 0)`:                                  "a script must not block",
		`[].values().take(-1)`:                                                   "take takes a number from 0 on",
		`Error.captureStackTrace(1)`:                                             "Error.captureStackTrace takes an object",
		`Atomics.add(new Float64Array(1), 0, 1)`:                                 "Atomics takes an array of integers",
		`Object.groupBy([1])`:                                                    "groupBy takes a function",
		`new Iterator()`:                                                         "Iterator is there to be extended",
		`(() => { const b = new ArrayBuffer(1); b.transfer(); b.transfer() })()`: "the buffer was transferred already",
	} {
		a := newApp(t, limits.Limits{}, false)
		got := get(t, a.load("module.exports = {'GET /': () => { try { "+code+" } catch (e) { return e.message } }}"))
		if !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), want) {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
}

// TestPolyfillsAreMadeOnDemand: a VM makes only the built-ins that its scripts name.
func TestPolyfillsAreMadeOnDemand(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`const name = (a, b) => a + b;
module.exports = {'GET /': () => [name('Weak', 'Ref'), name('Ato', 'mics'), name('It', 'erator')].map((n) => typeof global[n])}`)
	expect(t, get(t, g), jsonType+`["undefined","undefined","undefined"]`)
	g = a.load(`module.exports = {'GET /': () => [typeof WeakRef, typeof Atomics, typeof Iterator, typeof Intl.NumberFormat]}`)
	expect(t, get(t, g), jsonType+`["function","object","function","function"]`)
}

// TestPolyfillsAreHidden: built-ins that are added for a file are also available in the files that it requires, and
// are not enumerable.
func TestPolyfillsAreHidden(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`module.exports = {'GET /': () => {
	const seen = [];
	for (const k in [1].values()) seen.push(k);
	for (const k in {}) seen.push(k);
	for (const k in Promise) seen.push(k);
	const stack = {}; Error.captureStackTrace(stack);
	for (const k in stack) seen.push(k);
	return [seen, ({}).__lookupGetter__('x') === undefined, typeof Promise.withResolvers, Object.keys(Iterator.prototype)];
}}`)
	expect(t, get(t, g), jsonType+`[[],true,"function",[]]`)
}

// TestWeakRef: a WeakRef does not keep its target alive, and a live target stays available.
func TestWeakRef(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	g := a.load(`const kept = {n: 1}, refs = [new WeakRef(kept), new WeakRef({n: 2})];
module.exports = {'GET /': () => [kept.n, ...refs.map((r) => r.deref()?.n ?? 'gone')]}`)
	eventually(t, "the object is collected", func() bool {
		runtime.GC()
		return get(t, g) == jsonType+`[1,1,"gone"]`
	})
}

// TestReadmeExample: the first example of the scripts' README is a service.
func TestReadmeExample(t *testing.T) {
	text, err := os.ReadFile("../../scripts/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```js\n")
	code, _, _ := strings.Cut(rest, "```")
	a := newApp(t, limits.Limits{}, false)
	a.repo.fill(t, 1)
	g := a.load(strings.ReplaceAll(code, "note@sample", "note@demo"))
	read := request{account: &engine.Account{ID: "ann@local"}, params: []service.Param{{Name: "id", Value: "g1"}}}
	expectIn(t, answer(send(t, g, read)), jsonType, `"title":"note 0"`)
	read.params[0].Value = "none"
	expect(t, answer(send(t, g, read)), "404 text/plain; charset=utf-8 There is no such note")
	expectIn(t, answer(send(t, g, request{
		method: "POST", account: read.account, contentType: "application/json", body: `{"title":"new"}`,
	})), jsonType, `"title":"new"`)
}
