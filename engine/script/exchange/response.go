package exchange

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
)

// BuildResponse converts the result of a handler to a response and checks its size. It must be called inside goja's
// Try.
func (h *Binding) BuildResponse(result goja.Value) *service.Response {
	r := h.responseOf(result)
	if limit := h.Limits.Response; len(r.Body) > limit {
		panic(js.ResultError(fmt.Sprintf("the result is larger than %d bytes", limit)))
	}
	return r
}

func (h *Binding) responseOf(result goja.Value) *service.Response {
	if result == nil || goja.IsUndefined(result) {
		return &service.Response{}
	}
	if h.Service.Legacy {
		if r := h.legacyResponse(result); r != nil {
			return r
		}
	}
	o, ok := result.(*goja.Object)
	if !ok {
		return h.jsonResponse(result)
	}
	if o.ClassName() == "Function" && !h.Service.Legacy {
		panic(js.ResultError("the handler returned a function: call it, or return its name"))
	}
	if b, ok := js.BytesOf(o); ok {
		return &service.Response{ContentType: octetStream, Body: append([]byte(nil), b...)}
	}
	if h.Platform != nil {
		if made := h.Platform.Answer(o); made != nil {
			return h.envelopeResponse(made, made.Get("data"))
		}
		if described := h.Platform.Events(o); described != nil {
			return h.eventsResponse(described)
		}
		if vm.IsStream(h.VM, o) {
			return h.streamResponse(o)
		}
	}
	if o.ClassName() == "Object" && !js.IsStored(o) {
		if data := o.Get("data"); data != nil && isPayload(data) && hasOwn(o, "data") {
			return h.envelopeResponse(o, data)
		}
	}
	return h.jsonResponse(result)
}

const octetStream = "application/octet-stream"
const htmlText = "text/html; charset=utf-8"

// legacyResponse converts a string or number as IONDV's Service class does: a string is HTML, a number is a status.
// It returns nil for other values.
func (h *Binding) legacyResponse(result goja.Value) *service.Response {
	switch {
	case goja.IsString(result):
		return &service.Response{ContentType: htmlText, Body: []byte(result.String())}
	case goja.IsNumber(result):
		status := statusOf(result)
		return text(status, http.StatusText(status))
	}
	return nil
}

func statusOf(v goja.Value) int {
	f := v.ToFloat()
	if !(f >= 200 && f <= 599 && f == float64(int(f))) {
		panic(js.ResultError(fmt.Sprintf("%v is no HTTP status from 200 to 599", f)))
	}
	return int(f)
}

func (h *Binding) jsonResponse(result goja.Value) *service.Response {
	body, ok := h.toJSON(result)
	if !ok {
		return &service.Response{}
	}
	return service.JSON(body)
}

// keptScratch is the maximum size of the JSON buffer that a VM keeps for the next call, in bytes.
const keptScratch = 64 << 10

// toJSON returns the JSON of a value in newly allocated memory. It returns false if the value has no JSON.
func (h *Binding) toJSON(value goja.Value) ([]byte, bool) {
	w := h.writer
	if w == nil { // the writer is in use: it calls a toJSON method of the script, and that method has led here
		w = js.NewWriter(h.Realm, h.Limits.Response, h.Limits.Depth)
	}
	h.writer = nil
	w.Reset(h.Limits.Response)
	ok := w.WriteValue(value)
	h.Tally.RawRows += w.Rows
	if key := w.Pending; key != "" {
		args := []any{"member", key}
		if c := h.Call; c != nil {
			args = append(args, "method", c.Req.Method, "path", c.Req.Path)
		}
		h.Service.WarnOf("promise "+key, "an answer contains a promise, which is sent as {}: write await before the value", args...)
	}
	buf := w.Bytes()
	if cap(buf) > keptScratch {
		return buf, ok
	}
	h.writer = w
	return append(make([]byte, 0, len(buf)), buf...), ok
}

// isPayload reports whether v may be the member data of an envelope {data, headers, status}.
func isPayload(v goja.Value) bool {
	switch {
	case goja.IsString(v), goja.IsNull(v):
		return true
	}
	_, ok := v.(*goja.Object)
	return ok
}

