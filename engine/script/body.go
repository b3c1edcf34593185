package script

import (
	"context"
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/wire"
)

// body is the body of a request. It is parsed before the handler runs.
type body struct {
	kind    bodyKind
	decoded any     // the parsed JSON or form
	raw     []byte  // the received bytes; nil for a form with files
	parts   []*part // the files of a form
	leave   func()  // returns the room taken from the intake; may be nil
}

// close removes the temporary files of the body and returns its room to the intake.
func (b body) close() {
	if b.leave != nil {
		b.leave()
	}
	for _, p := range b.parts {
		p.close()
	}
}

type bodyKind int

const (
	noBody bodyKind = iota
	decodedBody
	formBody
	textBody
	rawBody
)

// readBody reads the whole body. It returns TooLarge if the body exceeds the limit, Invalid if it is not valid JSON
// or not a valid form as its media type declares, if it is nested too deeply or is a JSON scalar, and Unavailable if
// too many requests have large bodies. The caller must close the body, even after an error.
func readBody(ctx context.Context, r *engine.Request, limits *Limits, in *intake) (body, error) {
	t := r.MediaType()
	if r.Body != nil && t == "multipart/form-data" {
		form, parts, err := readForm(r)
		b := body{kind: formBody, decoded: form, parts: parts}
		if err == nil {
			b.leave, err = in.enter(ctx, sizeOfForm(form))
		}
		return b, err
	}
	raw, err := r.ReadBody()
	if err != nil || len(raw) == 0 {
		return body{}, err
	}
	leave, err := in.enter(ctx, len(raw))
	if err != nil {
		return body{}, err
	}
	b := body{kind: rawBody, raw: raw, leave: leave}
	switch {
	case t == "application/json" || strings.HasSuffix(t, "+json"):
		b.kind = decodedBody
		b.decoded, err = decodeBody(raw, limits)
	case t == "application/x-www-form-urlencoded":
		b.kind, b.decoded = decodedBody, parseQuery(string(raw))
	case strings.HasPrefix(t, "text/"):
		b.kind = textBody
	}
	return b, err
}

// decodeBody parses JSON that is an object or an array.
func decodeBody(raw []byte, limits *Limits) (any, error) {
	if tooManyValues(raw, limits.Elements) {
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

// bodyValue returns req.body.
func (h *exchangeBinding) bodyValue(b body) goja.Value {
	switch b.kind {
	case decodedBody:
		return h.fromBody(b.decoded)
	case formBody:
		return h.newForm(b.decoded.(engine.Fields))
	case textBody:
		return h.js.ToValue(strings.ToValidUTF8(string(b.raw), "\ufffd"))
	case rawBody:
		return h.newBytes(append([]byte(nil), b.raw...))
	}
	return h.js.NewObject()
}

// rawBodyValue returns req.rawBody, which handlers use to check signatures. It is undefined for forms with files.
func (h *exchangeBinding) rawBodyValue(b body) goja.Value {
	if b.kind == formBody {
		return goja.Undefined()
	}
	return h.newBytes(append([]byte(nil), b.raw...))
}

// newForm returns the object for a multipart form.
func (h *exchangeBinding) newForm(fields engine.Fields) goja.Value {
	o := h.js.NewObject()
	for _, f := range fields {
		if f.Name == "__proto__" {
			continue
		}
		if p, ok := f.Value.(*part); ok {
			h.put(o, f.Name, h.js.NewDynamicObject(&jsPart{h: h, part: p}))
			continue
		}
		h.put(o, f.Name, h.js.ToValue(f.Value))
	}
	return o
}
