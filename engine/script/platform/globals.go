package platform

import "github.com/dop251/goja"

// builder makes a value for one VM. It panics with a JavaScript error if it fails.
type builder func(p *Platform) goja.Value

// globals returns the builders of the globals by name.
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

		"Buffer":          exported("buffer", "Buffer"),
		"TextEncoder":     exported("#encoding", "TextEncoder"),
		"TextDecoder":     exported("#encoding", "TextDecoder"),
		"URL":             exported("#url", "URL"),
		"URLSearchParams": exported("#url", "URLSearchParams"),
		"fetch":           exported("#fetch", "fetch"),
		"Request":         exported("#fetch", "Request"),
		"Response":        exported("#fetch", "Response"),
		"Headers":         exported("#headers", "Headers"),
		"Blob":            exported("#body", "Blob"),
		"File":            exported("#body", "File"),
		"FormData":        exported("#body", "FormData"),
		"DOMException":    exported("#event", "DOMException"),
		"Event":           exported("#event", "Event"),
		"CustomEvent":     exported("#event", "CustomEvent"),
		"EventTarget":     exported("#event", "EventTarget"),
		"AbortController": exported("#event", "AbortController"),
		"AbortSignal":     exported("#event", "AbortSignal"),
	}
}

var table = globals()

// HasGlobal reports whether a global with this name exists.
func HasGlobal(name string) bool { return table[name] != nil }

// Global returns a global, or nil if HasGlobal returns false for the name. The caller should call it once per VM and
// keep the value.
func (p *Platform) Global(name string) goja.Value {
	build := table[name]
	if build == nil {
		return nil
	}
	return build(p)
}
