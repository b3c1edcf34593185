package exchange

import (
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/js"
)

// expressMethods adds those methods of req that Express defines: is, accepts, and the methods of a stream. The method
// get is in newRequestProto.
func (h *Binding) expressMethods(methods *js.Methods) {
	add := func(name string, f func(r *requestFields, fc goja.FunctionCall) goja.Value) {
		methods.Add(name, func(fc goja.FunctionCall) goja.Value { return f(h.requestOf(fc.This), fc) })
	}
	header := func(r *requestFields, name string) goja.Value {
		if values := r.c.Req.Header[name]; len(values) > 0 {
			return h.JS.ToValue(strings.Join(values, ", "))
		}
		return goja.Undefined()
	}
	add("is", func(r *requestFields, fc goja.FunctionCall) goja.Value {
		return h.CallModule("#request", "is", append([]goja.Value{header(r, "Content-Type"), h.JS.ToValue(r.body.Kind != noBody)}, fc.Arguments...)...)
	})
	add("accepts", func(r *requestFields, fc goja.FunctionCall) goja.Value {
		return h.CallModule("#request", "accepts", append([]goja.Value{header(r, "Accept")}, fc.Arguments...)...)
	})
	streaming := func(name string) func(r *requestFields, fc goja.FunctionCall) goja.Value {
		return func(r *requestFields, fc goja.FunctionCall) goja.Value {
			s := h.bodyStream(r)
			method, _ := goja.AssertFunction(s.Get(name))
			v, err := method(s, fc.Arguments...)
			if err != nil {
				panic(js.Rethrow(err))
			}
			if v == s {
				return fc.This
			}
			return v
		}
	}
	for _, name := range []string{"on", "once", "addListener", "removeListener", "off", "setEncoding", "read", "resume", "pause", "pipe"} {
		add(name, streaming(name))
	}
	if h.Platform == nil {
		return // without the platform, Symbol.asyncIterator does not exist, and creating Symbol is slow
	}
	if symbol, ok := h.JS.Get("Symbol").(*goja.Object).Get("asyncIterator").(*goja.Symbol); ok {
		_ = methods.Owner.SetSymbol(symbol, h.NewFunction("[Symbol.asyncIterator]", func(fc goja.FunctionCall) goja.Value {
			s := h.bodyStream(h.requestOf(fc.This))
			method, _ := goja.AssertFunction(s.GetSymbol(symbol))
			v, err := method(s)
			if err != nil {
				panic(js.Rethrow(err))
			}
			return v
		}))
	}
}

// bodyStream returns the body of a request as a stream. It creates the stream at the first call. It throws if the
// body was parsed as JSON or a form.
func (h *Binding) bodyStream(r *requestFields) *goja.Object {
	if r.stream == nil {
		switch r.body.Kind {
		case streamBody:
			r.stream = h.CallModule("#body", "incoming", h.inputStream(r.body.input)).(*goja.Object)
			return r.stream
		case DecodedBody, formBody:
			panic(h.NewError("the body of this request was parsed: read req.body, it is no stream any more", "not-supported"))
		}
		r.stream = h.NewStream(r.body.Raw)
	}
	return r.stream
}
