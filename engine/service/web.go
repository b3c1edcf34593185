package service

import (
	"io"
	"net/http"
)

// Failer is a ResponseWriter that can answer failures in the right form.
// Handlers outside /rest get one.
type Failer interface {
	http.ResponseWriter
	// Fail answers a failure with its status: as a page if the client asks for
	// pages, else as problem+json. It must be called before any other output.
	Fail(err error)
}

// Fail answers a failure of a handler outside /rest.
func Fail(w http.ResponseWriter, err error) {
	if f, ok := w.(Failer); ok {
		f.Fail(err)
		return
	}
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}

// Redirect answers with the status 302 and the text that Express sends.
func Redirect(w http.ResponseWriter, location string) {
	w.Header().Set("Location", location)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusFound)
	_, _ = io.WriteString(w, "Found. Redirecting to "+location) // the client may have disconnected
}
