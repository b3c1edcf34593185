package acceptor

import (
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"restsrv/engine"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// converterName returns the name of the converter that the request selects, or "". Clients of IONDV
// send the header Ion-Converter instead of Svc-Converter.
func converterName(r *service.Request) string {
	for _, h := range [...]string{"Svc-Converter", "Ion-Converter"} {
		if name := r.Header.Get(h); name != "" {
			return name
		}
	}
	return ""
}

// findConverter returns the converter that the request selects, or nil if the request does not
// select one.
func (s *acceptor) findConverter(r *service.Request) (service.Converter, error) {
	name := converterName(r)
	if name == "" {
		return nil, nil
	}
	c, ok := s.options[name].(service.Converter)
	if !ok {
		return nil, engine.Errorf(engine.Invalid, "converter", "the service has no converter %s", engine.Quote(name))
	}
	return c, nil
}

// source yields the elements of a request one by one, and then io.EOF. An element is valid until
// the next call of Next.
type source interface {
	Next() (any, error)
}

// readElements returns the elements of a request: an array of objects, or a single object. They
// come from the body, which is read piece by piece, or from the converter.
func readElements(ctx context.Context, r *service.Request, c service.Converter) (source, error) {
	t := r.MediaType()
	isJSON := t == "application/json"
	if c != nil {
		return convertBody(ctx, r, c, t, isJSON)
	}
	if !isJSON {
		return nil, engine.Errorf(engine.Invalid, "media-type", "the body is sent as application/json, found Content-Type %s", engine.Quote(r.Header.Get("Content-Type")))
	}
	return &streamed{wire.NewElements(r.Stream())}, nil
}

// streamed is the source of the elements in a JSON body.
type streamed struct{ *wire.Elements }

// Next implements source.
func (s *streamed) Next() (any, error) {
	v, err := s.Elements.Next()
	if _, object := v.(engine.Fields); err == nil && s.Alone && !object {
		return nil, engine.Errorf(engine.Invalid, "json", "the body is a JSON array of objects")
	}
	return v, err
}

// listed is the source of the elements that a converter returns.
type listed []any

// Next implements source.
func (l *listed) Next() (any, error) {
	if len(*l) == 0 {
		return nil, io.EOF
	}
	first := (*l)[0]
	*l = (*l)[1:]
	return first, nil
}

// convertBody calls the converter to get the elements. The converter gets decoded JSON, text if the
// media type is textual, or otherwise the bytes of the body.
func convertBody(ctx context.Context, r *service.Request, c service.Converter, mediaType string, isJSON bool) (source, error) {
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
	case isTextual(mediaType) && utf8.Valid(body):
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

func isTextual(t string) bool {
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+xml") || strings.HasSuffix(t, "+json") ||
		t == "application/xml" || t == "application/x-www-form-urlencoded"
}
