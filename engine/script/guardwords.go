package script

import (
	"github.com/dop251/goja"
)

// Some built-ins can run for long, or allocate much memory, without a chance to interrupt them. A VM guards such a
// built-in when it loads the first file that names it, because a guard slows down each call and the start of the VM.

// wordGuards lists the guards by the name that a source text must contain.
var wordGuards = []struct {
	name    string
	install func(h *guards, name string)
}{
	{"fill", (*guards).guardLength}, {"indexOf", (*guards).guardLength}, {"lastIndexOf", (*guards).guardLength},
	{"includes", (*guards).guardLength}, {"reverse", (*guards).guardLength}, {"sort", (*guards).guardLength},
	{"map", (*guards).guardLength}, {"forEach", (*guards).guardLength}, {"filter", (*guards).guardLength},
	{"every", (*guards).guardLength}, {"some", (*guards).guardLength}, {"reduce", (*guards).guardLength},
	{"reduceRight", (*guards).guardLength}, {"slice", (*guards).guardLength}, {"splice", (*guards).guardLength},
	{"shift", (*guards).guardLength}, {"unshift", (*guards).guardLength}, {"copyWithin", (*guards).guardLength},
	{"flatMap", (*guards).guardLength}, {"toReversed", (*guards).guardLength}, {"toSorted", (*guards).guardLength},
	{"toSpliced", (*guards).guardLength}, {"with", (*guards).guardLength},
	{"concat", (*guards).guardConcat}, {"from", (*guards).guardFrom},
	{"apply", (*guards).guardApply}, {"construct", (*guards).guardConstruct},
	{"repeat", (*guards).guardRepeat}, {"padStart", (*guards).guardPad}, {"padEnd", (*guards).guardPad},
	{"replace", (*guards).guardReplace}, {"replaceAll", (*guards).guardReplace}, {"split", (*guards).guardSplit},
	{"match", (*guards).guardSearch}, {"matchAll", (*guards).guardSearch}, {"search", (*guards).guardSearch}, {"test", (*guards).guardTest},
	{"normalize", (*guards).guardScan}, {"localeCompare", (*guards).guardScan}, {"toUpperCase", (*guards).guardScan},
	{"toLowerCase", (*guards).guardScan}, {"toLocaleUpperCase", (*guards).guardScan}, {"toLocaleLowerCase", (*guards).guardScan},
	{"raw", (*guards).guardRaw}, {"parseFloat", (*guards).guardParseFloat},
	{"escape", (*guards).guardEscape}, {"unescape", (*guards).guardEscape}, {"encodeURI", (*guards).guardEscape},
	{"encodeURIComponent", (*guards).guardEscape}, {"decodeURI", (*guards).guardEscape}, {"decodeURIComponent", (*guards).guardEscape},
	{"keys", (*guards).guardKeys}, {"values", (*guards).guardKeys}, {"entries", (*guards).guardKeys}, {"assign", (*guards).guardAssign},
	{"getOwnPropertyDescriptors", (*guards).guardKeys}, {"getOwnPropertyNames", (*guards).guardKeys}, {"freeze", (*guards).guardKeys},
	{"setPrototypeOf", (*guards).guardPrototypes}, {"__proto__", (*guards).guardPrototypes},
}

// words is a bit set of wordGuards.
type words [2]uint64

func (w *words) add(i int)      { w[i/64] |= 1 << (i % 64) }
func (w *words) has(i int) bool { return w[i/64]&(1<<(i%64)) != 0 }

// findWords returns the guards that a text needs.
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

