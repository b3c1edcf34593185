package platform

import (
	"embed"
	"errors"
	"strings"
	"weak"

	"github.com/dop251/goja"
)

//go:embed patches
var patchFiles embed.FS

// polyfills returns patches for the built-ins of the language that goja does not have. A source text that uses such a
// built-in contains one of the words of its patch. The words of the patch "iterators" cover all expressions that can
// create an iterator.
func polyfills() []patch {
	return []patch{
		polyfill("symbols", nil, "syncIterator", "ispose", "isposable", "SuppressedError"),
		polyfill("group-by", nil, "groupBy"),
		polyfill("promise", nil, "withResolvers", "Promise.try", "['try']", `["try"]`, "try:"),
		polyfill("from-async", nil, "fromAsync"),
		polyfill("well-formed", nil, "WellFormed"),
		polyfill("accessors", nil, "Getter__", "Setter__"),
		polyfill("regexp-escape", nil, "escape"),
		polyfill("iterators", nil, "Iterator", "yield", "function*", "function *", "values()", "keys()", "entries()", "matchAll", "Symbol.iterator", ".take", ".drop", ".toArray"),
		polyfill("disposable", nil, "Disposable", "SuppressedError", ".dispose"),
		polyfill("upsert", nil, "getOrInsert"),
		polyfill("atomics", nil, "Atomics"),
		polyfill("weak", weakNative, "WeakRef", "FinalizationRegistry"),
		polyfill("typed-from", nil, "from("),
		polyfill("proxy", nil, "Proxy"),
		polyfill("transfer", transferNative, "transfer", "detached", "resizable", "maxByteLength"),
		{name: "stack", words: []string{"captureStackTrace", "stackTraceLimit", "prepareStackTrace"}, install: stackTraces},
		polyfill("locale", func(p *Platform) goja.Value { return p.Module("#intl") }, "toLocale", "localeCompare"),
	}
}

// polyfill returns a patch that runs the given file in the folder patches. The file can use two variables.
// define(object, properties) adds properties that are not enumerable, as is usual for built-ins. native is the result
// of the builder native.
func polyfill(file string, native builder, words ...string) patch {
	return patch{name: file, words: words, install: func(p *Platform) {
		text, err := patchFiles.ReadFile("patches/" + file + ".js")
		must(err)
		wrapper, err := p.js.RunProgram(p.host.Program("(function(define,native){'use strict';" + string(text) + "\n})"))
		must(err)
		run, _ := goja.AssertFunction(wrapper)
		help := goja.Undefined()
		if native != nil {
			help = native(p)
		}
		_, err = run(goja.Undefined(), p.js.ToValue(p.addHidden), help)
		must(err)
	}}
}

