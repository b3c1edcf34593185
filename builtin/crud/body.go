package crud

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"restsrv/engine"
	"restsrv/engine/wire"
)

// readFields reads the body: a JSON object, or the text fields of a multipart
// form. No body at all is an object without attributes, whatever Content-Type
// says.
func readFields(r *engine.Request) (engine.Fields, error) {
	body, err := r.ReadBody()
	if err != nil {
		return nil, err
	}
	t := r.MediaType()
	switch {
	case len(body) == 0:
		return engine.Fields{}, nil
	case t == "application/json" || strings.HasPrefix(t, "application/") && strings.HasSuffix(t, "+json"):
		return jsonFields(body)
	case t == "multipart/form-data":
		return formFields(r, body)
	}
	return nil, engine.Errorf(engine.Invalid, "media-type", "the body is sent as application/json or multipart/form-data, found Content-Type %s", engine.Quote(r.Header.Get("Content-Type")))
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

// formFields reads text parts. No class has file attributes yet, so a file
// part is refused by name.
func formFields(r *engine.Request, body []byte) (engine.Fields, error) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	malformed := engine.Errorf(engine.Invalid, "multipart", "the multipart body is malformed")
	if err != nil || params["boundary"] == "" {
		return nil, malformed
	}
	fields := engine.Fields{}
	reader := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return fields, nil
		}
		if err != nil {
			return nil, malformed
		}
		if part.FileName() != "" {
			e := engine.Errorf(engine.Invalid, "type", "attribute %s takes no file", engine.Quote(part.FormName()))
			e.Attribute = part.FormName()
			return nil, e
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, malformed
		}
		fields = append(fields, engine.Field{Name: part.FormName(), Value: string(text)})
	}
}
