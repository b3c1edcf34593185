package platform

import "github.com/dop251/goja"

// builder creates the value of a global or module for one VM. If it fails, it panics with a JavaScript error.
type builder func(p *Platform) goja.Value

// globals returns the builders of the globals, by name of the global.
func globals() map[string]builder {
	return map[string]builder{
		"global":          func(p *Platform) goja.Value { return p.js.GlobalObject() },
		"atob":            atob,
		"btoa":            btoa,
		"performance":     performance,
		"process":         process,
		"structuredClone": structuredClone,
		"crypto":          func(p *Platform) goja.Value { return p.Module("crypto") },
		"Intl":            intl,

		"Buffer":          exportedGlobal("buffer", "Buffer"),
		"TextEncoder":     exportedGlobal("#encoding", "TextEncoder"),
		"TextDecoder":     exportedGlobal("#encoding", "TextDecoder"),
		"URL":             exportedGlobal("#url", "URL"),
		"URLSearchParams": exportedGlobal("#url", "URLSearchParams"),
		"fetch":           exportedGlobal("#fetch", "fetch"),
		"Request":         exportedGlobal("#fetch", "Request"),
		"Response":        exportedGlobal("#fetch", "Response"),
		"Headers":         exportedGlobal("#headers", "Headers"),
		"Blob":            exportedGlobal("#body", "Blob"),
		"File":            exportedGlobal("#body", "File"),
		"FormData":        exportedGlobal("#body", "FormData"),
		"CryptoKey":       exportedGlobal("#subtle", "CryptoKey"),
		"SubtleCrypto":    exportedGlobal("#subtle", "SubtleCrypto"),
		"DOMException":    exportedGlobal("#event", "DOMException"),
		"Event":           exportedGlobal("#event", "Event"),
		"CustomEvent":     exportedGlobal("#event", "CustomEvent"),
		"EventTarget":     exportedGlobal("#event", "EventTarget"),
		"AbortController": exportedGlobal("#event", "AbortController"),
		"AbortSignal":     exportedGlobal("#event", "AbortSignal"),
	}
}

// streamGlobals are the classes of the web streams.
var streamGlobals = []string{
	"ReadableStream", "ReadableStreamDefaultReader", "ReadableStreamBYOBReader", "ReadableStreamDefaultController",
	"ReadableByteStreamController", "ReadableStreamBYOBRequest", "WritableStream", "WritableStreamDefaultWriter",
	"WritableStreamDefaultController", "TransformStream", "TransformStreamDefaultController", "ByteLengthQueuingStrategy",
	"CountQueuingStrategy", "TextEncoderStream", "TextDecoderStream", "CompressionStream", "DecompressionStream",
}

var table = everyGlobal()

func everyGlobal() map[string]builder {
	all := globals()
	for _, name := range streamGlobals {
		all[name] = exportedGlobal("#streams", name)
	}
	return all
}

// HasGlobal reports whether the platform has a global with this name.
func HasGlobal(name string) bool { return table[name] != nil }

// Global creates the value of a global. It returns nil if the platform has no such global. The caller should call it
// once per VM and keep the value.
func (p *Platform) Global(name string) goja.Value {
	build := table[name]
	if build == nil {
		return nil
	}
	return build(p)
}
