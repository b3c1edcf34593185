package script

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/platform"
	"restsrv/engine/wire"
)

// guards limits the built-ins of one VM.
type guards struct {
	*realm
	guardHooks
	provided needs
	patterns patterns
}

// guardHooks contains the parts of a VM that guards use.
type guardHooks struct {
	mayMatch      func() // records that scripts may use regular expressions
	installTimers func()
	platform      func() *platform.Platform
}

func newGuards(r *realm, hooks guardHooks) *guards { return &guards{realm: r, guardHooks: hooks} }

// usesBase reports whether a script that was loaded uses item.base.
func (h *guards) usesBase() bool { return h.provided.base }

// install wraps the built-ins that could end the process, or run for long without a chance to interrupt them:
// those whose memory or recursion depends on a number or a text.
func (h *guards) install() {
	h.guardArrays()
	h.guardJSON()
}

// needs is the set of rarely used built-ins that a source text needs. Creating them would take most of the start
// time of a VM. They are therefore created, or guarded, when the first file that names them is loaded.
type needs struct {
	buffers, code, timers, bigints, patterns bool
	platform                                 platform.Needs
	words                                    words // see guardwords.go
	syntax                                   bool  // see guardsyntax.go
	delegates                                bool  // the text contains yield*
	prototypes                               bool  // used for VMs only: guardPrototypes was called
	base                                     bool  // see base.go
	matches                                  bool  // the text may use regular expressions
}

var (
	bufferNames = regexp.MustCompile(`ArrayBuffer|(?:8|16|32|64|Clamped)Array`)
	codeNames   = regexp.MustCompile("\\b(?:eval|Function|globalThis)\\b|(?:\\.\\s*|['\"`])constructor\\b")
	delegation  = regexp.MustCompile(`\byield\s*\*`)
	baseNames   = regexp.MustCompile(`\.\s*base\b`)
	timerNames  = regexp.MustCompile(`(?:set|clear)(?:Timeout|Interval|Immediate)|queueMicrotask`)
)

func findNeeds(text string) needs {
	n := needs{
		buffers: containsMatch(text, bufferNames, "Array"), code: containsMatch(text, codeNames, "eval", "Function", "globalThis", "constructor"),
		timers: timerNames.MatchString(text), bigints: bigintNames.MatchString(text),
		patterns: patternNames.MatchString(text),
	}
	if n.code { // code compiled at run time may use any built-in
		n.buffers, n.timers, n.bigints, n.patterns = true, true, true, true
	}
	n.platform = platform.NeedsOf(text, n.code)
	n.delegates = delegation.MatchString(text)
	n.words, n.syntax = findWords(text), containsMatch(text, rewritten, "...", "Array", "RegExp", "Set", "Map")
	n.base = baseNames.MatchString(text)
	n.matches = n.code || slices.ContainsFunc(matching, func(name string) bool { return strings.Contains(text, name) })
	return n
}

// matching lists words; a text without any of them executes no regular expression.
var matching = []string{"test", "exec", "match", "replace", "search", "split", "RegExp"}

// containsMatch reports whether a text matches an expression. Each match must contain one of the words. Most texts
// contain none, and searching for words is much faster than matching.
func containsMatch(text string, expression *regexp.Regexp, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return expression.MatchString(text)
		}
	}
	return false
}

// provideBuiltins installs the built-ins that a file needs and that the VM does not have yet.
func (h *guards) provideBuiltins(n needs) {
	if n.code && !h.provided.code {
		h.provided.code = true
		h.guardCode()
	}
	if n.platform != (platform.Needs{}) {
		h.guardHooks.platform().Patch(n.platform)
	}
	if n.matches {
		h.mayMatch()
	}
	h.guardWords(n.words)
	h.provided.base = h.provided.base || n.base
	if n.delegates && !h.provided.delegates {
		h.provided.delegates = true
		h.guardGenerators()
	}
	if n.patterns && !h.provided.patterns {
		h.provided.patterns = true
		h.guardPatterns()
	}
	if n.timers && !h.provided.timers {
		h.provided.timers = true
		h.installTimers()
	}
	if n.bigints && !h.provided.bigints {
		h.provided.bigints = true
		h.guardBigints()
	}
	if n.buffers && !h.provided.buffers {
		h.provided.buffers = true
		for _, name := range []string{
			"ArrayBuffer", "Uint8Array", "Uint8ClampedArray", "Int8Array", "Uint16Array", "Int16Array",
			"Uint32Array", "Int32Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array",
		} {
			h.guardBuffer(name)
		}
		h.guardTyped()
	}
}

