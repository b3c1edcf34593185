package script

import (
	"testing"

	"restsrv/engine/script/limits"
)

// TestOperatorsBesideBigInts: operators in a file that uses BigInts are replaced by guards. The results must not
// change.
func TestOperatorsBesideBigInts(t *testing.T) {
	for code, want := range map[string]string{
		"2n ** 10n":                  "1024",
		"(-1n) ** (10n ** 30n + 1n)": "-1",
		"1n << 70n":                  "1180591620717411303424",
		"(1n << 70n) >> 69n":         "2",
		"[2 ** 3 ** 2, 1 << 4, -16 >> 2, '3' ** '2']":                                                   "[512,16,-4,9]",
		"(() => { let a = 3; a **= 2; a <<= 1; return a >>= 1 })()":                                     "9",
		"(() => { const o = {a: [2n]}; const i = 0; o.a[i] **= 5n; return o.a[i] <<= 1n })()":           "64",
		"((a = 2n ** 3n, {b = 1 << 2} = {}) => [a, b])()":                                               "[8,4]",
		"new (class { #x = 2n; y = 3n ** 2n; static z = 1 << 3; f() { return this.#x **= 3n } })().f()": "8",
		"(() => { const f = function* () { yield 2n ** 2n }; return [...f()] })()":                      "[4]",
		"`${2n ** 2n}`": `"4"`,
		"(() => { for (let i = 1n << 1n; i < 2n ** 3n; i = i ** 2n) ; switch (1 << 1) { case 2: return 'two' } })()": `"two"`,
		"(() => { try { return 2n ** 2 } catch (e) { return e.name } })()":                                           `"TypeError"`,
		"(() => { try { return 2n ** -1n } catch (e) { return e.name } })()":                                         `"RangeError"`,
		"(() => { try { return 2n ** (1n << 30n) } catch (e) { return e.message } })()":                              `"bits of a BigInt: more than 1048576 at once"`,
		"[BigInt('12'), BigInt(3), typeof BigInt, BigInt.asIntN(8, 255n), BigInt.prototype.constructor === BigInt]":  `[12,3,"function",-1,true]`,
		"[Object(1n) instanceof BigInt, 5n instanceof BigInt, (5n).toString()]":                                      `[true,false,"5"]`,
	} {
		a := newApp(t, limits.Limits{}, false)
		if got := get(t, a.load("module.exports = {'GET /': () => "+code+"}")); got != jsonType+want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	a := newApp(t, limits.Limits{}, false)
	a.write("svc.js", "const x = 1n;\nmodule.exports = {'GET /': () => { f().y **= x }}")
	if _, err := a.rt.Load(a.service("svc.js")); err == nil {
		t.Error("the script with an assignment that cannot be guarded was loaded, want an error")
	} else {
		expectIn(t, err.Error(), "svc.js:2:", "write a = a ** b")
	}
}
