package script

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"restsrv/engine/script/limits"
)

// lineHandler records the text of each line.
type lineHandler struct{ lines *[]string }

func (lineHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h lineHandler) Handle(_ context.Context, r slog.Record) error {
	*h.lines = append(*h.lines, r.Message)
	return nil
}

func (h lineHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h lineHandler) WithGroup(string) slog.Handler      { return h }

// TestConsoleMethods tests the output of each method of console.
func TestConsoleMethods(t *testing.T) {
	for _, c := range []struct {
		code string
		want []string
	}{
		{`console.assert(1, 'no'); console.assert(0, 'a', {b: 1}); console.assert()`, []string{"Assertion failed: a { b: 1 }", "Assertion failed"}},
		{`console.group('G'); console.log('a\nb'); console.group(); console.warn({x: 1}); console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log('z')`, []string{"G", "  a\n  b", "    { x: 1 }", "z"}},
		{`console.count(); console.count('x'); console.count(); console.countReset(); console.count()`, []string{"default: 1", "x: 1", "default: 2", "default: 1"}},
		{`console.time('t'); console.timeLog('t', 5); console.timeEnd('t'); console.timeEnd('t')`, []string{"t: …ms 5", "t: …ms", "console.timeEnd: there is no timer t"}},
		{`console.dir({a: {b: {c: {d: 1}}}}, {depth: 0}); console.dir({a: {b: {c: {d: 1}}}}, {depth: null})`, []string{"{ a: [Object] }", "{ a: { b: { c: { d: 1 } } } }"}},
		{`(function f() { console.trace('here', 1) })()`, []string{"Trace: here 1\n\tat f (svc.js:1:…"}},
		{`console.table([{a: 1, b: 'x'}, {a: 2}]); console.table([1, [2, 3]]); console.table(5); console.table([{a: 1, b: 2}], ['b'])`, []string{
			"┌─────────┬───┬─────┐\n│ (index) │ a │ b   │\n├─────────┼───┼─────┤\n│ 0       │ 1 │ 'x' │\n│ 1       │ 2 │     │\n└─────────┴───┴─────┘",
			"┌─────────┬───┬───┬────────┐\n│ (index) │ 0 │ 1 │ Values │\n├─────────┼───┼───┼────────┤\n│ 0       │   │   │ 1      │\n│ 1       │ 2 │ 3 │        │\n└─────────┴───┴───┴────────┘",
			"5", "┌─────────┬───┐\n│ (index) │ b │\n├─────────┼───┤\n│ 0       │ 2 │\n└─────────┴───┘"}},
		{`console.log({get [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('bad') }})`, []string{"[a value cannot be shown: Error: bad]"}},
		{`console.log(); console.log(String(console), log === console)`, []string{"", "[object console] false"}},
	} {
		a := newApp(t, limits.Limits{}, false)
		var lines []string
		a.rt.log = slog.New(lineHandler{&lines})
		g := a.load("module.exports = {'GET /': () => { " + c.code + " }}")
		if got := answer(send(t, g, request{})); !strings.HasPrefix(got, "200") || len(lines) != len(c.want) {
			t.Errorf("%s: got the response %s and the lines %q, want status 200 and %d lines", c.code, got, lines, len(c.want))
			continue
		}
		for i, want := range c.want {
			if !alikeText(lines[i], want) {
				t.Errorf("%s\ngot  %s\nwant %s", c.code, lines[i], want)
			}
		}
	}
}

// TestConsoleTellsThePlace: each line contains the file, the line and the column of its call, also for calls through
// other functions and in other files. Groups of one request do not indent the lines of another request.
func TestConsoleTellsThePlace(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.write("lib/log.js", "exports.note = (x) => {\n  console.warn('noted', x);\n};")
	g := a.load("const {note} = require('./lib/log');\nconsole.log('loaded');\nmodule.exports = {'GET /': async () => {\n  note(1);\n  [2].forEach((x) => console.log(x));\n  await null;\n  log.info('late');\n  console.group();\n}, 'POST /': () => console.log('flat')}")
	get(t, g)
	_, _ = send(t, g, request{method: "POST"})
	expectIn(t, a.log.String(), "msg=loaded service=svc from=script at=svc.js:2:", `msg="noted 1" service=svc request=r1 from=script at=lib/log.js:2:`,
		"msg=2 service=svc request=r1 from=script at=svc.js:5:", "msg=late service=svc request=r1 from=script at=svc.js:7:", "msg=flat service=svc request=r1")
}

// TestConsoleCostsNothingWhenOff: if a level is disabled, values are not formatted.
func TestConsoleCostsNothingWhenOff(t *testing.T) {
	a := newApp(t, limits.Limits{}, false)
	a.rt.log = slog.New(slog.NewTextHandler(a.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	g := a.load("let n = 0; module.exports = {'GET /': () => { console.debug({[Symbol.for('nodejs.util.inspect.custom')]() { n++ }}); return n }}")
	expect(t, get(t, g), jsonType+"0")
}
