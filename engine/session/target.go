package session

import (
	"net/http"
	"net/url"
	"strings"

	"restsrv/engine/service"
)

// maxReturn is the maximum length of the return path in bytes. It is large
// enough for the request to a consent page.
const maxReturn = 16 << 10

// localPath returns target if every browser interprets it as a path on this server, with an
// optional query. Otherwise it returns "": for addresses of other sites in any notation, and for
// paths that some browsers interpret as another site.
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
	// A path that is encoded several times may be decoded several times on the
	// way.
	for range 3 {
		if strings.HasPrefix(path, "//") || strings.ContainsFunc(path, isDangerous) {
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

// isDangerous reports whether r is a control character or a backslash. Browsers drop some control
// characters, other control characters end a header, and browsers treat a backslash as a slash.
func isDangerous(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f || r == '\\' }

// redirect sends the browser to a local path.
func redirect(w http.ResponseWriter, path string, query url.Values) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	service.Redirect(w, path)
}
