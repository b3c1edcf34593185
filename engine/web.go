package engine

import (
	"io"
	"net/http"
)

// Failer is a ResponseWriter that knows how failures are answered: those that
// handlers outside /rest are given are.
type Failer interface {
	http.ResponseWriter
	// Fail answers a failure with its status, as a page to who asks for pages,
	// else as problem+json. Nothing may have been written before.
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

// Redirect leads to another address, 302, and says so in a text as Express does.
func Redirect(w http.ResponseWriter, location string) {
	w.Header().Set("Location", location)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusFound)
	_, _ = io.WriteString(w, "Found. Redirecting to "+location) // the client may be gone
}