func hasOwn(o *goja.Object, name string) bool {
	for _, k := range o.GetOwnPropertyNames() {
		if k == name {
			return true
		}
	}
	return false
}

// envelopeResponse returns the response for a result {data, headers, status}.
func (h *Binding) envelopeResponse(o *goja.Object, data goja.Value) *service.Response {
	r := h.payloadResponse(data)
	for _, k := range o.Keys() {
		switch k {
		case "data":
		case "headers":
			h.setHeaders(r, o.Get(k))
		case "status":
			if s := o.Get(k); goja.IsNumber(s) {
				r.Status = statusOf(s)
			} else if !goja.IsUndefined(s) {
				h.Service.Warn("a handler returned an object with data and a status that is no number: the status is dropped; return {data: object} to send it whole")
			}
		default:
			h.Service.Warn("a handler returned an object with data and other keys: they are dropped; return {data: object} to send it whole", "key", k)
		}
	}
	if goja.IsString(data) && strings.HasPrefix(r.ContentType, "text/") && !strings.Contains(r.ContentType, "charset") {
		r.ContentType += "; charset=utf-8"
	}
	if r.Status == http.StatusNoContent || r.Status == http.StatusNotModified {
		r.Body, r.ContentType = nil, "" // streamOf ends a stream
	}
	return r
}

func (h *Binding) payloadResponse(data goja.Value) *service.Response {
	if goja.IsString(data) {
		return &service.Response{ContentType: htmlText, Body: []byte(data.String())}
	}
	if o, ok := data.(*goja.Object); ok {
		if b, ok := js.BytesOf(o); ok {
			return &service.Response{ContentType: octetStream, Body: append([]byte(nil), b...)}
		}
	}
	if vm.IsStream(h.VM, data) {
		return h.streamResponse(data)
	}
	return h.jsonResponse(data)
}

// setHeaders sets the headers of the response from the member headers of an envelope: an object, or a list of lines
// "name: value".
func (h *Binding) setHeaders(r *service.Response, headers goja.Value) {
	o, ok := headers.(*goja.Object)
	if !ok {
		return
	}
	if o.ClassName() == "Array" {
		for i := range int(o.Get("length").ToInteger()) {
			line := o.Get(h.IndexText(i)).String()
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				panic(js.ResultError("header line " + engine.Quote(line) + " has no colon"))
			}
			h.setHeader(r, strings.TrimSpace(name), value)
		}
		return
	}
	for _, name := range o.Keys() {
		value := o.Get(name)
		list, ok := value.(*goja.Object)
		if !ok || list.ClassName() != "Array" {
			h.setHeader(r, name, value.String())
			continue
		}
		for i := range int(list.Get("length").ToInteger()) {
			h.setHeader(r, name, list.Get(h.IndexText(i)).String())
		}
	}
}

// connectionHeaders are the headers that only the server can set.
const connectionHeaders = " Content-Length Transfer-Encoding Connection Keep-Alive Upgrade Trailer Te Date "

func (h *Binding) setHeader(r *service.Response, name, value string) {
	value = strings.TrimSpace(value)
	if err := checkHeader(name, value); err != nil {
		panic(js.ResultError(err.Error()))
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case name == "Content-Type":
		if _, _, err := mime.ParseMediaType(value); err != nil {
			panic(js.ResultError("content type " + engine.Quote(value) + " is malformed"))
		}
		r.ContentType = value
	case name == "Etag":
		r.ETag = value
	case strings.Contains(connectionHeaders, " "+name+" "):
		h.Service.Warn("a handler set a header that belongs to the server; it is dropped", "header", name)
	default:
		r.SetHeader(name, value)
	}
}

// checkHeader returns an error if name or value contains characters that are not allowed in a header (RFC 9110
// section 5). Otherwise, a line break in a value could add another header.
func checkHeader(name, value string) error {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) {
			return errors.New("header name " + engine.Quote(name) + " is malformed")
		}
	}
	if name == "" {
		return errors.New("a header has no name")
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return errors.New("the value of header " + engine.Quote(name) + " has a control character")
		}
	}
	return nil
}