// guardMethod wraps a method of an object, so that check is called first.
func (h *guards) guardMethod(o *goja.Object, name string, check func(call goja.FunctionCall)) {
	original, ok := goja.AssertFunction(o.Get(name))
	if !ok {
		return
	}
	h.method(o, name, func(call goja.FunctionCall) goja.Value {
		check(call)
		v, err := original(call.This, call.Arguments...)
		if err != nil {
			panic(rethrow(err))
		}
		return v
	})
}

func (h *guards) guardArrays() {
	proto := h.prototypeOf("Array")
	// These methods recurse in Go for nested arrays, which the limit on calls does not count.
	depth := 0
	for _, name := range []string{"join", "toString", "toLocaleString", "flat"} {
		h.limitNesting(proto, name, &depth, h.checkJoin)
	}
}

// checkJoin limits the length of an array that is converted to text, and the length of the text.
func (h *guards) checkJoin(call goja.FunctionCall, name string) {
	h.tooLong(call.This, name)
	o, ok := call.This.(*goja.Object)
	if !ok || name != "join" {
		return
	}
	between := 1
	if by := call.Argument(0); !goja.IsUndefined(by) {
		between = textLength(by)
	}
	n, _ := o.Get("length").Export().(int64)
	total := int(n) * between
	if o.ClassName() == "Array" && !isStored(o) {
		var p patience
		for i := range int(n) {
			p.check(h.realm)
			if s, ok := o.Get(h.indexText(i)).(goja.String); ok {
				total += s.Length()
			}
		}
	}
	h.tooMuch(float64(total), h.limits.Text, name)
}

// limitNesting limits the recursion of a built-in that calls itself through elements.
func (h *guards) limitNesting(o *goja.Object, name string, depth *int, check func(goja.FunctionCall, string)) {
	original, _ := goja.AssertFunction(o.Get(name))
	limit := h.limits.CallStack
	h.method(o, name, func(call goja.FunctionCall) goja.Value {
		check(call, name)
		if *depth++; *depth > limit {
			*depth = 0
			panic(h.rangeError("%s: nested deeper than %d", name, limit))
		}
		v, err := original(call.This, call.Arguments...)
		*depth = max(0, *depth-1)
		if err != nil {
			panic(rethrow(err))
		}
		return v
	})
}

// guardGenerators limits the depth at which generators delegate to others. The engine recurses without counting
// calls, and returning from such a depth takes too long.
func (h *guards) guardGenerators() {
	depth := 0
	h.limitNesting(h.runPrelude(preludeGenerators).(*goja.Object), "next", &depth, func(goja.FunctionCall, string) {})
}

// preludeGenerators is an expression for the prototype of all generator objects.
const preludeGenerators = "Object.getPrototypeOf(function* () {}.prototype)"

