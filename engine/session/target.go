package session

import (
	"net/http"
	"net/url"
	"strings"

	"restsrv/engine"
)

// maxReturn bounds the path to return to; it holds all that a client asks of a
// consent page.
const maxReturn = 16 << 10

// localPath returns a target that stays on this server whoever reads it: a
// path and a query, as browsers write them. "" for everything else: other sites
// in all spellings, and what some browsers make another site of.
func localPath(target string) string {
	target, _, _ = strings.Cut(target, "#")
	foreign := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }
	if len(target) > maxReturn || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || strings.ContainsFunc(target, foreign) {
		return ""
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return ""
	}
	path := u.Path
	// What is encoded twice may be decoded by something on the way.
	for range 3 {
		if strings.HasPrefix(path, "//") || strings.ContainsFunc(path, dangerous) {
			return ""
		}
		again, err := url.PathUnescape(path)
		if err != nil || again == path {
			break
		}
		path = again
	}
	return target
}

// dangerous are control characters, which browsers drop or end a header at,
// and the backslash, which they take for a slash.
func dangerous(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f || r == '\\' }

// redirect leads to a local path.
func redirect(w http.ResponseWriter, path string, query url.Values) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	engine.Redirect(w, path)
}
