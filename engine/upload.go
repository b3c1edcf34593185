package engine

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// castStored accepts the value of a file attribute in its stored form, or as
// Bind made it.
func castStored(v any) (any, bool) {
	switch v := v.(type) {
	case JSONText, *Upload, []*Upload:
		return v, true
	}
	return nil, v == ""
}

// castFile reads the input of a file or of a list of files. The input cannot
// refer to a file of the server's file system: a "path" is ignored.
func (p *Property) castFile(v any) (value any, ok bool, why string) {
	switch v := v.(type) {
	case JSONText, []*Upload:
		return v, true, ""
	case string:
		if v == "" {
			return nil, true, ""
		}
	}
	if p.Type != FileList {
		u, why := uploadOf(v)
		if u == nil {
			return nil, false, why
		}
		return u, true, ""
	}
	v = decodeText(v)
	list, isList := v.([]any)
	if !isList {
		list = []any{v}
	}
	uploads := make([]*Upload, 0, len(list))
	for _, e := range list {
		u, why := uploadOf(e)
		if u == nil {
			return nil, false, why
		}
		uploads = append(uploads, u)
	}
	return uploads, true, ""
}

// uploadOf reads one file, or returns nil if v is not a file. If text can be
// base64 with its padding, it is the content, else it is the id of a stored
// file: ids never have a length that base64 can have.
func uploadOf(v any) (*Upload, string) {
	switch v := v.(type) {
	case *Upload:
		return v, ""
	case string:
		if u := inlineFile(v); u != nil {
			return u, ""
		}
		if v == "" || len(v) > MaxGUID || strings.HasPrefix(v, "data:") {
			return nil, "the text is not base64 (RFC 4648, section 4)"
		}
		return &Upload{File: StoredFile{ID: v}}, ""
	case Fields:
		return describedFile(v)
	}
	return nil, ""
}

// inlineFile decodes base64 text, which may be a data URI. It returns nil if
// the text is neither.
func inlineFile(s string) *Upload {
	u := &Upload{}
	if rest, ok := strings.CutPrefix(s, "data:"); ok {
		head, body, ok := strings.Cut(rest, ",")
		mimeType, isBase64 := strings.CutSuffix(head, ";base64")
		if !ok || !isBase64 {
			return nil
		}
		u.File.MimeType, s = mimeType, body
	}
	content, err := base64.StdEncoding.DecodeString(s) // ignores line ends
	if err != nil {
		return nil
	}
	u.Content = bytes.NewReader(content)
	return u
}

// describedFile reads an object: the description of a stored file as in
// answers, or a name, a type and the content.
func describedFile(fields Fields) (*Upload, string) {
	text := func(names ...string) string {
		for _, name := range names {
			if s, _ := fields.Get(name); s != nil {
				if s, ok := s.(string); ok {
					return s
				}
			}
		}
		return ""
	}
	u := &Upload{}
	if body, given := fields.Get("body"); given {
		s, ok := body.(string)
		if !ok {
			return nil, "its body is no text"
		}
		if u = inlineFile(s); u == nil {
			return nil, "its body is not base64 (RFC 4648, section 4)"
		}
	} else if u.File.ID = text("id"); u.File.ID == "" {
		return nil, `it has neither "body" nor "id"`
	}
	u.File.Name = text("name")
	if t := text("mimeType", "mime"); t != "" {
		u.File.MimeType = t
	}
	return u, ""
}