// guardCode limits source text that is compiled at run time.
func (h *guards) guardCode() {
	check := func(args []goja.Value) {
		for _, a := range args {
			s, ok := a.(goja.String)
			if !ok {
				continue
			}
			h.tooMuch(float64(s.Length()), min(h.limits.Source, maxMade), "source text made at run time")
			if line, _ := tooDeep(s.String()); line > 0 {
				panic(h.rangeError("source text: brackets are nested deeper than %d", maxBrackets))
			}
			if line, _ := tooLong(s.String(), false); line > 0 {
				panic(h.rangeError("source text: an expression goes on for more than %d operators", maxChain))
			}
			h.provideBuiltins(findNeeds(s.String()))
			if text := s.String(); bigintNames.MatchString(text) && bigintGrowth.MatchString(text) {
				panic(h.rangeError("source text: ** and shifts are not supported beside BigInts in code made at run time"))
			}
		}
	}
	h.guardMethod(h.js.GlobalObject(), "eval", func(call goja.FunctionCall) { check(call.Arguments) })
	list := h.runPrelude(preludeFunctions)
	global := h.js.GlobalObject()
	for i, name := range []string{"Function", "AsyncFunction", "GeneratorFunction"} {
		original := list.(*goja.Object).Get(h.indexText(i)).(*goja.Object)
		construct, _ := goja.AssertConstructor(original)
		wrapper := h.replaceConstructor(name, original, construct, check)
		if name == "Function" {
			_ = global.DefineDataProperty(name, wrapper, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		}
	}
}

// guardBuffer limits the size of the buffers that a constructor creates.
func (h *guards) guardBuffer(name string) {
	limit := h.limits.Text
	original := h.js.Get(name).(*goja.Object)
	construct, _ := goja.AssertConstructor(original)
	wrapper := h.replaceConstructor(name, original, construct, func(args []goja.Value) {
		if len(args) == 0 {
			return
		}
		n := args[0]
		if o, ok := n.(*goja.Object); ok {
			if n = o.Get("length"); n == nil || o.ExportType() == arrayBufferType {
				return
			}
		}
		size := limit / 8
		if name == "ArrayBuffer" {
			size = limit
		}
		h.tooMuch(n.ToFloat(), size, name)
	})
	_ = h.js.GlobalObject().DefineDataProperty(name, wrapper, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// guardTyped limits the texts that typed arrays are converted to.
func (h *guards) guardTyped() {
	const widest = 26 // characters of a number
	proto := h.prototypeOf("Uint8Array").Prototype()
	for _, name := range []string{"join", "toString", "toLocaleString"} {
		h.guardMethod(proto, name, func(call goja.FunctionCall) {
			o, ok := call.This.(*goja.Object)
			if !ok {
				return
			}
			if n := o.Get("length"); n != nil {
				h.tooMuch(n.ToFloat(), h.limits.Elements, name)
				if by := call.Argument(0); goja.IsString(by) {
					h.tooMuch(n.ToFloat()*float64(textLength(by)+widest), h.limits.Text, name)
				}
			}
		})
	}
}

// replaceConstructor replaces a built-in constructor by one that calls check first. The prototype and the static
// members stay the same, and subclasses and instanceof work as before.
func (h *guards) replaceConstructor(name string, original *goja.Object, construct goja.Constructor, check func([]goja.Value)) *goja.Object {
	var wrapper *goja.Object
	wrapper = h.js.ToValue(func(call goja.ConstructorCall) *goja.Object {
		check(call.Arguments)
		target := call.NewTarget
		if target == nil || target == wrapper {
			target = original
		}
		o, err := construct(target, call.Arguments...)
		if err != nil {
			panic(rethrow(err))
		}
		return o
	}).(*goja.Object)
	proto := original.Get("prototype").(*goja.Object)
	_ = wrapper.Set("prototype", proto)
	_ = wrapper.SetPrototype(original)
	_ = wrapper.DefineDataProperty("name", h.js.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	_ = proto.DefineDataProperty("constructor", wrapper, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	return wrapper
}

// guardJSON replaces JSON.parse and JSON.stringify, because the recursion of the originals is not limited. The new
// JSON.stringify writes a BigInt as a number.
func (h *guards) guardJSON() {
	json := h.js.Get("JSON").(*goja.Object)
	h.method(json, "parse", func(call goja.FunctionCall) goja.Value {
		text, limits := []byte(call.Argument(0).String()), h.limits
		if tooManyValues(text, limits.Elements) {
			panic(h.rangeError("JSON.parse: more than %d values", limits.Elements))
		}
		decoded, err := wire.DecodeTo(limits.Depth, text)
		if err != nil {
			o, e := h.js.New(h.js.Get("SyntaxError"), h.js.ToValue(err.Error()))
			must(e)
			panic(o)
		}
		value := h.fromJSON(decoded)
		if reviver, ok := goja.AssertFunction(call.Argument(1)); ok {
			root := h.js.NewObject()
			_ = root.Set("", value)
			return h.reviveValue(root, "", reviver, 0)
		}
		return value
	})
	h.method(json, "stringify", h.stringify)
	raw, _ := goja.AssertFunction(json.Get("rawJSON"))
	h.method(h.prototypeOf("BigInt"), "toJSON", func(call goja.FunctionCall) goja.Value {
		v, err := raw(json, h.js.ToValue(call.This.String()))
		if err != nil {
			panic(rethrow(err))
		}
		return v
	})
}

// reviveValue calls the reviver of JSON.parse for a parsed value, bottom up.
func (h *guards) reviveValue(holder *goja.Object, key string, reviver goja.Callable, depth int) goja.Value {
	value := holder.Get(key)
	if value == nil {
		value = goja.Undefined()
	}
	if o, ok := value.(*goja.Object); ok {
		if depth > h.limits.Depth { // the reviver can add nested objects
			panic(h.rangeError("JSON.parse: nested deeper than %d", h.limits.Depth))
		}
		one := func(k string) {
			if v := h.reviveValue(o, k, reviver, depth+1); goja.IsUndefined(v) {
				_ = o.Delete(k)
			} else {
				h.put(o, k, v)
			}
		}
		if o.ClassName() == "Array" {
			h.tooLong(o, "JSON.parse")
			for i := range int(o.Get("length").ToInteger()) {
				one(h.indexText(i))
			}
		} else {
			for _, k := range o.Keys() {
				one(k)
			}
		}
	}
	v, err := reviver(holder, h.js.ToValue(key), value)
	if err != nil {
		panic(rethrow(err))
	}
	return v
}

// preludeFunctions is a JavaScript expression for an array of the constructors
// that create functions from text.
const preludeFunctions = "[Function, (async () => 1).constructor, (function* () {}).constructor]"
