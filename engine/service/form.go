package service

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"

	"restsrv/engine"
)

// ReadForm calls read for each part of a multipart body, in the order of the parts. It returns errors of read and of
// the body unchanged. If the body is malformed, the error is Invalid.
func ReadForm(body io.Reader, contentType string, read func(part *multipart.Part) error) error {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return MalformedForm(nil)
	}
	for parts := multipart.NewReader(body, params["boundary"]); ; {
		part, err := parts.NextPart()
		if err == io.EOF { // use ==, because a wrapped io.EOF means that the body is incomplete
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

// IsFile reports whether a part is a file. name is the name of the file as sent by the client.
func IsFile(part *multipart.Part) (name string, ok bool) {
	_, disposition, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name, ok = disposition["filename"]
	return name, ok
}

// MalformedForm returns the error for a multipart body that cannot be read because of err. If err already has a code,
// for example because the body is too large, MalformedForm returns it unchanged.
func MalformedForm(err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	return &engine.Error{Code: engine.Invalid, Reason: "multipart", Message: "the multipart body is malformed", Err: err}
}
