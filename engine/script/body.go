package script

import (
	"strings"

	"github.com/dop251/goja"

	"restsrv/engine"
	"restsrv/engine/wire"
)

// body is the body of a request, parsed before the handler runs.
type body struct {
	kind    bodyKind
	decoded any // of JSON and forms
	raw     []byte
	parts   []*part // files of a form
}

// close removes what the body keeps on disk.
func (b body) close() {
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

// readBody reads the whole body. Errors: TooLarge; Invalid when it is not the
// JSON or form that it says it is, deeper than depth, or a JSON scalar. The body is to be closed in
// either case.
func readBody(r *engine.Request, depth int) (body, error) {
	t := r.MediaType()
	if r.Body != nil && t == "multipart/form-data" {
		form, parts, err := readForm(r)
		return body{kind: formBody, decoded: form, parts: parts}, err
	}
	raw, err := r.ReadBody()
	if err != nil || len(raw) == 0 {
		return body{}, err
	}
	switch {
	case t == "application/json" || strings.HasSuffix(t, "+json"):
		v, err := wire.DecodeTo(depth, raw)
		if err != nil {
			return body{}, err
		}
		switch v.(type) {
		case []any, engine.Fields:
			return body{kind: decodedBody, decoded: v}, nil
		}
		return body{}, engine.Errorf(engine.Invalid, "json", "the body must be a JSON object or array")
	case t == "application/x-www-form-urlencoded":
		return body{kind: decodedBody, decoded: parseQuery(string(raw))}, nil
	case strings.HasPrefix(t, "text/"):
		return body{kind: textBody, raw: raw}, nil
	}
	return body{kind: rawBody, raw: raw}, nil
}

// bodyValue makes req.body.
func (h *host) bodyValue(b body) goja.Value {
	switch b.kind {
	case decodedBody:
		return h.fromBody(b.decoded)
	case formBody:
		return h.form(b.decoded.(engine.Fields))
	case textBody:
		return h.js.ToValue(strings.ToValidUTF8(string(b.raw), "\ufffd"))
	case rawBody:
		return h.newBytes(append([]byte(nil), b.raw...))
	}
	return h.js.NewObject()
}

// form makes the object of a multipart form.
func (h *host) form(fields engine.Fields) goja.Value {
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

// newBytes makes a Buffer that takes over b.
func (h *host) newBytes(b []byte) goja.Value { return h.world().Buffer(b) }
