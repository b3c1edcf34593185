package sandbox

import (
	"github.com/dop251/goja"

	"restsrv/engine/script/js"
)

// Some built-in functions can run for a long time, or allocate much memory, without a chance to interrupt them. They
// get a guard when a VM loads the first file that contains their name. The other VMs do without, because a guard
// slows down each call and the start of the VM.

// wordGuards lists the names that a source text is searched for, and for each name the function that installs its
// guard.
var wordGuards = []struct {
	name    string
	install func(h *Guards, name string)
}{
	{"fill", (*Guards).guardLength}, {"indexOf", (*Guards).guardLength}, {"lastIndexOf", (*Guards).guardLength},
	{"includes", (*Guards).guardLength}, {"reverse", (*Guards).guardLength}, {"sort", (*Guards).guardLength},
	{"map", (*Guards).guardLength}, {"forEach", (*Guards).guardLength}, {"filter", (*Guards).guardLength},
	{"every", (*Guards).guardLength}, {"some", (*Guards).guardLength}, {"reduce", (*Guards).guardLength},
	{"reduceRight", (*Guards).guardLength}, {"slice", (*Guards).guardLength}, {"splice", (*Guards).guardLength},
	{"shift", (*Guards).guardLength}, {"unshift", (*Guards).guardLength}, {"copyWithin", (*Guards).guardLength},
	{"flatMap", (*Guards).guardLength}, {"toReversed", (*Guards).guardLength}, {"toSorted", (*Guards).guardLength},
	{"toSpliced", (*Guards).guardLength}, {"with", (*Guards).guardLength},
	{"concat", (*Guards).guardConcat}, {"from", (*Guards).guardFrom},
	{"apply", (*Guards).guardApply}, {"construct", (*Guards).guardConstruct},
	{"repeat", (*Guards).guardRepeat}, {"padStart", (*Guards).guardPad}, {"padEnd", (*Guards).guardPad},
	{"replace", (*Guards).guardReplace}, {"replaceAll", (*Guards).guardReplace}, {"split", (*Guards).guardSplit},
	{"match", (*Guards).guardSearch}, {"matchAll", (*Guards).guardSearch}, {"search", (*Guards).guardSearch}, {"test", (*Guards).guardTest},
	{"normalize", (*Guards).guardScan}, {"localeCompare", (*Guards).guardScan}, {"toUpperCase", (*Guards).guardScan},
	{"toLowerCase", (*Guards).guardScan}, {"toLocaleUpperCase", (*Guards).guardScan}, {"toLocaleLowerCase", (*Guards).guardScan},
	{"raw", (*Guards).guardRaw}, {"parseFloat", (*Guards).guardParseFloat},
	{"escape", (*Guards).guardEscape}, {"unescape", (*Guards).guardEscape}, {"encodeURI", (*Guards).guardEscape},
	{"encodeURIComponent", (*Guards).guardEscape}, {"decodeURI", (*Guards).guardEscape}, {"decodeURIComponent", (*Guards).guardEscape},
	{"keys", (*Guards).guardKeys}, {"values", (*Guards).guardKeys}, {"entries", (*Guards).guardKeys}, {"assign", (*Guards).guardAssign},
	{"getOwnPropertyDescriptors", (*Guards).guardKeys}, {"getOwnPropertyNames", (*Guards).guardKeys}, {"freeze", (*Guards).guardKeys},
	{"setPrototypeOf", (*Guards).guardPrototypes}, {"__proto__", (*Guards).guardPrototypes},
}

// words is a set of guards: bit i stands for wordGuards[i].
type words [2]uint64

func (w *words) add(i int)      { w[i/64] |= 1 << (i % 64) }
func (w *words) has(i int) bool { return w[i/64]&(1<<(i%64)) != 0 }

// findWords returns the guards for the names that occur in a source text.
func findWords(text string) (w words) {
	index := make(map[string]int, len(wordGuards))
	for i, g := range wordGuards {
		index[g.name] = i
	}
	letter := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= '0' && c <= '9'
	}
	for at := 0; at < len(text); at++ {
		if !letter(text[at]) {
			continue
		}
		start := at
		for at < len(text) && letter(text[at]) {
			at++
		}
		if i, ok := index[text[start:at]]; ok {
			w.add(i)
		}
	}
	return w
}

// guardWords installs those guards of w that are not installed yet.
func (h *Guards) guardWords(w words) {
	have := &h.provided.words
	if w[0]&^have[0] == 0 && w[1]&^have[1] == 0 {
		return
	}
	for i, g := range wordGuards {
		if w.has(i) && !have.has(i) {
			have.add(i)
			g.install(h, g.name)
		}
	}
}

// guardLength limits the length of the array for methods of arrays such as fill.
func (h *Guards) guardLength(name string) {
	h.guardMethod(h.PrototypeOf("Array"), name, func(call goja.FunctionCall) { h.TooLong(call.This, name) })
}

