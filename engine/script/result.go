package script

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/textproto"
	"reflect"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
)

// answerCall converts the value that a handler returned to the outcome of its
// call. It returns an error that scripts cannot catch.
func (v *vm) answerCall(c *call, result goja.Value) (err error) {
	v.cur = c
	var o outcome
	defer func() {
		x := recover()
		if x == nil {
			return
		}
		bad, ok := x.(errResult)
		if !ok {
			panic(x)
		}
		c.fail(&Failure{Message: string(bad)})
	}()
	ex := v.js.Try(func() { o = v.jobOutcome(c, result) })
	if ex != nil {
		c.fail(v.describeThrown(ex.Value(), ex))
		return nil
	}
	if why := v.clock.expired(); why != nil {
		c.fail(v.describeAbort(nil, why))
		return nil
	}
	v.tally.flush(&v.gen.lasting.counters) // flush first, so that the metrics include the call when the client gets the answer
	c.finish(o)
	return nil
}

// buildResponse returns the response for a result and checks its size. It must
// be called inside Try.
func (v *vm) buildResponse(result goja.Value) *engine.Response {
	r := v.responseOf(result)
	if limit := v.gen.limits.Response; len(r.Body) > limit {
		panic(errResult(fmt.Sprintf("the result is larger than %d bytes", limit)))
	}
	return r
}

func (v *vm) responseOf(result goja.Value) *engine.Response {
	if result == nil || goja.IsUndefined(result) {
		return &engine.Response{}
	}
	if v.gen.legacy {
		if r := v.legacyResponse(result); r != nil {
			return r
		}
	}
	o, ok := result.(*goja.Object)
	if !ok {
		return v.jsonResponse(result)
	}
	if o.ClassName() == "Function" && !v.gen.legacy {
		panic(errResult("the handler returned a function: call it, or return its name"))
	}
	if b, ok := bytesOf(o); ok {
		return &engine.Response{ContentType: octetStream, Body: append([]byte(nil), b...)}
	}
	if v.host.platform != nil {
		if made := v.host.platform.Answer(o); made != nil {
			return v.envelopeResponse(made, made.Get("data"))
		}
	}
	if o.ClassName() == "Object" && itemOf(o) == nil {
		if data := o.Get("data"); data != nil && isPayload(data) && hasOwn(o, "data") {
			return v.envelopeResponse(o, data)
		}
	}
	return v.jsonResponse(result)
}

const octetStream = "application/octet-stream"
const htmlText = "text/html; charset=utf-8"

// legacyResponse converts strings and numbers in the same way as the base class
// of IONDV. It returns nil for other values.
func (v *vm) legacyResponse(result goja.Value) *engine.Response {
	switch {
	case goja.IsString(result):
		return &engine.Response{ContentType: htmlText, Body: []byte(result.String())}
	case goja.IsNumber(result):
		status := statusOf(result)
		return text(status, http.StatusText(status))
	}
	return nil
}

func statusOf(v goja.Value) int {
	f := v.ToFloat()
	if !(f >= 200 && f <= 599 && f == float64(int(f))) {
		panic(errResult(fmt.Sprintf("%v is no HTTP status from 200 to 599", f)))
	}
	return int(f)
}

func (v *vm) jsonResponse(result goja.Value) *engine.Response {
	body, ok := v.toJSON(result)
	if !ok {
		return &engine.Response{}
	}
	return engine.JSON(body)
}

// keptScratch is the maximum size of a buffer that a VM keeps between calls.
const keptScratch = 64 << 10

// toJSON returns the JSON of a value, in newly allocated memory.
func (v *vm) toJSON(value goja.Value) ([]byte, bool) {
	limits := &v.gen.limits
	w := writer{h: v.host, buf: v.scratch[:0], size: limits.Response, deep: limits.Depth}
	v.scratch = nil // a method toJSON of the value may get here again
	ok := w.writeValue(value)
	v.tally.rawRows += w.rows
	if cap(w.buf) > keptScratch {
		return w.buf, ok
	}
	v.scratch = w.buf
	return append(make([]byte, 0, len(w.buf)), w.buf...), ok
}

// isPayload reports whether a value may be the data of an envelope.
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

