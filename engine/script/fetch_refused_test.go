package script

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"restsrv/engine/script/platform"
)

// TestFetchIsConfined: scripts cannot reach servers of this machine or servers that are not listed, for any spelling of the
// address.
func TestFetchIsConfined(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		_, _ = io.WriteString(w, "secret")
	}))
	defer s.Close()
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	const inner = `!TypeError: fetch: … leads to a private address, which is refused; globals.scripts.fetch.private of deploy.json allows such`
	var probes []probe
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "127.1", "127.0.1", "0x7f.0x0.0x0.0x1",
		"１２７.０.０.１", "127。0。0。1", "%31%32%37.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "0.0.0.0", "0", "[::]",
		"169.254.169.254", "10.0.0.1", "[64:ff9b::7f00:1]", "[fe80::1]", "100.100.100.200",
	} {
		probes = append(probes, probe{"fetch('http://" + host + port + "/')", inner})
	}
	for _, method := range []string{"HEAD", "POST", "DELETE"} {
		probes = append(probes, probe{"fetch('http://127.0.0.1" + port + "/', {method: '" + method + "'})", inner})
	}
	probes = append(probes,
		probe{"fetch('http://example.com@127.0.0.1" + port + "/')", `!TypeError: fetch: the URL has a user name or a password; …`},
		probe{"fetch('http://127.0.0.1" + port + "\\\\@example.com/')", inner},
		probe{"fetch('file:///etc/passwd')", `!TypeError: fetch: URLs begin with http: or https:, not file:`},
		probe{"fetch('gopher://127.0.0.1/')", `!TypeError: fetch: URLs begin with http: or https:, not gopher:`},
		probe{"fetch('data:text/plain,x')", `!TypeError: fetch: URLs begin with http: or https:, not data:`},
	)
	runProbes(t, platform.Settings{Fetch: platform.Fetch{Hosts: []string{"*"}}}, probes)
	runProbes(t, platform.Settings{Fetch: platform.Fetch{Hosts: []string{"localhost" + port}}}, []probe{
		{"fetch('http://localhost" + port + "/')", inner}, // an allowed name resolves to an internal address
		{"fetch('http://127.0.0.1" + port + "/')", `!TypeError: fetch: 127.0.0.1` + port + ` is not allowed; list it in globals.scripts.fetch.hosts of deploy.json`},
	})
	runProbes(t, platform.Settings{}, []probe{
		{"fetch('http://example.com/')", `!TypeError: fetch: example.com is not allowed; list it in globals.scripts.fetch.hosts of deploy.json`},
	})
	t.Setenv("HTTP_PROXY", s.URL)
	t.Setenv("http_proxy", s.URL)
	runProbes(t, platform.Settings{Fetch: platform.Fetch{Hosts: []string{"*"}}}, []probe{{"fetch('http://192.0.2.1/')", inner}})
	if len(asked) > 0 {
		t.Errorf("the server received requests: %v", asked)
	}
}
