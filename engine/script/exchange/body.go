package exchange

import (
	"context"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/script/js"
	"restsrv/engine/script/limits"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// Body is the body of a request. It is parsed before the handler runs.
type Body struct {
	Kind    bodyKind
	Decoded any     // the parsed JSON or form
	Raw     []byte  // the received bytes; nil for a form with files
	parts   []*part // the files of a form
	leave   func()  // returns the room taken from the intake; may be nil
}

// Close removes the temporary files of the body and returns its room to the intake.
func (b Body) Close() {
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
	formBody
	TextBody // a body of type text/*
	RawBody  // any other body
)

// ReadBody reads the whole body. It returns TooLarge if the body exceeds the limit, Invalid if it is not valid JSON
// or not a valid form as its media type declares, if it is nested too deeply or is a JSON scalar, and Unavailable if
// too many requests have large bodies. The caller must close the body, even after an error.
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

// decodeBody parses JSON that is an object or an array.
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

// BodyValue returns req.body.
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
	}
	return h.JS.NewObject()
}

// rawBodyValue returns req.RawBody, which handlers use to check signatures. It is undefined for forms with files.
func (h *Binding) rawBodyValue(b Body) goja.Value {
	if b.Kind == formBody {
		return goja.Undefined()
	}
	return h.NewBytes(append([]byte(nil), b.Raw...))
}

// newForm returns the object for a multipart form.
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
