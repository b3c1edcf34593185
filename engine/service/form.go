package service

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"

	"restsrv/engine"
)

// ReadForm calls read with each part of a multipart body, in their order. It returns errors of read and of
// the body unchanged. If the body is malformed, the error is Invalid.
func ReadForm(body io.Reader, contentType string, read func(part *multipart.Part) error) error {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return MalformedForm(nil)
	}
	for parts := multipart.NewReader(body, params["boundary"]); ; {
		part, err := parts.NextPart()
		if err == io.EOF { // compared with ==, because a wrapped io.EOF means that the body is incomplete
			return nil
		}
		if err != nil {
			return MalformedForm(err)
		}
		if err := read(part); err != nil {
			return err
		}
	}
}

// IsFile reports whether a part is a file, and returns its name as the client sent it.
func IsFile(part *multipart.Part) (name string, ok bool) {
	_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name, ok = disposition["filename"]
	return name, ok
}

// MalformedForm returns the error for a multipart body that cannot be read because of err. It returns errors of the
// body, such as its size, unchanged.
func MalformedForm(err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	return &engine.Error{Code: engine.Invalid, Reason: "multipart", Message: "the multipart body is malformed", Err: err}
}
