package acceptor

import (
	"context"
	"io"
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

// source hands out the elements of a request one after the other, then io.EOF.
// What it hands out is valid until the next one.
type source interface {
	Next() (any, error)
}

// elements are those of an array of objects, or a single object: of the body,
// which is read while they are asked for, or of what the converter makes of it.
func elements(ctx context.Context, r *engine.Request, c engine.Converter) (source, error) {
	t := r.MediaType()
	isJSON := t == "application/json"
	if c != nil {
		return converted(ctx, r, c, t, isJSON)
	}
	if !isJSON {
		return nil, engine.Errorf(engine.Invalid, "media-type", "the body is sent as application/json, found Content-Type %s", engine.Quote(r.Header.Get("Content-Type")))
	}
	return &streamed{wire.NewElements(r.Stream())}, nil
}

// streamed is a body of JSON.
type streamed struct{ *wire.Elements }

// Next is source's.
func (s *streamed) Next() (any, error) {
	v, err := s.Elements.Next()
	if _, object := v.(engine.Fields); err == nil && s.Alone && !object {
		return nil, engine.Errorf(engine.Invalid, "json", "the body is a JSON array of objects")
	}
	return v, err
}

// listed is what a converter made.
type listed []any

// Next is source's.
func (l *listed) Next() (any, error) {
	if len(*l) == 0 {
		return nil, io.EOF
	}
	first := (*l)[0]
	*l = (*l)[1:]
	return first, nil
}

// converted has a converter make the elements: of JSON, or any other body, as
// text when it is text.
func converted(ctx context.Context, r *engine.Request, c engine.Converter, mediaType string, isJSON bool) (source, error) {
	body, err := r.ReadBody()
	if err != nil {
		return nil, err
	}
	var v any = body
	switch {
	case isJSON:
		if v, err = wire.Decode(body); err != nil {
			return nil, err
		}
	case textual(mediaType) && utf8.Valid(body):
		v = string(body)
	}
	if v, err = c.Parse(ctx, r, v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		list := listed(v)
		return &list, nil
	case engine.Fields:
		return &listed{v}, nil
	}
	return nil, engine.Errorf(engine.Invalid, "converter", "converter %s made no array of records", engine.Quote(converterName(r)))
}

func textual(t string) bool {
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+json") ||
		t == "application/xml" || t == "application/x-www-form-urlencoded"
}