// guardFrom limits the length of the argument of Array.from.
func (h *Guards) guardFrom(name string) {
	h.guardMethod(h.JS.Get("Array").(*goja.Object), name, func(call goja.FunctionCall) { h.TooLong(call.Argument(0), "Array.from") })
}

// guardConcat limits the length of the result of concat, for strings and arrays.
func (h *Guards) guardConcat(name string) {
	h.guardMethod(h.PrototypeOf("String"), name, func(call goja.FunctionCall) {
		n := js.TextLength(call.This)
		for _, a := range call.Arguments {
			n += js.TextLength(a)
		}
		h.TooMuch(float64(n), h.Limits.Text, name)
	})
	h.guardMethod(h.PrototypeOf("Array"), name, func(call goja.FunctionCall) {
		n := 0.0
		for _, v := range append([]goja.Value{call.This}, call.Arguments...) {
			if o, ok := v.(*goja.Object); ok {
				if length := o.Get("length"); length != nil {
					n += length.ToFloat()
				}
			}
		}
		h.TooMuch(n, h.Limits.Elements, name)
	})
}

// guardApply limits the number of arguments that Function.prototype.apply and Reflect.apply pass on.
func (h *Guards) guardApply(name string) {
	h.guardMethod(h.PrototypeOf("Function"), name, func(call goja.FunctionCall) { h.TooLong(call.Argument(1), "arguments") })
	h.guardMethod(h.JS.Get("Reflect").(*goja.Object), name, func(call goja.FunctionCall) { h.TooLong(call.Argument(2), "arguments") })
}

// guardConstruct limits the number of arguments that Reflect.construct passes on.
func (h *Guards) guardConstruct(name string) {
	h.guardMethod(h.JS.Get("Reflect").(*goja.Object), name, func(call goja.FunctionCall) { h.TooLong(call.Argument(1), "arguments") })
}

// guardKeys limits the length of strings and arrays for functions such as Object.keys.
func (h *Guards) guardKeys(name string) {
	h.guardMethod(h.JS.Get("Object").(*goja.Object), name, func(call goja.FunctionCall) { h.checkListed(call.Argument(0), name) })
}

// guardAssign limits the length of strings and arrays for Object.assign.
func (h *Guards) guardAssign(name string) {
	h.guardMethod(h.JS.Get("Object").(*goja.Object), name, func(call goja.FunctionCall) {
		for _, v := range call.Arguments {
			h.checkListed(v, name)
		}
	})
}

func (h limiter) checkListed(v goja.Value, what string) {
	if o, ok := v.(*goja.Object); ok && o.ClassName() != "Array" {
		return // a script has added its properties one by one
	}
	h.TooLong(v, what)
}

// maxLinks is the maximum number of prototypes and proxies that checkCycle follows.
const maxLinks = 10_000

// guardPrototypes prevents a prototype chain that leads back to its object through a Proxy. goja would recurse over
// such a cycle without end.
func (h *Guards) guardPrototypes(string) {
	const name = "setPrototypeOf"
	check := func(o, proto goja.Value) {
		if o, ok := o.(*goja.Object); ok {
			h.checkCycle(o, proto)
		}
	}
	if h.provided.prototypes {
		return
	}
	h.provided.prototypes = true
	for _, owner := range []string{"Object", "Reflect"} {
		h.guardMethod(h.JS.Get(owner).(*goja.Object), name, func(call goja.FunctionCall) { check(call.Argument(0), call.Argument(1)) })
	}
	f, _ := goja.AssertFunction(h.RunPrelude(preludeProto))
	_, err := f(goja.Undefined(), h.JS.ToValue(func(call goja.FunctionCall) goja.Value {
		check(call.Argument(0), call.Argument(1))
		return goja.Undefined()
	}))
	js.Must(err)
}

// preludeProto is a JavaScript function that makes the setter of __proto__ call check first.
const preludeProto = `(check) => {
	const d = Object.getOwnPropertyDescriptor(Object.prototype, '__proto__'), set = d.set;
	d.set = function (p) { check(this, p); set.call(this, p) };
	Object.defineProperty(Object.prototype, '__proto__', d);
}`

// checkCycle throws if the prototype chain that starts at proto leads back to o through a Proxy, or if it is
// too long to check.
func (h limiter) checkCycle(o *goja.Object, proto goja.Value) {
	seen := map[*goja.Object]bool{}
	var next []*goja.Object
	add := func(v *goja.Object) {
		if v != nil && !seen[v] {
			seen[v] = true
			next = append(next, v)
		}
	}
	first, _ := proto.(*goja.Object)
	add(first)
	proxies := false
	for len(next) > 0 && len(seen) < maxLinks {
		v := next[len(next)-1]
		next = next[:len(next)-1]
		if p, ok := v.Export().(goja.Proxy); ok {
			proxies = true
			add(p.Target())
			add(p.Handler())
			continue
		}
		add(v.Prototype())
	}
	if len(seen) >= maxLinks {
		panic(h.RangeError("more than %d prototypes in a row", maxLinks))
	}
	if proxies && seen[o] {
		panic(h.JS.NewTypeError("Cyclic __proto__ value"))
	}
}