// guardWords installs the guards that are not installed yet.
func (h *guards) guardWords(w words) {
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

// guardLength limits the length of the array that a method processes.
func (h *guards) guardLength(name string) {
	h.guardMethod(h.prototypeOf("Array"), name, func(call goja.FunctionCall) { h.tooLong(call.This, name) })
}

// guardFrom limits the argument of Array.from.
func (h *guards) guardFrom(name string) {
	h.guardMethod(h.js.Get("Array").(*goja.Object), name, func(call goja.FunctionCall) { h.tooLong(call.Argument(0), "Array.from") })
}

// guardConcat limits the length of a concatenated string or array.
func (h *guards) guardConcat(name string) {
	h.guardMethod(h.prototypeOf("String"), name, func(call goja.FunctionCall) {
		n := textLength(call.This)
		for _, a := range call.Arguments {
			n += textLength(a)
		}
		h.tooMuch(float64(n), h.limits.Text, name)
	})
	h.guardMethod(h.prototypeOf("Array"), name, func(call goja.FunctionCall) {
		n := 0.0
		for _, v := range append([]goja.Value{call.This}, call.Arguments...) {
			if o, ok := v.(*goja.Object); ok {
				if length := o.Get("length"); length != nil {
					n += length.ToFloat()
				}
			}
		}
		h.tooMuch(n, h.limits.Elements, name)
	})
}

// guardApply limits the number of arguments in a list.
func (h *guards) guardApply(name string) {
	h.guardMethod(h.prototypeOf("Function"), name, func(call goja.FunctionCall) { h.tooLong(call.Argument(1), "arguments") })
	h.guardMethod(h.js.Get("Reflect").(*goja.Object), name, func(call goja.FunctionCall) { h.tooLong(call.Argument(2), "arguments") })
}

// guardConstruct limits the number of arguments of a constructor in a list.
func (h *guards) guardConstruct(name string) {
	h.guardMethod(h.js.Get("Reflect").(*goja.Object), name, func(call goja.FunctionCall) { h.tooLong(call.Argument(1), "arguments") })
}

// guardKeys limits strings and arrays whose properties are listed.
func (h *guards) guardKeys(name string) {
	h.guardMethod(h.js.Get("Object").(*goja.Object), name, func(call goja.FunctionCall) { h.checkListed(call.Argument(0), name) })
}

// guardAssign limits strings and arrays whose properties are copied.
func (h *guards) guardAssign(name string) {
	h.guardMethod(h.js.Get("Object").(*goja.Object), name, func(call goja.FunctionCall) {
		for _, v := range call.Arguments {
			h.checkListed(v, name)
		}
	})
}

func (h *guards) checkListed(v goja.Value, what string) {
	if o, ok := v.(*goja.Object); ok && o.ClassName() != "Array" {
		return // a script has added its properties one by one
	}
	h.tooLong(v, what)
}

// maxLinks is the maximum number of prototypes and proxies behind an object that are checked.
const maxLinks = 10_000

// guardPrototypes prevents cycles in the prototype chain through a Proxy, over which the engine would recurse
// without end.
func (h *guards) guardPrototypes(string) {
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
		h.guardMethod(h.js.Get(owner).(*goja.Object), name, func(call goja.FunctionCall) { check(call.Argument(0), call.Argument(1)) })
	}
	f, _ := goja.AssertFunction(h.runPrelude(preludeProto))
	_, err := f(goja.Undefined(), h.js.ToValue(func(call goja.FunctionCall) goja.Value {
		check(call.Argument(0), call.Argument(1))
		return goja.Undefined()
	}))
	must(err)
}

// preludeProto is a function that adds a check to the setter of __proto__.
const preludeProto = `(check) => {
	const d = Object.getOwnPropertyDescriptor(Object.prototype, '__proto__'), set = d.set;
	d.set = function (p) { check(this, p); set.call(this, p) };
	Object.defineProperty(Object.prototype, '__proto__', d);
}`

// checkCycle throws if proto leads back to o through a Proxy, or if the chain is too long to check.
func (h *guards) checkCycle(o *goja.Object, proto goja.Value) {
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
		panic(h.rangeError("more than %d prototypes in a row", maxLinks))
	}
	if proxies && seen[o] {
		panic(h.js.NewTypeError("Cyclic __proto__ value"))
	}
}