// addHidden implements define(object, properties). It copies the properties to the object and makes the copies not
// enumerable.
func (p *Platform) addHidden(call goja.FunctionCall) goja.Value {
	target, list := call.Argument(0).ToObject(p.js), call.Argument(1).ToObject(p.js)
	for _, name := range list.Keys() {
		must(target.DefineDataProperty(name, list.Get(name), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	return goja.Undefined()
}

// weakNative returns the Go function for the file patches/weak.js: weak(value), which uses the weak pointers of Go.
// References to symbols are not weak, which is acceptable because symbols are small.
func weakNative(p *Platform) goja.Value {
	return p.newNatives(natives{
		"weak": func(call goja.FunctionCall) goja.Value {
			o, ok := call.Argument(0).(*goja.Object)
			if !ok {
				kept := call.Argument(0)
				return p.js.ToValue(func(goja.FunctionCall) goja.Value { return kept })
			}
			pointer := weak.Make(o)
			return p.js.ToValue(func(goja.FunctionCall) goja.Value {
				if o := pointer.Value(); o != nil {
					return o
				}
				return goja.Undefined()
			})
		},
	})
}

func transferNative(p *Platform) goja.Value {
	buffer := func(call goja.FunctionCall) goja.ArrayBuffer {
		if o, ok := call.Argument(0).(*goja.Object); ok {
			if b, ok := o.Export().(goja.ArrayBuffer); ok {
				return b
			}
		}
		panic(p.js.NewTypeError("this is no ArrayBuffer"))
	}
	return p.newNatives(natives{
		"detached": func(call goja.FunctionCall) goja.Value { return p.js.ToValue(buffer(call).Detached()) },
		"detach":   func(call goja.FunctionCall) goja.Value { b := buffer(call); return p.js.ToValue(b.Detach()) },
	})
}

// defaultStackLimit is the default of Error.stackTraceLimit, the number of calls that Error.captureStackTrace
// records. It does not limit the stacks that goja records in errors.
const defaultStackLimit = 10

// stackTraces adds Error.captureStackTrace(object, from), which sets object.stack. The stack begins with the caller
// of the function from.
func stackTraces(p *Platform) {
	class := p.js.Get("Error").(*goja.Object)
	must(class.Set("stackTraceLimit", defaultStackLimit))
	capture := p.js.ToValue(func(call goja.FunctionCall) goja.Value {
		target, ok := call.Argument(0).(*goja.Object)
		if !ok {
			panic(p.js.NewTypeError("Error.captureStackTrace takes an object"))
		}
		limit := 0
		if n := class.Get("stackTraceLimit"); n != nil && goja.IsNumber(n) {
			limit = max(0, int(min(n.ToFloat(), 1000)))
		}
		frames := p.callFrames(call.Argument(1), limit)
		stack := p.js.ToValue(p.stackHeading(target) + frameText(frames))
		if prepare, ok := goja.AssertFunction(class.Get("prepareStackTrace")); ok {
			v, err := prepare(class, target, p.callSites(frames))
			must(err)
			stack = v
		}
		must(target.DefineDataProperty("stack", stack, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
		return goja.Undefined()
	}).(*goja.Object)
	must(capture.DefineDataProperty("name", p.js.ToValue("captureStackTrace"), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	must(class.DefineDataProperty("captureStackTrace", capture, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// stackHeading returns the first line of a stack: "Name: message".
func (p *Platform) stackHeading(target *goja.Object) string {
	show, ok := goja.AssertFunction(p.js.Get("Error").(*goja.Object).Get("prototype").(*goja.Object).Get("toString"))
	if !ok {
		return "Error"
	}
	v, err := show(target)
	var ex *goja.Exception
	if errors.As(err, &ex) {
		return "Error"
	}
	must(err)
	return v.String()
}

// callFrames returns at most limit active calls, beginning with the caller of the function from.
func (p *Platform) callFrames(from goja.Value, limit int) []goja.StackFrame {
	frames := p.js.CaptureCallStack(0, nil)[1:] // without captureStackTrace itself
	if f, ok := from.(*goja.Object); ok {
		name := ""
		if v := f.Get("name"); v != nil {
			name = v.String()
		}
		for i := range frames {
			if frames[i].FuncName() == name && name != "" {
				frames = frames[i+1:]
				break
			}
		}
	}
	return frames[:min(limit, len(frames))]
}

// callSites returns the array of calls that Error.prepareStackTrace receives. It works as in V8, as far as packages use
// it: to find the file and the line of their caller.
func (p *Platform) callSites(frames []goja.StackFrame) goja.Value {
	list := make([]any, len(frames))
	for i := range frames {
		at := frames[i].Position()
		site := p.js.NewObject()
		text := strings.TrimPrefix(frameText(frames[i:i+1]), "\n\tat ")
		for name, v := range map[string]any{
			"getFileName": at.Filename, "getScriptNameOrSourceURL": at.Filename, "getLineNumber": at.Line, "getColumnNumber": at.Column,
			"getFunctionName": frames[i].FuncName(), "getMethodName": frames[i].FuncName(), "getTypeName": "Object",
			"isNative": at.Filename == "", "isEval": false, "isToplevel": true, "isConstructor": false, "isAsync": false, "toString": text,
			"getThis": nil, "getFunction": nil, "getEvalOrigin": nil,
		} {
			result := goja.Undefined()
			if v != nil {
				result = p.js.ToValue(v)
			}
			_ = site.Set(name, p.newFunction(name, func(goja.FunctionCall) goja.Value { return result }))
		}
		list[i] = site
	}
	return p.js.NewArray(list...)
}

// frameText returns calls as text, in the format of goja's stacks.
func frameText(frames []goja.StackFrame) string {
	var b strings.Builder
	for i := range frames {
		b.WriteString("\n\tat ")
		at := frames[i].Position()
		place := at.String() + "(0)" // goja appends its program counter in parentheses
		if at.Filename == "" {
			place = "native"
		}
		if name := frames[i].FuncName(); name != "" {
			b.WriteString(name + " (" + place + ")")
		} else {
			b.WriteString(place)
		}
	}
	return b.String()
}
