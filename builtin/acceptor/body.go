package acceptor

import (
	"context"
	"strings"
	"unicode/utf8"

	"restsrv/engine"
	"restsrv/engine/wire"
)

// converterName is the option that the request wants for a converter; "" for
// none. The second header is the ancestor's.
func converterName(r *engine.Request) string {
	for _, h := range [...]string{"Svc-Converter", "Ion-Converter"} {
		if name := r.Header.Get(h); name != "" {
			return name
		}
	}
	return ""
}

// converter finds the converter that the request names; nil when it names
// none.
func (s *service) converter(r *engine.Request) (engine.Converter, error) {
	name := converterName(r)
	if name == "" {
		return nil, nil
	}
	c, ok := s.options[name].(engine.Converter)
	if !ok {
		return nil, engine.Errorf(engine.Invalid, "converter", "the service has no converter %s", engine.Quote(name))
	}
	return c, nil
}

// readElements reads an array of objects, or a single one: the body, or what
// the converter makes of it.
func readElements(ctx context.Context, r *engine.Request, c engine.Converter) ([]any, error) {
	v, err := decode(r, c != nil)
	if err == nil && c != nil {
		v, err = c.Parse(ctx, r, v)
	}
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		return v, nil
	case engine.Fields:
		return []any{v}, nil
	}
	if c != nil {
		return nil, engine.Errorf(engine.Invalid, "converter", "converter %s made no array of records", engine.Quote(converterName(r)))
	}
	return nil, engine.Errorf(engine.Invalid, "json", "the body is a JSON array of objects")
}

// decode reads the body as JSON; a converter takes any other too, as text when
// it is text.
func decode(r *engine.Request, any bool) (any, error) {
	t := r.MediaType()
	isJSON := t == "application/json"
	if !isJSON && !any {
		return nil, engine.Errorf(engine.Invalid, "media-type", "the body is sent as application/json, found Content-Type %s", engine.Quote(r.Header.Get("Content-Type")))
	}
	body, err := r.ReadBody()
	switch {
	case err != nil:
		return nil, err
	case isJSON:
		return wire.Decode(body)
	case textual(t) && utf8.Valid(body):
		return string(body), nil
	}
	return body, nil
}

func textual(t string) bool {
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+json") ||
		t == "application/xml" || t == "application/x-www-form-urlencoded"
}
