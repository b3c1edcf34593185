package engine

import "net/http"

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
