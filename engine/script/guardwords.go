package script

import (
	"github.com/dop251/goja"
)

// Some built-ins can run for long, or allocate much memory, without a chance to interrupt them. A VM guards such a
// built-in when it loads the first file that names it, because a guard slows down each call and the start of the VM.

// wordGuards lists the guards by the name that a source text must contain.
var wordGuards = []struct {
	name    string
	install func(h *host, name string)
}{
	{"fill", (*host).guardLength}, {"indexOf", (*host).guardLength}, {"lastIndexOf", (*host).guardLength},
	{"includes", (*host).guardLength}, {"reverse", (*host).guardLength}, {"sort", (*host).guardLength},
	{"map", (*host).guardLength}, {"forEach", (*host).guardLength}, {"filter", (*host).guardLength},
	{"every", (*host).guardLength}, {"some", (*host).guardLength}, {"reduce", (*host).guardLength},
	{"reduceRight", (*host).guardLength}, {"slice", (*host).guardLength}, {"splice", (*host).guardLength},
	{"shift", (*host).guardLength}, {"unshift", (*host).guardLength}, {"copyWithin", (*host).guardLength},
	{"flatMap", (*host).guardLength}, {"toReversed", (*host).guardLength}, {"toSorted", (*host).guardLength},
	{"toSpliced", (*host).guardLength}, {"with", (*host).guardLength},
	{"concat", (*host).guardConcat}, {"from", (*host).guardFrom},
	{"apply", (*host).guardApply}, {"construct", (*host).guardConstruct},
	{"repeat", (*host).guardRepeat}, {"padStart", (*host).guardPad}, {"padEnd", (*host).guardPad},
	{"replace", (*host).guardReplace}, {"replaceAll", (*host).guardReplace}, {"split", (*host).guardSplit},
	{"match", (*host).guardSearch}, {"matchAll", (*host).guardSearch}, {"search", (*host).guardSearch}, {"test", (*host).guardTest},
	{"normalize", (*host).guardScan}, {"localeCompare", (*host).guardScan}, {"toUpperCase", (*host).guardScan},
	{"toLowerCase", (*host).guardScan}, {"toLocaleUpperCase", (*host).guardScan}, {"toLocaleLowerCase", (*host).guardScan},
	{"raw", (*host).guardRaw}, {"parseFloat", (*host).guardParseFloat},
	{"escape", (*host).guardEscape}, {"unescape", (*host).guardEscape}, {"encodeURI", (*host).guardEscape},
	{"encodeURIComponent", (*host).guardEscape}, {"decodeURI", (*host).guardEscape}, {"decodeURIComponent", (*host).guardEscape},
	{"keys", (*host).guardKeys}, {"values", (*host).guardKeys}, {"entries", (*host).guardKeys}, {"assign", (*host).guardAssign},
	{"getOwnPropertyDescriptors", (*host).guardKeys}, {"getOwnPropertyNames", (*host).guardKeys}, {"freeze", (*host).guardKeys},
	{"setPrototypeOf", (*host).guardPrototypes}, {"__proto__", (*host).guardPrototypes},
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
func (h *host) guardWords(w words) {
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

// tooLong throws if an array-like value has more elements than a built-in may process. Holes count as elements.
func (h *host) tooLong(v goja.Value, what string) {
	switch v := v.(type) {
	case *goja.Object:
		if n := v.Get("length"); n != nil {
			h.tooMuch(n.ToFloat(), h.v.gen.limits.Elements, what)
		}
	case goja.String:
		h.tooMuch(float64(v.Length()), h.v.gen.limits.Elements, what)
	}
}

// guardLength limits the length of the array that a method processes.
func (h *host) guardLength(name string) {
	h.guardMethod(h.prototypeOf("Array"), name, func(call goja.FunctionCall) { h.tooLong(call.This, name) })
}

// guardFrom limits the argument of Array.from.
func (h *host) guardFrom(name string) {
	h.guardMethod(h.js.Get("Array").(*goja.Object), name, func(call goja.FunctionCall) { h.tooLong(call.Argument(0), "Array.from") })
}

// guardConcat limits the length of a concatenated string or array.
func (h *host) guardConcat(name string) {
	h.guardMethod(h.prototypeOf("String"), name, func(call goja.FunctionCall) {
		n := textLength(call.This)
		for _, a := range call.Arguments {
			n += textLength(a)
		}
		h.tooMuch(float64(n), h.v.gen.limits.Text, name)
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
		h.tooMuch(n, h.v.gen.limits.Elements, name)
	})
}

// guardApply limits the number of arguments in a list.
func (h *host) guardApply(name string) {
	h.guardMethod(h.prototypeOf("Function"), name, func(call goja.FunctionCall) { h.tooLong(call.Argument(1), "arguments") })
	h.guardMethod(h.js.Get("Reflect").(*goja.Object), name, func(call goja.FunctionCall) { h.tooLong(call.Argument(2), "arguments") })
}

// guardConstruct limits the number of arguments of a constructor in a list.
func (h *host) guardConstruct(name string) {
	h.guardMethod(h.js.Get("Reflect").(*goja.Object), name, func(call goja.FunctionCall) { h.tooLong(call.Argument(1), "arguments") })
}

// guardKeys limits strings and arrays whose properties are listed.
func (h *host) guardKeys(name string) {
	h.guardMethod(h.js.Get("Object").(*goja.Object), name, func(call goja.FunctionCall) { h.checkListed(call.Argument(0), name) })
}

// guardAssign limits strings and arrays whose properties are copied.
func (h *host) guardAssign(name string) {
	h.guardMethod(h.js.Get("Object").(*goja.Object), name, func(call goja.FunctionCall) {
		for _, v := range call.Arguments {
			h.checkListed(v, name)
		}
	})
}

func (h *host) checkListed(v goja.Value, what string) {
	if o, ok := v.(*goja.Object); ok && o.ClassName() != "Array" {
		return // a script has added its properties one by one
	}
	h.tooLong(v, what)
}

// maxLinks is the maximum number of prototypes and proxies behind an object that are checked.
const maxLinks = 10_000

// guardPrototypes prevents cycles in the prototype chain through a Proxy, over which the engine would recurse
// without end.
func (h *host) guardPrototypes(string) {
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
	program, err := h.v.gen.rt.cache.preludeProgram(preludeProto)
	must(err)
	install, err := h.js.RunProgram(program)
	must(err)
	f, _ := goja.AssertFunction(install)
	_, err = f(goja.Undefined(), h.js.ToValue(func(call goja.FunctionCall) goja.Value {
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
func (h *host) checkCycle(o *goja.Object, proto goja.Value) {
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
