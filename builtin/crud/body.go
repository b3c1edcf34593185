package crud

import (
	"context"
	"strings"

	"restsrv/engine"
	"restsrv/engine/service"
	"restsrv/engine/wire"
)

// readFields reads the body: a JSON object, or a multipart form, in which files are stored as they
// arrive. An empty body counts as an object without attributes, with any Content-Type.
func (s *crud) readFields(ctx context.Context, c *engine.Class, r *service.Request) (engine.Fields, error) {
	t := r.MediaType()
	if t == "multipart/form-data" {
		f := form{class: c, storage: s.files.Storage}
		return f.readParts(ctx, r)
	}
	body, err := r.ReadBody()
	if err != nil {
		return nil, err
	}
	switch {
	case len(body) == 0:
		return engine.Fields{}, nil
	case isJSON(t):
		return jsonFields(body)
	}
	return nil, engine.Errorf(engine.Invalid, "media-type", "the body is sent as application/json or multipart/form-data, found Content-Type %s", engine.Quote(r.Header.Get("Content-Type")))
}

func isJSON(t string) bool {
	return t == "application/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json")
}

func jsonFields(body []byte) (engine.Fields, error) {
	v, err := wire.Decode(body)
	if err != nil {
		return nil, err
	}
	fields, ok := v.(engine.Fields)
	if !ok {
		return nil, engine.Errorf(engine.Invalid, "json", "the body is a JSON object of attributes, found %s", kindOf(v))
	}
	return fields, nil
}

func kindOf(v any) string {
	switch v.(type) {
	case []any:
		return "an array"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case nil:
		return "null"
	}
	return "a number"
}
