package service

import (
	"io"
	"net/http"
)

// Failer is a ResponseWriter that can write the response to a failed request in the right form. Handlers outside /rest
// get a Failer.
type Failer interface {
	http.ResponseWriter
	// Fail writes the response to a request that failed with err, and sets its status. The response is a page if the
	// client asks for pages, otherwise problem+json. Fail must be called before any other output.
	Fail(err error)
}

// Fail writes the response to a request that failed with err, in a handler outside /rest.
func Fail(w http.ResponseWriter, err error) {
	if f, ok := w.(Failer); ok {
		f.Fail(err)
		return
	}
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}

// Redirect sends a response with the status 302 and the same text as Express.
func Redirect(w http.ResponseWriter, location string) {
	w.Header().Set("Location", location)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusFound)
	_, _ = io.WriteString(w, "Found. Redirecting to "+location) // ignore the error: the client may have disconnected
}
