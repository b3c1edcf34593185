package script

import (
	"strings"

	"github.com/dop251/goja"
)

// expressMethods adds the Express methods of requests, except get: is, accepts and the methods of a stream.
func (h *host) expressMethods(methods *methods) {
	add := func(name string, f func(c *call, fc goja.FunctionCall) goja.Value) {
		methods.add(name, func(fc goja.FunctionCall) goja.Value { return f(h.requestOf(fc.This), fc) })
	}
	header := func(c *call, name string) goja.Value {
		if values := c.req.Header[name]; len(values) > 0 {
			return h.js.ToValue(strings.Join(values, ", "))
		}
		return goja.Undefined()
	}
	add("is", func(c *call, fc goja.FunctionCall) goja.Value {
		return h.callModule("#request", "is", append([]goja.Value{header(c, "Content-Type"), h.js.ToValue(c.body.kind != noBody)}, fc.Arguments...)...)
	})
	add("accepts", func(c *call, fc goja.FunctionCall) goja.Value {
		return h.callModule("#request", "accepts", append([]goja.Value{header(c, "Accept")}, fc.Arguments...)...)
	})
	streaming := func(name string) func(c *call, fc goja.FunctionCall) goja.Value {
		return func(c *call, fc goja.FunctionCall) goja.Value {
			s := h.bodyStream(c)
			method, _ := goja.AssertFunction(s.Get(name))
			v, err := method(s, fc.Arguments...)
			if err != nil {
				panic(rethrow(err))
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
	if h.platform == nil {
		return // without the platform there is no Symbol.asyncIterator, and creating Symbol is slow
	}
	if symbol, ok := h.js.Get("Symbol").(*goja.Object).Get("asyncIterator").(*goja.Symbol); ok {
		_ = methods.owner.SetSymbol(symbol, h.newFunction("[Symbol.asyncIterator]", func(fc goja.FunctionCall) goja.Value {
			s := h.bodyStream(h.requestOf(fc.This))
			method, _ := goja.AssertFunction(s.GetSymbol(symbol))
			v, err := method(s)
			if err != nil {
				panic(rethrow(err))
			}
			return v
		}))
	}
}

// callModule calls a function of a built-in module.
func (h *host) callModule(module, name string, args ...goja.Value) goja.Value {
	f, _ := goja.AssertFunction(h.ensurePlatform().Module(module).(*goja.Object).Get(name))
	v, err := f(goja.Undefined(), args...)
	if err != nil {
		panic(rethrow(err))
	}
	return v
}

// bodyStream returns the body of a request as a stream, which it makes at the first call. It throws if the body was
// parsed.
func (h *host) bodyStream(c *call) *goja.Object {
	if c.js.stream == nil {
		switch c.body.kind {
		case decodedBody, formBody:
			panic(h.newError("the body of this request was parsed: read req.body, it is no stream any more", "not-supported"))
		}
		c.js.stream = h.newStream(c.body.raw)
	}
	return c.js.stream
}

// newStream returns a stream of a copy of content.
func (h *host) newStream(content []byte) *goja.Object {
	o, err := h.js.New(h.ensurePlatform().Module("#stream"), h.newBytes(append([]byte(nil), content...)))
	must(err)
	return o
}

// streamOf adds the property stream to an object. The stream is made when the property is first read.
func (h *host) streamOf(o *goja.Object, content []byte) {
	var made goja.Value
	get := h.newFunction("stream", func(goja.FunctionCall) goja.Value {
		if made == nil {
			made = h.newStream(content)
		}
		return made
	})
	_ = o.DefineAccessorProperty("stream", get, nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
