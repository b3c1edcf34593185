package exchange

import (
	"net"
	"net/http"
	"sort"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine/script/access"
	"restsrv/engine/script/vm"
)

type requestPart struct {
	name  string
	value goja.Value
}

// requestFields is the Go value that computes the fields of req when a script first reads them. It is the prototype
// of req; req itself is an ordinary object.
type requestFields struct {
	h      *Binding
	c      *vm.Call
	body   Body
	parts  []requestPart // the fields that a script has read; a list, because they are few
	stream *goja.Object  // the body as a stream; nil until a script reads it
}

// Call returns the call that the req object belongs to; see vm.CallOf.
func (f *requestFields) Call() *vm.Call { return f.c }

var requestKeys = []string{
	"method", "url", "originalUrl", "baseUrl", "path", "params", "query", "body", "rawBody", "headers", "user",
	"ip", "hostname", "protocol", "secure", "id",
}

// Get implements goja.DynamicObject. It returns a field of the request.
func (f *requestFields) Get(name string) goja.Value {
	for _, p := range f.parts {
		if p.name == name {
			return p.value
		}
	}
	v := f.readField(name)
	if v != nil {
		f.parts = append(f.parts, requestPart{name, v})
	}
	return v
}

// Set implements goja.DynamicObject. It is never called, because an assignment
// creates a property of req itself.
func (f *requestFields) Set(string, goja.Value) bool { return false }

// Delete implements goja.DynamicObject. It is never called.
func (f *requestFields) Delete(string) bool { return true }

// Has implements goja.DynamicObject.
func (f *requestFields) Has(name string) bool {
	for _, k := range requestKeys {
		if k == name {
			return true
		}
	}
	return false
}

// Keys implements goja.DynamicObject.
func (f *requestFields) Keys() []string { return requestKeys }

func (f *requestFields) readField(name string) goja.Value {
	h, r := f.h, f.c.Req
	text := func(s string) goja.Value { return h.JS.ToValue(s) }
	switch name {
	case "method":
		return text(r.Method)
	case "path":
		return text(r.Path)
	case "url":
		return text(withQuery(r.Path, r.RawQuery))
	case "baseUrl":
		return text("/rest/" + r.Service)
	case "originalUrl":
		return text("/rest/" + r.Service + withQuery(r.Path, r.RawQuery))
	case "params":
		o := h.JS.NewObject()
		for _, p := range r.Params {
			h.Put(o, p.Name, text(p.Value))
		}
		return o
	case "query":
		return h.FromDecoded(parseQuery(r.RawQuery))
	case "body":
		return h.BodyValue(f.body)
	case "rawBody":
		return h.rawBodyValue(f.body)
	case "headers":
		o := h.headerObject(r.Header)
		h.Put(o, "host", text(r.Host))
		return o
	case "user":
		return access.UserObject(h.Realm, r.Account)
	case "ip":
		return text(r.RemoteIP)
	case "hostname":
		return text(hostnameOf(r.Host))
	case "protocol":
		if r.Secure {
			return text("https")
		}
		return text("http")
	case "secure":
		return h.JS.ToValue(r.Secure)
	case "id":
		return text(r.ID)
	}
	return nil
}

func withQuery(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + query
}

func hostnameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

func (h *Binding) headerObject(header http.Header) *goja.Object {
	names := make([]string, 0, len(header))
	for n := range header {
		names = append(names, n)
	}
	sort.Strings(names)
	o := h.JS.NewObject()
	for _, n := range names {
		h.Put(o, strings.ToLower(n), h.JS.ToValue(headerText(n, header[n])))
	}
	return o
}

func headerText(name string, values []string) string {
	if name == "Cookie" {
		return strings.Join(values, "; ")
	}
	return strings.Join(values, ", ")
}

// requestObject creates the object req for a call.
func (h *Binding) requestObject(c *vm.Call, b Body) *goja.Object {
	if h.requestProto == nil {
		h.requestProto = h.newRequestProto()
	}
	fields := h.JS.NewDynamicObject(&requestFields{h: h, c: c, body: b})
	_ = fields.SetPrototype(h.requestProto)
	return h.JS.CreateObject(fields)
}

// requestOf returns the fields of a req object. It throws if v is not a req object.
func (h *Binding) requestOf(v goja.Value) *requestFields {
	if o, ok := v.(*goja.Object); ok {
		if proto := o.Prototype(); proto != nil {
			if f, ok := proto.Export().(*requestFields); ok {
				return f
			}
		}
	}
	panic(h.JS.NewTypeError("this method must be called on the request"))
}

func (h *Binding) newRequestProto() *goja.Object {
	proto := h.JS.NewObject()
	methods := h.MethodsOf(proto)
	get := func(call goja.FunctionCall) goja.Value {
		c := h.requestOf(call.This).c
		name := http.CanonicalHeaderKey(call.Argument(0).String())
		if name == "Referrer" {
			name = "Referer"
		}
		if name == "Host" { // net/http does not keep the header Host in Req.Header
			return h.JS.ToValue(c.Req.Host)
		}
		if values := c.Req.Header[name]; len(values) > 0 {
			return h.JS.ToValue(headerText(name, values))
		}
		return goja.Undefined()
	}
	methods.Add("get", get)
	methods.Add("header", get)
	h.expressMethods(methods)
	h.addWaitUntil(proto)
	return proto
}

// addWaitUntil adds req.waitUntil(promise). It is a getter, so that operations that the script starts for the argument
// do not run on the goroutine of the request, which has to send the answer.
func (h *Binding) addWaitUntil(proto *goja.Object) {
	wait := h.NewFunction("waitUntil", func(call goja.FunctionCall) goja.Value {
		c := h.requestOf(call.This).c
		h.ActiveCall("req.waitUntil")
		if err := c.WaitUntil(call.Argument(0)); err != nil {
			if vm.IsUncatchable(err) {
				panic(err)
			}
			panic(h.ErrorOf(err, h.CallStack()))
		}
		return goja.Undefined()
	})
	get := h.NewFunction("get waitUntil", func(call goja.FunctionCall) goja.Value {
		if o, ok := call.This.(*goja.Object); ok && o.Prototype() != nil {
			if f, ok := o.Prototype().Export().(*requestFields); ok {
				f.c.Detach()
			}
		}
		return wait
	})
	_ = proto.DefineAccessorProperty("waitUntil", get, nil, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