// envelopeResponse returns the response for {data, headers, status}.
func (v *vm) envelopeResponse(o *goja.Object, data goja.Value) *engine.Response {
	r := v.payloadResponse(data)
	for _, k := range o.Keys() {
		switch k {
		case "data":
		case "headers":
			v.setHeaders(r, o.Get(k))
		case "status":
			if s := o.Get(k); goja.IsNumber(s) {
				r.Status = statusOf(s)
			} else if !goja.IsUndefined(s) {
				v.gen.warn("a handler returned an object with data and a status that is no number: the status is dropped; return {data: object} to send it whole")
			}
		default:
			v.gen.warn("a handler returned an object with data and other keys: they are dropped; return {data: object} to send it whole", "key", k)
		}
	}
	if goja.IsString(data) && strings.HasPrefix(r.ContentType, "text/") && !strings.Contains(r.ContentType, "charset") {
		r.ContentType += "; charset=utf-8"
	}
	if r.Status == http.StatusNoContent || r.Status == http.StatusNotModified {
		r.Body, r.ContentType = nil, ""
	}
	return r
}

func (v *vm) payloadResponse(data goja.Value) *engine.Response {
	if goja.IsString(data) {
		return &engine.Response{ContentType: htmlText, Body: []byte(data.String())}
	}
	if o, ok := data.(*goja.Object); ok {
		if b, ok := bytesOf(o); ok {
			return &engine.Response{ContentType: octetStream, Body: append([]byte(nil), b...)}
		}
	}
	return v.jsonResponse(data)
}

var arrayBufferType = reflect.TypeFor[goja.ArrayBuffer]()

// bytesOf returns the bytes of an ArrayBuffer or a typed array. They are shared
// with the script.
func bytesOf(o *goja.Object) ([]byte, bool) {
	t := o.ExportType()
	if t == arrayBufferType {
		b, ok := o.Export().(goja.ArrayBuffer)
		return b.Bytes(), ok
	}
	if t == nil || t.Kind() != reflect.Slice || t.Elem().Kind() == reflect.Interface {
		return nil, false
	}
	buffer, ok := o.Get("buffer").(*goja.Object)
	if !ok || buffer.ExportType() != arrayBufferType {
		return nil, false
	}
	b, ok := buffer.Export().(goja.ArrayBuffer)
	start, n := o.Get("byteOffset").ToInteger(), o.Get("byteLength").ToInteger()
	if !ok || start < 0 || n < 0 || start+n > int64(len(b.Bytes())) {
		return nil, false
	}
	return b.Bytes()[start : start+n], true
}

// setHeaders applies the headers of an envelope, which are an object or a list
// of lines.
func (v *vm) setHeaders(r *engine.Response, headers goja.Value) {
	o, ok := headers.(*goja.Object)
	if !ok {
		return
	}
	if o.ClassName() == "Array" {
		for i := range int(o.Get("length").ToInteger()) {
			line := o.Get(v.host.indexText(i)).String()
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				panic(errResult("header line " + engine.Quote(line) + " has no colon"))
			}
			v.setHeader(r, strings.TrimSpace(name), value)
		}
		return
	}
	for _, name := range o.Keys() {
		value := o.Get(name)
		list, ok := value.(*goja.Object)
		if !ok || list.ClassName() != "Array" {
			v.setHeader(r, name, value.String())
			continue
		}
		for i := range int(list.Get("length").ToInteger()) {
			v.setHeader(r, name, list.Get(v.host.indexText(i)).String())
		}
	}
}

// connectionHeaders can be set only by the server.
const connectionHeaders = " Content-Length Transfer-Encoding Connection Keep-Alive Upgrade Trailer Te Date "

func (v *vm) setHeader(r *engine.Response, name, value string) {
	value = strings.TrimSpace(value)
	if err := checkHeader(name, value); err != nil {
		panic(errResult(err.Error()))
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case name == "Content-Type":
		if _, _, err := mime.ParseMediaType(value); err != nil {
			panic(errResult("content type " + engine.Quote(value) + " is malformed"))
		}
		r.ContentType = value
	case name == "Etag":
		r.ETag = value
	case strings.Contains(connectionHeaders, " "+name+" "):
		v.gen.warn("a handler set a header that belongs to the server; it is dropped", "header", name)
	default:
		r.SetHeader(name, value)
	}
}

// checkHeader returns an error for characters that could split a header into
// two (RFC 9110 section 5).
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
