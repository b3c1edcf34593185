package session

import (
	"net/http"
	"net/url"
	"strings"
)

// maxReturn bounds the path to return to; it holds all that a client asks of a
// consent page.
const maxReturn = 16 << 10

// localPath returns a target that stays on this server whoever reads it: a
// path and a query. "" for everything else: other sites in all spellings, and
// what some browsers make another site of.
func localPath(target string) string {
	if len(target) > maxReturn || !strings.HasPrefix(target, "/") {
		return ""
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return ""
	}
	path := u.Path
	// What is encoded twice may be decoded by something on the way.
	for range 3 {
		if len(path) > 1 && (path[1] == '/' || path[1] == '\\') || strings.ContainsFunc(path, dangerous) {
			return ""
		}
		again, err := url.PathUnescape(path)
		if err != nil || again == path {
			break
		}
		path = again
	}
	if strings.ContainsFunc(target, dangerous) {
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// dangerous are control characters, which browsers drop or end a header at,
// and the backslash, which they take for a slash.
func dangerous(r rune) bool {
	return r < ' ' || r == '\\' || r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029'
}

// redirect leads to a local path.
func redirect(w http.ResponseWriter, path string, query url.Values) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	w.Header().Set("Location", path)
	w.WriteHeader(http.StatusFound)
}
