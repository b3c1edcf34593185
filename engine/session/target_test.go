package session

import (
	"net/url"
	"strings"
	"testing"
)

func TestLocalPath(t *testing.T) {
	for target, want := range map[string]string{
		"/":        "/",
		"/auth":    "/auth",
		"/a/b?c=d": "/a/b?c=d",
		"/oauth2/grant?client_id=a%40b&redirect_uri=https%3A%2F%2Fx%2Fcb&state=%2F%2F": "/oauth2/grant?client_id=a%40b&redirect_uri=https%3A%2F%2Fx%2Fcb&state=%2F%2F",
		"/a?b=//c":                             "/a?b=//c",
		"/a#b":                                 "/a",
		"/%D1%87":                              "/%D1%87",
		"/a%2Fb":                               "/a%2Fb",
		"":                                     "",
		"a":                                    "",
		"//evil.example":                       "",
		"///evil.example":                      "",
		"/\\evil.example":                      "",
		"\\\\evil.example":                     "",
		"/a\\b":                                "",
		"/%2Fevil.example":                     "",
		"/%2fevil.example":                     "",
		"/%5Cevil.example":                     "",
		"/%252Fevil.example":                   "",
		"/%25252Fevil.example":                 "",
		"/\t/evil.example":                     "",
		"/%09/evil.example":                    "",
		"/a%0d%0aSet-Cookie:x":                 "",
		"/a\r\nSet-Cookie: x":                  "",
		"/a\x00":                               "",
		"/a%00":                                "",
		" /a":                                  "",
		"https://evil.example":                 "",
		"https:/evil.example":                  "",
		"javascript:alert(1)":                  "",
		"//user@evil.example":                  "",
		"/%zz":                                 "",
		strings.Repeat("/a", maxReturn):        "",
		"/" + strings.Repeat("a", maxReturn-1): "/" + strings.Repeat("a", maxReturn-1),
	} {
		if got := localPath(target); got != want {
			t.Errorf("%.100q: got %.100q, want %.100q", target, got, want)
		}
	}
}

// FuzzLocalPath checks that an accepted target is unchanged, and that browsers interpret it as a
// path on this server.
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/a?b=c", "//x", "/\\x", "/%2F/x", "/.//x", "/a/../..//x", "/;//x", "/@x", "/?//x"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://here.example/auth")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, target string) {
		got := localPath(target)
		if got == "" {
			return
		}
		// Browsers drop tabs and line ends, and treat a backslash as a slash.
		seen := strings.NewReplacer("\t", "", "\n", "", "\r", "", "\\", "/").Replace(got)
		u, err := base.Parse(seen)
		if err != nil || u.Host != "here.example" || u.Scheme != "https" || u.User != nil || strings.HasPrefix(seen, "//") {
			t.Errorf("%q becomes %q, which leads to %v (%v)", target, got, u, err)
		}
		if again := localPath(got); again != got {
			t.Errorf("%q becomes %q, and that %q", target, got, again)
		}
	})
}
