package exchange

import (
	"context"
	"io"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/limits"
	"restsrv/engine/script/vm"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// Body is the body of a request. It is read and parsed before the handler runs.
type Body struct {
	Kind    bodyKind
	Decoded any       // the parsed JSON or form
	Raw     []byte    // the received bytes; nil for a form with files
	parts   []*part   // the files of a form
	input   *vm.Input // the body if the script reads it as a stream, otherwise nil
	leave   func()    // reports to the Intake that the memory of the body is free again; may be nil
}

// Close removes the temporary files of the body and calls leave.
func (b Body) Close() {
	if b.input != nil {
		b.input.Close()
	}
	if b.leave != nil {
		b.leave()
	}
	for _, p := range b.parts {
		p.close()
	}
}

type bodyKind int

const (
	noBody      bodyKind = iota
	DecodedBody          // JSON or a form without files
	formBody             // a multipart form, which may contain files
	TextBody             // a body of type text/*
	RawBody              // any other body
	streamBody           // a body that the script reads as a stream
)

// ReadBody reads the whole body. It returns these errors:
//
//   - TooLarge if the body exceeds the limit, or if its JSON has too many values.
//   - Invalid if the media type declares JSON or a form, but the body is not valid JSON or not a valid form.
//   - Invalid if the JSON is nested too deeply, or is not an object or array.
//   - Unavailable if too many requests with large bodies are being processed.
//
// The caller must close the body, even after an error.
func ReadBody(ctx context.Context, r *service.Request, limits *limits.Limits, in *Intake) (Body, error) {
	t := r.MediaType()
	if r.Body != nil && t == "multipart/form-data" {
		form, parts, err := readForm(r)
		b := Body{Kind: formBody, Decoded: form, parts: parts}
		if err == nil {
			b.leave, err = in.Enter(ctx, sizeOfForm(form))
		}
		return b, err
	}
	raw, err := r.ReadBody()
	if err != nil || len(raw) == 0 {
		return Body{}, err
	}
	leave, err := in.Enter(ctx, len(raw))
	if err != nil {
		return Body{}, err
	}
	b := Body{Kind: RawBody, Raw: raw, leave: leave}
	switch {
	case t == "application/json" || strings.HasSuffix(t, "+json"):
		b.Kind = DecodedBody
		b.Decoded, err = decodeBody(raw, limits)
	case t == "application/x-www-form-urlencoded":
		b.Kind, b.Decoded = DecodedBody, parseQuery(string(raw))
	case strings.HasPrefix(t, "text/"):
		b.Kind = TextBody
	}
	return b, err
}

// decodeBody parses JSON. It accepts only an object or an array.
func decodeBody(raw []byte, limits *limits.Limits) (any, error) {
	if js.TooManyValues(raw, limits.Elements) {
		return nil, engine.Errorf(engine.TooLarge, "too-many-values", "the body has more than %d values", limits.Elements)
	}
	v, err := wire.DecodeTo(limits.Depth, raw)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case []any, engine.Fields:
		return v, nil
	}
	return nil, engine.Errorf(engine.Invalid, "json", "the body must be a JSON object or array")
}

// BodyValue returns the value of req.body.
func (h *Binding) BodyValue(b Body) goja.Value {
	switch b.Kind {
	case DecodedBody:
		return h.FromBody(b.Decoded)
	case formBody:
		return h.newForm(b.Decoded.(engine.Fields))
	case TextBody:
		return h.JS.ToValue(strings.ToValidUTF8(string(b.Raw), "\ufffd"))
	case RawBody:
		return h.NewBytes(append([]byte(nil), b.Raw...))
	case streamBody:
		return h.inputStream(b.input)
	}
	return h.JS.NewObject()
}

// inputStream returns the body of a request as a ReadableStream. It creates the stream at the first call.
func (h *Binding) inputStream(in *vm.Input) goja.Value {
	if in.Stream == nil {
		reader := h.JS.NewObject()
		h.Method(reader, "read", h.AsyncFunction("req.body", func(goja.FunctionCall) (vm.Operation, error) {
			return vm.Operation{Do: func(context.Context) (func() goja.Value, error) {
				b, err := in.ReadPiece()
				if err == io.EOF {
					return goja.Null, nil
				}
				return func() goja.Value { return h.NewBytes(b) }, err
			}}, nil
		}))
		h.Method(reader, "cancel", func(goja.FunctionCall) goja.Value { return goja.Undefined() })
		in.Stream = h.CallModule("#body", "ofReader", reader)
	}
	return in.Stream
}

// rawBodyValue returns the value of req.rawBody, which handlers use to check signatures. It is undefined for
// multipart forms.
func (h *Binding) rawBodyValue(b Body) goja.Value {
	if b.Kind == formBody || b.Kind == streamBody {
		return goja.Undefined()
	}
	return h.NewBytes(append([]byte(nil), b.Raw...))
}

// newForm returns the value of req.body for a multipart form: an object with texts and files.
func (h *Binding) newForm(fields engine.Fields) goja.Value {
	o := h.JS.NewObject()
	for _, f := range fields {
		if f.Name == "__proto__" {
			continue
		}
		if p, ok := f.Value.(*part); ok {
			h.Put(o, f.Name, h.JS.NewDynamicObject(&jsPart{h: h, part: p}))
			continue
		}
		h.Put(o, f.Name, h.JS.ToValue(f.Value))
	}
	return o
}
