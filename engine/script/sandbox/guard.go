package sandbox

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"restsrv/engine/script/js"
	"restsrv/engine/script/platform"
	"restsrv/engine/wire"
)

// limiter has methods that implement guards. Some check the arguments of a built-in function against the limits
// of a realm. Others replace the built-in function by one that makes this check first.
type limiter struct{ *js.Realm }

// Guards limits the built-in functions of one VM. See the package comment for the reasons.
type Guards struct {
	limiter
	host     Host
	provided Needs // what the loaded files need so far
	patterns patterns
}

// Host is the part of a VM that guards use.
type Host interface {
	// MayMatch records that scripts may use regular expressions.
	MayMatch()
	// InstallTimers defines the global functions for timers.
	InstallTimers()
	// EnsurePlatform returns the platform of the VM.
	EnsurePlatform() *platform.Platform
}

// New returns the guards of a VM. Use Install in the first turn.
func New(r *js.Realm, host Host) *Guards { return &Guards{limiter: limiter{r}, host: host} }

// UsesBase reports whether a loaded script contains .base, which services written for IONDV read from items.
func (h *Guards) UsesBase() bool { return h.provided.base }

// Install guards the built-ins that every script may use without naming them: conversion of arrays to text, and JSON.
// ProvideBuiltins guards the others.
func (h *Guards) Install() {
	h.guardArrays()
	h.guardJSON()
}

// Needs is the set of rarely used built-ins that a source text may use. Creating and guarding them would take most of
// the start time of a VM. Therefore ProvideBuiltins does it when the VM loads the first file that names them.
type Needs struct {
	buffers, code, timers, Bigints, patterns bool
	platform                                 platform.Needs
	words                                    words // see words.go
	Syntax                                   bool  // see syntax.go
	delegates                                bool  // the text contains yield*
	prototypes                               bool  // set by guardPrototypes, not by FindNeeds
	base                                     bool  // the text contains .base; see UsesBase
	matches                                  bool  // the text may use regular expressions
	awaits                                   bool  // the text may contain await
}

var (
	bufferNames = regexp.MustCompile(`ArrayBuffer|(?:8|16|32|64|Clamped)Array`)
	codeNames   = regexp.MustCompile("\\b(?:eval|Function|globalThis)\\b|(?:\\.\\s*|['\"`])constructor\\b")
	delegation  = regexp.MustCompile(`\byield\s*\*`)
	baseNames   = regexp.MustCompile(`\.\s*base\b`)
	timerNames  = regexp.MustCompile(`(?:set|clear)(?:Timeout|Interval|Immediate)|queueMicrotask`)
)

// FindNeeds returns the built-ins that a source text may use. It searches for their names, so it may return too many.
func FindNeeds(text string) Needs {
	n := Needs{
		buffers: containsMatch(text, bufferNames, "Array"), code: containsMatch(text, codeNames, "eval", "Function", "globalThis", "constructor"),
		timers: timerNames.MatchString(text), Bigints: bigintNames.MatchString(text),
		patterns: patternNames.MatchString(text),
	}
	if n.code { // code compiled at run time may use any built-in
		n.buffers, n.timers, n.Bigints, n.patterns = true, true, true, true
	}
	n.platform = platform.NeedsOf(text, n.code)
	n.delegates = delegation.MatchString(text)
	n.words, n.Syntax = findWords(text), containsMatch(text, rewritten, "...", "Array", "RegExp", "Set", "Map")
	n.awaits = strings.Contains(text, "await")
	n.base = baseNames.MatchString(text)
	n.matches = n.code || slices.ContainsFunc(matching, func(name string) bool { return strings.Contains(text, name) })
	return n
}

// matching lists words. A text that contains none of them uses no regular expression.
var matching = []string{"test", "exec", "match", "replace", "search", "split", "RegExp"}

// containsMatch reports whether text matches expression. It searches for words first, because that is much faster,
// and most texts do not contain any of them. So words must be chosen such that every match of expression contains one
// of them.
func containsMatch(text string, expression *regexp.Regexp, words ...string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return expression.MatchString(text)
		}
	}
	return false
}

