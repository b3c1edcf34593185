package oracle

import (
	"encoding/base64"

	"restsrv/engine"
)

// File is the value of a file attribute.
type File struct{ ID, Name, Type, Content string }

// MarshalJSON implements json.Marshaler. It returns the description of the file.
func (f *File) MarshalJSON() ([]byte, error) {
	return []byte(Encode(JSON("id", f.ID, "name", f.Name, "link", "/files/"+f.ID, "options", JSON("name", f.Name, "mimeType", f.Type), "size", int64(len(f.Content))))), nil
}

// bindFile reads the input of a file attribute. The input is a new file with its content, or the
// description of a file that the attribute already holds in some object. In the second case, the
// result is the existing file.
func (s *saving) bindFile(p *engine.Property, in any) any {
	fields, ok := in.(Fields)
	if in == nil {
		return nil
	}
	if !ok {
		refuse(400, "type")
	}
	if body := fields.Get("body"); body != nil {
		content, err := base64.StdEncoding.DecodeString(valueText(body))
		if err != nil {
			refuse(400, "type")
		}
		return &File{s.newToken(), valueText(fields.Get("name")), valueText(fields.Get("mimeType")), string(content)}
	}
	for _, o := range s.objects {
		if f, ok := o.Values[p.Name].(*File); ok && f.ID == fields.Get("id") {
			return f
		}
	}
	refuse(400, "file")
	return nil
}

// answerFile answers with the content of the file with this id. It fails if no object has the file.
func (w *World) answerFile(id string) Answer {
	for _, o := range w.objects {
		for _, v := range o.Values {
			if f, ok := v.(*File); ok && f.ID == id {
				return Answer{Status: 200, Body: f.Content}
			}
		}
	}
	return Answer{Status: 404}
}