// ProvideBuiltins installs those built-ins and guards of n that the VM does not have yet.
func (h *Guards) ProvideBuiltins(n Needs) {
	if n.code && !h.provided.code {
		h.provided.code = true
		h.guardCode()
	}
	if n.platform != (platform.Needs{}) {
		h.host.EnsurePlatform().Patch(n.platform)
	}
	if n.matches {
		h.host.MayMatch()
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
		h.host.InstallTimers()
	}
	if n.Bigints && !h.provided.Bigints {
		h.provided.Bigints = true
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

// preludeInherit is a function that gives a constructor the properties of another one, and makes it the constructor of
// the prototype that both have. If the original became the prototype of the other, scripts could use
// it without the guard.
const preludeInherit = `(from, to) => {
	for (const k of Reflect.ownKeys(from)) Object.defineProperty(to, k, Object.getOwnPropertyDescriptor(from, k));
	Object.setPrototypeOf(to, Object.getPrototypeOf(from));
	Object.defineProperty(to.prototype, 'constructor', { value: to, writable: true, configurable: true });
}`

// inheritProperties calls preludeInherit. Use it when a constructor is replaced.
func (h limiter) inheritProperties(from, to *goja.Object) {
	inherit, _ := goja.AssertFunction(h.RunPrelude(preludeInherit))
	_, err := inherit(goja.Undefined(), from, to)
	js.Must(err)
}

// replaceMethod replaces a method of o by f. If there was one, the property length of the function stays the same.
func (h limiter) replaceMethod(o *goja.Object, name string, f func(goja.FunctionCall) goja.Value) {
	original, _ := o.Get(name).(*goja.Object)
	h.Method(o, name, f)
	if original != nil {
		_ = o.Get(name).(*goja.Object).DefineDataProperty("length", original.Get("length"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
}

// guardMethod replaces a method of o by a function that calls check and then the original method.
func (h limiter) guardMethod(o *goja.Object, name string, check func(call goja.FunctionCall)) {
	original, ok := goja.AssertFunction(o.Get(name))
	if !ok {
		return
	}
	h.replaceMethod(o, name, func(call goja.FunctionCall) goja.Value {
		check(call)
		v, err := original(call.This, call.Arguments...)
		if err != nil {
			panic(js.Rethrow(err))
		}
		return v
	})
}

func (h *Guards) guardArrays() {
	proto := h.PrototypeOf("Array")
	// For nested arrays, these methods recurse in Go, and goja does not count that as nested calls.
	depth := 0
	for _, name := range []string{"join", "toString", "toLocaleString", "flat"} {
		h.limitNesting(proto, name, &depth, h.checkJoin)
	}
}

// checkJoin limits the length of an array that is converted to text, and the length of the text.
func (h limiter) checkJoin(call goja.FunctionCall, name string) {
	h.TooLong(call.This, name)
	o, ok := call.This.(*goja.Object)
	if !ok || name != "join" {
		return
	}
	between := 1
	if by := call.Argument(0); !goja.IsUndefined(by) {
		between = js.TextLength(by)
	}
	n, _ := o.Get("length").Export().(int64)
	total := int(n) * between
	if o.ClassName() == "Array" && !js.IsStored(o) {
		var p js.Patience
		for i := range int(n) {
			p.Check(h.Realm)
			if s, ok := o.Get(h.IndexText(i)).(goja.String); ok {
				total += s.Length()
			}
		}
	}
	h.TooMuch(float64(total), h.Limits.Text, name)
}

// limitNesting limits the recursion depth of a built-in such as join, which calls itself for nested arrays. Built-ins
// that can call each other must share one counter, depth. check is called with the arguments before each call.
func (h limiter) limitNesting(o *goja.Object, name string, depth *int, check func(goja.FunctionCall, string)) {
	original, _ := goja.AssertFunction(o.Get(name))
	limit := h.Limits.CallStack
	h.replaceMethod(o, name, func(call goja.FunctionCall) goja.Value {
		check(call, name)
		if *depth++; *depth > limit {
			*depth = 0
			panic(h.RangeError("%s: nested deeper than %d", name, limit))
		}
		v, err := original(call.This, call.Arguments...)
		*depth = max(0, *depth-1)
		if err != nil {
			panic(js.Rethrow(err))
		}
		return v
	})
}

// guardGenerators limits the depth of generators that delegate to other generators (yield*). goja recurses without
// counting these calls, and returning from a great depth takes too long.
func (h *Guards) guardGenerators() {
	depth := 0
	h.limitNesting(h.RunPrelude(preludeGenerators).(*goja.Object), "next", &depth, func(goja.FunctionCall, string) {})
}

// preludeGenerators is an expression for the prototype of all generator objects.
const preludeGenerators = "Object.getPrototypeOf(function* () {}.prototype)"

// guardCode limits source text when a script compiles it at run time, with eval or Function.
func (h *Guards) guardCode() {
	check := func(args []goja.Value) {
		for _, a := range args {
			s, ok := a.(goja.String)
			if !ok {
				continue
			}
			h.TooMuch(float64(s.Length()), min(h.Limits.Source, maxMade), "source text made at run time")
			if line, _ := TooDeep(s.String()); line > 0 {
				panic(h.RangeError("source text: brackets are nested deeper than %d", MaxBrackets))
			}
			if line, _ := TooLong(s.String(), false); line > 0 {
				panic(h.RangeError("source text: an expression goes on for more than %d operators", MaxChain))
			}
			h.ProvideBuiltins(FindNeeds(s.String()))
		}
	}
	h.guardMethod(h.JS.GlobalObject(), "eval", func(call goja.FunctionCall) {
		check(call.Arguments)
		if growsBigints(call.Arguments) {
			panic(h.RangeError("eval: ** and shifts are not supported beside BigInts; new Function supports them"))
		}
	})
	list := h.RunPrelude(preludeFunctions)
	global := h.JS.GlobalObject()
	for i, name := range []string{"Function", "AsyncFunction", "GeneratorFunction"} {
		original := list.(*goja.Object).Get(h.IndexText(i)).(*goja.Object)
		engine, _ := goja.AssertConstructor(original)
		construct := func(target *goja.Object, args ...goja.Value) (*goja.Object, error) {
			if growsBigints(args) {
				return h.makeFunction(functionKeywords[i], args)
			}
			return engine(target, args...)
		}
		wrapper := h.replaceConstructor(original, construct, check)
		if name == "Function" {
			_ = global.DefineDataProperty(name, wrapper, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		}
	}
}

// functionKeywords contains the keywords before a function that each constructor in preludeFunctions creates.
var functionKeywords = []string{"function", "async function", "function*"}

// growsBigints reports whether texts that a script compiles at run time may use the operator ** or a shift on
// BigInts. Such operators need a guard.
func growsBigints(texts []goja.Value) bool {
	names, growth := false, false
	for _, v := range texts {
		if s, ok := v.(goja.String); ok {
			text := s.String()
			names, growth = names || bigintNames.MatchString(text), growth || bigintGrowth.MatchString(text)
		}
	}
	return names && growth
}

// makeFunction implements new Function(parameter..., body) for texts in which operators on BigInts need a guard (see
// growsBigints): it inserts the guards and compiles the function. keyword is one of functionKeywords.
func (h *Guards) makeFunction(keyword string, args []goja.Value) (*goja.Object, error) {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.String()
	}
	last := len(texts) - 1
	text := "(" + keyword + " anonymous(" + strings.Join(texts[:last], ",") + "\n) {\n" + texts[last] + "\n})"
	program, err := parser.ParseFile(nil, "", text, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, h.syntaxError(err.Error())
	}
	if len(program.Body) != 1 {
		return nil, h.syntaxError("the parameters and the body must each be complete")
	}
	if _, ok := GuardOperators(program, FindNeeds(text)); !ok {
		return nil, h.syntaxError(ErrOperator.Error())
	}
	compiled, err := goja.CompileAST(program, false)
	if err != nil {
		return nil, h.syntaxError(err.Error())
	}
	made, err := h.JS.RunProgram(compiled)
	if err != nil {
		return nil, err
	}
	return made.(*goja.Object), nil
}

// syntaxError returns a Go error that throws a JavaScript SyntaxError with the given message.
func (h *Guards) syntaxError(message string) error {
	o, err := h.JS.New(h.JS.Get("SyntaxError"), h.JS.ToValue(message))
	if err != nil {
		return err
	}
	return h.JS.Try(func() { panic(o) })
}

// guardBuffer limits the size of the buffers that a constructor creates.
func (h *Guards) guardBuffer(name string) {
	limit := h.Limits.Text
	original := h.JS.Get(name).(*goja.Object)
	construct, _ := goja.AssertConstructor(original)
	wrapper := h.replaceConstructor(original, construct, func(args []goja.Value) {
		if len(args) == 0 {
			return
		}
		n := args[0]
		if o, ok := n.(*goja.Object); ok {
			if n = o.Get("length"); n == nil || o.ExportType() == js.ArrayBufferType {
				return
			}
		}
		size := limit / 8
		if name == "ArrayBuffer" {
			size = limit
		}
		h.TooMuch(n.ToFloat(), size, name)
	})
	_ = h.JS.GlobalObject().DefineDataProperty(name, wrapper, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}

// guardTyped limits the length of the text when a typed array is converted to text.
func (h *Guards) guardTyped() {
	const widest = 26 // characters of a number
	proto := h.PrototypeOf("Uint8Array").Prototype()
	for _, name := range []string{"join", "toString", "toLocaleString"} {
		h.guardMethod(proto, name, func(call goja.FunctionCall) {
			o, ok := call.This.(*goja.Object)
			if !ok {
				return
			}
			if n := o.Get("length"); n != nil {
				h.TooMuch(n.ToFloat(), h.Limits.Elements, name)
				if by := call.Argument(0); goja.IsString(by) {
					h.TooMuch(n.ToFloat()*float64(js.TextLength(by)+widest), h.Limits.Text, name)
				}
			}
		})
	}
}

// replaceConstructor replaces a built-in constructor by one that calls check with the arguments first. The prototype
// and the static members stay the same, and subclasses and instanceof work as before.
func (h limiter) replaceConstructor(original *goja.Object, construct goja.Constructor, check func([]goja.Value)) *goja.Object {
	var wrapper *goja.Object
	wrapper = h.JS.ToValue(func(call goja.ConstructorCall) *goja.Object {
		check(call.Arguments)
		target := call.NewTarget
		if target == nil || target == wrapper {
			target = original
		}
		o, err := construct(target, call.Arguments...)
		if err != nil {
			panic(js.Rethrow(err))
		}
		return o
	}).(*goja.Object)
	h.inheritProperties(original, wrapper)
	return wrapper
}

// guardJSON replaces JSON.parse and JSON.stringify, because goja does not limit their recursion. Another difference
// is that the new JSON.stringify writes a BigInt as a number.
func (h *Guards) guardJSON() {
	json := h.JS.Get("JSON").(*goja.Object)
	h.replaceMethod(json, "parse", func(call goja.FunctionCall) goja.Value {
		text, limits := []byte(call.Argument(0).String()), h.Limits
		if js.TooManyValues(text, limits.Elements) {
			panic(h.RangeError("JSON.parse: more than %d values", limits.Elements))
		}
		decoded, err := wire.DecodeTo(limits.Depth, text)
		if err != nil {
			o, e := h.JS.New(h.JS.Get("SyntaxError"), h.JS.ToValue(err.Error()))
			js.Must(e)
			panic(o)
		}
		value := h.FromJSON(decoded)
		if reviver, ok := goja.AssertFunction(call.Argument(1)); ok {
			root := h.JS.NewObject()
			_ = root.Set("", value)
			return h.reviveValue(root, "", reviver, 0)
		}
		return value
	})
	h.replaceMethod(json, "stringify", h.Stringify)
	raw, _ := goja.AssertFunction(json.Get("rawJSON"))
	h.Method(h.PrototypeOf("BigInt"), "toJSON", func(call goja.FunctionCall) goja.Value {
		v, err := raw(json, h.JS.ToValue(call.This.String()))
		if err != nil {
			panic(js.Rethrow(err))
		}
		return v
	})
}

// reviveValue calls reviver, the function that is the second argument of JSON.parse, for the member key of holder. If
// the value of the member is an object or an array, it first does the same for each member of that value.
func (h limiter) reviveValue(holder *goja.Object, key string, reviver goja.Callable, depth int) goja.Value {
	value := holder.Get(key)
	if value == nil {
		value = goja.Undefined()
	}
	if o, ok := value.(*goja.Object); ok {
		if depth > h.Limits.Depth { // the reviver can add nested objects
			panic(h.RangeError("JSON.parse: nested deeper than %d", h.Limits.Depth))
		}
		one := func(k string) {
			if v := h.reviveValue(o, k, reviver, depth+1); goja.IsUndefined(v) {
				_ = o.Delete(k)
			} else {
				h.Put(o, k, v)
			}
		}
		if o.ClassName() == "Array" {
			h.TooLong(o, "JSON.parse")
			for i := range int(o.Get("length").ToInteger()) {
				one(h.IndexText(i))
			}
		} else {
			for _, k := range o.Keys() {
				one(k)
			}
		}
	}
	v, err := reviver(holder, h.JS.ToValue(key), value)
	if err != nil {
		panic(js.Rethrow(err))
	}
	return v
}

// preludeFunctions is a JavaScript expression for an array of the constructors
// that create functions from text.
const preludeFunctions = "[Function, (async () => 1).constructor, (function* () {}).constructor]"
